//! The cost of WBINVD by what it writes back (Hamada et al., Fig. 7), if the module that may execute it is loaded.

use coho_profile::CoherenceCost;

use super::lines::LINE;
use super::provider::CacheFlusher;
use super::survey::Survey;
use super::{Options, Region, lines};
use crate::frame::Passes;
use crate::{Error, statistics};

const NAME: &str = "WBINVD";
/// Modified lines, up to the paper's 1 MiB.
const DIRTY: [usize; 5] = [0, 64, 1024, 4096, 16384];

/// Adds its cost on the first CPU, by modified lines; or why it is not available.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    let flusher = match CacheFlusher::open() {
        Ok(flusher) => flusher,
        Err(why) => {
            survey.lacks(NAME, why.to_string());
            return Ok(());
        }
    };
    let (passes, samples) = if survey.options.quick { (4, 3) } else { (6, 6) };
    let (cpu, end) = (survey.frame.cpus[0], survey.frame.end().clone());
    let Options { paging, node, .. } = *survey.options;
    let bytes = DIRTY[DIRTY.len() - 1] * LINE;
    let region = survey.on_first(move || Region::write_back_on(bytes, paging, node))??;
    let passes = Passes::new(passes, DIRTY.len(), &mut survey.frame.random, &end);
    match survey.on_first(move || times(&flusher, &region, cpu, passes, samples))? {
        Ok(times) => {
            let rows = DIRTY.into_iter().zip(&times).filter_map(|(dirty, times)| {
                Some(CoherenceCost {
                    operation: NAME.into(),
                    lines: DIRTY[DIRTY.len() - 1] as u64,
                    dirty: dirty as u64,
                    ns: Some(statistics::estimate(times)?),
                })
            });
            survey.memory.coherence_cost.extend(rows);
        }
        Err(why) => survey.lacks(NAME, why.to_string()),
    }
    Ok(())
}

/// Times in ns, by number of modified lines and pass.
fn times(
    flusher: &CacheFlusher,
    region: &Region,
    cpu: u32,
    passes: Passes,
    samples: usize,
) -> Result<[Vec<Vec<f64>>; DIRTY.len()], Error> {
    let bytes = DIRTY[DIRTY.len() - 1] * LINE;
    let mut all: [Vec<Vec<f64>>; DIRTY.len()] = Default::default();
    for step in passes {
        let sample = |_| {
            // Empties the caches first: besides the block, only lines that the machine itself modifies from here on remain.
            flusher.wbinvd(cpu)?;
            region.load(0, bytes);
            region.dirty(0, DIRTY[step.at] * LINE);
            lines::wait();
            flusher.wbinvd(cpu)
        };
        all[step.at].push((0..samples).map(sample).collect::<Result<_, Error>>()?);
    }
    Ok(all)
}
