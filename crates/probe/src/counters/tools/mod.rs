//! The tools whose cost is compared: each row of the paper's Table 4 is an operation that can be repeated.

mod likwid;
mod papi;
mod perf_event;
mod user_level;

use std::hint::black_box;

/// Runs an operation this many times.
pub(super) type Repeat = Box<dyn FnMut(u64)>;

/// One tool's operation.
pub(super) struct Tool {
    /// Tool and operation.
    pub(super) name: &'static str,
    /// Opens what the operation works on, for the calling thread.
    pub(super) open: Box<dyn FnOnce() -> Result<Open, String>>,
    /// The operation for a copy of the process, in which nothing has been opened yet: the first run opens.
    pub(super) step: Result<Repeat, String>,
}

/// An operation that can be run.
pub(super) struct Open {
    pub(super) run: Repeat,
    /// What it counts meanwhile.
    pub(super) event: String,
}

/// All tools' operations, in the paper's order. The calling thread is pinned to `cpu`.
pub(super) fn all(cpu: u32) -> Vec<Tool> {
    let mut tools = user_level::tools();
    tools.extend(perf_event::tools());
    tools.extend(papi::tools());
    tools.push(likwid::tool(cpu));
    tools
}

impl Tool {
    /// An operation of a tool that is missing.
    fn absent(name: &'static str, why: String) -> Self {
        Self { name, step: Err(why.clone()), open: Box::new(|| Err(why)) }
    }
}

/// A loop around an operation; its result is kept from being optimised away.
pub(super) fn repeat<T>(mut operation: impl FnMut() -> T + 'static) -> Repeat {
    Box::new(move |times| {
        for _ in 0..times {
            black_box(operation());
        }
    })
}

/// A loop around an operation on something that is opened before it.
fn repeat_on<T: 'static>(open: impl Fn() -> Result<T, String> + 'static, operation: fn(&T)) -> Repeat {
    let mut opened = None;
    Box::new(move |times| {
        // This runs in a copy of the process, which cannot report an error: its death is the answer.
        let on = opened.get_or_insert_with(|| open().unwrap_or_else(|_| std::process::abort()));
        for _ in 0..times {
            operation(on);
        }
    })
}
