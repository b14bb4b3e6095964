//! The partitions of the CPUs that the figures support.

use std::collections::BTreeMap;

use super::linkage::{Dendrogram, Partition};
use super::tick;
use super::times::Times;
use crate::stats::{Keep, middle, without_odd};

/// The most cuts of the dendrogram that are tried; a machine has fewer than ten levels.
const MOST_CUTS: usize = 24;
/// The smallest ratio of two times that can be a gap: within it, times are alike.
pub const LEAST_RATIO: f64 = 1.05;
/// How many times as wide as the scatter beside it, and as the figures' resolution, a narrow gap must be.
const SCATTERS: f64 = 2.5;
/// How likely it may be that times without any order arrange themselves into such groups.
const CHANCE: f64 = 0.05;
/// How likely it may be that a coarse clock arranges the times so.
const ACCIDENT: f64 = 0.001;
/// One in this many figures within groups may be odd: preempted while it was measured.
const ODD: usize = 12;

/// A partition whose groups are near within and far across.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) groups: Partition,
    /// A time in the gap: what is inside takes less, what is across takes more, except for odd figures.
    pub(super) bound_ns: f64,
    /// Time across the nearest groups over the time within the widest ones, without odd figures.
    ratio: f64,
}

/// The partitions that pass the tests, and whether any failed because its gap is one step of the clock.
pub(super) struct Cuts {
    pub(super) found: Vec<Cut>,
    pub(super) quantised: bool,
}

/// Tests the partitions before the widest gaps of the dendrogram, the coarsest first. One is supported if
/// - nearly all pairs that decide it have a time;
/// - its parts do not overlap: no figure within a group is larger than one between groups, except for a few odd ones;
/// - the gap is wide, and wider the fewer the CPUs and the more of them are alone, and times without any order would hardly
///   arrange themselves so, or scatter by less than the gap; or it is clean, and several times as wide as the scatter of the
///   times on both sides of it;
/// - the gap is not just one step of a coarse clock, unless all CPUs form groups of one size, which is no accident.
pub(super) fn supported(times: &Times, dendrogram: &Dendrogram) -> Cuts {
    let mut sorted: Option<Vec<f64>> = None;
    let mut cuts = Cuts { found: Vec::new(), quantised: false };
    let mut widest: Vec<usize> = dendrogram.gaps(LEAST_RATIO).into_iter().take(MOST_CUTS).collect();
    widest.sort_unstable_by_key(|merges| std::cmp::Reverse(*merges));
    for merges in widest {
        let groups = dendrogram.partition(merges);
        if !is_told(times, &groups) {
            continue;
        }
        let Some((inside, across)) = edges(times, &groups) else { continue };
        let ratio = across / inside;
        if ratio < LEAST_RATIO {
            continue;
        }
        let bound_ns = (inside * across).sqrt();
        let sorted = sorted.get_or_insert_with(|| {
            let mut all: Vec<f64> = times.all().filter(|&ns| times.is_measured(ns)).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        });
        let is_one_step =
            || tick::is_one_step(sorted, if times.is_measured(inside) { inside } else { 0.0 }, across);
        let wrong = wrong_side(times, &groups, bound_ns);
        let cut = || Cut { groups: groups.clone(), bound_ns, ratio };
        let Some(odd) = wrong.few() else {
            if is_wide(times.len(), &groups, ratio, 0) && wrong.is_no_accident(times, &groups) {
                cuts.found.push(cut());
            }
            continue;
        };
        let coarser = cuts.found.last().map(|cut: &Cut| cut.groups.as_slice());
        let is_beyond_chance = || {
            chance(times, &groups) <= CHANCE
                || times.is_measured(inside)
                    && (outdoes_scatter(times, &groups, None, ratio)
                        || coarser.is_some() && outdoes_scatter(times, &groups, coarser, ratio))
        };
        if !(is_wide(times.len(), &groups, ratio, odd) && is_beyond_chance())
            && (odd > 0 || !is_sharp(times, &groups, bound_ns))
        {
            continue;
        }
        if is_one_step() && !wrong.is_no_accident(times, &groups) {
            cuts.quantised = true;
        } else {
            cuts.found.push(cut());
        }
    }
    cuts
}

