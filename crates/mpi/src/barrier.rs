//! `coho-mpi barrier`: our barrier beside `MPI_Barrier`, among the same ranks, by turns.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use coho_probe::barrier::Bursts;
use coho_probe::clock::Clock;
use coho_probe::mpi::done;
use coho_probe::statistics::estimate;
use coho_profile::Estimate;
use serde::Serialize;

use crate::job::{Barrier, Job};

/// Passes, each with a barrier of its own, whose lines lie elsewhere.
pub(crate) const PASSES: usize = 8;
/// How long a burst of barriers should take: short compared with a time slice.
const BURST: Duration = Duration::from_micros(30);
/// Pairs of bursts in a pass.
const FEWEST: u64 = 3;
const MOST: u64 = 300;

/// What was found.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    /// A barrier of coho-sync, in ns.
    pub(crate) ours_ns: Estimate,
    /// `MPI_Barrier`, in ns.
    pub(crate) mpi_barrier_ns: Estimate,
    /// Ours over MPI's, of bursts one right after the other.
    pub(crate) ratio: Estimate,
    /// The MPI's name and version.
    pub(crate) library: String,
    /// Ranks of each node, in their order.
    pub(crate) ranks_of_nodes: Vec<usize>,
}

/// Bursts of a pass, as rank 0 tells all others. None of either kind ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pass {
    /// Barriers in a burst of ours and of MPI's.
    repeats: [u64; 2],
    /// Bursts of each kind.
    pairs: u64,
    seed: u64,
}

impl Pass {
    const END: Self = Self { repeats: [0; 2], pairs: 0, seed: 0 };

    fn bytes(self) -> [u8; 32] {
        let words = [self.repeats[0], self.repeats[1], self.pairs, self.seed].map(u64::to_le_bytes);
        words.concat().try_into().expect("four words")
    }

    fn of_bytes(bytes: [u8; 32]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
        Self { repeats: [word(0), word(1)], pairs: word(2), seed: word(3) }
    }

    /// Which kind comes first in each pair.
    fn orders(self) -> impl Iterator<Item = [usize; 2]> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        (0..self.pairs).map(move |_| if random.bool() { [0, 1] } else { [1, 0] })
    }
}

/// Ours, and MPI's.
const OURS: usize = 0;
const MPIS: usize = 1;

/// Measures for about this long; all ranks call it. Only rank 0 has a result.
pub(crate) fn measure(job: &Job<'_>, limit: Duration) -> Result<Option<Found>> {
    let barriers = (0..PASSES).map(|place| job.barrier(place)).collect::<Result<Vec<_>>>()?;
    let ranks = Ranks { job, clock: Clock::get() };
    if job.library.rank > 0 {
        ranks.follow(&barriers)?;
        return Ok(None);
    }
    let passes = ranks.lead(&barriers, limit)?;
    let of = |kind: usize| {
        let times: Vec<_> = passes.iter().map(|pass| pass.iter().map(|pair| pair[kind]).collect()).collect();
        estimate(&times).context("nothing was timed")
    };
    let ratios: Vec<_> =
        passes.iter().map(|pass| pass.iter().map(|pair| pair[OURS] / pair[MPIS]).collect()).collect();
    Ok(Some(Found {
        ours_ns: of(OURS)?,
        mpi_barrier_ns: of(MPIS)?,
        ratio: estimate(&ratios).context("nothing was timed")?,
        library: job.library.version.clone(),
        ranks_of_nodes: job.nodes.iter().map(|(_, ranks)| *ranks).collect(),
    }))
}

struct Ranks<'j> {
    job: &'j Job<'j>,
    clock: Clock,
}

/// What a pair of bursts took, in ns a barrier.
type Pair = [f64; 2];

