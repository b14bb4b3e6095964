//! The options of barriers and teams in C.

use std::ffi::c_void;
use std::mem::offset_of;
use std::time::Duration;

use coho_platform::pin::{self, Refusal};

use super::Argument;
use crate::barrier::BarrierBuilder;
use crate::team::TeamBuilder;
use crate::{Error, Late, Latencies, MAX_THREADS, WaitPolicy, machine};

/// How threads wait for each other.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum coho_wait {
    /// Spins up to a millisecond while nothing else wants the CPU, and sleeps soon where something does.
    COHO_WAIT_ADAPTIVE = 0,
    /// Spins for at most `spin_ns`, otherwise as `COHO_WAIT_ADAPTIVE`.
    COHO_WAIT_SPIN = 1,
    /// Spins without end.
    COHO_WAIT_ACTIVE = 2,
    /// Sleeps at once.
    COHO_WAIT_PASSIVE = 3,
}

/// Receives a report of a wait that has lasted long: the waiting rank, how many nanoseconds it has waited, and the
/// `count` ranks that have not arrived, which are valid during the call. It is called from the waiting thread, so
/// several threads may call it at once.
pub type coho_report = Option<
    unsafe extern "C" fn(
        argument: *mut c_void,
        rank: usize,
        waited_ns: u64,
        missing: *const usize,
        count: usize,
    ),
>;

/// Options of a barrier or a team. Set `size` and leave the rest zero for the defaults, which a null pointer also
/// selects: `coho_sync_options options = {sizeof options};`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct coho_sync_options {
    /// The size of this structure as the program was compiled. Fields that a later version adds count as zero; where
    /// the library is the older one, fields that it does not know must be zero.
    pub size: usize,
    /// How threads wait: a `coho_wait`.
    pub wait: i32,
    /// The spinning of `COHO_WAIT_SPIN`, in nanoseconds.
    pub spin_ns: u64,
    /// The CPU of each thread, in the order of ranks, or null. A team pins its threads to these CPUs, whatever its
    /// mapping; the owner of a barrier's threads pins them.
    pub cpus: *const u32,
    /// One-way times between the threads in ns, one row per thread, by which `COHO_AUTO` chooses; NaN where not
    /// known. May be null.
    pub one_way_ns: *const f64,
    /// What one more remote line costs a thread that reads several, in ns, finite and not below 0; 0 if not known.
    pub extra_line_ns: f64,
    /// How many nanoseconds a thread waits at a barrier before `report` is called, once per wait; 0 for never.
    pub watchdog_ns: u64,
    /// The function to call, or null.
    pub report: coho_report,
    /// The argument of `report`.
    pub argument: *mut c_void,
    /// The size of the stacks of a team's threads in bytes; 0 for the default of 2 MiB. A barrier ignores it.
    pub stack_bytes: usize,
    /// Unless 0, the members of a team may leave a run after meeting different numbers of loops and singles, instead
    /// of causing `COHO_SYNC_OUT_OF_STEP`. An ordered loop that not all of them meet still waits for ever. A barrier
    /// ignores it.
    pub lenient: i32,
    /// 0.
    pub reserved: i32,
}

/// The size of the structure in the first version that had a `size`.
const LEAST: usize = offset_of!(coho_sync_options, reserved) + size_of::<i32>();

/// The options as this library knows them, from a program that may know fewer or more.
///
/// # Errors
/// [`Error::Argument`] for an impossible size, and for an unknown field that is not zero.
///
/// # Safety
/// As many bytes can be read as the structure's size says.
unsafe fn known(options: *const coho_sync_options) -> Result<coho_sync_options, Error> {
    // SAFETY: as the caller promises; all versions have the size.
    let size = unsafe { (&raw const (*options).size).read() };
    if !(LEAST..=4096).contains(&size) {
        return Err(Error::Argument(format!("options of {size} bytes")));
    }
    // SAFETY: as the caller promises.
    let given = unsafe { std::slice::from_raw_parts(options.cast::<u8>(), size) };
    let own = size_of::<coho_sync_options>();
    if given.iter().skip(own).any(|&byte| byte != 0) {
        return Err(Error::Argument("an option that this version does not know".to_owned()));
    }
    let mut known = std::mem::MaybeUninit::<coho_sync_options>::zeroed();
    // SAFETY: both have that many bytes; zeros are a value of every field, and so is what the caller has there.
    Ok(unsafe {
        std::ptr::copy_nonoverlapping(given.as_ptr(), known.as_mut_ptr().cast(), size.min(own));
        known.assume_init()
    })
}

/// The options for this many threads, checked for safe use.
pub(super) struct Chosen<'a> {
    policy: WaitPolicy,
    cpus: Option<&'a [u32]>,
    latencies: Option<Latencies<'a>>,
    watchdog: Option<(Duration, Tell)>,
    stack_bytes: Option<usize>,
    lenient: bool,
}

