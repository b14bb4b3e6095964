//! PAPI, by whichever version of the library the machine has.

use std::cell::OnceCell;
use std::ffi::{CStr, c_char, c_int, c_longlong};
use std::hint::black_box;
use std::rc::Rc;

use super::{Open, Tool, repeat, repeat_on};
use crate::library::Library;

const NAMES: [&str; 6] =
    ["libpapi.so.7.3", "libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.6.0", "libpapi.so"];
/// A library must be initialised with its own version number: 7.3 to 5.5.
const VERSIONS: [c_int; 9] = [0x703, 0x702, 0x701, 0x700, 0x601, 0x600, 0x507, 0x506, 0x505];
const OK: c_int = 0;
/// `PAPI_NULL`: no event set.
const NO_SET: c_int = -1;
const CYCLES: &CStr = c"PAPI_TOT_CYC";
/// What is counted if the CPU's counters are not available.
const PAGE_FAULTS: &CStr = c"perf::PAGE-FAULTS";

struct Papi {
    library_init: unsafe extern "C" fn(c_int) -> c_int,
    create_eventset: unsafe extern "C" fn(*mut c_int) -> c_int,
    add_named_event: unsafe extern "C" fn(c_int, *const c_char) -> c_int,
    start: unsafe extern "C" fn(c_int) -> c_int,
    stop: unsafe extern "C" fn(c_int, *mut c_longlong) -> c_int,
    read: unsafe extern "C" fn(c_int, *mut c_longlong) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    /// A thread can have one set that counts at a time: both rows share it.
    running: OnceCell<Result<Running, String>>,
}

/// An operation and its name.
type Row = (&'static str, fn(&Set));

/// A set of one event, which counts.
#[derive(Clone, Copy)]
struct Running {
    set: c_int,
    event: &'static CStr,
}

pub(super) fn tools() -> Vec<Tool> {
    let rows: [Row; 2] = [("PAPI_read", Set::read), ("PAPI start and stop", Set::stop_and_start)];
    let papi = match Papi::load() {
        Ok(papi) => Rc::new(papi),
        Err(why) => return rows.map(|(name, _)| Tool::absent(name, why.clone())).into(),
    };
    let tool = |(name, operation): Row| {
        let (here, copy) = (Rc::clone(&papi), Rc::clone(&papi));
        Tool {
            name,
            open: Box::new(move || {
                let set = Set::of(here)?;
                let event = set.running.event.to_string_lossy().into_owned();
                Ok(Open { run: repeat(move || operation(&set)), event })
            }),
            step: Ok(repeat_on(move || Set::of(Rc::clone(&copy)), operation)),
        }
    };
    rows.map(tool).into()
}

impl Papi {
    fn load() -> Result<Self, String> {
        let library = Library::load(&NAMES)?;
        // SAFETY: the types are those of papi.h, the same in all versions.
        unsafe {
            Ok(Self {
                library_init: library.function("PAPI_library_init")?,
                create_eventset: library.function("PAPI_create_eventset")?,
                add_named_event: library.function("PAPI_add_named_event")?,
                start: library.function("PAPI_start")?,
                stop: library.function("PAPI_stop")?,
                read: library.function("PAPI_read")?,
                strerror: library.function("PAPI_strerror")?,
                running: OnceCell::new(),
            })
        }
    }

    fn run(&self) -> Result<Running, String> {
        let greeted = VERSIONS.iter().map(|version| version << 16).any(|version| {
            // SAFETY: a call without pointers.
            version == unsafe { (self.library_init)(version) }
        });
        if !greeted {
            return Err("PAPI_library_init refuses every version known here, 5.5 to 7.3".into());
        }
        let mut set = NO_SET;
        // SAFETY: `set` is valid for writes.
        self.must("PAPI_create_eventset", unsafe { (self.create_eventset)(&mut set) })?;
        // SAFETY: the event is a C string.
        let add = |event: &CStr| unsafe { (self.add_named_event)(set, event.as_ptr()) };
        let event = if add(CYCLES) == OK {
            CYCLES
        } else {
            self.must("PAPI_add_named_event", add(PAGE_FAULTS))?;
            PAGE_FAULTS
        };
        // SAFETY: a call without pointers.
        self.must("PAPI_start", unsafe { (self.start)(set) })?;
        Ok(Running { set, event })
    }

    fn must(&self, call: &str, code: c_int) -> Result<(), String> {
        if code == OK {
            return Ok(());
        }
        // SAFETY: PAPI returns null or a C string that stays.
        let text = unsafe {
            let text = (self.strerror)(code);
            if text.is_null() { c"unknown error" } else { CStr::from_ptr(text) }
        };
        Err(format!("{call}: {}", text.to_string_lossy()))
    }
}

/// The set that counts, and its library.
struct Set {
    papi: Rc<Papi>,
    running: Running,
}

impl Set {
    fn of(papi: Rc<Papi>) -> Result<Self, String> {
        let running = papi.running.get_or_init(|| papi.run()).clone()?;
        Ok(Self { papi, running })
    }

    fn read(&self) {
        let mut values = [0];
        // SAFETY: the set has one event, for which there is room.
        black_box(unsafe { (self.papi.read)(self.running.set, values.as_mut_ptr()) });
    }

    fn stop_and_start(&self) {
        let mut values = [0];
        // SAFETY: as above.
        unsafe {
            black_box((self.papi.stop)(self.running.set, values.as_mut_ptr()));
            black_box((self.papi.start)(self.running.set));
        }
    }
}