impl Ranks<'_> {
    /// Rank 0's part: finds how many barriers fill a burst, then times.
    fn lead(&self, barriers: &[Barrier<'_>], limit: Duration) -> Result<Vec<Vec<Pair>>> {
        let begun = Instant::now();
        let bursts = Bursts { count: 1, length: BURST };
        let mut repeats = [1; 2];
        for kind in [OURS, MPIS] {
            let mut failed = None;
            repeats[kind] = bursts.fill(|repeats| {
                let mut pass = Pass { repeats: [1; 2], pairs: 1, seed: 0 };
                pass.repeats[kind] = repeats;
                match self.pass(pass, &barriers[0]) {
                    Ok(pairs) => pairs[0][kind] * repeats as f64,
                    // Long enough; told below.
                    Err(error) => {
                        failed = Some(error);
                        f64::INFINITY
                    }
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let tried = Instant::now();
        self.pass(Pass { repeats, pairs: 1, seed: 0 }, &barriers[0])?;
        let pair = tried.elapsed().as_secs_f64().max(1e-6);
        let left = limit.saturating_sub(begun.elapsed()).as_secs_f64();
        let pairs = ((left / PASSES as f64 / pair) as u64).clamp(FEWEST, MOST);
        let passes = barriers
            .iter()
            .map(|barrier| self.pass(Pass { repeats, pairs, seed: fastrand::u64(..) }, barrier));
        let passes = passes.collect::<Result<Vec<_>>>()?;
        self.tell(Pass::END)?;
        Ok(passes)
    }

    fn tell(&self, pass: Pass) -> Result<()> {
        Ok(self.job.library.bcast(&mut pass.bytes())?)
    }

    /// Tells all others of a pass and takes part in it.
    fn pass(&self, pass: Pass, barrier: &Barrier<'_>) -> Result<Vec<Pair>> {
        self.tell(pass)?;
        self.take_part(pass, barrier)
    }

    /// The other ranks' part.
    fn follow(&self, barriers: &[Barrier<'_>]) -> Result<()> {
        let mut timed = 0;
        loop {
            let mut bytes = Pass::END.bytes();
            self.job.library.bcast(&mut bytes)?;
            let pass = Pass::of_bytes(bytes);
            if pass == Pass::END {
                return Ok(());
            }
            // Tries have no seed.
            self.take_part(pass, &barriers[timed])?;
            timed += usize::from(pass.seed != 0);
        }
    }

    fn take_part(&self, pass: Pass, barrier: &Barrier<'_>) -> Result<Vec<Pair>> {
        // What is first used is not timed.
        self.burst(OURS, 1, barrier)?;
        self.burst(MPIS, 1, barrier)?;
        let pair = |order: [usize; 2]| {
            let mut pair = [0.0; 2];
            for kind in order {
                pair[kind] = self.burst(kind, pass.repeats[kind], barrier)?;
            }
            Ok(pair)
        };
        pass.orders().map(pair).collect()
    }

    /// So many barriers of a kind after another of it, at which all have met; in ns each.
    fn burst(&self, kind: usize, repeats: u64, barrier: &Barrier<'_>) -> Result<f64> {
        let clock = &self.clock;
        if kind == OURS {
            barrier.wait()?;
            let begun = clock.now();
            for _ in 0..repeats {
                barrier.wait()?;
            }
            return Ok(clock.ns(clock.now() - begun) / repeats as f64);
        }
        let library = &self.job.library;
        done(library.barrier())?;
        let begun = clock.now();
        for _ in 0..repeats {
            done(library.barrier())?;
        }
        Ok(clock.ns(clock.now() - begun) / repeats as f64)
    }
}

impl Found {
    /// In words, for people.
    pub(crate) fn words(&self) -> String {
        let all: usize = self.ranks_of_nodes.iter().sum();
        let nodes = match &self.ranks_of_nodes[..] {
            [_] => "one node".to_owned(),
            nodes => format!("{} nodes", nodes.len()),
        };
        let time = |name: &str, ns: &Estimate| {
            format!("{name:12} {:8.1} ns ({:.1}–{:.1})\n", ns.median, ns.low, ns.high)
        };
        format!(
            "{all} ranks on {nodes}, {}\n{}{}ours takes {:.3} ({:.3}–{:.3}) times as long, of {} pairs of bursts\n",
            self.library.split(',').next().unwrap_or_default(),
            time("coho", &self.ours_ns),
            time("MPI_Barrier", &self.mpi_barrier_ns),
            self.ratio.median,
            self.ratio.low,
            self.ratio.high,
            self.ratio.n,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ranks_do_what_rank_0_tells() {
        let pass = Pass { repeats: [3, 70_000], pairs: 100, seed: u64::MAX - 4 };
        let heard = Pass::of_bytes(pass.bytes());
        assert_eq!(heard, pass);
        let orders: Vec<_> = pass.orders().collect();
        assert_eq!(orders, heard.orders().collect::<Vec<_>>());
        let ours_first = orders.iter().filter(|order| **order == [OURS, MPIS]).count();
        assert!(orders.len() == 100 && (20..80).contains(&ours_first), "{ours_first}");
    }
}
