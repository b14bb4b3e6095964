//! Claims corrected by times: published matrices under false claims, and made-up machines.

use coho_model::measured::{Measured, Tool, measured, suggest};
use coho_model::{Matrix, coherence_from_matrix};
use coho_profile::{Coherence, History};
use coho_topology::{Cache, CacheKind, CpuSet, Level, Pu, Source, Topology, Unit, hwloc};

fn unit(cpus: CpuSet) -> Unit {
    Unit { id: None, cpus }
}

fn cache(level: u8, cpus: CpuSet) -> Cache {
    Cache { level, kind: CacheKind::Unified, size_bytes: 1 << 25, line_bytes: Some(64), ways: None, cpus }
}

/// Groups of CPUs that follow each other.
fn blocks(cpus: u32, size: u32) -> Vec<CpuSet> {
    (0..cpus / size).map(|at| (at * size..(at + 1) * size).collect()).collect()
}

/// A package of single-threaded cores with an L2 each, and L3s as given.
fn claims(cpus: u32, l3: &[CpuSet]) -> Topology {
    let mut topology = Topology {
        pus: (0..cpus).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: vec![unit(CpuSet::up_to(cpus))],
        cores: blocks(cpus, 1).into_iter().map(unit).collect(),
        caches: blocks(cpus, 1).into_iter().map(|cpus| cache(2, cpus)).collect(),
        ..Topology::default()
    };
    topology.caches.extend(l3.iter().map(|cpus| cache(3, cpus.clone())));
    topology.finish();
    topology
}

/// Times of all pairs, each a little off.
fn times(cpus: u32, ns: impl Fn(u32, u32) -> f64) -> Coherence {
    let spread = |a: u32, b: u32| 1.0 + f64::from((7 * a.min(b) + 13 * a.max(b)) % 10) / 400.0;
    let cells = (0..cpus).flat_map(|a| (0..cpus).map(move |b| (a, b)));
    let all = cells.map(|(a, b)| ns(a, b) * spread(a, b)).collect();
    coherence_from_matrix(&Matrix::new((0..cpus).collect(), all).unwrap())
}

/// The figures of a published matrix.
fn published(name: &str) -> Coherence {
    let text = std::fs::read_to_string(coho_testing::data("matrices").join(name)).unwrap();
    coherence_from_matrix(&Matrix::parse(&text).unwrap())
}

fn sets(topology: &Topology, level: Level) -> Vec<CpuSet> {
    topology.partition(level).into_iter().cloned().collect()
}

fn levels(found: &Measured) -> Vec<Level> {
    found.corrections.iter().map(|one| one.level).collect()
}

/// What is written must be a tree that hwloc's reader finds whole.
fn assert_written(found: &Measured) {
    let back = hwloc::parse(&hwloc::write(&found.topology)).unwrap();
    for level in [Level::Core, Level::L3, Level::Die, Level::Package] {
        assert_eq!(sets(&back, level), sets(&found.topology, level), "{level}");
    }
}

/// A guest on half of a Zen 2 with one L3 claimed for all.
#[test]
fn one_l3_for_all_becomes_those_that_were_measured() {
    let claimed = claims(16, &[CpuSet::up_to(16)]);
    let found = measured(&claimed, &times(16, |a, b| if a / 4 == b / 4 { 25.0 } else { 95.0 })).unwrap();
    assert_eq!(levels(&found), [Level::L3]);
    assert_eq!(sets(&found.topology, Level::L3), blocks(16, 4));
    let why = &found.corrections[0].why;
    assert!(why.contains("at most 25.") && why.contains("at least 95."), "{why}");
    assert_eq!(found.corrections[0].claimed, "0-15");
    let fact = found.topology.facts.iter().find(|fact| fact.source == Source::Measured).unwrap();
    assert_eq!(fact.level, Level::L3);
    assert!(found.topology.caches.iter().filter(|cache| cache.level == 3).all(|cache| cache.size_bytes == 0));
    assert_written(&found);
}

