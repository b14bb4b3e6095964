//! Counting without a performance counter: a child process runs the work one instruction at a time (`ptrace`, single
//! steps), and its registers and code show what each instruction was and which memory it touched.
//!
//! The counts are exact, and cover user mode: the kernel's work shows only as the number of times that the work enters
//! it. They are counts, not cache events: a line that is counted once may be missed never or often.
//!
//! The work runs in a copy of the process, made by `fork`: its changes to memory stay there, but its changes to files
//! are real. If the process has several threads, the copy has only the calling one, and a lock that another thread
//! holds stays locked in it; the C library keeps its allocator usable, other libraries may not. Until the work starts
//! the copy makes only calls that are safe after `fork`. Pages that are not inherited, such as those of performance
//! counters, are missing. All signals are blocked except those caused by its own instructions.

mod child;
mod code;
mod region;
mod tally;
mod tracee;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod machine;

use std::time::{Duration, Instant};

use crate::Error;
use child::Work;
use tracee::Tracee;

/// Counts of what some work does in user mode. A line has 64 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Steps {
    /// Instructions; one with a repeat prefix counts once.
    pub instructions: u64,
    /// System calls made: instructions that enter the kernel. Page faults and interrupts are not among them.
    pub kernel_entries: u64,
    /// Reads of memory: one for each operand that is read, and for each element of a repeated instruction. `None` if
    /// this architecture's operands are not decoded.
    pub loads: Option<u64>,
    /// Writes of memory, likewise; an operand that is read and written counts as a load and a store.
    pub stores: Option<u64>,
    /// Distinct lines of code executed.
    pub code_lines: u64,
    /// Distinct lines of data loaded or stored, the stack's included. `None` if operands are not decoded.
    pub data_lines: Option<u64>,
    /// Instructions with memory operands whose addresses do not follow from the registers read here (gathers, scatters,
    /// saved extended states): counted as instructions, but not among loads, stores and lines.
    pub unresolved: u64,
    /// Signals that the work received; the instructions of their handlers are counted with it.
    pub signals: u64,
}

/// How to count, and when to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Runs at full speed before the one that is counted, so that symbols are bound and pages are present.
    pub warm_ups: u32,
    /// Steps after which the work counts as endless.
    pub most_steps: u64,
    /// Time after which it counts as endless, including the warm-up.
    pub limit: Duration,
    /// Whether an RDPMC that user mode may not use is skipped as if it had read 0, and counted as one instruction. So
    /// the cost of reading a counter in user mode can be counted without a counter.
    pub emulate_rdpmc: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { warm_ups: 2, most_steps: 10_000_000, limit: Duration::from_secs(60), emulate_rdpmc: false }
    }
}

/// Counts what one run of `work` does in user mode, after two runs that warm it up.
///
/// The closure's own instructions count, as compiled, but nothing around it: an empty closure counts 0. In a build
/// without optimisation a closure's captures cost it some instructions, and lines may be off by one or two.
///
/// # Errors
/// `not available: …` if the system forbids or lacks `ptrace`. Otherwise if the work starts a thread or a process,
/// dies, does not end within the limits of [`Options::default`], or if a stop is requested.
///
/// ```
/// use coho_probe::step;
/// match step::count(|| unsafe { libc::syscall(libc::SYS_getpid); }) {
///     Ok(steps) => assert_eq!(steps.kernel_entries, 1),
///     Err(error) => eprintln!("not counted: {error}"),
/// }
/// ```
pub fn count(work: impl FnMut()) -> Result<Steps, Error> {
    count_with(&Options::default(), work)
}

/// Counts as [`count`] does, by other options.
///
/// # Errors
/// As [`count`].
pub fn count_with(options: &Options, mut work: impl FnMut()) -> Result<Steps, Error> {
    let mut empty = || ();
    trace(options, Work::of(&mut work), Work::of(&mut empty))
}

/// Whether anything can be counted here.
///
/// # Errors
/// Why not, as [`count`] says it.
pub fn available() -> Result<(), Error> {
    count(|| ()).map(drop)
}

fn trace(options: &Options, work: Work, empty: Work) -> Result<Steps, Error> {
    let end = Instant::now() + options.limit;
    let mut tracee = Tracee::start(options, work, empty)?;
    let mut code = code::Code::default();
    let bracket = region::count(&mut tracee, &mut code, options, end)?;
    let whole = region::count(&mut tracee, &mut code, options, end)?;
    Ok(whole.less(&bracket))
}
