//! LIKWID, by its library's start and stop of an event set.

use std::ffi::{CStr, c_char, c_int};
use std::hint::black_box;
use std::time::Duration;

use super::{Open, Tool, repeat, repeat_on};
use crate::counters::fork;
use crate::library::Library;

const NAME: &str = "LIKWID start and stop";
const NAMES: [&str; 3] = ["liblikwid.so.5.4", "liblikwid.so.5", "liblikwid.so"];
/// LIKWID's names for cycles on Intel's, AMD's and ARM's CPUs.
const EVENTS: [&CStr; 3] = [c"CPU_CLK_UNHALTED_CORE:FIXC1", c"CPU_CLOCKS_UNHALTED:PMC0", c"CPU_CYCLES:PMC0"];
/// It takes long to read the machine's topology.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
struct Likwid {
    topology_init: unsafe extern "C" fn() -> c_int,
    init: unsafe extern "C" fn(c_int, *const c_int) -> c_int,
    add_event_set: unsafe extern "C" fn(*const c_char) -> c_int,
    setup: unsafe extern "C" fn(c_int) -> c_int,
    start: unsafe extern "C" fn() -> c_int,
    stop: unsafe extern "C" fn() -> c_int,
}

pub(super) fn tool(cpu: u32) -> Tool {
    let likwid = match Likwid::load() {
        Ok(likwid) => likwid,
        Err(why) => return Tool::absent(NAME, why),
    };
    // If LIKWID cannot have the counters, it may end the process or write to its streams.
    if let Err(why) = fork::survives(|| likwid.count(cpu).map(drop), PATIENCE) {
        return Tool::absent(NAME, why);
    }
    Tool {
        name: NAME,
        open: Box::new(move || {
            let event = likwid.count(cpu)?.to_string_lossy().into_owned();
            Ok(Open { run: repeat(move || likwid.start_and_stop()), event })
        }),
        step: Ok(repeat_on(move || likwid.count(cpu).map(|_| likwid), Likwid::start_and_stop)),
    }
}

impl Likwid {
    fn load() -> Result<Self, String> {
        let library = Library::load(&NAMES)?;
        // SAFETY: the types are those of likwid.h, the same in all versions 5.
        unsafe {
            Ok(Self {
                topology_init: library.function("topology_init")?,
                init: library.function("perfmon_init")?,
                add_event_set: library.function("perfmon_addEventSet")?,
                setup: library.function("perfmon_setupCounters")?,
                start: library.function("perfmon_startCounters")?,
                stop: library.function("perfmon_stopCounters")?,
            })
        }
    }

    /// Sets up counting cycles on a CPU, and tries it; returns the event's name.
    fn count(&self, cpu: u32) -> Result<&'static CStr, String> {
        let cpu = c_int::try_from(cpu).map_err(|error| error.to_string())?;
        // SAFETY: calls in the order of LIKWID's manual; the pointers live through them.
        unsafe {
            must("topology_init", (self.topology_init)())?;
            must("perfmon_init (counters, or rights to /dev/cpu/*/msr, are missing)", (self.init)(1, &cpu))?;
            let add = |event: &&&CStr| (self.add_event_set)(event.as_ptr());
            let (event, set) = EVENTS
                .iter()
                .map(|event| (*event, add(&event)))
                .find(|&(_, set)| set >= 0)
                .ok_or("perfmon_addEventSet knows none of the names for cycles")?;
            must("perfmon_setupCounters", (self.setup)(set))?;
            must("perfmon_startCounters", (self.start)())?;
            must("perfmon_stopCounters", (self.stop)())?;
            Ok(event)
        }
    }

    fn start_and_stop(&self) {
        // SAFETY: calls without arguments, after `count`.
        unsafe {
            black_box((self.start)());
            black_box((self.stop)());
        }
    }
}

fn must(call: &str, code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{call} fails with {code}")) }
}