#[test]
fn epyc_7773x_with_its_complexes_hidden_shows_them() {
    let figures = published("nviennot_AMD_EPYC_7773X.csv");
    let n = figures.cpus.len() as u32;
    // As the firmware would tell: cores of two threads, the second halves behind the first.
    let mut claimed = claims(n, &[CpuSet::up_to(n)]);
    claimed.cores = (0..n / 2).map(|core| unit([core, core + n / 2].into_iter().collect())).collect();
    claimed.caches.retain(|one| one.level == 3);
    claimed.caches.extend((0..n / 2).map(|core| cache(2, [core, core + n / 2].into_iter().collect())));
    claimed.finish();
    let found = measured(&claimed, &figures).unwrap();
    assert_eq!(levels(&found), [Level::L3], "{:#?}", found.corrections);
    let complexes = sets(&found.topology, Level::L3);
    assert_eq!(complexes.len(), 8);
    assert!(complexes.iter().all(|set| set.len() == 16), "{complexes:?}");
    assert!(
        found.notes.iter().any(|note| note.starts_with("the claimed core, L2 is borne out")),
        "{found:?}"
    );
    assert_written(&found);
    // With the claim as it was measured there is nothing to correct.
    let again = measured(&found.topology, &figures).unwrap();
    assert_eq!(again.corrections, []);
    assert_eq!(sets(&again.topology, Level::L3), complexes);
}

#[test]
fn modules_that_firmware_pairs_wrongly_are_put_right() {
    let figures = published("kcores_AMD_FX-8300_8-Core_Processor_by-kassane.csv");
    let mut claimed = claims(8, &[CpuSet::up_to(8)]);
    claimed.caches.retain(|one| one.level == 3);
    let wrong: [[u32; 2]; 4] = [[0, 4], [1, 5], [2, 6], [3, 7]];
    claimed.caches.extend(wrong.map(|pair| cache(2, pair.into_iter().collect())));
    claimed.finish();
    let found = measured(&claimed, &figures).unwrap();
    assert_eq!(levels(&found), [Level::L2]);
    assert_eq!(sets(&found.topology, Level::L2), blocks(8, 2));
    assert_eq!(sets(&found.topology, Level::L3), [CpuSet::up_to(8)], "nothing contradicts it");
    assert!(found.corrections[0].why.contains("of other CPUs"), "{found:?}");
    assert_written(&found);
}

/// 192 CPUs in 2 sockets of 12 complexes of 8, of which a guest is told one socket with one L3.
#[test]
fn a_big_guest_gets_its_complexes_and_sockets() {
    let ns = |a: u32, b: u32| match () {
        () if a / 8 == b / 8 => 25.0,
        () if a / 96 == b / 96 => 110.0,
        () => 210.0,
    };
    let found = measured(&claims(192, &[CpuSet::up_to(192)]), &times(192, ns)).unwrap();
    assert_eq!(levels(&found), [Level::L3, Level::Die]);
    assert_eq!(sets(&found.topology, Level::L3), blocks(192, 8));
    assert_eq!(sets(&found.topology, Level::Die), blocks(192, 96));
    assert!(found.corrections[1].why.contains("cannot tell a die from a package"), "{found:?}");
    assert_written(&found);
    let suggestion = suggest(Tool::Qemu, &found.topology);
    assert_eq!(suggestion.options[0], "-smp 192,sockets=1,dies=2,modules=12,cores=8,threads=1");
    assert!(suggestion.options[1].contains("cache=l3,smp-cache.3.topology=module"), "{suggestion:?}");
}

/// Each CPU a package, or each with an L3 of its own: what hypervisors tell without topology.
#[test]
fn packages_and_caches_of_single_cpus_are_joined() {
    let figures = times(16, |a, b| if a / 8 == b / 8 { 22.0 } else { 95.0 });
    let mut claimed = claims(16, &blocks(16, 1));
    claimed.packages = blocks(16, 1).into_iter().map(unit).collect();
    claimed.finish();
    let found = measured(&claimed, &figures).unwrap();
    assert_eq!(levels(&found), [Level::L3, Level::Package], "{found:#?}");
    for level in levels(&found) {
        assert_eq!(sets(&found.topology, level), blocks(16, 8));
    }
    assert_written(&found);
}

