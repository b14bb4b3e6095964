//! What can be chosen of barriers and teams in C.

use std::ffi::c_void;
use std::time::Duration;

use super::Argument;
use crate::barrier::BarrierBuilder;
use crate::team::TeamBuilder;
use crate::{Error, Late, Latencies, MAX_THREADS, WaitPolicy, machine};

/// How threads wait for each other.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub enum coho_wait {
    /// Spins up to a millisecond while nothing else wants the CPU, and sleeps soon where something does.
    COHO_WAIT_ADAPTIVE = 0,
    /// Spins for `spin_ns` at most, else as the former.
    COHO_WAIT_SPIN = 1,
    /// Spins without end.
    COHO_WAIT_ACTIVE = 2,
    /// Sleeps at once.
    COHO_WAIT_PASSIVE = 3,
}

/// Is told of a wait that has lasted long: by whom, how many nanoseconds, and the `count` ranks that have not arrived,
/// which are valid during the call. It is called from the thread that waits, so by several threads at once.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type coho_report = Option<
    unsafe extern "C" fn(
        argument: *mut c_void,
        rank: usize,
        waited_ns: u64,
        missing: *const usize,
        count: usize,
    ),
>;

/// What can be chosen of a barrier or a team besides. All zeros, as by `{0}`, choose what a null pointer does.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct coho_sync_options {
    /// How threads wait: a `coho_wait`.
    pub wait: i32,
    /// With `COHO_WAIT_SPIN`, nanoseconds.
    pub spin_ns: u64,
    /// The CPU of each thread, in the order of ranks, or null. A team pins its threads to them, whatever its mapping; a
    /// barrier's threads are pinned by their owner.
    pub cpus: *const u32,
    /// One-way times between the threads in ns, a row for each, by which `COHO_AUTO` chooses; NaN where not known, or
    /// null.
    pub one_way_ns: *const f64,
    /// What one more remote line costs a thread that reads several, in ns; 0 where not known.
    pub extra_line_ns: f64,
    /// After how many nanoseconds of waiting at a barrier `report` is called, once for each wait; 0 for never.
    pub watchdog_ns: u64,
    /// Whom to tell, or null.
    pub report: coho_report,
    /// What `report` is called with.
    pub argument: *mut c_void,
}

/// The options, safe to use: of so many threads.
pub(super) struct Chosen<'a> {
    policy: WaitPolicy,
    cpus: Option<&'a [u32]>,
    latencies: Option<Latencies<'a>>,
    watchdog: Option<(Duration, Tell)>,
}

impl<'a> Chosen<'a> {
    /// # Errors
    /// [`Error::Size`] for a number of threads that cannot be, [`Error::Argument`] for an unknown way of waiting.
    ///
    /// # Safety
    /// `options` is null or can be read, and so can its arrays of `threads` CPUs and `threads` squared times.
    pub(super) unsafe fn of(
        options: *const coho_sync_options,
        threads: usize,
    ) -> Result<Option<Self>, Error> {
        // SAFETY: as the caller promises.
        let Some(options) = (unsafe { options.as_ref::<'a>() }) else { return Ok(None) };
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(Error::Size { asked: threads, most: MAX_THREADS });
        }
        // SAFETY: as the caller promises.
        let (cpus, one_way_ns) =
            unsafe { (array(options.cpus, threads), array(options.one_way_ns, threads * threads)) };
        // A measured line costs something.
        let known = Some(options.extra_line_ns).filter(|&ns| ns != 0.0);
        let extra_line_ns = known.unwrap_or(f64::NAN);
        let patience = Duration::from_nanos(options.watchdog_ns);
        let report = options.report.filter(|_| !patience.is_zero());
        Ok(Some(Self {
            policy: policy(options)?,
            cpus,
            latencies: one_way_ns.map(|one_way_ns| Latencies { one_way_ns, extra_line_ns }),
            watchdog: report.map(|report| (patience, Tell { report, argument: Argument(options.argument) })),
        }))
    }

    pub(super) fn of_barrier(self, mut barrier: BarrierBuilder<'a>) -> BarrierBuilder<'a> {
        barrier = barrier.policy(self.policy);
        if let (Some(topology), Some(cpus)) = (machine::topology(), self.cpus) {
            barrier = barrier.places(topology, cpus);
        }
        if let Some(latencies) = self.latencies {
            barrier = barrier.latencies(latencies);
        }
        match self.watchdog {
            Some((patience, tell)) => barrier.watchdog(patience, move |late| tell.late(late)),
            None => barrier,
        }
    }

    pub(super) fn of_team(self, mut team: TeamBuilder) -> TeamBuilder {
        team = team.policy(self.policy);
        if let Some(cpus) = self.cpus {
            team = team.cpus(cpus);
        }
        if let Some(latencies) = self.latencies {
            team = team.latencies(latencies);
        }
        match self.watchdog {
            Some((patience, tell)) => team.watchdog(patience, move |late| tell.late(late)),
            None => team,
        }
    }
}

fn policy(options: &coho_sync_options) -> Result<WaitPolicy, Error> {
    use coho_wait::*;
    let known = [
        (COHO_WAIT_ADAPTIVE, WaitPolicy::Adaptive),
        (COHO_WAIT_SPIN, WaitPolicy::SpinFor(Duration::from_nanos(options.spin_ns))),
        (COHO_WAIT_ACTIVE, WaitPolicy::Active),
        (COHO_WAIT_PASSIVE, WaitPolicy::Passive),
    ];
    let found = known.into_iter().find(|(name, _)| *name as i32 == options.wait);
    found
        .map(|(_, policy)| policy)
        .ok_or_else(|| Error::Argument(format!("{} is no way of waiting", options.wait)))
}

/// # Safety
/// `first` is null or the first of `length`.
unsafe fn array<'a, T>(first: *const T, length: usize) -> Option<&'a [T]> {
    // SAFETY: as the caller promises.
    (!first.is_null()).then(|| unsafe { std::slice::from_raw_parts(first, length) })
}

/// Whom a watchdog tells.
struct Tell {
    report: unsafe extern "C" fn(*mut c_void, usize, u64, *const usize, usize),
    argument: Argument,
}

impl Tell {
    fn late(&self, late: &Late) {
        let waited_ns = u64::try_from(late.waited.as_nanos()).unwrap_or(u64::MAX);
        let (missing, count) = (late.missing.as_ptr(), late.missing.len());
        // SAFETY: who gave the function promised that any thread may call it with its argument; the ranks are alive.
        unsafe { (self.report)(self.argument.get(), late.rank, waited_ns, missing, count) };
    }
}
