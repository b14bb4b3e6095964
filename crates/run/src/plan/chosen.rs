//! What a placement means on this machine, and why.

use std::collections::BTreeSet;

use coho_model::stability;
use coho_platform::load::{self, Busy};
use coho_platform::room::Room;
use coho_probe::placement::{self, Choice, Placement};
use coho_profile::{Coherence, Pair, PairMethod, Profile};
use coho_topology::CpuSet;

use super::execute::Machine;

/// A placement's CPUs, and how busy all CPUs were when they were chosen.
#[derive(Clone)]
pub(super) struct Chosen {
    placement: Placement,
    pub(super) choice: Choice,
    busy: Busy,
    /// Whether hosts use some of the placement's CPUs.
    is_narrowed: bool,
}

/// What was chosen, on which grounds.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The placement.
    pub placement: Placement,
    /// Its CPUs.
    pub choice: Choice,
    /// The CPUs that it was chosen from.
    pub room: Room,
    /// The grounds.
    pub why: Why,
    /// How threads and processes get the CPUs; `None` if there is nothing to distribute.
    pub order: Option<Order>,
    /// The threads that were asked for.
    pub threads: Option<u32>,
}

/// The figures that speak for a choice.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// The scheduler chooses; how many threads ran or waited to run in the last minute, if the kernel says.
    Scheduler(Option<f64>),
    /// The longest one-way times in ns.
    Distance {
        /// Within the choice.
        within: f64,
        /// Across all CPUs.
        all: f64,
        /// When they were measured.
        measured: Measured,
    },
    /// How busy CPUs were, of 1.
    Busy {
        /// The chosen ones.
        chosen: f64,
        /// The others, if there are any.
        others: Option<f64>,
    },
}

/// How threads and processes get a placement's CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each new thread the next.
    Threads,
    /// Each new process the next.
    Processes,
    /// OpenMP's threads in this order.
    OpenMp,
    /// The scheduler, within a mask.
    Mask,
}

/// When a profile's times between CPUs were measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// The date, if the profile has it.
    pub date: Option<String>,
    /// The condition under which the times hold, if they are not known to stay.
    pub condition: Option<String>,
}

impl Measured {
    /// Of a profile with times between CPUs.
    pub fn of(profile: &Profile) -> Self {
        let moves = |coherence: &&Coherence| {
            let disagree = coherence.history.as_ref().is_some_and(|history| history.disagree > 0);
            disagree || coherence.keeps_to_its_values() != Some(true)
        };
        Self {
            date: profile.host.as_ref().and_then(|host| host.date.clone()),
            condition: profile.coherence.as_ref().filter(moves).and_then(stability::condition),
        }
    }
}

impl Chosen {
    /// Chooses CPUs, by how busy they are where there is a choice. Where the scheduler has all of them, they are in
    /// topological order only `in_order`.
    pub(super) fn now(
        placement: &Placement,
        threads: Option<u32>,
        in_order: bool,
        machine: &Machine,
        look: impl FnOnce() -> Busy,
    ) -> Result<Self, coho_probe::Error> {
        // CPUs that the user names may lie beyond the inherited mask, as isolated ones do.
        let room = machine.reaching(&placement.named().iter().copied().collect())?;
        // A placement without a choice needs no look at the load.
        let open = *placement != Placement::None && room.cpus.len() > 1;
        let busy = if open { look() } else { Busy::default() };
        let threads = threads.map(|threads| threads as usize);
        let choice = match placement {
            Placement::None if !in_order => Choice::of(room.cpus.iter().collect()),
            _ => placement::choose(placement, threads, machine.topology()?, &room, &busy)?,
        };
        Ok(Self { placement: placement.clone(), choice, busy, is_narrowed: false })
    }

    /// The same choice, restricted to `cpus`.
    pub(super) fn within(mut self, cpus: &CpuSet) -> Self {
        self.is_narrowed |= !self.choice.cpus.is_subset(cpus);
        self.choice.cpus = self.choice.cpus.intersection(cpus);
        self.choice.order.retain(|cpu| cpus.contains(*cpu));
        self
    }

