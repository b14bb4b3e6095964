//! The matrix of pair times: CPUs in an order that shows groups, a view for each method and home.

mod alike;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use coho_profile::{Coherence, Home, PairMethod};
use coho_topology::{Level, Topology};

use crate::{Subject, scale, words};

/// More rows than this are drawn several CPUs to a cell: a screen has no more points to show them with.
const MAX_CELLS: usize = 512;
/// Finer groups than this are not marked; their lines would cover the map.
const MAX_GROUPS: usize = 64;

/// All that the maps of a profile show.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// Each cell's CPUs by name, in claimed order.
    pub labels: Vec<String>,
    /// The first CPU of each cell.
    pub first_cpus: Vec<u32>,
    /// CPUs in one cell; 1 unless there are very many.
    pub cpus_per_cell: usize,
    /// The first is shown first.
    pub views: Vec<View>,
    /// Orders of the cells; the first is shown first. Never empty.
    pub orders: Vec<Order>,
}

/// Pair times of one method with the lines at one home.
#[derive(Debug, Clone)]
pub struct View {
    pub method: PairMethod,
    /// Where the lines live.
    pub home: Home,
    /// Times in ns, row by row of the triangle above the diagonal ([`Matrix::time`]); NaN where not measured, unless a
    /// sample stands for all: then what is measured between the same groups.
    pub ns: Vec<f64>,
    /// How many cells hold a time that was measured.
    pub measured: usize,
}

/// The cells in an order and the bounds of the groups in it.
#[derive(Debug, Clone)]
pub struct Order {
    /// For people: `as claimed`.
    pub name: String,
    pub cells: Vec<usize>,
    /// Where groups begin, coarsest first.
    pub levels: Vec<Bounds>,
}

/// The bounds of one level's groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    pub name: String,
    /// Positions, in the order's cells, at which a group other than the first begins.
    pub cuts: Vec<usize>,
}

/// Where the pair of cells `i < j` of `n` stands in a triangle stored by rows.
fn index(n: usize, i: usize, j: usize) -> usize {
    i * (2 * n - i - 1) / 2 + (j - i - 1)
}

impl View {
    /// `turn, line at the node of the first CPU`.
    pub fn name(&self) -> String {
        let method = match self.method {
            PairMethod::Unknown => "method not stated",
            method => method.name(),
        };
        match self.home {
            Home::A => format!("{method}, line at the lower-numbered CPU's node"),
            Home::B => format!("{method}, line at the higher-numbered CPU's node"),
            Home::Third => format!("{method}, line at a third node"),
            Home::Unknown => method.to_owned(),
        }
    }

    /// As part of a file name: `turn-home-a`.
    pub fn file_stem(&self) -> String {
        let method = self.method.name();
        match self.home {
            Home::Unknown => method.to_owned(),
            home => format!("{method}-home-{}", home.name()),
        }
    }
}

impl Matrix {
    /// The matrix of a profile; `None` if it has no pairs.
    pub fn of(subject: &Subject) -> Option<Self> {
        let coherence = subject.coherence()?;
        let times = coherence.times().filter(|&(a, b, .., ns)| a != b && scale::is_time(ns));
        let cpus: BTreeSet<u32> = times.flat_map(|(a, b, ..)| [a, b]).collect();
        if cpus.is_empty() {
            return None;
        }
        let cpus = Vec::from_iter(cpus);
        let claimed = subject.topology().map(|topology| Grouping::claimed(topology, &cpus));
        let base = claimed.as_ref().map_or(&cpus, |claimed| &claimed.order).clone();
        let per_cell = base.len().div_ceil(MAX_CELLS);
        let cell_of: HashMap<u32, usize> =
            base.iter().enumerate().map(|(position, &cpu)| (cpu, position / per_cell)).collect();
        let label = |cell: &[u32]| match cell {
            [first, .., last] => {
                format!("CPUs {} … {}", subject.cpu_label(*first), subject.cpu_label(*last))
            }
            one => format!("CPU {}", subject.cpu_label(one[0])),
        };
        let mut orders = Vec::from_iter(claimed.map(|claimed| (claimed, "as claimed")));
        // Groups that the figures show need not be neighbours in the claimed order, so merged cells cannot follow them.
        let levels = &subject.answers.judgement.levels;
        if per_cell == 1 && !levels.is_empty() {
            orders.push((Grouping::measured(levels, &cpus), "as measured"));
        }
        if orders.is_empty() {
            orders.push((Grouping::new([], &cpus), "by number"));
        }
        Some(Self {
            labels: base.chunks(per_cell).map(|cell| words::short(&label(cell), 28)).collect(),
            first_cpus: base.chunks(per_cell).map(|cell| cell[0]).collect(),
            cpus_per_cell: per_cell,
            views: views(coherence, levels, &cell_of, base.len().div_ceil(per_cell)),
            orders: orders.into_iter().map(|(order, name)| order.into_order(name, &cell_of)).collect(),
        })
    }

    /// The time between two cells of a view; `None` where it was not measured.
    pub fn time(&self, view: &View, i: usize, j: usize) -> Option<f64> {
        let ns = (i != j).then(|| view.ns[index(self.labels.len(), i.min(j), i.max(j))]);
        ns.filter(|ns| scale::is_time(*ns))
    }
}

