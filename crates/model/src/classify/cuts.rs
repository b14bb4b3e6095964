//! Which partitions of the CPUs the figures support.

use super::linkage::{Dendrogram, Partition};
use super::tick;
use super::times::Times;
use crate::stats::{Keep, without_odd};

/// Cuts of the dendrogram that are looked at; a machine has fewer than ten levels.
const MOST_CUTS: usize = 24;
/// A partition of which no more CPUs changed sides is a variant of another, not a level of its own.
const VARIANT: f64 = 0.25;

/// A partition whose groups are near within and far across.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) groups: Partition,
    /// Time across the nearest groups to the time within the widest ones, odd figures left out.
    ratio: f64,
}

/// The partitions that stand the tests, and whether any failed since its gap is one step of the clock.
pub(super) struct Cuts {
    pub(super) found: Vec<Cut>,
    pub(super) quantised: bool,
}

/// Looks at the partitions before the widest gaps of the dendrogram. One is supported if
/// - groups are nearer within than to the nearest other group by a ratio that noise does not make: the fewer the
///   CPUs, the more is asked; more still if single CPUs are left over;
/// - nearly all groups, and nearly all times within and between them, bear it out: preemptions make odd figures;
/// - at least a quarter of the CPUs are in groups;
/// - the gap is not just one step of a coarse clock.
pub(super) fn supported(times: &Times, dendrogram: &Dendrogram) -> Cuts {
    let n = times.len();
    let mut sorted: Option<Vec<f64>> = None;
    let mut cuts = Cuts { found: Vec::new(), quantised: false };
    for merges in dendrogram.gaps(1.08).into_iter().take(MOST_CUTS) {
        let groups = dendrogram.partition(merges);
        let gathered: usize = groups.iter().map(Vec::len).filter(|&len| len > 1).sum();
        let asked = if 4 * gathered < n {
            continue;
        } else if 2 * gathered < n {
            2.0
        } else if gathered < n {
            1.4
        } else {
            1.0
        };
        let Some((inside, across)) = edges(times, &groups) else { continue };
        let ratio = across / inside;
        if ratio < f64::max(asked, 1.1 + 1.0 / n as f64) {
            continue;
        }
        let sorted = sorted.get_or_insert_with(|| {
            let mut all: Vec<f64> = times.all().collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        });
        if tick::is_one_step(sorted, inside, across) {
            cuts.quantised = true;
        } else {
            cuts.found.push(Cut { groups, ratio });
        }
    }
    cuts
}

/// The time within the widest groups and the time across the nearest ones.
fn edges(times: &Times, groups: &Partition) -> Option<(f64, f64)> {
    let mut inside = Vec::new();
    let mut across = vec![f64::INFINITY; groups.len()];
    let mut cells = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        cells.clear();
        cells.extend(times.inside(group));
        if !cells.is_empty() {
            inside.push(without_odd(&mut cells, Keep::Low));
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
    (!inside.is_empty() && !across.is_empty())
        .then(|| (without_odd(&mut inside, Keep::Low), without_odd(&mut across, Keep::High)))
}

/// The cuts that are levels of their own, finest first. Of variants the more regular one stays: hardware repeats
/// itself, an odd figure does not.
pub(super) fn distinct(cuts: &[Cut]) -> Vec<Cut> {
    let sizes = |cut: &Cut| {
        let mut sizes: Vec<usize> = cut.groups.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.len()
    };
    let mut order: Vec<&Cut> = cuts.iter().collect();
    order.sort_by(|a, b| sizes(a).cmp(&sizes(b)).then(b.ratio.total_cmp(&a.ratio)));
    let mut kept: Vec<Cut> = Vec::new();
    for cut in order {
        if kept.iter().all(|other| changed(&cut.groups, &other.groups) > VARIANT) {
            kept.push(cut.clone());
        }
    }
    kept.sort_by_key(|cut| std::cmp::Reverse(cut.groups.len()));
    kept
}

/// The share of the CPUs whose group differs between two partitions.
fn changed(a: &Partition, b: &Partition) -> f64 {
    let size_by_first = |groups: &Partition| {
        let mut of = std::collections::HashMap::new();
        for group in groups {
            for &cpu in group {
                of.insert(cpu, (group[0], group.len()));
            }
        }
        of
    };
    // Both come from one dendrogram: of nested groups, those with the same first CPU and size are the same.
    let (a, b) = (size_by_first(a), size_by_first(b));
    a.iter().filter(|(cpu, group)| b.get(cpu) != Some(group)).count() as f64 / a.len() as f64
}
