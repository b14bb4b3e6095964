//! Fork and join: a team of threads that persist between runs.

mod builder;
mod construct;
mod fork;
mod forked;
mod member;
mod poison;
mod ranges;
mod reduce;
mod schedule;
mod state;
#[cfg(test)]
mod tests;
mod thread;
mod times;
mod worker;

use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use coho_platform::pin;

pub use builder::TeamBuilder;
use construct::Constructs;
use fork::{Fork, Lead};
pub use member::{Member, Share, Turn};
use poison::Poison;
use reduce::Values;
pub use schedule::Schedule;
use state::State;
use thread::Thread;
pub use times::Times;

use crate::Error;
use crate::padded::Padded;

use crate::wait::{Courtesy, Crowding, Patience, SpareWork};

/// Threads that persist between parallel regions, each pinned to a CPU, with the caller of a run as rank 0.
///
/// A run needs the team for itself: runs of the same team can be neither nested nor simultaneous, but a member may run
/// another team. A panic of a member ends the waits of all others and is raised again by the run; the team remains
/// usable. After `fork` the child's team has no threads, and a run there panics.
///
/// ```
/// use coho_sync::{Schedule, Team};
/// let mut team = Team::new(2)?;
/// let squares: Vec<_> = (0..100).map(std::sync::atomic::AtomicUsize::new).collect();
/// team.parallel_for(0..100, Schedule::Static, |i| {
///     squares[i].store(i * i, std::sync::atomic::Ordering::Relaxed);
/// });
/// let sum = team.parallel_reduce(0..100, Schedule::Static, || 0, |sum, i| sum + i * i, |a, b| a + b);
/// assert_eq!(sum, squares.into_iter().map(|square| square.into_inner()).sum::<usize>());
/// # Ok::<(), coho_sync::Error>(())
/// ```
pub struct Team {
    fork: Arc<Fork>,
    lead: Lead,
    threads: Vec<Thread>,
    size: usize,
    /// How many members wait for the next run, including the leader, and in what crowd; the others sit on their benches.
    /// A resize to one member leaves this unchanged, since a run of one starts no other thread.
    seated: (usize, Crowding),
    state: Box<State>,
    /// The state of earlier sizes, the latest last.
    #[expect(clippy::vec_box, reason = "the present one's box moves in and out")]
    others: Vec<Box<State>>,
    /// The leader's patience at the join.
    patience: Patience,
    /// Shared by all members at fork and join.
    courtesy: Arc<Courtesy>,
    cpus: Vec<u32>,
    capacity: usize,
    choice: TeamBuilder,
    forks: usize,
}

impl Team {
    /// A team of `size` members, pinned compactly.
    ///
    /// # Errors
    /// As for [`TeamBuilder::start`].
    pub fn new(size: usize) -> Result<Self, Error> {
        Self::builder(size).start()
    }

    /// Builds a team with more options.
    pub fn builder(size: usize) -> TeamBuilder {
        TeamBuilder::new(size)
    }

    fn start(choice: TeamBuilder) -> Result<Self, Error> {
        let cpus = choice.places()?;
        let size = choice.size;
        let capacity = match (choice.capacity, &choice.cpus) {
            (Some(most), _) => most,
            (None, Some(cpus)) => cpus.len(),
            (None, None) => pin::allowed()?.len(),
        };
        let capacity = capacity.max(size);
        let crowding = choice.crowding(size, &cpus);
        let courtesy = Arc::new(Courtesy::default());
        let fork = Arc::new(Fork::new(capacity, choice.crowding(capacity, &cpus)));
        let mut team = Self {
            state: state(&choice, (1, crowding), &cpus, &fork)?,
            fork,
            lead: Lead::new(),
            threads: Vec::new(),
            size: 1,
            seated: (1, crowding),
            others: Vec::new(),
            patience: choice.patience(crowding, &courtesy),
            courtesy,
            cpus,
            capacity,
            choice,
            forks: forked::watch(),
        };
        team.resize(size)?;
        Ok(team)
    }

    /// The number of members.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The CPUs of the members in the order of ranks; rank 0 runs where its caller does, unless
    /// [`Team::pin_caller`] is used. Empty if the members are not pinned.
    pub fn cpus(&self) -> &[u32] {
        self.cpus.get(..self.size).unwrap_or(&[])
    }

    /// Whether this process was forked after the team was started, and so lacks its threads.
    #[inline]
    pub fn is_forked(&self) -> bool {
        forked::count() != self.forks
    }

    /// How many members can run at once, if the caller has said so ([`TeamBuilder::at_once`], [`Team::arrange`]).
    pub fn at_once(&self) -> Option<usize> {
        self.state.at_once
    }

    /// The algorithm of the members' barrier.
    pub fn algorithm(&self) -> crate::Algorithm {
        self.state.barrier.algorithm()
    }

    /// Pins the calling thread to the CPU of rank 0 until the guard is dropped.
    ///
    /// # Errors
    /// [`Error::Cpu`] if it cannot be pinned.
    pub fn pin_caller(&self) -> Result<CallerPin, Error> {
        let pinned = self.cpus().first().map(|&cpu| pin::Pinned::to(cpu)).transpose()?;
        Ok(CallerPin { _pinned: pinned })
    }

