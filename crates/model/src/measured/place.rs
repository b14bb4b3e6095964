//! Which claim a measured level replaces.

use crate::Level as Found;
use coho_topology::{Cache, CacheKind, CpuSet, Level, Topology, Unit};

use super::{Correction, listed};

/// What a group of CPUs may share, innermost first. NUMA nodes are the operating system's and are not measured here.
const INWARD: [Level; 6] = [Level::Core, Level::Module, Level::L2, Level::L3, Level::Die, Level::Package];

/// The most groups of one level that a sentence names.
const MOST_LISTED: usize = 4;

/// A level as sets of CPUs.
struct Groups<'a> {
    found: &'a Found,
    sets: Vec<CpuSet>,
}

/// The topology with every measured level in its place.
pub(super) struct Placed {
    pub(super) topology: Topology,
    pub(super) corrections: Vec<Correction>,
    /// Claims that the figures confirm.
    pub(super) notes: Vec<String>,
    /// Measured levels without a place, and claims that no level confirms.
    pub(super) reservations: Vec<String>,
}

/// Puts every measured level in its place.
pub(super) fn all(claimed: &Topology, levels: &[Found]) -> Placed {
    let mut topology = claimed.clone();
    let (mut corrections, mut notes): (Vec<Correction>, Vec<String>) = (Vec::new(), Vec::new());
    let mut reservations = Vec::new();
    let mut placed: Vec<Level> = Vec::new();
    let levels: Vec<Groups<'_>> = levels
        .iter()
        .map(|found| Groups {
            found,
            sets: found.groups.iter().map(|group| group.iter().copied().collect()).collect(),
        })
        .collect();
    for (at, groups) in levels.iter().enumerate() {
        let same: Vec<Level> =
            INWARD.into_iter().filter(|level| is_same(&topology.partition(*level), &groups.sets)).collect();
        if !same.is_empty() {
            let names: Vec<String> = same.iter().map(Level::to_string).collect();
            notes.push(format!("the claimed {} is borne out: {}", names.join(", "), gap(groups.found)));
            placed.extend(same);
        }
        let is_claimed = has_claim(&placed, &topology, groups);
        let places = places(claimed, &topology, groups, &placed, is_claimed);
        if places.is_empty() && !is_claimed {
            let sets = some_of(groups.sets.iter());
            reservations.push(format!("no claim has these groups: {sets}; {}", gap(groups.found)));
        }
        for (level, why) in places {
            let before = topology.partition(level);
            let before = if before.is_empty() { "not claimed".to_owned() } else { listed(before) };
            replace(&mut topology, level, &groups.sets);
            placed.push(level);
            corrections.push(Correction {
                level,
                claimed: before,
                measured: listed(&groups.sets),
                why: format!("{}; {why}", gap(groups.found)),
            });
        }
        enclose(&mut topology, groups, &levels[at..], &mut placed, &mut corrections);
    }
    for groups in &levels {
        leave_out_crossing(&mut topology, groups, &placed, &mut corrections);
    }
    reservations.extend(not_shown(&topology, &placed));
    Placed { topology, corrections, notes, reservations }
}

/// The claims that no measured level confirms, of those that times could: some CPUs share the object, others do not.
pub(super) fn not_shown(topology: &Topology, placed: &[Level]) -> Vec<String> {
    let all = topology.cpus().len();
    let can_be_timed = |sets: &[&CpuSet]| sets.iter().any(|set| (2..all).contains(&set.len()));
    let mut claims: Vec<(Vec<&CpuSet>, Vec<String>)> = Vec::new();
    for level in INWARD.into_iter().filter(|level| !placed.contains(level)) {
        let sets = topology.partition(level);
        match claims.iter_mut().find(|(known, _)| *known == sets) {
            Some((_, names)) => names.push(level.to_string()),
            None if can_be_timed(&sets) => claims.push((sets, vec![level.to_string()])),
            None => {}
        }
    }
    let sentences = claims.into_iter().map(|(sets, names)| {
        format!("the figures do not show the claimed {}: {}", names.join(", "), some_of(sets.into_iter()))
    });
    sentences.collect()
}

