//! The options of a team.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coho_platform::{cgroup, pin};

use super::Team;
use crate::barrier::{self, Barrier};
use crate::wait::{Courtesy, Crowding, Patience, WaitPolicy};
use crate::{Algorithm, Error, Late, Latencies, MAX_THREADS, Mapping, machine};

/// What a watchdog calls; the barriers that a team creates in its life share it.
type Report = Arc<dyn Fn(&Late) + Send + Sync>;

/// The CPUs that the thread of a rank begins on.
type Begins = Arc<dyn Fn(usize) -> Option<Vec<u32>> + Send + Sync>;

/// Builds a team.
#[derive(Clone)]
#[must_use]
pub struct TeamBuilder {
    pub(super) size: usize,
    pub(super) capacity: Option<usize>,
    pub(super) cpus: Option<Vec<u32>>,
    pub(super) mapping: Mapping,
    pub(super) pinned: bool,
    pub(super) algorithm: Algorithm,
    pub(super) policy: WaitPolicy,
    pub(super) watchdog: Option<(Duration, Report)>,
    pub(super) latencies: Option<Known>,
    pub(super) stack_bytes: Option<usize>,
    pub(super) lenient: bool,
    pub(super) at_once: Option<usize>,
    begin_on: Option<Begins>,
    /// What the control groups allowed when the team was started: the files are read once, as that takes a part of the time
    /// that starting threads takes.
    quota: OnceLock<Option<f64>>,
}

/// Times between ranks, one row per rank, and what an extra line costs.
#[derive(Clone)]
pub(super) struct Known {
    one_way_ns: Vec<f64>,
    ranks: usize,
    extra_line_ns: f64,
}

