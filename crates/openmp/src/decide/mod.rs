//! Takes over or stands aside: decided for the whole process, by the imports of its objects and the user's settings.
//!
//! A runtime keeps a team in variables of its own and calls itself by hidden names, so one part of a program cannot run on
//! its teams and another on coho's.

pub mod guests;
mod left;
pub mod loaded;
pub mod told;

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use coho_preload::{is_privileged, line, setting};
use coho_sync::MAX_THREADS;

use crate::affinity::{self, Dialect};
use crate::count;
use crate::exports::{self, Target};
use crate::fit;
use crate::openings;
use crate::settings::settings;

/// How an imported function is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    /// It has nothing to do with OpenMP.
    None,
    Ours,
    /// The program's own runtime's in any case.
    Left,
    Missing,
}

fn service(name: &str, version: Option<&str>) -> Service {
    let base = name.strip_suffix('_').map_or(name, |base| base.strip_suffix("_8").unwrap_or(base));
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    // Programs may have functions of their own with these prefixes.
    let may_be_another = begins(&["omp_", "acc_", "kmp_", "kmpc_", "ompc_"]);
    let is_another = version.is_some_and(|version| !is_runtimes(version));
    // LLVM's runtime has forms for Fortran under the names of C's.
    let is_unserved =
        version == Some("VERSION") && matches!(name, "omp_display_affinity" | "omp_capture_affinity");
    if is_another || !may_be_another && !begins(&["GOMP_", "GOACC_", "__kmpc_"]) {
        Service::None
    } else if exports::find(name).is_some() && !is_unserved {
        Service::Ours
    } else if left::is_left(base) {
        Service::Left
    } else if may_be_another && version.is_none() {
        Service::None
    } else {
        Service::Missing
    }
}

/// Whether a version is libgomp's or LLVM's runtime's.
fn is_runtimes(version: &str) -> bool {
    version == "VERSION"
        || ["GOMP_", "OMP_", "OACC_", "GOACC_"].iter().any(|prefix| version.starts_with(prefix))
}

/// Whether the program makes tasks if it imports this.
fn makes_tasks(name: &str) -> bool {
    matches!(name, "GOMP_task" | "GOMP_taskloop" | "GOMP_taskloop_ull" | "__kmpc_omp_task_alloc")
}

/// The state of the decision.
static DECIDED: Mutex<bool> = Mutex::new(false);

/// Decides if that has not been done and there is a runtime; otherwise the program may still open one later.
pub fn decide() {
    if exports::is_decided() {
        return;
    }
    let added = loaded::added();
    let judged = judge_loaded();
    if !exports::resolve() {
        exports::aim_again();
        return;
    }
    // Everything that waits for the loader is done before this: a thread inside the loader, in a constructor, may wait
    // for this lock.
    let mut decided = DECIDED.lock().unwrap_or_else(PoisonError::into_inner);
    if *decided {
        return;
    }
    match objection().map_or(judged, Err) {
        Ok(()) => {
            openings::looked_through(added);
            exports::aim(Target::Ours);
            count::begin();
            fit::begin();
            say(format_args!("taken over"));
            if let Some(asked) = settings().too_many {
                line(
                    "openmp",
                    format_args!("{asked} threads are asked for; a region has {MAX_THREADS} at most"),
                );
            }
            told::tell("taken over");
        }
        Err(why) => stand_aside(&why),
    }
    *decided = true;
}

/// Decides when the library is loaded if the program uses OpenMP, otherwise when it first does.
pub fn decide_early() {
    let mut uses = false;
    each_import(&mut |name, version| uses |= service(name, version) != Service::None);
    if uses {
        decide();
    }
}

/// Whether libgomp has the function at this address.
pub fn is_of_libgomp(function: usize) -> bool {
    let mut is = false;
    loaded::each_object(&mut |object| is |= object.is_libgomp() && object.range().contains(&function));
    is
}

/// Directs every function to the program's own runtime from now on.
pub fn stand_aside(why: &str) {
    exports::aim(Target::Own);
    count::becomes_incomplete();
    say(format_args!("stands aside: {why}"));
    told::tell(format_args!("stands aside: {why}"));
}

pub fn say(what: std::fmt::Arguments<'_>) {
    if setting(c"COHO_OPENMP") == Some(b"verbose") {
        line("openmp", what);
    }
}

/// Why not to take over, whatever is imported.
fn objection() -> Option<String> {
    if is_privileged() {
        return Some("the program runs with more rights than its user".into());
    }
    if setting(c"COHO_OPENMP") == Some(b"off") {
        return Some("COHO_OPENMP=off".into());
    }
    settings().objection.clone()
}

/// Calls `found` with the name and the version of each function that a loaded object imports; runtimes are left
/// out, and so are objects with a runtime of their own.
fn each_import(found: &mut dyn FnMut(&str, Option<&str>)) {
    loaded::each_object(&mut |object| {
        if !object.is_runtime() && !guests::contain(object) {
            object.each_import(found);
        }
    });
}

/// Whether all that the loaded objects import can be served.
pub fn judge_loaded() -> Result<(), String> {
    guests::look();
    let mut missing = Vec::new();
    each_import(&mut |name, version| {
        if makes_tasks(name) {
            openings::set_has_tasks();
        }
        if let Some(why) = unserved(name, version)
            && !missing.contains(&why)
        {
            missing.push(why);
        }
    });
    if affinity::is_displayed(Dialect::Llvm) && has_both_runtimes() {
        return Err("OMP_DISPLAY_AFFINITY is set, and there are two runtimes".into());
    }
    missing.sort();
    if missing.is_empty() { Ok(()) } else { Err(format!("imports {}", missing.join(" "))) }
}

