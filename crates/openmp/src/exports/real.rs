//! The functions of the program's own runtimes.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use coho_preload::{line, real};

use crate::decide::loaded;

/// The C library's `dlopen`.
pub fn dlopen() -> *mut c_void {
    static REAL: OnceLock<usize> = OnceLock::new();
    let found = *REAL.get_or_init(|| real(c"dlopen") as usize);
    if found == 0 { refuse as *mut c_void } else { found as *mut c_void }
}

extern "C" fn refuse() -> *mut c_void {
    ptr::null_mut()
}

/// What is called if there is no runtime, or it lacks the function. Queries answer as they do without OpenMP, for
/// programs that only test for it (by weak symbols). Functions that need a runtime end the program.
pub fn absent(name: &str) -> *mut c_void {
    const ONES: &[&str] = &[
        "omp_get_max_threads",
        "omp_get_num_procs",
        "omp_get_num_teams",
        "omp_get_num_threads",
        "omp_get_supported_active_levels",
        "omp_get_team_size",
        "omp_get_thread_limit",
        "omp_test_lock",
        "omp_test_nest_lock",
    ];
    if ONES.contains(&name.trim_end_matches('_').trim_end_matches("_8")) {
        one as *mut c_void
    } else if name.starts_with("omp_") {
        zero as *mut c_void
    } else {
        missing as *mut c_void
    }
}

extern "C" fn one() -> c_int {
    1
}

extern "C" fn zero() -> c_int {
    0
}

/// The own runtime's function, wherever it was loaded from. `name` ends with a zero.
pub fn own(name: &str) -> Option<*mut c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).expect("names of the table end with a zero");
    let found = if crate::decide::has_old_nest_locks()
        && name.to_bytes().windows(9).any(|part| part == b"nest_lock")
    {
        // SAFETY: strings that end with a zero.
        unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"OMP_1.0".as_ptr()) }
    } else {
        real(name)
    };
    if !found.is_null() {
        return Some(found);
    }
    // A library has opened it for itself.
    let function = |handle: *mut c_void| {
        // SAFETY: a handle of the loader's, and a string that ends with a zero.
        let function = unsafe { libc::dlsym(handle, name.as_ptr()) };
        (!function.is_null()).then_some(function)
    };
    opened().into_iter().find_map(function)
}

/// The loaded runtimes.
fn opened() -> Vec<*mut c_void> {
    let mut paths = Vec::new();
    loaded::each_object(&mut |object| {
        if object.is_runtime() {
            paths.push(object.path().to_owned());
        }
    });
    // SAFETY: the C library's function; the libraries are already loaded.
    let open: extern "C" fn(*const libc::c_char, c_int) -> *mut c_void =
        unsafe { std::mem::transmute(dlopen()) };
    let handle = |path: CString| open(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
    paths.into_iter().map(handle).filter(|handle| !handle.is_null()).collect()
}

/// Called for a function that the program's own runtime does not have.
extern "C" fn missing() {
    line("openmp", "the program calls a function that its OpenMP runtime does not have");
    std::process::abort();
}
