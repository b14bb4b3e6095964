//! Passes over the pairs: in random order, with disjoint pairs at the same time if a pilot allows.

use std::collections::BTreeMap;
use std::time::Instant;

use super::arena::GROUPS;
use super::cells::Cell;
use super::run::Effort;
use super::schedule::{self, Pair, ranks};
use super::singles;
use super::survey::Survey;
use super::visit::{Kind, Task, Visit, settle};
use crate::frame::Phase;
use crate::statistics;
use crate::workers::Job;

/// The most pairs that a class's pilot runs at once.
const PILOT: usize = 16;
/// Shift of the figures beyond which pairs count as disturbing each other.
const DISTURBANCE: f64 = 0.02;

impl Survey<'_> {
    /// Each CPU alone, in as many passes.
    pub(super) fn measure_alone(&mut self) {
        let effort = Effort::new(16, 32, self.options.target_half_width);
        for _ in 0..self.options.passes {
            if self.frame.end().has_come() {
                break;
            }
            self.measure_singles(&effort);
            self.frame.method.passes += 1;
        }
    }

    pub(super) fn measure_pairs(&mut self) {
        let effort = Effort::new(GROUPS, 2 * GROUPS, self.options.target_half_width);
        // These come first, since every machine can provide them.
        self.measure_singles(&effort);
        if self.samples() {
            self.sample(&effort);
        } else if self.options.concurrent {
            self.pilot(&effort);
        }
        self.choose_by_line();
        let passes = self.options.passes.saturating_sub(self.frame.method.passes);
        let mut phase = Phase::new("pairs", self.shared.len() as u64 * passes);
        for _ in 0..passes {
            self.measure_singles(&effort);
            if !self.pass(|cell| !cell.is_kept(), &effort, &mut phase) {
                return;
            }
            self.measure_by_line(&effort);
            self.frame.method.passes += 1;
        }
        let target = self.options.target_half_width;
        for _ in 0..self.options.extra_passes {
            let poor =
                self.shared.iter().filter(|shared| shared.cells.iter().any(|cell| !cell.is_good(target)));
            let poor = poor.count();
            if poor == 0 {
                break;
            }
            phase.grow(poor as u64);
            if !self.pass(|cell| !cell.is_good(target), &effort, &mut phase) {
                break;
            }
            self.frame.method.passes += 1;
        }
    }

    /// One pass over the cells that are wanted; returns whether it came to its end.
    pub(super) fn pass(
        &mut self,
        wanted: impl Fn(&Cell) -> bool,
        effort: &Effort,
        phase: &mut Phase,
    ) -> bool {
        let index: BTreeMap<Pair, usize> = self
            .shared
            .iter()
            .enumerate()
            .filter(|(_, shared)| shared.cells.iter().any(&wanted))
            .map(|(at, shared)| (shared.pair, at))
            .collect();
        self.measure_clock();
        for part in self.rounds(&index) {
            if self.frame.end().has_come() {
                return false;
            }
            let pairs: Vec<usize> = part.iter().map(|pair| index[pair]).collect();
            let start = Instant::now();
            self.visit(&pairs, &wanted, effort);
            self.visiting += start.elapsed();
            self.frame.advance(phase, pairs.len() as u64);
        }
        true
    }

    /// The pairs in parts that may run at once, in random order.
    fn rounds(&mut self, index: &BTreeMap<Pair, usize>) -> Vec<Vec<Pair>> {
        let mut order: Vec<_> = ranks(self.frame.cpus.len()).collect();
        self.frame.random.shuffle(&mut order);
        let core = self.cores();
        let mut parts = Vec::new();
        for mut round in schedule::tournament(&order) {
            round.retain(|pair| index.contains_key(pair));
            let class = |pair: Pair| self.shared[index[&pair]].claimed.as_str();
            parts.extend(schedule::split(&round, class, |rank| core[rank.0], &self.widths));
        }
        self.frame.random.shuffle(&mut parts);
        parts
    }

    /// The claimed core of each CPU, by number; a CPU that no core claims is its own.
    fn cores(&self) -> Vec<usize> {
        let cores = &self.topology.cores;
        let of = |cpu: u32| cores.iter().position(|core| core.cpus.contains(cpu));
        self.frame.cpus.iter().enumerate().map(|(at, &cpu)| of(cpu).unwrap_or(cores.len() + at)).collect()
    }

    /// Lets pairs that share no CPU meet at the same time.
    fn visit(&mut self, pairs: &[usize], wanted: &impl Fn(&Cell) -> bool, effort: &Effort) {
        let number = self.frame.method.passes as usize;
        let mut planned: Vec<(usize, Vec<(usize, Kind)>)> = Vec::new();
        let mut visits = Vec::new();
        for &at in pairs {
            let shared = &self.shared[at];
            let (a, b) = self.cpus_of(shared.pair);
            if [a, b].iter().any(|cpu| self.lost.contains_key(cpu)) {
                continue;
            }
            let mut plan: Vec<(usize, Kind, u64)> = shared
                .cells
                .iter()
                .enumerate()
                .filter(|(_, cell)| wanted(cell))
                .flat_map(|(cell, it)| it.kinds().map(move |(kind, rounds)| (cell, kind, rounds)))
                .collect();
            self.frame.random.shuffle(&mut plan);
            let mut tasks = Vec::with_capacity(plan.len());
            for &(cell, kind, rounds) in &plan {
                let place = self.place(shared.pair, shared.cells[cell].home).expect("cells have a place");
                tasks.push(Task { kind, lines: self.arenas[&place].lines_of(number), rounds });
            }
            planned.push((at, plan.into_iter().map(|(cell, kind, _)| (cell, kind)).collect()));
            visits.push((shared.pair, Visit::new(tasks, *effort)));
        }
        let cpus: Vec<u32> = visits.iter().flat_map(|((a, b), _)| [self.cpu(*a), self.cpu(*b)]).collect();
        let begun = Instant::now();
        let jobs = cpus.iter().copied().zip(visits.iter().flat_map(|(_, visit)| visit.jobs())).collect();
        let results = self.frame.workers.run(jobs);
        drop(visits);
        let parts = self.take_note(&cpus, results);
        for ((at, plan), parts) in planned.into_iter().zip(parts.chunks(2)) {
            for ((cell, kind), outcome) in plan.into_iter().zip(settle(parts)) {
                self.shared[at].cells[cell].add(kind, &outcome, begun);
            }
        }
    }

    fn measure_singles(&mut self, effort: &Effort) {
        let number = self.alone.iter().map(Vec::len).max().unwrap_or(0);
        for rank in ranks(self.frame.cpus.len()) {
            let cpu = self.cpu(rank);
            if self.lost.contains_key(&cpu) || self.frame.end().has_come() {
                continue;
            }
            let Some(arena) = self.own_arena(rank) else { continue };
            let job: Job<'_, _> = Box::new(|| singles::measure(arena, number, effort));
            let results = self.frame.workers.run(vec![(cpu, job)]);
            let alone = self.take_note(&[cpu], results);
            self.alone[rank.0].extend(alone.into_iter().flatten());
        }
    }

    /// Finds for each claimed class how many pairs may run at once.
    pub(super) fn pilot(&mut self, effort: &Effort) {
        let core = self.cores();
        let mut classes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, shared) in self.shared.iter().enumerate() {
            let class = classes.entry(shared.claimed.clone()).or_default();
            let apart = |&other: &usize| {
                let (pair, other) = (shared.pair, self.shared[other].pair);
                let cores = |pair: Pair| [core[pair.0.0], core[pair.1.0]];
                !cores(pair).iter().any(|one| cores(other).contains(one))
            };
            if class.len() < PILOT && class.iter().all(apart) {
                class.push(at);
            }
        }
        for (class, pairs) in classes {
            let width = schedule::width(pairs.len(), DISTURBANCE, |k| {
                if self.frame.end().has_come() || self.pilot_is_long() {
                    None
                } else {
                    self.disturbance(&pairs[..k], effort)
                }
            });
            // Even if sixteen pairs do not disturb each other, more might, since links are shared; so the width is
            // limited.
            self.widths.insert(class, width);
        }
    }

    /// Whether the pilot has used up its share of the time: it must not cost more than it saves.
    fn pilot_is_long(&self) -> bool {
        self.options.course.time_limit.is_some_and(|limit| self.frame.elapsed() > limit / 4)
    }

    /// Relative shift of some pairs' figures when they run at once: the median over the pairs.
    fn disturbance(&mut self, pairs: &[usize], effort: &Effort) -> Option<f64> {
        let mut apart = vec![Vec::new(); pairs.len()];
        let mut together = vec![Vec::new(); pairs.len()];
        for _ in 0..3 {
            for (samples, &at) in apart.iter_mut().zip(pairs) {
                if self.pilot_is_long() {
                    return None;
                }
                samples.extend(self.trial(&[at], effort).remove(0));
            }
            for (samples, more) in together.iter_mut().zip(self.trial(pairs, effort)) {
                samples.extend(more);
            }
        }
        let mut shifts: Vec<f64> = apart
            .into_iter()
            .zip(together)
            .filter_map(|(apart, together)| {
                let (apart, together) = (statistics::estimate(&[apart])?, statistics::estimate(&[together])?);
                Some(together.median / apart.median - 1.0)
            })
            .collect();
        shifts.sort_by(f64::total_cmp);
        let shift = statistics::median(&shifts);
        shift.is_finite().then_some(shift)
    }

    /// Samples of the first cell of each pair, not kept.
    fn trial(&mut self, pairs: &[usize], effort: &Effort) -> Vec<Vec<f64>> {
        let before: Vec<Vec<Cell>> = pairs.iter().map(|&at| self.shared[at].cells.clone()).collect();
        for &at in pairs {
            self.shared[at].cells = before_first(&self.shared[at].cells);
        }
        self.visit(pairs, &|_| true, effort);
        pairs
            .iter()
            .zip(before)
            .map(|(&at, cells)| {
                let trial = std::mem::replace(&mut self.shared[at].cells, cells);
                trial.into_iter().flat_map(Cell::into_samples).collect()
            })
            .collect()
    }
}

/// A new cell like the first.
fn before_first(cells: &[Cell]) -> Vec<Cell> {
    cells.first().map(|cell| Cell::new(cell.method, cell.home, None)).into_iter().collect()
}
