//! What it costs to write lines back, or to remove them, by hand (Hamada et al., Fig. 7).

use coho_platform::stolen;
use coho_profile::CoherenceCost;

use super::lines::{self, LINE, LineOperation};
use super::survey::Survey;
use super::{Options, Region};
use crate::clock::Clock;
use crate::frame::Passes;
use crate::{Error, statistics};

/// Lines of the paper's blocks, and fewer.
const LINES: [usize; 6] = [1, 8, 64, 1024, 4096, LARGEST];
const LARGEST: usize = 16384;

/// One thing to time: the operation, lines, and how many of them are modified.
struct Cell {
    operation: &'static LineOperation,
    lines: usize,
    dirty: usize,
    passes: Vec<Vec<f64>>,
}

/// Adds the cost of each operation of this CPU.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    let (passes, samples) = if survey.options.quick { (4, 3) } else { (6, 10) };
    let mut cells = Vec::new();
    for operation in LineOperation::all() {
        if let Some(why) = operation.missing() {
            survey.lacks(operation.name, why);
            continue;
        }
        for lines in LINES {
            let mut dirty = vec![0, lines / 2, lines];
            dirty.dedup();
            cells.extend(dirty.into_iter().map(|dirty| Cell { operation, lines, dirty, passes: Vec::new() }));
        }
    }
    let end = survey.frame.end().clone();
    let passes = Passes::new(passes, cells.len(), &mut survey.frame.random, &end);
    let Options { paging, node, .. } = *survey.options;
    let cells = survey.on_first(move || -> Result<_, Error> {
        let region = Region::write_back_on(LARGEST * LINE, paging, node)?;
        for step in passes {
            let pass = cells[step.at].times(&region, samples);
            cells[step.at].passes.push(pass);
        }
        Ok(cells)
    })??;
    survey.memory.coherence_cost = cells.iter().filter_map(Cell::row).collect();
    Ok(())
}

impl Cell {
    fn row(&self) -> Option<CoherenceCost> {
        Some(CoherenceCost {
            operation: self.operation.name.into(),
            lines: self.lines as u64,
            dirty: self.dirty as u64,
            ns: Some(statistics::estimate(&self.passes)?),
        })
    }

    /// Times, in ns, of this many tries that nothing interrupted.
    fn times(&self, region: &Region, samples: usize) -> Vec<f64> {
        let clock = Clock::get();
        let bytes = self.lines * LINE;
        (0..samples)
            .filter_map(|_| {
                lines::flush(region, 0, bytes);
                lines::wait();
                region.load(0, bytes);
                region.dirty(0, self.dirty * LINE);
                lines::wait();
                let before = stolen::involuntary_switches();
                let start = clock.now();
                self.operation.act(region, 0, bytes);
                lines::wait();
                let ns = clock.ns(clock.now() - start);
                (stolen::involuntary_switches() == before).then_some(ns)
            })
            .collect()
    }
}