impl TeamBuilder {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            capacity: None,
            cpus: None,
            mapping: Mapping::default(),
            pinned: true,
            algorithm: Algorithm::Auto,
            policy: WaitPolicy::default(),
            watchdog: None,
            latencies: None,
            stack_bytes: None,
            lenient: false,
            at_once: None,
            begin_on: None,
            quota: OnceLock::new(),
        }
    }

    /// The most members that [`Team::resize`] can give it. By default there can be as many as there are CPUs, or as
    /// at the start if that is more.
    pub fn capacity(mut self, most: usize) -> Self {
        self.capacity = Some(most);
        self
    }

    /// The CPU of each rank, instead of a mapping.
    pub fn cpus(mut self, cpus: impl Into<Vec<u32>>) -> Self {
        self.cpus = Some(cpus.into());
        self
    }

    /// How ranks are laid out on the CPUs that the process may use.
    pub fn mapping(mut self, mapping: Mapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// Whether its threads are pinned. By default they are, as long as each has a CPU of its own.
    ///
    /// A member that is not pinned and wakes up on the CPU of the thread that has woken it moves to another one: it
    /// takes that CPU out of its affinity for a moment. An affinity that somebody else sets in that moment stays.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// The algorithm of [`Member::barrier`](super::Member::barrier).
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Times between ranks, by which [`Algorithm::Auto`] chooses. They are not used once the team has more members.
    pub fn latencies(mut self, given: Latencies<'_>) -> Self {
        self.latencies = Some(Known {
            one_way_ns: given.one_way_ns.to_vec(),
            ranks: given.one_way_ns.len().isqrt(),
            extra_line_ns: given.extra_line_ns,
        });
        self
    }

    /// How members wait, in a run and between runs.
    pub fn policy(mut self, policy: WaitPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Calls `report` when a member has waited for `patience` at a barrier, with the ranks that have not arrived.
    pub fn watchdog(mut self, patience: Duration, report: impl Fn(&Late) + Send + Sync + 'static) -> Self {
        self.watchdog = Some((patience, Arc::new(report)));
        self
    }

    /// The size of its threads' stacks; 2 MiB by default. The caller of a run keeps its own stack.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }

    /// Lets members leave a run after meeting different numbers of loops and `single`s. By default such a run panics.
    ///
    /// If members meet different constructs at the same place, it is unspecified how these share out their work. An
    /// ordered loop that not all members meet may wait forever.
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// How many members can run at once, for a caller that binds them itself; [`Team::arrange`] changes it. By default
    /// that is as many as there are CPUs for the process's threads, or for the ranks if they have CPUs.
    ///
    /// Members that cannot all run at once do not spin without end, whatever the policy.
    pub fn at_once(mut self, members: usize) -> Self {
        self.at_once = Some(members);
        self
    }

    /// The CPUs that the thread of a rank begins on, for a caller that binds members itself. By default, and if the C library
    /// is not glibc, it begins on one that the thread that starts it may use. If that is a single CPU, all new threads wait
    /// for it before they can leave it.
    pub fn begin_on(mut self, cpus: impl Fn(usize) -> Option<Vec<u32>> + Send + Sync + 'static) -> Self {
        self.begin_on = Some(Arc::new(cpus));
        self
    }

    /// Starts the team's threads: all but the first member, which is the caller of a run.
    ///
    /// # Errors
    /// [`Error::Size`] for no members or more than [`MAX_THREADS`]; [`Error::Cpu`] for a CPU that cannot be used;
    /// [`Error::System`] if threads cannot be started; [`Error::Argument`] as for [`Barrier::new`], and if the
    /// latencies are not a square matrix.
    pub fn start(self) -> Result<Team, Error> {
        if !(1..=MAX_THREADS).contains(&self.size) {
            return Err(Error::Size { asked: self.size, most: MAX_THREADS });
        }
        if let Some(known) =
            self.latencies.as_ref().filter(|known| known.ranks.pow(2) != known.one_way_ns.len())
        {
            let wrong =
                format!("{} one-way times, which is not the square of a number", known.one_way_ns.len());
            return Err(Error::Argument(wrong));
        }
        Team::start(self)
    }

    /// The CPUs for ranks in order; empty if threads are not to be pinned.
    pub(super) fn places(&self) -> Result<Vec<u32>, Error> {
        match &self.cpus {
            Some(cpus) if cpus.len() < self.size => {
                Err(Error::Argument(format!("{} CPUs for a team of {}", cpus.len(), self.size)))
            }
            Some(cpus) => Ok(cpus.clone()),
            None if !self.pinned => Ok(Vec::new()),
            None => Ok(machine::order(self.mapping, &pin::allowed()?)),
        }
    }

    /// What keeps a team of this size from running at once.
    pub(super) fn crowding(&self, size: usize, cpus: &[u32]) -> Crowding {
        let quota = *self.quota.get_or_init(cgroup::cpu_quota);
        match self.at_once {
            Some(members) => Crowding::of(size, members, quota),
            None => barrier::crowding(size, cpus.get(..size), quota),
        }
    }

    /// The CPUs that the thread of a rank begins on, if they are given.
    pub(super) fn begins_on(&self, rank: usize) -> Option<Vec<u32>> {
        self.begin_on.as_ref()?(rank)
    }

    /// What a member knows when it begins to wait.
    pub(super) fn patience(&self, crowding: Crowding, courtesy: &Arc<Courtesy>) -> Patience {
        Patience::new(&self.waits(crowding), crowding, courtesy.into()).movable(!self.pinned)
    }

    /// How members wait.
    fn waits(&self, crowding: Crowding) -> WaitPolicy {
        match self.policy {
            WaitPolicy::Active if self.at_once.is_some() && crowding == Crowding::Threads => {
                WaitPolicy::Adaptive
            }
            policy => policy,
        }
    }

    /// The barrier of a team of this size on these CPUs, which may be fewer than the members.
    pub(super) fn barrier(&self, size: usize, cpus: &[u32], crowding: Crowding) -> Result<Barrier, Error> {
        let mut barrier = Barrier::builder(size)
            .algorithm(self.algorithm)
            .policy(self.waits(crowding))
            .crowding(crowding)
            .movable(!self.pinned);
        let known = self.latencies.as_ref().filter(|known| known.ranks >= size);
        let one_way_ns = known.map(|known| known.of(size));
        if let (Some(known), Some(one_way_ns)) = (known, &one_way_ns) {
            barrier = barrier.latencies(Latencies { one_way_ns, extra_line_ns: known.extra_line_ns });
        }
        if let Some(cpus) = cpus.get(..size) {
            barrier = machine::place(barrier, cpus);
        }
        if let Some((patience, report)) = &self.watchdog {
            let report = Arc::clone(report);
            barrier = barrier.watchdog(*patience, move |late| report(late));
        }
        barrier.build()
    }
}

impl Known {
    /// The times between the first ranks.
    fn of(&self, size: usize) -> Vec<f64> {
        self.one_way_ns.chunks(self.ranks).take(size).flat_map(|row| &row[..size]).copied().collect()
    }
}