/// Whether the runtimes of both compilers are there, each of which shows threads in its own way.
fn has_both_runtimes() -> bool {
    let (mut libgomp, mut llvm) = (false, false);
    loaded::each_object(&mut |object| {
        libgomp |= object.is_libgomp();
        llvm |= object.is_runtime() && !object.is_libgomp();
    });
    libgomp && llvm
}

/// Whether the program has nested locks from before OpenMP 3.0.
static OLD_NEST_LOCKS: AtomicBool = AtomicBool::new(false);

pub fn has_old_nest_locks() -> bool {
    OLD_NEST_LOCKS.load(Relaxed)
}

/// The name under which an import that cannot be served is reported.
fn unserved(name: &str, version: Option<&str>) -> Option<String> {
    // Nested locks had half the size.
    if name.contains("nest_lock") && version == Some("OMP_1.0") {
        OLD_NEST_LOCKS.store(true, Relaxed);
        return Some(format!("{name}@OMP_1.0"));
    }
    // LLVM's runtime shows teams, and has other threads in them.
    if name == "__kmpc_fork_teams" && affinity::is_displayed(Dialect::Llvm) {
        return Some(format!("{name} (OMP_DISPLAY_AFFINITY is set)"));
    }
    (service(name, version) == Service::Missing).then(|| name.to_owned())
}

/// What this library does with an imported function: 0 if it is none of OpenMP's, 1 if it is served, 2 if it stays the
/// runtime's own, 3 if it cannot be served.
///
/// # Safety
/// `name` is a string, and `version` one or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_openmp_serves(name: *const c_char, version: *const c_char) -> c_int {
    let text = |text: *const c_char| {
        // SAFETY: as the caller promises.
        let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
        text.and_then(|text| text.to_str().ok())
    };
    let (Some(name), version) = (text(name), text(version)) else { return 0 };
    if unserved(name, version).is_some() {
        return 3;
    }
    match service(name, version) {
        Service::None => 0,
        Service::Ours => 1,
        Service::Left => 2,
        Service::Missing => 3,
    }
}

/// Writes why this library would stand aside in a program with this process's environment, whatever it imports; returns
/// the reason's length, which may exceed the room, and 0 if there is none.
///
/// # Safety
/// There is room for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coho_openmp_objection(reason: *mut c_char, room: usize) -> usize {
    let why = objection().unwrap_or_default();
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(why.as_ptr(), reason.cast(), why.len().min(room)) };
    why.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_let_be() {
        assert_eq!(service("omp_report", None), Service::None);
        assert_eq!(service("acc_report", None), Service::None);
        assert_eq!(service("acc_init", Some("OACC_2.0")), Service::Missing);
        assert_eq!(service("omp_get_thread_num", Some("REPORTS_1.0")), Service::None);
        assert_eq!(service("omp_get_thread_num", Some("OMP_1.0")), Service::Ours);
    }

    #[test]
    fn what_is_not_known_is_missing() {
        assert_eq!(service("GOMP_parallel", None), Service::Ours);
        assert_eq!(service("omp_get_thread_num_", None), Service::Ours);
        assert_eq!(service("omp_set_num_threads_8_", None), Service::Ours);
        assert_eq!(service("omp_get_wtime_", None), Service::Left);
        assert_eq!(service("omp_set_num_teams_8_", Some("OMP_5.1")), Service::Left);
        assert_eq!(service("GOMP_teams4", None), Service::Missing);
        // Task reductions, for which programs import this besides what begins the construct.
        assert_eq!(service("GOMP_loop_start", Some("GOMP_5.0")), Service::Ours);
        assert_eq!(service("GOMP_workshare_task_reduction_unregister", Some("GOMP_5.0")), Service::Ours);
        assert_eq!(service("GOMP_parallel_reductions", Some("GOMP_5.0")), Service::Ours);
        assert_eq!(service("__kmpc_fork_call", Some("VERSION")), Service::Ours);
        assert_eq!(service("__kmpc_atomic_fixed4_add", Some("VERSION")), Service::Left);
        assert_eq!(service("__kmpc_atomic_cmplx8_add", Some("VERSION")), Service::Left);
        assert_eq!(service("__kmpc_atomic_cmplx16_rd", Some("VERSION")), Service::Left);
        assert_eq!(service("__kmpc_atomic_cmplx16_add_a16", Some("VERSION")), Service::Missing);
        assert_eq!(service("__kmpc_omp_target_task_alloc", None), Service::Missing);
        assert_eq!(service("kmp_set_defaults", Some("VERSION")), Service::Missing);
        assert_eq!(service("kmp_report", None), Service::None);
        assert_eq!(service("pthread_create", None), Service::None);
        for (name, version, expected) in [
            ("omp_display_affinity", Some("OMP_5.0"), Service::Ours),
            ("omp_display_affinity", Some("VERSION"), Service::Missing),
            ("omp_display_affinity_", Some("VERSION"), Service::Ours),
            ("ompc_display_affinity", Some("VERSION"), Service::Ours),
            ("ompc_get_affinity_format", Some("VERSION"), Service::Left),
        ] {
            assert_eq!(service(name, version), expected, "{name}");
        }
        assert_eq!(
            unserved("omp_init_nest_lock", Some("OMP_1.0")).as_deref(),
            Some("omp_init_nest_lock@OMP_1.0")
        );
        assert_eq!(unserved("omp_init_nest_lock", Some("OMP_3.0")), None);
    }
}