/// `0-1 | 2-3 | 4-5 | 6-7 and 8 more`.
fn some_of<'a>(mut sets: impl ExactSizeIterator<Item = &'a CpuSet>) -> String {
    let more = sets.len().saturating_sub(MOST_LISTED);
    let first = listed(sets.by_ref().take(MOST_LISTED));
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// Whether a claim already has these groups.
fn has_claim(placed: &[Level], topology: &Topology, groups: &Groups<'_>) -> bool {
    placed.iter().any(|level| is_same(&topology.partition(*level), &groups.sets))
}

/// `at most 25.0 ns within a group and at least 85.0 across`.
fn gap(found: &Found) -> String {
    format!(
        "at most {:.1} ns within a group, at least {:.1} across",
        found.max_inside_ns, found.min_across_ns
    )
}

/// Whether a claim has the same groups, apart from single CPUs, which claims need not mention.
fn is_same(claim: &[&CpuSet], groups: &[CpuSet]) -> bool {
    let several = |sets: &mut dyn Iterator<Item = &CpuSet>| {
        let mut sets: Vec<CpuSet> = sets.filter(|set| set.len() > 1).cloned().collect();
        sets.sort();
        sets
    };
    several(&mut claim.iter().copied()) == several(&mut groups.iter())
}

fn crosses(a: &CpuSet, b: &CpuSet) -> bool {
    a.intersects(b) && !a.is_subset(b) && !b.is_subset(a)
}

/// Whether every object lies within one group.
fn is_inside(claim: &[&CpuSet], groups: &[CpuSet]) -> bool {
    claim.iter().all(|set| groups.iter().any(|group| set.is_subset(group)))
}

/// Whether some object holds several groups, or parts of them.
fn spans(claim: &[&CpuSet], groups: &[CpuSet]) -> bool {
    claim.iter().any(|set| groups.iter().filter(|group| set.intersects(group)).count() > 1)
}

/// Which levels a group without a matching claim stands for, and why.
fn places(
    claimed: &Topology,
    topology: &Topology,
    groups: &Groups<'_>,
    placed: &[Level],
    is_claimed: bool,
) -> Vec<(Level, String)> {
    let sizes = |sets: &mut dyn Iterator<Item = &CpuSet>| {
        let mut sizes: Vec<usize> = sets.map(CpuSet::len).collect();
        sizes.sort_unstable();
        sizes
    };
    let free = |level: &Level| !placed.contains(level);
    let own = sizes(&mut groups.sets.iter());
    let is_crossed = |level: Level| {
        let claim = claimed.partition(level);
        claim.iter().any(|set| groups.sets.iter().any(|group| crosses(set, group)))
    };
    // A claim with groups of the same number and sizes, but other CPUs.
    let permuted: Vec<(Level, String)> = INWARD
        .into_iter()
        .filter(free)
        .filter(|level| is_crossed(*level) && sizes(&mut claimed.partition(*level).into_iter()) == own)
        .map(|level| (level, format!("the claimed {level} has groups of these sizes, of other CPUs")))
        .collect();
    if !permuted.is_empty() || is_claimed {
        return permuted;
    }
    let partition = |level| topology.partition(level);
    let (l2, l3, cores) = (partition(Level::L2), partition(Level::L3), partition(Level::Core));
    let larger_than_inner = is_inside(&l2, &groups.sets)
        && is_inside(&cores, &groups.sets)
        && !(l2.is_empty() && cores.is_empty())
        && !is_same(&l2, &groups.sets);
    let inner = |sets: &[&CpuSet]| sets.iter().map(|set| set.len()).max().unwrap_or(1);
    let pairs_only = groups.sets.iter().all(|set| set.len() <= 2) && inner(&cores) == 1;
    if larger_than_inner
        && !pairs_only
        && free(&Level::L3)
        && (l3.is_empty() || spans(&l3, &groups.sets) || is_inside(&l3, &groups.sets))
    {
        let why = match () {
            () if l3.is_empty() => "no L3 is claimed",
            () if spans(&l3, &groups.sets) => "the claimed L3 spans several",
            () => "the claimed L3s are parts of them",
        };
        let why = format!(
            "{why}. CPUs that are nearer than others, but not through a core or an L2, are taken to share \
             an L3; times cannot tell an L3 from a part of one"
        );
        return vec![(Level::L3, why)];
    }
    if larger_than_inner
        && !pairs_only
        && free(&Level::Die)
        && is_inside(&l3, &groups.sets)
        && partition(Level::Die).is_empty()
    {
        let why = "beyond an L3 and within a package; times cannot tell a die from a package or a NUMA node"
            .to_owned();
        return vec![(Level::Die, why)];
    }
    if free(&Level::Module) && partition(Level::Module).is_empty() {
        let why = "times cannot tell threads of a core from cores that share a cache: it is a group, and no more is known"
            .to_owned();
        return vec![(Level::Module, why)];
    }
    Vec::new()
}

/// Replaces a level's objects by groups. What a cache of another extent holds was not measured.
fn replace(topology: &mut Topology, level: Level, sets: &[CpuSet]) {
    let unit = |(id, cpus): (usize, &CpuSet)| Unit { id: Some(id as u32), cpus: cpus.clone() };
    let units = || sets.iter().enumerate().map(unit).collect::<Vec<_>>();
    match level {
        Level::Core => topology.cores = units(),
        Level::Module => topology.modules = units().into_iter().filter(|unit| unit.cpus.len() > 1).collect(),
        Level::Die => topology.dies = units(),
        Level::Package => topology.packages = units(),
        Level::L2 | Level::L3 => {
            let depth = if level == Level::L2 { 2 } else { 3 };
            let is = |cache: &Cache| cache.level == depth && cache.kind != CacheKind::Instruction;
            let line_bytes = topology.caches.iter().find_map(|cache| cache.line_bytes);
            topology.caches.retain(|cache| !is(cache));
            topology.caches.extend(sets.iter().map(|cpus| Cache {
                level: depth,
                kind: CacheKind::Unified,
                size_bytes: 0,
                line_bytes,
                ways: None,
                cpus: cpus.clone(),
            }));
        }
        _ => {}
    }
}

/// Packages that are only parts of a group are not packages: the outermost groups replace them.
fn enclose(
    topology: &mut Topology,
    groups: &Groups<'_>,
    outward: &[Groups<'_>],
    placed: &mut Vec<Level>,
    corrections: &mut Vec<Correction>,
) {
    let packages = topology.partition(Level::Package);
    let parts = |set: &CpuSet| packages.iter().filter(|package| package.is_subset(set)).count() > 1;
    if placed.contains(&Level::Package) || !groups.sets.iter().any(parts) {
        return;
    }
    let outermost = outward.last().unwrap_or(groups);
    let claimed = listed(packages);
    replace(topology, Level::Package, &outermost.sets);
    topology.dies.clear();
    placed.push(Level::Package);
    corrections.push(Correction {
        level: Level::Package,
        claimed,
        measured: listed(&outermost.sets),
        why: format!(
            "{}; CPUs that are claimed to be in different packages are as near as those of one",
            gap(outermost.found)
        ),
    });
}

/// Leaves out claims that cross the groups, which no tree can hold beside them and no figure has confirmed.
fn leave_out_crossing(
    topology: &mut Topology,
    groups: &Groups<'_>,
    placed: &[Level],
    corrections: &mut Vec<Correction>,
) {
    for level in INWARD.into_iter().filter(|level| !placed.contains(level)) {
        let claim = topology.partition(level);
        if !claim.iter().any(|set| groups.sets.iter().any(|group| crosses(set, group))) {
            continue;
        }
        corrections.push(Correction {
            level,
            claimed: listed(claim),
            measured: "left out".to_owned(),
            why: format!("{}; the claim crosses these groups: {}", gap(groups.found), listed(&groups.sets)),
        });
        match level {
            Level::Core => topology.cores.clear(),
            Level::Module => topology.modules.clear(),
            Level::Die => topology.dies.clear(),
            Level::L2 => topology.caches.retain(|cache| cache.level != 2),
            Level::L3 => topology.caches.retain(|cache| cache.level != 3),
            // There is always at least one package.
            _ => topology.packages = vec![Unit { id: Some(0), cpus: topology.cpus() }],
        }
    }
}