/// Whether the times decide on the groups: most pairs within each have one or, where few pairs of the machine have, as many
/// as its CPUs, so that none is held by one figure alone; and few CPUs are alone because they have none with each other.
fn is_told(times: &Times, groups: &Partition) -> bool {
    let are_timed = |group: &Vec<usize>| {
        let pairs = group.len() * (group.len() - 1) / 2;
        let timed = times.inside(group).count();
        2 * (pairs - timed) <= pairs.saturating_sub(1) || times.is_sample() && timed >= group.len()
    };
    groups.iter().all(are_timed) && 4 * untold(times, groups).len() <= times.len()
}

/// The CPUs that are alone in their groups, of which some other such CPU might be near: their pair has no time.
pub(super) fn untold(times: &Times, groups: &Partition) -> Vec<usize> {
    let alone: Vec<usize> = groups.iter().filter(|group| group.len() == 1).map(|group| group[0]).collect();
    let is_untold = |cpu: usize| alone.iter().any(|&other| other != cpu && times.get(cpu, other).is_none());
    alone.iter().copied().filter(|&cpu| is_untold(cpu)).collect()
}

/// How likely it is that the pairs within some groups of these sizes are the nearest of all if the times have no order: of
/// the ways to choose as many pairs, how many are groups of these sizes.
fn chance(times: &Times, groups: &[Vec<usize>]) -> f64 {
    let all = times.all().count();
    let inside = groups.iter().map(|group| times.inside(group).count()).sum::<usize>();
    (ways(times.len(), groups) - choices(all, inside)).exp()
}

/// The logarithm of the number of ways to form groups of these sizes.
fn ways(n: usize, groups: &[Vec<usize>]) -> f64 {
    let factorial = |n: usize| (2..=n).map(|factor| (factor as f64).ln()).sum::<f64>();
    let mut alike = BTreeMap::<usize, usize>::new();
    for group in groups {
        *alike.entry(group.len()).or_default() += 1;
    }
    let same = alike.iter().map(|(size, count)| *count as f64 * factorial(*size) + factorial(*count));
    factorial(n) - same.sum::<f64>()
}

/// The logarithm of the number of ways to choose some of all.
fn choices(all: usize, some: usize) -> f64 {
    let few = some.min(all - some);
    (1..=few).map(|nth| ((all - few + nth) as f64 / nth as f64).ln()).sum()
}

/// The times within the groups and those across, each in ascending order; of the latter only those within the groups of a
/// coarser partition, if there is one.
fn sides(times: &Times, groups: &[Vec<usize>], within: Option<&[Vec<usize>]>) -> [Vec<f64>; 2] {
    let group_index = super::group_of(times.len(), groups);
    let within = within.map(|groups| super::group_of(times.len(), groups));
    let (mut inside, mut across) = (Vec::new(), Vec::new());
    for (a, b, ns) in times.pairs() {
        if group_index[a] == group_index[b] {
            inside.push(ns);
        } else if within.as_ref().is_none_or(|within| within[a] == within[b]) {
            across.push(ns);
        }
    }
    inside.sort_unstable_by(f64::total_cmp);
    across.sort_unstable_by(f64::total_cmp);
    [inside, across]
}

/// Whether a gap of this ratio is wider than the times on each side of it are apart, but for a few odd ones: half as wide
/// again where it rests on one pair alone, less so the more pairs there are. What lies across a coarser level's groups is
/// another class.
fn outdoes_scatter(times: &Times, groups: &[Vec<usize>], within: Option<&[Vec<usize>]>, ratio: f64) -> bool {
    let sides = sides(times, groups, within);
    let pairs = sides[0].len() as f64;
    let most_apart = ratio.powf((pairs + 1.0) / (pairs + 2.0));
    sides.iter().all(|sorted| match sorted.first() {
        Some(first) => sorted[sorted.len() - 1 - sorted.len() / ODD] <= first * most_apart,
        None => false,
    })
}