/// An L3 that spans packages, whose CPUs are those of neither.
#[test]
fn caches_across_packages_are_replaced_and_packages_kept() {
    let figures = times(16, |a, b| if a / 8 == b / 8 { 22.0 } else { 95.0 });
    let across: Vec<CpuSet> = (0..2).map(|odd| (0..16).filter(|cpu| cpu % 2 == odd).collect()).collect();
    let mut claimed = claims(16, &across);
    claimed.packages = blocks(16, 8).into_iter().map(unit).collect();
    claimed.finish();
    let found = measured(&claimed, &figures).unwrap();
    // The packages are borne out, so that caches of as many other CPUs are theirs.
    assert_eq!(sets(&found.topology, Level::Package), blocks(16, 8));
    assert_eq!(sets(&found.topology, Level::L3), blocks(16, 8));
    assert_eq!(levels(&found), [Level::L3]);
    assert_written(&found);
}

/// Dies of other sizes that cross what was measured are no part of any tree.
#[test]
fn claims_that_cross_groups_are_left_out() {
    let figures = times(16, |a, b| if a / 8 == b / 8 { 22.0 } else { 95.0 });
    let mut claimed = claims(16, &blocks(16, 8));
    claimed.dies = (0..4).map(|rest| unit((0..16).filter(|cpu| cpu % 4 == rest).collect())).collect();
    claimed.finish();
    let found = measured(&claimed, &figures).unwrap();
    assert_eq!(levels(&found), [Level::Die]);
    assert_eq!((found.corrections[0].measured.as_str(), found.topology.dies.len()), ("left out", 0));
    assert_eq!(sets(&found.topology, Level::L3), blocks(16, 8));
    assert_written(&found);
}

/// Where there is nothing certain the claim stays to the letter, and says so.
#[test]
fn flat_unstable_and_incomplete_figures_correct_nothing() {
    let claimed = claims(16, &[CpuSet::up_to(16)]);
    let near = |a: u32, b: u32| if a / 4 == b / 4 { 25.0 } else { 95.0 };
    let mut unstable = times(16, near);
    unstable.pairs.iter_mut().for_each(|pair| pair.ns.stable = Some(false));
    let mut moved = times(16, near);
    moved.history = Some(History { surveys: 4, modes_ns: vec![25.0, 95.0], disagree: 2 });
    let fewer = times(12, near);
    let mut sparse = times(16, near);
    sparse.pairs.retain(|pair| pair.a == 0 || (pair.a + pair.b) % 3 == 0);
    for (figures, why) in [
        (times(16, |_, _| 95.0), "flat"),
        (published("nviennot_AWS_Graviton3.csv"), "flat"),
        (unstable, "did not all keep to one value"),
        (moved, "2 of 4 other surveys since boot differ"),
        (fewer, "no times of CPUs 12-15"),
        (sparse, "of 120 pairs have a time"),
    ] {
        let n = figures.cpus.len().max(16) as u32;
        let claimed = if n == 16 { claimed.clone() } else { claims(n, &[CpuSet::up_to(n)]) };
        let found = measured(&claimed, &figures).unwrap();
        assert_eq!(found.corrections, [], "{why}");
        assert!(
            found.notes[0].starts_with("nothing corrected") && found.notes[0].contains(why),
            "{:?}",
            found.notes
        );
        let Measured { mut topology, .. } = found;
        assert!(topology.notes[0].starts_with("as claimed"), "{:?}", topology.notes);
        topology.notes.clear();
        assert_eq!(topology, claimed, "{why}");
    }
    assert!(measured(&claims(8, &[]), &times(16, near)).is_err(), "figures of CPUs that nobody claims");
}

/// Cores of two threads, each with an L2, in packages of 12 CPUs with an L3.
fn packages_of_threads() -> Topology {
    let mut claimed = claims(24, &blocks(24, 12));
    claimed.packages = blocks(24, 12).into_iter().map(unit).collect();
    claimed.cores = blocks(24, 2).into_iter().map(unit).collect();
    claimed.caches.retain(|one| one.level == 3);
    claimed.caches.extend(blocks(24, 2).into_iter().map(|cpus| cache(2, cpus)));
    claimed.finish();
    claimed
}