    /// Changes the number of members. Threads that are not needed wait for a larger team; none is ended. The team
    /// keeps the state of the last few sizes, so going back to one of them takes about as long as a run. Going to one
    /// member and back to the previous size costs nothing.
    ///
    /// # Errors
    /// [`Error::Size`] for 0 or more than the team's capacity; [`Error::Cpu`] or [`Error::System`] if a thread cannot
    /// be started; [`Error::Forked`] in a child of `fork`. The team then keeps its size.
    pub fn resize(&mut self, size: usize) -> Result<(), Error> {
        self.become_of(size, self.choice.at_once)
    }

    /// As [`Team::resize`], for members that the caller binds so that `at_once` of them can run at once.
    ///
    /// # Errors
    /// As for [`Team::resize`].
    pub fn arrange(&mut self, size: usize, at_once: usize) -> Result<(), Error> {
        self.become_of(size, Some(at_once))
    }

    fn become_of(&mut self, size: usize, at_once: Option<usize>) -> Result<(), Error> {
        if self.is_forked() {
            return Err(Error::Forked);
        }
        if !(1..=self.capacity).contains(&size) {
            return Err(Error::Size { asked: size, most: self.capacity });
        }
        self.choice.at_once = at_once;
        let at_once = at_once.map(|members| members.min(size));
        if size == self.size && at_once == self.state.at_once {
            return Ok(());
        }
        if self.threads.len() + 1 < size {
            let crowding = self.choice.crowding(size, &self.cpus);
            while self.threads.len() + 1 < size {
                self.add_thread(crowding)?;
            }
        }
        let is_it = |state: &State| state.barrier.threads() == size && state.at_once == at_once;
        let kept = self.others.iter().position(|state| is_it(state));
        let state = match kept {
            Some(at) => self.others.remove(at),
            None => {
                let crowding = self.choice.crowding(size, &self.cpus);
                state(&self.choice, (size, crowding), &self.cpus, &self.fork)?
            }
        };
        let crowding = state.crowding;
        if size > 1 && (size, crowding) != self.seated {
            self.part();
            self.fork.call(&self.lead, size, crowding);
            if crowding != self.seated.1 {
                self.patience = self.choice.patience(crowding, &self.courtesy);
            }
            self.seated = (size, crowding);
        }
        self.size = size;
        self.others.push(std::mem::replace(&mut self.state, state));
        if self.others.len() > KEPT {
            self.others.remove(0);
        }
        Ok(())
    }

    /// Sends all workers to their benches.
    fn part(&mut self) {
        if self.seated.0 > 1 {
            self.fork.start(&mut self.lead, fork::Order::PART);
            self.fork.join(&self.lead, self.seated.0, &self.patience, |_, _| ());
        }
    }

    /// Starts a thread, and waits for it only if it may be refused its CPU. The others begin while the next are started.
    fn add_thread(&mut self, crowding: Crowding) -> Result<(), Error> {
        let rank = self.threads.len() + 1;
        // Threads that share CPUs are left to the scheduler.
        let pinned = self.choice.pinned && self.cpus.len() >= self.capacity.min(self.choice.size);
        let cpu = if pinned { self.cpus.get(rank).copied() } else { None };
        let ready = Arc::new((Mutex::new(None), Condvar::new()));
        let fork = Arc::clone(&self.fork);
        let (choice, courtesy) = (self.choice.clone(), Arc::clone(&self.courtesy));
        let pinned = Arc::clone(&ready);
        let main = move || {
            if let Some(cpu) = cpu {
                let pin = pin::to(cpu);
                let usable = pin.is_ok();
                *pinned.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(pin);
                pinned.1.notify_one();
                if !usable {
                    return;
                }
            }
            worker::work(rank, &fork, crowding, |crowding| choice.patience(crowding, &courtesy));
        };
        let (name, begins_on) = (format!("coho team {rank}"), self.choice.begins_on(rank));
        let thread = Thread::start(&name, self.choice.stack_bytes, begins_on.as_deref(), main)
            .map_err(|error| Error::System { what: "starting a team's thread", why: error.to_string() })?;
        if cpu.is_some() {
            let mut pin = ready.0.lock().unwrap_or_else(PoisonError::into_inner);
            let pin = loop {
                match pin.take() {
                    Some(pin) => break pin,
                    None => pin = ready.1.wait(pin).unwrap_or_else(PoisonError::into_inner),
                }
            };
            if let Err(error) = pin {
                thread.join();
                return Err(error.into());
            }
        }
        self.threads.push(thread);
        Ok(())
    }

    /// Has members do this work while they wait outside a run's body, from the next run on. A team keeps its first one.
    pub fn share_out(&mut self, work: Arc<dyn SpareWork>) {
        self.fork.share_out(work);
    }