fn views(
    coherence: &Coherence,
    levels: &[coho_model::Level],
    cell_of: &HashMap<u32, usize>,
    n: usize,
) -> Vec<View> {
    let groups: Vec<Vec<usize>> = levels.iter().map(|level| groups_of(level, cell_of, n)).collect();
    let mut views = BTreeMap::<(PairMethod, Home), Vec<Vec<f64>>>::new();
    for (a, b, method, home, ns) in coherence.times() {
        let (Some(&i), Some(&j)) = (cell_of.get(&a), cell_of.get(&b)) else { continue };
        if i != j && scale::is_time(ns) {
            let cells = views.entry((method, home)).or_insert_with(|| vec![Vec::new(); n * (n - 1) / 2]);
            cells[index(n, i.min(j), i.max(j))].push(ns);
        }
    }
    let middle = |cell: Vec<f64>| scale::median(cell.into_iter()).unwrap_or(f64::NAN);
    let view = |((method, home), cells): (_, Vec<_>)| {
        let mut ns: Vec<f64> = cells.into_iter().map(middle).collect();
        let measured = ns.iter().filter(|ns| ns.is_finite()).count();
        if coherence.random_pairs().is_some() {
            alike::fill(&mut ns, &groups, n);
        }
        View { method, home, ns, measured }
    };
    views.into_iter().map(view).collect()
}

/// The group of each cell: that of its last CPU.
fn groups_of(level: &coho_model::Level, cell_of: &HashMap<u32, usize>, n: usize) -> Vec<usize> {
    let mut groups = vec![0; n];
    for (group, cpus) in level.groups.iter().enumerate() {
        cpus.iter().filter_map(|cpu| cell_of.get(cpu)).for_each(|&cell| groups[cell] = group);
    }
    groups
}

/// CPUs in an order, with the group of each at every level, coarsest first.
struct Grouping {
    order: Vec<u32>,
    levels: Vec<(String, HashMap<u32, usize>)>,
}

impl Grouping {
    fn claimed(topology: &Topology, cpus: &[u32]) -> Self {
        let groups = |level| topology.partition(level).iter().map(|set| set.iter().collect()).collect();
        Self::new(Level::OUTWARD.map(|level| (level.to_string(), groups(level))), cpus)
    }

    fn measured(levels: &[coho_model::Level], cpus: &[u32]) -> Self {
        let levels = levels.iter().enumerate();
        Self::new(levels.map(|(n, level)| (format!("level {}", n + 1), level.groups.clone())), cpus)
    }

    /// By the groups of each level, finest first.
    fn new(levels: impl IntoIterator<Item = (String, Vec<Vec<u32>>)>, cpus: &[u32]) -> Self {
        let group_of_each = |(name, groups): (String, Vec<Vec<u32>>)| {
            let groups = groups.into_iter().enumerate();
            (name, groups.flat_map(|(group, cpus)| cpus.into_iter().map(move |cpu| (cpu, group))).collect())
        };
        let mut levels: Vec<(String, HashMap<u32, usize>)> = levels.into_iter().map(group_of_each).collect();
        levels.reverse();
        let mut order = cpus.to_vec();
        // A CPU that a level does not name stands behind those that it does.
        order.sort_by_cached_key(|cpu| {
            let group = |of: &HashMap<u32, usize>| of.get(cpu).copied().unwrap_or(usize::MAX);
            (levels.iter().map(|(_, of)| group(of)).collect::<Vec<_>>(), *cpu)
        });
        Self { order, levels }
    }

    fn into_order(self, name: &str, cell_of: &HashMap<u32, usize>) -> Order {
        let mut cells: Vec<usize> = self.order.iter().map(|cpu| cell_of[cpu]).collect();
        cells.dedup();
        let mut levels: Vec<Bounds> = Vec::new();
        for (name, groups) in self.levels {
            let is_cut = |pair: &&[u32]| {
                groups.get(&pair[0]) != groups.get(&pair[1]) && cell_of[&pair[0]] != cell_of[&pair[1]]
            };
            let begin = |pair: &[u32]| cells.iter().position(|cell| *cell == cell_of[&pair[1]]);
            let mut cuts: Vec<usize> = self.order.windows(2).filter(is_cut).filter_map(begin).collect();
            cuts.dedup();
            let telling = !cuts.is_empty() && cuts.len() < MAX_GROUPS && cuts.len() + 1 < cells.len();
            if telling && levels.iter().all(|coarser| coarser.cuts != cuts) {
                levels.push(Bounds { name, cuts });
            }
        }
        Order { name: name.to_owned(), cells, levels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_triangle_is_stored_without_gaps() {
        let n = 7;
        let places: Vec<_> = (0..n).flat_map(|i| (i + 1..n).map(move |j| index(n, i, j))).collect();
        assert_eq!(places, (0..n * (n - 1) / 2).collect::<Vec<_>>());
    }

    #[test]
    fn claimed_groups_stand_together() {
        // Linux numbers SMT siblings apart; the map puts them side by side.
        let subject = Subject::load("published:kawabe-furuya/e5620").unwrap().remove(0);
        let matrix = Matrix::of(&subject).unwrap();
        let order = &matrix.orders[0];
        assert_eq!(order.name, "as claimed");
        assert_eq!(&matrix.labels[..2], ["CPU 0 P0.C0.T0", "CPU 8 P0.C0.T1"]);
        assert_eq!(order.levels[0], Bounds { name: "package".into(), cuts: vec![5] });
    }
}