impl<'a> Chosen<'a> {
    /// # Errors
    /// [`Error::Size`] for an impossible number of threads, [`Error::Argument`] for an unknown way of waiting or an
    /// impossible cost of a line, and as for [`known`]; [`Error::Cpu`] for a CPU that the machine does not have.
    ///
    /// # Safety
    /// `options` is null or can be read, and so can its arrays of `threads` CPUs and `threads` squared times.
    pub(super) unsafe fn of(
        options: *const coho_sync_options,
        threads: usize,
    ) -> Result<Option<Self>, Error> {
        if options.is_null() {
            return Ok(None);
        }
        // SAFETY: as the caller promises.
        let options = unsafe { known(options) }?;
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(Error::Size { asked: threads, most: MAX_THREADS });
        }
        // SAFETY: as the caller promises.
        let (cpus, one_way_ns) =
            unsafe { (array(options.cpus, threads), array(options.one_way_ns, threads * threads)) };
        if !(0.0..f64::INFINITY).contains(&options.extra_line_ns) {
            return Err(Error::Argument(format!("one more line costs {} ns", options.extra_line_ns)));
        }
        if let Some(cpus) = cpus {
            exist(cpus)?;
        }
        // A measured line costs something.
        let known = Some(options.extra_line_ns).filter(|&ns| ns != 0.0);
        let extra_line_ns = known.unwrap_or(f64::NAN);
        let patience = Duration::from_nanos(options.watchdog_ns);
        let report = options.report.filter(|_| !patience.is_zero());
        Ok(Some(Self {
            policy: policy(&options)?,
            cpus,
            latencies: one_way_ns.map(|one_way_ns| Latencies { one_way_ns, extra_line_ns }),
            watchdog: report.map(|report| (patience, Tell { report, argument: Argument(options.argument) })),
            stack_bytes: Some(options.stack_bytes).filter(|&bytes| bytes != 0),
            lenient: options.lenient != 0,
        }))
    }

    pub(super) fn of_barrier(self, mut barrier: BarrierBuilder<'a>) -> BarrierBuilder<'a> {
        barrier = barrier.policy(self.policy);
        if let Some(cpus) = self.cpus {
            barrier = machine::place(barrier, cpus);
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
        team = team.policy(self.policy).lenient(self.lenient);
        if let Some(bytes) = self.stack_bytes {
            team = team.stack_bytes(bytes);
        }
        if let Some(cpus) = self.cpus {
            team = team.cpus(cpus).pinned(true);
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

/// # Errors
/// [`Error::Cpu`] for the first CPU that does not exist or is offline. Pinning shows whether threads may run on the
/// others.
fn exist(cpus: &[u32]) -> Result<(), Error> {
    let allowed = pin::of_process()?;
    for &cpu in cpus.iter().filter(|&&cpu| !allowed.contains(cpu)) {
        if let Some(why @ (Refusal::Missing(_) | Refusal::Offline(_))) = pin::refusal(cpu) {
            return Err(pin::Error::Cpu { cpu, why }.into());
        }
    }
    Ok(())
}

fn policy(options: &coho_sync_options) -> Result<WaitPolicy, Error> {
    use coho_wait::*;
    let known = [
        (COHO_WAIT_ADAPTIVE, WaitPolicy::Adaptive),
        (COHO_WAIT_SPIN, WaitPolicy::SpinFor(Duration::from_nanos(options.spin_ns))),
        (COHO_WAIT_ACTIVE, WaitPolicy::Active),
        (COHO_WAIT_PASSIVE, WaitPolicy::Passive),
    ];
    let policy = known.into_iter().find(|(name, _)| *name as i32 == options.wait);
    policy
        .map(|(_, policy)| policy)
        .ok_or_else(|| Error::Argument(format!("{} is not a way of waiting", options.wait)))
}

/// # Safety
/// `first` is null or the first of `length`.
unsafe fn array<'a, T>(first: *const T, length: usize) -> Option<&'a [T]> {
    // SAFETY: as the caller promises.
    (!first.is_null()).then(|| unsafe { std::slice::from_raw_parts(first, length) })
}

/// The function that a watchdog calls.
struct Tell {
    report: unsafe extern "C" fn(*mut c_void, usize, u64, *const usize, usize),
    argument: Argument,
}

impl Tell {
    fn late(&self, late: &Late) {
        let waited_ns = u64::try_from(late.waited.as_nanos()).unwrap_or(u64::MAX);
        let (missing, count) = (late.missing.as_ptr(), late.missing.len());
        // SAFETY: the caller promised that any thread may call the function with its argument; the ranks are alive.
        unsafe { (self.report)(self.argument.get(), late.rank, waited_ns, missing, count) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_in_c_arrives() {
        let one_way_ns = [0.0, 40.0, 50.0, 0.0];
        // SAFETY: zeros are a value of every field.
        let zeros: coho_sync_options = unsafe { std::mem::zeroed() };
        let given = coho_sync_options {
            size: size_of::<coho_sync_options>(),
            wait: coho_wait::COHO_WAIT_SPIN as i32,
            spin_ns: 7,
            one_way_ns: one_way_ns.as_ptr(),
            extra_line_ns: 8.0,
            stack_bytes: 1 << 20,
            lenient: 1,
            ..zeros
        };
        // SAFETY: there are four times for two threads.
        let chosen = unsafe { Chosen::of(&given, 2) }.unwrap().unwrap();
        assert_eq!(chosen.policy, WaitPolicy::SpinFor(Duration::from_nanos(7)));
        assert_eq!(chosen.latencies, Some(Latencies { one_way_ns: &one_way_ns, extra_line_ns: 8.0 }));
        assert_eq!((chosen.stack_bytes, chosen.lenient), (Some(1 << 20), true));
        let none = coho_sync_options { size: given.size, ..zeros };
        // SAFETY: without arrays.
        let chosen = unsafe { Chosen::of(&none, 2) }.unwrap().unwrap();
        assert!(chosen.latencies.is_none() && chosen.cpus.is_none() && chosen.watchdog.is_none());
        assert_eq!((chosen.policy, chosen.stack_bytes, chosen.lenient), (WaitPolicy::Adaptive, None, false));
    }
}
