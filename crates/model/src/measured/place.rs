//! Which claim a measured level replaces.

use crate::Level as Found;
use coho_topology::{Cache, CacheKind, CpuSet, Level, Topology, Unit};

use super::effect::{Effect, effect};
use super::{Correction, listed};
use crate::Matrix;
use crate::audit::{Contradiction, a};

/// What a group of CPUs may share, innermost first. NUMA nodes are the operating system's and are not measured here.
const INWARD: [Level; 6] = [Level::Core, Level::Module, Level::L2, Level::L3, Level::Die, Level::Package];

/// A NUMA node may be what CPUs share, too, but it is never put in the place of a claim.
const CONFIRMED: [Level; 7] =
    [Level::Core, Level::Module, Level::L2, Level::L3, Level::Die, Level::Numa, Level::Package];

/// What makes a difference on any machine, where some CPUs share it and others do not.
const MATTERING: [Level; 3] = [Level::Core, Level::L3, Level::Package];

/// The most groups of one level that a sentence names.
const MOST_LISTED: usize = 4;
/// One claimed object in so many may be missing among the measured groups: its pair's time was odd.
const ODD: usize = 12;

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
    /// Claims that are wrong, and what the figures say instead.
    pub(super) wrong: Vec<Wrong>,
}

/// A wrong claim.
pub(crate) struct Wrong {
    pub(crate) contradiction: Contradiction,
    /// Claimed levels of which some object has CPUs of several measured groups, but not whole ones.
    pub(crate) crossed: Vec<Level>,
}

