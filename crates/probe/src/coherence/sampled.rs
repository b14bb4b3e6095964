//! The first pass where a sample of the pairs stands for all: what it measures decides what comes next.

use coho_topology::Level;

use super::cells::Cell;
use super::run::Effort;
use super::sample::{self, Sample};
use super::schedule::Rank;
use super::survey::Survey;
use crate::frame::Phase;

impl Survey<'_> {
    /// Chooses the pairs, and measures each once.
    pub(super) fn sample(&mut self, effort: &Effort) {
        let claimed: Vec<_> = Level::OUTWARD.into_iter().map(|level| self.claimed_groups(level)).collect();
        let mut random = self.frame.random.fork();
        let mut phase = Phase::new("pairs that show groups", 0);
        let n = self.frame.cpus.len();
        let Sample { random: drawn, .. } =
            sample::sample(n, &claimed, &mut random, &mut |pairs| self.ask(pairs, effort, &mut phase));
        self.drawn = Some(drawn);
        self.frame.method.passes += 1;
    }

    /// Measures further pairs once; `None` if the time is over.
    fn ask(
        &mut self,
        pairs: &[sample::Pair],
        effort: &Effort,
        phase: &mut Phase,
    ) -> Option<Vec<Option<f64>>> {
        let from = self.shared.len();
        // A place that cannot be used is named in the profile.
        self.add(pairs.iter().map(|&(a, b)| (Rank(a), Rank(b))).collect()).ok()?;
        phase.grow(pairs.len() as u64);
        // The first pairs are all of one CPU, which can meet one other at a time.
        if self.options.concurrent && from > 0 && self.widths.is_empty() {
            self.pilot(effort);
        }
        if !self.pass(|cell| cell.estimate().is_none(), effort, phase) {
            return None;
        }
        let time = |cells: &[Cell]| cells.first().and_then(Cell::estimate).map(|ns| ns.median);
        Some(self.shared[from..].iter().map(|shared| time(&shared.cells)).collect())
    }

    /// The claimed groups of a level, by rank.
    fn claimed_groups(&self, level: Level) -> Vec<Vec<usize>> {
        let rank = |cpu: u32| self.frame.cpus.iter().position(|&other| other == cpu);
        let units = self.topology.partition(level);
        units.into_iter().map(|unit| unit.iter().filter_map(rank).collect()).collect()
    }
}
