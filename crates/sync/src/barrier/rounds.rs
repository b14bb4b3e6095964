//! FBS in rounds: in each round, a thread raises its flag of that round and waits for those of some others. There is
//! no root and no release, so a barrier takes as long as its rounds.
//!
//! Three numbers are enough in each round: no thread leaves a barrier before all have arrived at it, so a flag can be
//! at most one barrier ahead.

use super::call::Call;
use super::lend::Line;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::Ended;

/// For each rank, for each round, the ranks whose flags of that round it waits for.
pub(super) type Schedule = Vec<Vec<Vec<usize>>>;

/// One rank's part of the schedule.
type Awaited = Box<[Box<[usize]>]>;

#[derive(Debug)]
pub(super) struct Rounds {
    /// For each rank, a flag for each round.
    flags: Box<[Box<[Padded<Flag>]>]>,
    awaited: Box<[Padded<Awaited>]>,
}

impl Rounds {
    pub(super) fn new(schedule: Schedule) -> Self {
        let flags = |rounds: &Vec<Vec<usize>>| rounds.iter().map(|_| Padded(Flag::new())).collect();
        let boxed = |rounds: Vec<Vec<usize>>| Padded(rounds.into_iter().map(Vec::into_boxed_slice).collect());
        Self {
            flags: schedule.iter().map(flags).collect(),
            awaited: schedule.into_iter().map(boxed).collect(),
        }
    }

    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        for (round, awaited) in self.awaited[call.rank].iter().enumerate() {
            call.raise(&self.flags[call.rank][round]);
            for &other in awaited {
                call.wait_for(other, &self.flags[other][round])?;
            }
        }
        Ok(())
    }

    /// The lines of the flags.
    pub(super) fn lines(&mut self) -> impl Iterator<Item = Line<'_>> {
        self.flags.iter_mut().flatten().map(Line::of)
    }
}

/// Whether every thread knows of every arrival after the last round.
#[cfg(test)]
pub(super) fn is_complete(schedule: &Schedule) -> bool {
    let threads = schedule.len();
    let rounds = schedule.iter().map(Vec::len).max().unwrap_or(0);
    let mut known: Vec<Vec<bool>> =
        (0..threads).map(|rank| (0..threads).map(|other| other == rank).collect()).collect();
    for round in 0..rounds {
        let before = known.clone();
        for (rank, awaited) in schedule.iter().map(|rounds| &rounds[round]).enumerate() {
            for &other in awaited {
                for (mine, theirs) in known[rank].iter_mut().zip(&before[other]) {
                    *mine |= theirs;
                }
            }
        }
    }
    known.iter().flatten().all(|&knows| knows)
}