/// Puts every measured level in its place. Where `is_biased`, levels beyond those measured cannot be told.
pub(super) fn all(claimed: &Topology, levels: &[Found], matrix: &Matrix, is_biased: bool) -> Placed {
    let mut topology = claimed.clone();
    let (mut corrections, mut notes): (Vec<Correction>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut reservations, mut contradicted) = (Vec::new(), Vec::new());
    let mut placed: Vec<Level> = Vec::new();
    let levels: Vec<Groups<'_>> = levels
        .iter()
        .map(|found| Groups {
            found,
            sets: found.groups.iter().map(|group| group.iter().copied().collect()).collect(),
        })
        .collect();
    for (at, groups) in levels.iter().enumerate() {
        let same: Vec<Level> = CONFIRMED
            .into_iter()
            .filter(|level| is_borne_out(&topology.partition(*level), &groups.sets))
            .collect();
        if !same.is_empty() {
            let names: Vec<String> = same.iter().map(Level::to_string).collect();
            notes.push(format!("the claimed {} is borne out: {}", names.join(", "), gap(groups.found)));
            placed.extend(same);
        }
        let is_claimed = has_claim(&placed, &topology, groups);
        let places = places(claimed, &topology, groups, &placed, is_claimed, matrix);
        if places.is_empty() && !is_claimed {
            let sets = some_of(groups.sets.iter());
            reservations.push(format!("no claim has these groups: {sets}; {}", gap(groups.found)));
            contradicted.push(wrong(claimed, None, &[], groups));
        }
        for (level, why) in places {
            let before = topology.partition(level);
            contradicted.push(wrong(claimed, Some(level), &before, groups));
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
        let before: Vec<CpuSet> = topology.partition(Level::Package).into_iter().cloned().collect();
        if enclose(&mut topology, groups, &levels[at..], &mut placed, &mut corrections) {
            let outermost = levels.last().unwrap_or(groups);
            let before: Vec<&CpuSet> = before.iter().collect();
            contradicted.push(wrong(claimed, Some(Level::Package), &before, outermost));
        }
    }
    for groups in &levels {
        let known = corrections.len();
        leave_out_crossing(&mut topology, groups, &placed, &mut corrections);
        for left_out in &corrections[known..] {
            let before = claimed.partition(left_out.level);
            contradicted.push(wrong(claimed, Some(left_out.level), &before, groups));
        }
    }
    let corrected: Vec<Level> = corrections.iter().map(|one| one.level).collect();
    contradicted.extend(without_effect(
        claimed,
        &levels,
        matrix,
        &[&placed[..], &corrected].concat(),
        is_biased,
    ));
    reservations.extend(not_shown(&topology, &placed));
    Placed { topology, corrections, notes, reservations, wrong: contradicted }
}

/// The claim that a measured level contradicts: what is claimed of the level that the groups stand for, if that is known.
fn wrong(claimed: &Topology, level: Option<Level>, before: &[&CpuSet], groups: &Groups<'_>) -> Wrong {
    let all = groups.sets.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
    let spanning: Vec<&CpuSet> = before
        .iter()
        .copied()
        .filter(|set| groups.sets.iter().filter(|group| group.intersects(set)).count() > 1)
        .collect();
    let claim = match level {
        Some(level) if !spanning.is_empty() => {
            let each = if spanning.len() > 1 { " each" } else { "" };
            format!("CPUs {} share {}{each}", some_of(spanning.into_iter()), a(level))
        }
        Some(level) if before.iter().any(|set| set.len() > 1) => {
            format!("CPUs {} do not share {}", some_of(before.iter().copied()), a(level))
        }
        Some(level) if !before.is_empty() && level != Level::Module => {
            format!("none of CPUs {all} share {}", a(level))
        }
        _ => {
            let span = |level: &Level| spans(&claimed.partition(*level), &groups.sets);
            let within = CONFIRMED.into_iter().find(span).map_or("the system", a);
            let no_core = claimed.partition(Level::Core).iter().all(|core| core.len() < 2);
            let cores = if no_core { "no two of them share a core, and " } else { "" };
            format!("CPUs {all}: {cores}nothing groups them within {within}")
        }
    };
    let is_crossed = |level: &Level| {
        let sets = claimed.partition(*level);
        sets.iter().any(|set| groups.sets.iter().any(|group| set.crosses(group)))
    };
    Wrong {
        contradiction: Contradiction {
            level,
            cpus: all.iter().collect(),
            claim,
            figures: format!("the figures group {}: {}", some_of(groups.sets.iter()), gap(groups.found)),
        },
        crossed: CONFIRMED.into_iter().filter(is_crossed).collect(),
    }
}

/// Claims that should make a difference on any machine, and make none within the groups that the figures show.
fn without_effect(
    claimed: &Topology,
    levels: &[Groups<'_>],
    matrix: &Matrix,
    known: &[Level],
    is_biased: bool,
) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for level in MATTERING.into_iter().filter(|level| !known.contains(level)) {
        if is_biased && level == Level::Package {
            continue;
        }
        let sets = claimed.partition(level);
        if let Effect::None { near_ns, far_ns, pairs } = effect_within(matrix, &sets, levels, level) {
            let cpus: CpuSet = sets.iter().filter(|set| set.len() > 1).flat_map(|set| set.iter()).collect();
            let cpus: CpuSet = cpus.iter().filter(|cpu| matrix.cpus().contains(cpu)).collect();
            let contradiction = Contradiction {
                level: Some(level),
                claim: format!("pairs of CPUs {cpus} share {} each", a(level)),
                figures: format!(
                    "sharing one makes no difference: {near_ns:.1} ns within, {far_ns:.1} ns across (medians of {} and {} \
                     pairs)",
                    pairs[0], pairs[1]
                ),
                cpus: cpus.iter().collect(),
            };
            wrong.push(Wrong { contradiction, crossed: Vec::new() });
        }
    }
    wrong
}

/// What it changes to share an object, among the pairs within the finest measured groups that hold several of them, but not
/// within finer groups.
fn effect_within(matrix: &Matrix, sets: &[&CpuSet], levels: &[Groups<'_>], level: Level) -> Effect {
    let all = [matrix.cpus().iter().copied().collect::<CpuSet>()];
    let holds = |groups: &[CpuSet]| is_inside(sets, groups);
    let at = levels.iter().position(|groups| holds(&groups.sets) && !is_same(sets, &groups.sets));
    let outer = at.map_or(&all[..], |at| &levels[at].sets);
    let finer = at.unwrap_or(levels.len()).checked_sub(1).map_or(&[][..], |finer| &levels[finer].sets);
    if finer.iter().any(|group| sets.iter().any(|set| set.crosses(group))) {
        return Effect::Unknown;
    }
    effect(matrix, sets, outer, finer, level == Level::Core)
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

/// Whether the figures confirm a claim: it has the same groups, except for a few of its objects whose CPUs are all alone
/// among the groups.
fn is_borne_out(claim: &[&CpuSet], groups: &[CpuSet]) -> bool {
    if is_same(claim, groups) {
        return true;
    }
    let several: Vec<&CpuSet> = claim.iter().copied().filter(|set| set.len() > 1).collect();
    let is_alone = |cpu: u32| groups.iter().any(|group| group.len() == 1 && group.contains(cpu));
    let missing = several.iter().filter(|set| !groups.contains(set));
    let are_alone = missing.clone().all(|set| set.iter().all(is_alone));
    let are_claimed = groups.iter().filter(|group| group.len() > 1).all(|group| several.contains(&group));
    are_claimed && are_alone && ODD * missing.count() <= several.len() && !several.is_empty()
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
    matrix: &Matrix,
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
        claim.iter().any(|set| groups.sets.iter().any(|group| set.crosses(group)))
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
    // L3s whose CPUs are nearer than others of the group are no mere parts of one, although no level shows them.
    let has_effect = |sets: &[&CpuSet]| {
        sets.iter().any(|set| set.len() > 1)
            && !matches!(effect(matrix, sets, &groups.sets, &[], false), Effect::None { .. })
    };
    let pairs_only = groups.sets.iter().all(|set| set.len() <= 2) && inner(&cores) == 1;
    if larger_than_inner
        && !pairs_only
        && free(&Level::L3)
        && (l3.is_empty() || spans(&l3, &groups.sets) || is_inside(&l3, &groups.sets) && !has_effect(&l3))
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

/// Packages that are only parts of a group are not packages: the outermost groups replace them. Whether they did.
fn enclose(
    topology: &mut Topology,
    groups: &Groups<'_>,
    outward: &[Groups<'_>],
    placed: &mut Vec<Level>,
    corrections: &mut Vec<Correction>,
) -> bool {
    let packages = topology.partition(Level::Package);
    let parts = |set: &CpuSet| packages.iter().filter(|package| package.is_subset(set)).count() > 1;
    if placed.contains(&Level::Package) || !groups.sets.iter().any(parts) {
        return false;
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
    true
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
        if !claim.iter().any(|set| groups.sets.iter().any(|group| set.crosses(group))) {
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