    /// Runs `body` on every member and returns when all have ended.
    ///
    /// # Panics
    /// If a member panics, with its panic after all have ended; if members have met different numbers of constructs
    /// and the team is not [lenient](TeamBuilder::lenient); in a child of `fork`.
    #[inline]
    pub fn run<F: Fn(&Member<'_>) + Sync>(&mut self, body: F) {
        self.run_order(worker::order(&body, &self.state));
    }

    /// As [`Team::run`], for a function of three words. They travel with the go flag, so that no member has to fetch a
    /// body from the caller first, which would take a one-way latency or two.
    ///
    /// # Safety
    /// It must be sound for all members' threads to call the function with these words at the same time.
    ///
    /// # Panics
    /// As [`Team::run`].
    #[inline]
    pub unsafe fn run_words(&mut self, body: unsafe fn(&Member<'_>, [*mut (); 3]), words: [*mut (); 3]) {
        self.run_order(worker::order_of_words(body, words, &self.state));
    }

    #[inline]
    fn run_order(&mut self, order: fork::Order) {
        assert!(!self.is_forked(), "{}", Error::Forked);
        if self.size > 1 {
            self.fork.start(&mut self.lead, order);
        }
        // The body is called behind a `catch_unwind`, so that nothing is left before all have ended.
        let met = worker::run(0, order);
        let mut stray = None;
        self.fork.join(&self.lead, self.size, &self.patience, |rank, told| {
            if told != met {
                stray = Some((rank, told));
            }
        });
        if stray.is_some() || self.state.poison.has_spread() {
            self.recover(met, stray);
        } else if self.state.met != met {
            // Written only if it has changed, as all members read the line.
            self.state.met = met;
        }
    }

    /// Makes the team usable after a run that went wrong, and panics, unless the team is lenient and no member has
    /// panicked.
    #[cold]
    fn recover(&mut self, met: usize, stray: Option<(usize, usize)>) {
        if self.choice.lenient && !self.state.poison.has_spread() {
            self.state.constructs = Constructs::new(self.size, self.state.crowding);
            self.state.met = 0;
            return;
        }
        let new = state(&self.choice, (self.size, self.state.crowding), &self.cpus, &self.fork);
        let old = std::mem::replace(&mut self.state, new.expect("what could be made before"));
        match (old.poison.take(), stray) {
            (Some(payload), _) => resume_unwind(payload),
            (None, Some((rank, told))) => panic!(
                "rank {rank} has met {} loops and singles, rank 0 {}: every member must meet each",
                told - old.met,
                met - old.met
            ),
            (None, None) => unreachable!("only a panic poisons"),
        }
    }

    /// Runs `work` for each index of a range, divided among the members.
    ///
    /// # Panics
    /// As for [`Team::run`].
    pub fn parallel_for(&mut self, range: Range<usize>, schedule: Schedule, work: impl Fn(usize) + Sync) {
        self.run(|member| member.for_each(range.clone(), schedule, &work));
    }

    /// Folds the indices of a range. Each member folds its share, beginning with `identity`; then the members'
    /// results are combined in the order of ranks.
    ///
    /// # Panics
    /// As for [`Team::run`].
    pub fn parallel_reduce<T: Send>(
        &mut self,
        range: Range<usize>,
        schedule: Schedule,
        identity: impl Fn() -> T + Sync,
        fold: impl Fn(T, usize) -> T + Sync,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        let parts: Vec<_> = (0..self.size).map(|_| Padded(Mutex::new(None))).collect();
        self.run(|member| {
            let mut part = Some(identity());
            member
                .for_each(range.clone(), schedule, |index| part = part.take().map(|part| fold(part, index)));
            *parts[member.rank()].0.lock().unwrap_or_else(PoisonError::into_inner) = part;
        });
        let mut parts =
            parts.into_iter().filter_map(|part| part.0.into_inner().unwrap_or_else(PoisonError::into_inner));
        let first = parts.next().expect("every member leaves its part");
        parts.fold(first, combine)
    }
}

/// How many sizes besides the present one a team keeps state for.
const KEPT: usize = 4;

fn state(
    choice: &TeamBuilder,
    (size, crowding): (usize, Crowding),
    cpus: &[u32],
    fork: &Arc<Fork>,
) -> Result<Box<State>, Error> {
    Ok(Box::new(State {
        barrier: choice.barrier(size, cpus, crowding)?,
        reduction: choice.barrier(size, cpus, crowding)?,
        values: Values::new(size),
        constructs: Constructs::new(size, crowding),
        critical: Mutex::new(()),
        poison: Poison::new(),
        met: 0,
        crowding,
        at_once: choice.at_once.map(|members| members.min(size)),
        fork: Arc::clone(fork),
    }))
}

impl Drop for Team {
    fn drop(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        if self.is_forked() {
            // The threads are the parent's.
            return;
        }
        self.part();
        for rank in 1..=threads.len() {
            self.fork.dismiss(rank);
        }
        threads.into_iter().for_each(Thread::join);
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Team({} members, barrier: {})", self.size, self.algorithm())
    }
}

/// Keeps the thread that created it pinned; see [`Team::pin_caller`].
#[derive(Debug)]
#[must_use = "the pin ends with the guard"]
pub struct CallerPin {
    _pinned: Option<pin::Pinned>,
}
