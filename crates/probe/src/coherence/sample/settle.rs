//! What the proposals do not explain.

use std::collections::BTreeSet;

use super::groups::Groups;
use super::{GAP, PLAIN_GAP, Sampling};

/// The ratio of neighbouring times that divides CPUs for which there is no proposal.
const DIVIDES: f64 = 1.2;

impl Sampling<'_, '_> {
    /// Settles the CPUs that the proposals place wrongly, or all if one CPU's times have a plain gap that none explains: a
    /// proposal that does has been tried on all, and its gap, if it is not true of the others, is that CPU's alone.
    pub(super) fn settle(&mut self, proposals: &[Groups]) -> Option<()> {
        let mut true_ones: Vec<&Groups> = Vec::new();
        let mut unsettled = BTreeSet::new();
        let met = self.met();
        for groups in proposals {
            let around: Vec<Around> =
                met.iter().enumerate().map(|(cpu, met)| Around::of(cpu, met, groups, &true_ones)).collect();
            let judged: Vec<(usize, bool)> = around
                .iter()
                .enumerate()
                .filter_map(|(cpu, around)| Some((cpu, around.is_near()?)))
                .collect();
            let wrong: Vec<usize> = judged.iter().filter(|(_, near)| !near).map(|&(cpu, _)| cpu).collect();
            if 4 * wrong.len() > judged.len() {
                continue;
            }
            for cpu in wrong {
                unsettled.extend(groups.group(cpu));
            }
            unsettled.extend(self.near_though_apart(groups, &around));
            true_ones.push(groups);
        }
        let is_explained = |near: &[usize]| proposals.iter().any(|groups| groups.are_about(0, near));
        if self.near_sets(0, PLAIN_GAP).iter().any(|(near, _)| !is_explained(near)) {
            return self.divide((0..self.n).collect());
        }
        if unsettled.is_empty() {
            return Some(());
        }
        // One of each settled group stands for it.
        if let Some(finest) = true_ones.first() {
            let settled = finest.iter().filter(|group| group.iter().all(|cpu| !unsettled.contains(cpu)));
            let some: Vec<usize> = settled.map(|group| group[0]).collect();
            unsettled.extend(some);
        }
        self.divide(unsettled.into_iter().collect())
    }

    /// Whom each CPU has met, and the times.
    fn met(&self) -> Vec<Vec<(usize, f64)>> {
        let mut met = vec![Vec::new(); self.n];
        for (&(a, b), ns) in &self.sample.times {
            if let Some(ns) = *ns {
                met[a].push((b, ns));
                met[b].push((a, ns));
            }
        }
        met
    }

    /// The groups of CPUs that are as near to each other as to their own groups, though they are in different ones.
    fn near_though_apart(&self, groups: &Groups, around: &[Around]) -> BTreeSet<usize> {
        let mut cpus = BTreeSet::new();
        for (&(a, b), ns) in &self.sample.times {
            let (Some(ns), Some(of_a), Some(of_b)) = (*ns, around[a].middle(), around[b].middle()) else {
                continue;
            };
            if !groups.same(a, b) && ns <= of_a.min(of_b) {
                cpus.extend(groups.group(a).iter().chain(groups.group(b)));
            }
        }
        cpus
    }

    /// Divides CPUs into near and far from one of them, which meets all others, and so on.
    fn divide(&mut self, cpus: Vec<usize>) -> Option<()> {
        let mut parts = vec![cpus];
        while let Some(part) = parts.pop() {
            // A CPU that is alone in its part sees no gap where the others have one, so a second one is asked.
            for &pivot in part.iter().take(2) {
                self.meet(part.iter().map(|&other| (pivot, other)))?;
                if let Some((near, far)) = self.divided(&part, pivot) {
                    parts.extend([near, far]);
                    break;
                }
            }
        }
        Some(())
    }

    /// The CPUs near one and those far from it, if its times have a gap.
    fn divided(&self, part: &[usize], pivot: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let row = self.row(pivot, part.iter().copied());
        let gap = |at: usize| row[at].0 / row[at - 1].0;
        let widest = (1..row.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
        if gap(widest) < DIVIDES {
            return None;
        }
        let side = |row: &[(f64, usize)]| row.iter().map(|&(_, other)| other).collect::<Vec<_>>();
        let near = std::iter::once(pivot).chain(side(&row[..widest])).collect();
        Some((near, side(&row[widest..])))
    }
}

/// A CPU's times in a proposed partition, in ascending order.
struct Around {
    /// With others of its group. Those of its group in finer partitions do not count.
    inside: Vec<f64>,
    /// With all others.
    outside: Vec<f64>,
}

impl Around {
    fn of(cpu: usize, met: &[(usize, f64)], groups: &Groups, finer: &[&Groups]) -> Self {
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for &(other, ns) in met {
            if !groups.same(cpu, other) {
                outside.push(ns);
            } else if !finer.iter().any(|finer| finer.same(cpu, other)) {
                inside.push(ns);
            }
        }
        inside.sort_by(f64::total_cmp);
        outside.sort_by(f64::total_cmp);
        Self { inside, outside }
    }

    fn middle(&self) -> Option<f64> {
        self.inside.get(self.inside.len() / 2).copied()
    }

    /// Whether the CPU is nearer to its group than to most others; `None` if its times do not tell.
    fn is_near(&self) -> Option<bool> {
        let outside = self.outside.get(self.outside.len() / 8)?;
        Some(self.middle()? * GAP <= *outside)
    }
}
