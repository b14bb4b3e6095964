//! Carrying a plan out.

use std::cell::OnceCell;

use coho_platform::load::Busy;
use coho_platform::room::Room;
use coho_probe::placement::Placement;
use coho_profile::{Live, Profile, Trial};
use coho_topology::{CpuSet, Topology};

use super::chosen::{Chosen, Measured, Order};
use super::counted::Counted;
use super::{Act, Error, Left, Listener, Notice, Pinned, Plan, Wish};
use crate::child::{Output, Signals, orphans};
use crate::openmp::{Decision, Ran, Told};
use crate::{mpi, openmp, per_thread, preload};

/// How a plan ended.
#[derive(Debug)]
pub enum Outcome {
    /// The command was not run: whether it would be taken over.
    Checked(Decision),
    /// The command was not run: what would be served of its MPI.
    CheckedMpi(crate::mpi::Decision),
    /// The command ended with this exit status.
    Ended(u8),
    /// The command ended, and the numbers of threads that were chosen.
    Fitted(crate::openmp::Chosen, u8),
    /// A trial, and whether it was cut short or could not be remembered.
    Compared(Trial, Result<(), Error>),
    /// The command was moved between placements, and ended with this exit status.
    Followed(Live, u8),
}

/// The machine as placements see it.
pub(super) struct Machine {
    /// Detected when it is first asked for: most commands start without it, and it takes longer the more CPUs there are.
    topology: OnceCell<Topology>,
    pub(super) room: Room,
    pub(super) profile: Option<Profile>,
}

impl Machine {
    pub(super) fn topology(&self) -> Result<&Topology, coho_topology::Error> {
        if let Some(known) = self.topology.get() {
            return Ok(known);
        }
        let detected = coho_topology::detect()?;
        Ok(self.topology.get_or_init(|| detected))
    }

    /// The room, with those of the named CPUs that are online and that the process may ask for.
    pub(super) fn reaching(&self, named: &CpuSet) -> Result<Room, coho_topology::Error> {
        if named.is_empty() {
            return Ok(self.room.clone());
        }
        Ok(self.room.reaching(&named.intersection(&self.topology()?.cpus())))
    }

    /// When the profile's times were measured.
    pub(super) fn measured(&self) -> Measured {
        self.profile.as_ref().map(Measured::of).unwrap_or_default()
    }
}

/// A plan that is being carried out.
pub(super) struct Execution<'a> {
    pub(super) wish: &'a Wish,
    pub(super) machine: Machine,
    pub(super) signals: Signals,
    pub(super) listener: &'a mut dyn Listener,
}

impl Plan {
    /// Carries the plan out: the listener hears what happens meanwhile. To be called before any other thread starts,
    /// because it has all threads block the signals that are meant for the command.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::Start`] if the command cannot be run.
    pub fn execute(&self, listener: &mut dyn Listener) -> Result<Outcome, Error> {
        match &self.act {
            Act::Check => Ok(Outcome::Checked(openmp::check_command(&self.wish.command)?)),
            Act::CheckMpi => Ok(Outcome::CheckedMpi(mpi::check_command(&self.wish.command)?)),
            Act::Once(placement) => self.begin(listener)?.once(placement),
            Act::Auto => {
                let mut execution = self.begin(listener)?;
                let placement = execution.best()?;
                execution.once(&placement)
            }
            Act::TryPlacements(placements) => self.begin(listener)?.try_placements(placements),
            Act::TryOpenMp => self.begin(listener)?.try_openmp(),
            Act::TryDelegation => self.begin(listener)?.try_delegation(),
            Act::Follow { placements, measure, options } => {
                self.begin(listener)?.follow(placements, measure.as_ref(), options)
            }
        }
    }

    fn begin<'a>(&'a self, listener: &'a mut dyn Listener) -> Result<Execution<'a>, Error> {
        let wish = &self.wish;
        let signals = Signals::hold().map_err(Error::Signals)?;
        orphans::adopt().map_err(Error::Orphans)?;
        if matches!(self.act, Act::TryPlacements(_)) {
            wish.memory.check()?;
        }
        let room = Room::of_thread().map_err(Error::Room)?;
        let profile = wish.memory.profile(wish.comparison.is_some())?;
        let program = wish.command.first();
        if wish.location.pinned.is_some()
            && let Some(why) = program.and_then(per_thread::objection)
        {
            listener.hear(Notice::Objection(why));
        }
        for (option, is_wished) in [("--openmp", wish.openmp.is_some()), ("--mpi", wish.mpi.is_some())] {
            if is_wished && let Some(why) = program.and_then(preload::objection) {
                listener.hear(Notice::Objection(format!("{why}: it runs as without {option}")));
            }
        }
        Ok(Execution {
            wish,
            machine: Machine { topology: OnceCell::new(), room, profile },
            signals,
            listener,
        })
    }
}