    /// The CPUs to confine a command to; `None` leaves it as it is.
    pub(super) fn mask(&self) -> Option<CpuSet> {
        (self.is_placed() || self.is_narrowed).then(|| self.choice.cpus.clone())
    }

    /// Whether the placement chooses, rather than the scheduler.
    pub(super) fn is_placed(&self) -> bool {
        self.placement != Placement::None
    }

    /// What was chosen, and why.
    pub(super) fn placed(&self, machine: &Machine, threads: Option<u32>, order: Order) -> Placed {
        Placed {
            placement: self.placement.clone(),
            choice: self.choice.clone(),
            room: machine.room.clone(),
            why: self.why(machine),
            order: (self.is_placed() && self.choice.cpus.len() > 1).then_some(order),
            threads,
        }
    }

    /// The longest one-way times, if a profile has them; otherwise how busy the CPUs were.
    fn why(&self, machine: &Machine) -> Why {
        if !self.is_placed() {
            return Why::Scheduler(load::average().ok());
        }
        let cpus = &self.choice.cpus;
        let farthest = |cpus: &CpuSet| farthest(machine, cpus);
        if let (Some(within), Some(all)) = (farthest(cpus), farthest(&machine.room.cpus)) {
            return Why::Distance { within, all, measured: machine.measured() };
        }
        let others = machine.room.cpus.difference(cpus);
        let others = (!others.is_empty()).then(|| self.busy.of(others.iter()));
        Why::Busy { chosen: self.busy.of(cpus.iter()), others }
    }
}

/// The longest one-way time between two of these CPUs, in ns, if the profile has them all.
fn farthest(machine: &Machine, cpus: &CpuSet) -> Option<f64> {
    let coherence = machine.profile.as_ref()?.coherence.as_ref()?;
    let inside = |pair: &&Pair| {
        pair.method == PairMethod::Turn && cpus.contains(pair.a) && cpus.contains(pair.b) && pair.a != pair.b
    };
    let pairs: Vec<_> = coherence.pairs.iter().filter(inside).collect();
    let seen: BTreeSet<_> = pairs.iter().map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b))).collect();
    let all = cpus.len() * cpus.len().saturating_sub(1) / 2;
    (all > 0 && seen.len() == all).then(|| pairs.iter().map(|pair| pair.ns.median).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, History, Home, Host};

    use super::*;

    #[test]
    fn a_stored_distance_comes_with_its_date_and_condition() {
        let pair = Pair {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            home: Home::A,
            ns: Estimate { n: 40, stable: Some(true), ..Estimate::exact(27.0) },
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: None,
        };
        let mut coherence = Coherence { cpus: vec![0, 1], pairs: vec![pair], ..Coherence::default() };
        coherence.method.duration_s = 1.0;
        let date = "2026-11-21T21:30:00Z";
        let condition = |coherence: &Coherence| {
            let measured = Measured::of(&Profile {
                host: Some(Host { date: Some(date.to_owned()), ..Host::default() }),
                coherence: Some(coherence.clone()),
                ..Profile::default()
            });
            assert_eq!(measured.date.as_deref(), Some(date));
            measured.condition.unwrap_or_default()
        };
        assert_eq!(condition(&coherence), "");
        coherence.history = Some(History { surveys: 4, modes_ns: vec![27.0, 128.0], disagree: 2 });
        assert!(condition(&coherence).starts_with("holds while the CPUs stay as far apart: 2 of 4"));
        coherence.history = None;
        coherence.pairs[0].ns.stable = Some(false);
        assert!(condition(&coherence).starts_with("holds only for a while"));
        (coherence.pairs[0].ns.stable, coherence.pairs[0].ns.n) = (None, 1);
        assert!(condition(&coherence).starts_with("rests on one sample per pair"));
    }
}