/// Whether a gap is wide for so many CPUs, however the figures scatter.
fn is_wide(n: usize, groups: &Partition, ratio: f64, odd: usize) -> bool {
    let several = groups.iter().filter(|group| group.len() > 1);
    let (number, gathered) = several.fold((0, 0), |(number, cpus), group| (number + 1, cpus + group.len()));
    let asked = if 4 * gathered < n {
        if number < 2 || odd > 0 {
            return false;
        }
        2.5
    } else if 2 * gathered < n {
        2.0
    } else if gathered < n {
        1.4
    } else {
        1.0
    };
    ratio >= f64::max(asked, 1.1 + 1.0 / n as f64)
}

/// How many figures there are within groups, how many of them lie beyond the bound, and how many across groups within it.
struct WrongSide {
    pairs: usize,
    inside: usize,
    across: usize,
}

fn wrong_side(times: &Times, groups: &[Vec<usize>], bound_ns: f64) -> WrongSide {
    let group_index = super::group_of(times.len(), groups);
    let mut wrong = WrongSide { pairs: 0, inside: 0, across: 0 };
    for (a, b, ns) in times.pairs() {
        if group_index[a] == group_index[b] {
            wrong.pairs += 1;
            wrong.inside += usize::from(ns >= bound_ns);
        } else {
            wrong.across += usize::from(ns <= bound_ns);
        }
    }
    wrong
}

impl WrongSide {
    /// Their number; `None` if they are more than a few.
    fn few(&self) -> Option<usize> {
        (ODD * self.inside <= self.pairs && ODD * self.across <= self.pairs)
            .then_some(self.inside + self.across)
    }

    /// Whether every CPU is in a group, all groups are of one size, all pairs within them are near, hardly any other is, and
    /// as many near pairs would not arrange themselves so.
    fn is_no_accident(&self, times: &Times, groups: &[Vec<usize>]) -> bool {
        let size = groups[0].len();
        if size < 2
            || groups.iter().any(|group| group.len() != size)
            || self.inside > 0
            || 3 * self.across > self.pairs
        {
            return false;
        }
        let all = times.all().count();
        let others = choices(all - self.pairs, self.across);
        ways(times.len(), groups) + others - choices(all, self.pairs + self.across) <= ACCIDENT.ln()
    }
}

/// Whether the times on both sides of a gap lie close together, and the gap is wide in comparison.
fn is_sharp(times: &Times, groups: &Partition, bound_ns: f64) -> bool {
    let [inside, across] = sides(times, groups, None);
    let (Some(&below), Some(&above)) = (inside.last(), across.first()) else { return false };
    let gap = (above / below).ln();
    if groups.iter().any(|group| group.len() == 1)
        || across.len() < 4
        || below >= bound_ns
        || above <= bound_ns
    {
        return false;
    }
    // What lies beyond the next gap is another class.
    let scatter = |sorted: &mut dyn Iterator<Item = f64>, edge: f64| {
        let mut last = edge;
        for ns in sorted {
            if (ns / last).ln().abs() >= gap / 2.0 {
                break;
            }
            last = ns;
        }
        (last / edge).ln().abs()
    };
    let scatter =
        scatter(&mut inside.iter().rev().copied(), below).max(scatter(&mut across.iter().copied(), above));
    let steps = inside.windows(2).chain(across.windows(2)).map(|pair| pair[1] - pair[0]);
    let finest = steps.filter(|step| *step > 1e-9 * below).fold(f64::INFINITY, f64::min);
    let step = above - below;
    // Where no other step is seen, the gap is one only if the times are multiples of it.
    let is_multiple = |ns: f64| (ns / step - (ns / step).round()).abs() <= 0.2;
    let is_resolved = match finest.is_finite() {
        true => step >= SCATTERS * finest,
        false => !(is_multiple(below) && is_multiple(above)),
    };
    gap >= SCATTERS * scatter && is_resolved
}