#[test]
fn a_claim_that_the_figures_do_not_show_is_named() {
    let claimed = packages_of_threads();
    let found = measured(&claimed, &times(24, |a, b| if a / 12 == b / 12 { 30.0 } else { 120.0 })).unwrap();
    assert_eq!(found.corrections, []);
    let told = found.notes.join("\n");
    assert!(!told.contains("the claims agree with the figures"), "{told}");
    assert!(told.contains("is borne out: at most 30."), "{told}");
    assert!(told.contains("do not show the claimed core, L2: 0-1 | 2-3 | 4-5 | 6-7 and 8 more"), "{told}");
    assert!(told.contains("not borne out: ") && told.contains("sharing one makes no difference"), "{told}");
    assert!(found.reservations.iter().all(|one| found.topology.notes.contains(one)), "{found:?}");
    // With cores that are near, there is nothing to say.
    let ns = |a: u32, b: u32| match () {
        () if a / 2 == b / 2 => 8.0,
        () if a / 12 == b / 12 => 30.0,
        () => 120.0,
    };
    let found = measured(&claimed, &times(24, ns)).unwrap();
    assert!(found.notes[0].contains("the claims agree with the figures"), "{:?}", found.notes);
    assert!(found.reservations.iter().all(|one| one.starts_with("condition: ")), "{:?}", found.reservations);
}

#[test]
fn flat_figures_are_not_said_to_contradict_nothing() {
    let found = measured(&packages_of_threads(), &times(24, |_, _| 30.0)).unwrap();
    let told = found.notes.join("\n");
    assert!(found.notes[0].starts_with("nothing corrected: the figures are flat"), "{told}");
    assert!(told.contains("do not show the claimed core, L2") && !told.contains("nor contradicts"), "{told}");
}

#[test]
fn what_a_correction_leaves_uncertain_is_named() {
    let mut claimed = packages_of_threads();
    claimed.caches.retain(|one| one.level != 3);
    claimed.caches.push(cache(3, CpuSet::up_to(24)));
    claimed.packages = vec![unit(CpuSet::up_to(24))];
    claimed.finish();
    let found = measured(&claimed, &times(24, |a, b| if a / 12 == b / 12 { 30.0 } else { 120.0 })).unwrap();
    assert_eq!(levels(&found), [Level::L3]);
    assert!(found.reservations[0].contains("do not show the claimed core, L2"), "{found:?}");
    assert!(found.reservations.iter().any(|one| one.starts_with("condition: ")), "{found:?}");
}

/// Two of a kind within an L2 may be threads or cores: nothing is said that times do not tell.
#[test]
fn pairs_are_a_group_and_no_more() {
    let found =
        measured(&claims(8, &[CpuSet::up_to(8)]), &times(8, |a, b| if a / 2 == b / 2 { 8.0 } else { 30.0 }));
    let found = found.unwrap();
    assert_eq!(levels(&found), [Level::Module]);
    assert_eq!(sets(&found.topology, Level::Core), blocks(8, 1), "the cores stay");
    assert!(found.corrections[0].why.contains("cannot tell threads of a core"), "{found:?}");
    assert_written(&found);
}

#[test]
fn what_a_tool_cannot_express_is_said() {
    let figures = times(12, |a, b| if (a < 4) == (b < 4) { 25.0 } else { 95.0 });
    let found = measured(&claims(12, &[CpuSet::up_to(12)]), &figures).unwrap();
    assert_eq!(sets(&found.topology, Level::L3).iter().map(CpuSet::len).collect::<Vec<_>>(), [4, 8]);
    let uneven = suggest(Tool::Qemu, &found.topology);
    assert!(uneven.options.is_empty() && uneven.lacks[0].contains("L3 0-3 | 4-11"), "{uneven:?}");

    let figures = times(16, |a, b| if a % 2 == b % 2 { 25.0 } else { 95.0 });
    let found = measured(&claims(16, &[CpuSet::up_to(16)]), &figures).unwrap();
    let scattered = suggest(Tool::Libvirt, &found.topology);
    assert!(scattered.options[2].contains("sockets='1' dies='2' cores='8' threads='1'"), "{scattered:?}");
    assert!(
        scattered.lacks[0].contains("numbered in order") && scattered.lacks[0].contains("0,2,4"),
        "{scattered:?}"
    );

    let kernel = suggest(Tool::Kernel, &found.topology);
    assert!(kernel.lacks[0].contains("no kernel option") && kernel.options.len() == 2, "{kernel:?}");
    assert!(kernel.options[1].contains("cpuset.cpus.partition"), "{kernel:?}");
    let one = suggest(Tool::Kernel, &claims(8, &[CpuSet::up_to(8)]));
    assert!(one.options.is_empty() && one.lacks[1].contains("no groups"), "{one:?}");
}
