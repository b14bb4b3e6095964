//! The functions by which programs ask and set: `omp_*`.

mod affinity;
mod lock;
mod memory;
mod place;

use libc::c_int;

pub use affinity::*;
pub use lock::*;
pub use memory::*;
pub use place::*;

use crate::fit;
use crate::here::here;
use crate::pool;
use crate::settings::{self, AUTO, MONOTONIC, MOST_LEVELS, processors, schedule, settings};

pub extern "C" fn get_thread_num() -> c_int {
    here().rank as c_int
}

pub extern "C" fn get_num_threads() -> c_int {
    let here = here();
    fit::size_is_asked(here);
    here.size() as c_int
}

pub extern "C" fn get_max_threads() -> c_int {
    fit::number_is_asked();
    here().variables().threads as c_int
}

pub extern "C" fn set_num_threads(threads: c_int) {
    fit::number_is_set();
    here().change(|variables| variables.threads = settings::threads(threads.max(1) as u32));
}

pub extern "C" fn get_num_procs() -> c_int {
    processors() as c_int
}

pub extern "C" fn in_parallel() -> c_int {
    (here().region().active_level > 0).into()
}

pub extern "C" fn get_level() -> c_int {
    here().region().level as c_int
}

pub extern "C" fn get_active_level() -> c_int {
    here().region().active_level as c_int
}

pub extern "C" fn get_ancestor_thread_num(level: c_int) -> c_int {
    u32::try_from(level).ok().and_then(|level| here().at_level(level)).map_or(-1, |outer| outer.rank as c_int)
}

pub extern "C" fn get_team_size(level: c_int) -> c_int {
    u32::try_from(level)
        .ok()
        .and_then(|level| here().at_level(level))
        .map_or(-1, |outer| outer.size() as c_int)
}

pub extern "C" fn get_dynamic() -> c_int {
    fit::is_dynamic(here()).into()
}

pub extern "C" fn set_dynamic(dynamic: c_int) {
    fit::dynamic_is_set(dynamic != 0);
    here().change(|variables| variables.is_dynamic = dynamic != 0);
}

pub extern "C" fn get_max_active_levels() -> c_int {
    here().variables().max_active_levels as c_int
}

pub extern "C" fn set_max_active_levels(levels: c_int) {
    if let Ok(levels) = u32::try_from(levels) {
        here().change(|variables| variables.max_active_levels = levels.min(MOST_LEVELS));
    }
}

pub extern "C" fn get_supported_active_levels() -> c_int {
    MOST_LEVELS as c_int
}

pub extern "C" fn get_nested() -> c_int {
    let levels = here().variables().max_active_levels;
    (levels > 1 && levels > here().region().active_level).into()
}

pub extern "C" fn set_nested(nested: c_int) {
    here().change(|variables| match (nested != 0, variables.max_active_levels) {
        (true, _) => variables.max_active_levels = MOST_LEVELS,
        (false, 2..) => variables.max_active_levels = 1,
        (false, _) => {}
    });
}

pub extern "C" fn get_thread_limit() -> c_int {
    settings().thread_limit.min(here().variables().limit).min(c_int::MAX as u32) as c_int
}

pub extern "C" fn get_cancellation() -> c_int {
    settings().cancels.into()
}

pub extern "C" fn get_max_task_priority() -> c_int {
    settings().max_task_priority.min(c_int::MAX as u32) as c_int
}

pub extern "C" fn in_final() -> c_int {
    here().task().is_final.into()
}

pub extern "C" fn in_explicit_task() -> c_int {
    (here().task().depth > 0).into()
}

pub extern "C" fn get_num_teams() -> c_int {
    here().region().league.1 as c_int
}

pub extern "C" fn get_team_num() -> c_int {
    here().region().league.0 as c_int
}

/// OpenMP's numbers of ways to pause, and libgomp's of the devices that are this process.
const PAUSES: std::ops::RangeInclusive<c_int> = 1..=2;
const HOST: [c_int; 2] = [-1, 0];