/// The time within the widest groups and the time across the nearest ones.
fn edges(times: &Times, groups: &Partition) -> Option<(f64, f64)> {
    // The edge of each group, and its number of pairs.
    let mut inside: Vec<(f64, usize)> = Vec::new();
    let mut across = vec![f64::INFINITY; groups.len()];
    let mut cells = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        cells.clear();
        cells.extend(times.inside(group));
        if !cells.is_empty() {
            inside.push((without_odd(&mut cells, Keep::Low), cells.len()));
        }
        for (other, with) in groups.iter().enumerate().skip(index + 1) {
            cells.clear();
            cells.extend(times.across(group, with));
            if !cells.is_empty() {
                let near = without_odd(&mut cells, Keep::High);
                across[index] = across[index].min(near);
                across[other] = across[other].min(near);
            }
        }
    }
    across.retain(|ns| ns.is_finite());
    if across.is_empty() {
        return None;
    }
    // Groups with few of the pairs may be odd as a whole: threads of one core are a single pair.
    let mut spare = inside.iter().map(|(_, pairs)| pairs).sum::<usize>() / ODD;
    inside.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let widest = inside.iter().find(|(_, pairs)| match spare.checked_sub(*pairs) {
        Some(left) => {
            spare = left;
            false
        }
        None => true,
    });
    Some((widest?.0, without_odd(&mut across, Keep::High)))
}

/// The cuts that are levels of their own, finest first. Of several variants the more regular one stays: hardware
/// repeats itself, an odd figure does not.
pub(super) fn distinct(times: &Times, cuts: &[Cut]) -> Vec<Cut> {
    let mut order: Vec<&Cut> = cuts.iter().collect();
    order.sort_by(|a, b| {
        let sizes = |cut: &Cut| sizes(&cut.groups).len();
        sizes(a).cmp(&sizes(b)).then(b.ratio.total_cmp(&a.ratio))
    });
    let mut kept: Vec<Cut> = Vec::new();
    for cut in order {
        if !kept.iter().any(|other| are_variants(&cut.groups, &other.groups)) {
            kept.push(cut.clone());
        }
    }
    kept.sort_by_key(|cut| std::cmp::Reverse(cut.groups.len()));
    let is_real = |cut: &Cut| !kept.iter().any(|coarser| only_dissolves(times, cut, coarser));
    kept.iter().filter(|cut| is_real(cut)).cloned().collect()
}

/// Whether one partition is another one of which some groups are dissolved into single CPUs, although these are about as
/// near to each other as those of its groups: slower cores beside quicker ones, each kind in its cluster.
fn only_dissolves(times: &Times, finer: &Cut, coarser: &Cut) -> bool {
    let known: std::collections::HashSet<&Vec<usize>> = finer.groups.iter().collect();
    let dissolved: Vec<&Vec<usize>> = coarser.groups.iter().filter(|group| !known.contains(group)).collect();
    let into_single = |group: &&Vec<usize>| group.iter().all(|&cpu| known.contains(&vec![cpu]));
    if finer.groups.len() <= coarser.groups.len()
        || dissolved.is_empty()
        || !dissolved.iter().all(into_single)
    {
        return false;
    }
    let mut slower: Vec<f64> = dissolved.iter().flat_map(|group| times.inside(group)).collect();
    let (Some((near, _)), Some((_, far))) = (edges(times, &finer.groups), edges(times, &coarser.groups))
    else {
        return false;
    };
    !slower.is_empty() && {
        let slower = middle(&mut slower);
        slower / near < far / slower
    }
}

fn sizes(groups: &Partition) -> std::collections::BTreeSet<usize> {
    groups.iter().map(Vec::len).collect()
}

/// Whether the coarser of two partitions only completes the finer one. Where it gathers groups of a size that the
/// finer one lacks, such as clusters of another kind of core, both are levels.
fn are_variants(a: &Partition, b: &Partition) -> bool {
    let (finer, coarser) = if a.len() > b.len() { (a, b) } else { (b, a) };
    sizes(coarser).is_subset(&sizes(finer))
}