impl Execution<'_> {
    /// Chooses a placement's CPUs.
    pub(super) fn choose(
        &self,
        placement: &Placement,
        look: impl FnOnce() -> Busy,
    ) -> Result<Chosen, coho_probe::Error> {
        // Where each is pinned, a bare word means all CPUs, in its order.
        let all = || {
            self.wish.location.pinned.map(|_| u32::try_from(self.machine.room.width()).unwrap_or(u32::MAX))
        };
        let threads = self.wish.location.threads.or_else(all);
        Chosen::now(placement, threads, self.wish.location.omp_places, &self.machine, look)
    }

    /// All CPUs, left to the scheduler.
    pub(super) fn unplaced(&self) -> Result<Chosen, coho_probe::Error> {
        let location = &self.wish.location;
        Chosen::now(&Placement::None, location.threads, location.omp_places, &self.machine, Busy::default)
    }

    /// How threads and processes get the placement's CPUs.
    fn order(&self) -> Order {
        match self.wish.location.pinned {
            Some(Pinned::Threads) => Order::Threads,
            Some(Pinned::Processes) => Order::Processes,
            None if self.wish.location.omp_places || self.wish.openmp.is_some() => Order::OpenMp,
            None => Order::Mask,
        }
    }

    /// Runs the command once.
    fn once(mut self, placement: &Placement) -> Result<Outcome, Error> {
        let mut chosen = self.choose(placement, Busy::look)?;
        let delegation = self.delegation(&chosen)?;
        if let Some(delegation) = &delegation {
            chosen = chosen.within(&delegation.program);
        }
        let placed = chosen.placed(&self.machine, self.wish.location.threads, self.order());
        self.listener.hear(Notice::Placed(&placed));
        if let Some(delegation) = &delegation {
            self.listener.hear(Notice::Delegates(delegation));
        }
        let count = self.wish.openmp.as_ref().and_then(|teams| teams.count.as_deref());
        let counted = count.map(Counted::new).transpose()?;
        let mut job = self.job(&chosen, delegation.as_ref())?;
        if let Some(counted) = &counted {
            job.environment.push(counted.environment()?);
        }
        // Without it, the command runs all the same.
        let told = self.wish.openmp.as_ref().and_then(|_| Told::new().ok());
        job.environment.extend(told.as_ref().map(Told::environment));
        if self.wish.openmp.as_ref().is_some_and(|teams| teams.to_stderr) {
            job.output = Output::StandardError;
        }
        let running = job.start(&self.signals).map_err(Error::Start)?;
        let status = running.wait(&self.signals).map_err(Error::Wait)?.status.exit_status();
        let mut processes = Vec::new();
        if let Some(Ok(ran)) = told.map(Told::read) {
            self.say_who_ran(&ran, counted.is_some());
            processes = ran.choices;
            if self.wish.finds_threads() && processes.is_empty() && ran.on_teams > 0 {
                self.listener.hear(Notice::NothingChosen);
            }
            processes.iter().for_each(|choices| self.listener.hear(Notice::Chose(choices)));
        }
        if let Some(Err(why)) = counted.map(|counted| counted.save(&self.wish.command, self.listener)) {
            self.listener.hear(Notice::CountsLost(&why));
        }
        if self.wish.finds_threads() {
            return Ok(Outcome::Fitted(openmp::Chosen { processes }, status));
        }
        Ok(Outcome::Ended(status))
    }

    /// Says if another runtime than coho's has run OpenMP, or none has. `is_counted` if the counts say that.
    pub(super) fn say_who_ran(&mut self, ran: &Ran, is_counted: bool) {
        if ran.is_off() {
            return;
        }
        let objected = self.wish.command.first().and_then(preload::objection).is_some();
        if !ran.otherwise.is_empty() {
            self.listener.hear(Notice::RanOtherwise(ran));
        } else if ran.on_teams == 0 && !objected && !is_counted {
            self.listener.hear(Notice::NoOpenMp);
        }
    }

    /// The end that a signal asked for.
    pub(super) fn not_stopped(&self, left: Option<Left>) -> Result<(), Error> {
        self.signals.asked_to_end().map_or(Ok(()), |signal| Err(Error::Stopped { signal, left }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topology_is_detected_only_where_a_choice_depends_on_it() {
        let room = Room::of_thread().unwrap();
        let all = room.cpus.clone();
        let machine = Machine { topology: OnceCell::new(), room, profile: None };
        let chosen = |placement: &Placement, counts| {
            Chosen::now(placement, None, counts, &machine, Busy::default).unwrap().choice.cpus
        };
        assert_eq!(chosen(&Placement::None, false), all);
        assert_eq!(machine.topology.get(), None);
        assert_eq!(chosen(&Placement::None, true), all);
        assert!(machine.topology.get().is_some());
    }
}
