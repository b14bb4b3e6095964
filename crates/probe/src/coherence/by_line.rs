//! Rounds over the lines of a few pairs, some after each pass, so that the two halves of the rounds are far apart in
//! time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::run::Effort;
use super::survey::Survey;
use super::visit::{Kind, Task, Visit, settle};

/// Pairs of each claimed class whose lines are compared.
const PAIRS: usize = 4;
/// Rounds after a pass,
const ROUNDS: usize = 2;
/// and in all.
const MOST: usize = 24;
/// Round trips on a line, in segments of a batch.
const SEGMENTS: u64 = 2;
/// Share of the run that the rounds may take, beyond a time that is always granted.
const SHARE: f64 = 0.15;
const GRANTED: Duration = Duration::from_millis(500);

impl Survey<'_> {
    /// Chooses a few pairs of each claimed class, at random.
    pub(super) fn choose_by_line(&mut self) {
        let mut order: Vec<usize> = (0..self.shared.len()).collect();
        self.frame.random.shuffle(&mut order);
        let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
        order.retain(|&at| {
            let shared = &self.shared[at];
            let of_class = chosen.entry(&shared.claimed).or_default();
            let wanted = *of_class < PAIRS && shared.cells.iter().any(|cell| cell.has_lines());
            *of_class += usize::from(wanted);
            wanted
        });
        self.by_line = order;
    }

    /// Some rounds over the lines of each chosen pair, after a pass, unless they have used up their share of the time.
    pub(super) fn measure_by_line(&mut self, effort: &Effort) {
        // A round that is broken off is not repeated: the next one comes in another order.
        let effort = Effort { fewest: 0, most: 0, ..*effort };
        for at in self.by_line.clone() {
            let most = GRANTED.max(self.frame.elapsed().mul_f64(SHARE));
            if self.frame.end().has_come() || self.measuring_by_line > most {
                return;
            }
            let start = Instant::now();
            self.visit_by_line(at, effort);
            self.measuring_by_line += start.elapsed();
        }
    }

    fn visit_by_line(&mut self, at: usize, effort: Effort) {
        let pair = self.shared[at].pair;
        let (a, b) = self.cpus_of(pair);
        let cpus = [a, b];
        if cpus.iter().any(|cpu| self.lost.contains_key(cpu)) {
            return;
        }
        let cells = self.shared[at].cells.iter().enumerate();
        let ready = cells.filter(|(_, cell)| cell.has_lines() && cell.line_rounds() < MOST);
        let mut plan: Vec<(usize, Kind, u64)> = Vec::new();
        for (cell, it) in ready {
            // Until a batch is calibrated, the length of a visit is not known.
            let Some((_, rounds)) = it.kinds().next().filter(|(_, rounds)| *rounds > 0) else { continue };
            plan.extend(
                (0..ROUNDS).map(|_| (cell, Kind::EachLine(self.frame.random.u64(..)), rounds * SEGMENTS)),
            );
        }
        self.frame.random.shuffle(&mut plan);
        let mut tasks = Vec::with_capacity(plan.len());
        for &(cell, kind, rounds) in &plan {
            let place = self.place(pair, self.shared[at].cells[cell].home).expect("cells have a place");
            tasks.push(Task { kind, lines: self.arenas[&place].lines(), rounds });
        }
        let visit = Visit::new(tasks, effort);
        let begun = Instant::now();
        let results = self.frame.workers.run(cpus.into_iter().zip(visit.jobs()).collect());
        drop(visit);
        let parts = self.take_note(&cpus, results);
        for ((cell, kind, _), outcome) in plan.into_iter().zip(settle(&parts)) {
            self.shared[at].cells[cell].add(kind, &outcome, begun);
        }
    }

    /// Pairs of CPUs whose lines were compared.
    pub(super) fn pairs_by_line(&self) -> usize {
        self.shared.iter().filter(|shared| shared.cells.iter().any(|cell| cell.line_rounds() > 0)).count()
    }
}