/// Ends the calling thread's teams; returns 0 if that was done. It is not done within a region.
pub extern "C" fn pause_resource_all(kind: c_int) -> c_int {
    if PAUSES.contains(&kind) && here().region().level == 0 && pool::release() { 0 } else { -1 }
}

pub extern "C" fn pause_resource(kind: c_int, device: c_int) -> c_int {
    if HOST.contains(&device) { pause_resource_all(kind) } else { -1 }
}

pub unsafe extern "C" fn pause_resource_all_(kind: *const i32) -> c_int {
    // SAFETY: the program's variable.
    pause_resource_all(unsafe { *kind })
}

pub unsafe extern "C" fn pause_resource_(kind: *const i32, device: *const i32) -> c_int {
    // SAFETY: the program's variables.
    unsafe { pause_resource(*kind, *device) }
}

pub extern "C" fn set_schedule(number: c_int, chunk: c_int) {
    let Some(schedule) = schedule(number, chunk) else { return };
    here().change(|variables| {
        variables.schedule_kind = number;
        // `auto` has none.
        if number & !MONOTONIC != AUTO {
            variables.schedule_chunk = schedule.chunk as c_int;
        }
        variables.schedule = schedule;
    });
}

pub unsafe extern "C" fn get_schedule(number: *mut c_int, chunk: *mut c_int) {
    let variables = here().variables();
    // SAFETY: the program's places.
    unsafe {
        *number = variables.schedule_kind;
        *chunk = variables.schedule_chunk;
    }
}

/// Fortran's forms of setters: by reference, with default integers and with long ones.
macro_rules! by_reference {
    ($($function:ident: $short:ident, $long:ident;)*) => { $(
        pub unsafe extern "C" fn $short(value: *const i32) {
            // SAFETY: the program's variable.
            $function(unsafe { *value });
        }

        pub unsafe extern "C" fn $long(value: *const i64) {
            // SAFETY: as above.
            $function(unsafe { *value }.clamp(c_int::MIN.into(), c_int::MAX.into()) as c_int);
        }
    )* };
}

by_reference! {
    set_num_threads: set_num_threads_, set_num_threads_8_;
    set_dynamic: set_dynamic_, set_dynamic_8_;
    set_nested: set_nested_, set_nested_8_;
    set_default_device: set_default_device_, set_default_device_8_;
    set_max_active_levels: set_max_active_levels_, set_max_active_levels_8_;
}

/// Fortran's forms of functions of a number.
macro_rules! of_a_number {
    ($($function:ident: $short:ident, $long:ident;)*) => { $(
        pub unsafe extern "C" fn $short(value: *const i32) -> c_int {
            // SAFETY: the program's variable.
            $function(unsafe { *value })
        }

        pub unsafe extern "C" fn $long(value: *const i64) -> c_int {
            // SAFETY: as above.
            $function(unsafe { *value }.clamp(c_int::MIN.into(), c_int::MAX.into()) as c_int)
        }
    )* };
}

of_a_number! {
    get_ancestor_thread_num: get_ancestor_thread_num_, get_ancestor_thread_num_8_;
    get_team_size: get_team_size_, get_team_size_8_;
    get_place_num_procs: get_place_num_procs_, get_place_num_procs_8_;
}

pub unsafe extern "C" fn set_schedule_(number: *const i32, chunk: *const i32) {
    // SAFETY: the program's variables.
    unsafe { set_schedule(*number, *chunk) };
}

pub unsafe extern "C" fn set_schedule_8_(number: *const i32, chunk: *const i64) {
    // SAFETY: as above.
    unsafe { set_schedule(*number, (*chunk).clamp(0, c_int::MAX.into()) as c_int) };
}

pub unsafe extern "C" fn get_schedule_8_(number: *mut i32, chunk: *mut i64) {
    let mut short = 0;
    // SAFETY: as above.
    unsafe {
        get_schedule(number, &raw mut short);
        *chunk = short.into();
    }
}
