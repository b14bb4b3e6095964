//! libgomp's own functions.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use coho_preload::{line, real};
use libc::dl_phdr_info;

/// The C library's `dlopen`.
pub fn dlopen() -> *mut c_void {
    static REAL: OnceLock<usize> = OnceLock::new();
    let found = *REAL.get_or_init(|| real(c"dlopen") as usize);
    if found == 0 { refuse as *mut c_void } else { found as *mut c_void }
}

extern "C" fn refuse() -> *mut c_void {
    ptr::null_mut()
}

/// What is called if there is no libgomp, or it lacks the function. Queries answer as they do without OpenMP, for
/// programs that only test for it (by weak symbols). Functions that need libgomp end the program.
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

/// libgomp's function, wherever it was loaded from. `name` ends with a zero.
pub fn libgomps(name: &str) -> Option<*mut c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).expect("names of the table end with a zero");
    let mut found = if crate::decide::has_old_nest_locks()
        && name.to_bytes().windows(9).any(|part| part == b"nest_lock")
    {
        // SAFETY: strings that end with a zero.
        unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"OMP_1.0".as_ptr()) }
    } else {
        real(name)
    };
    if found.is_null() {
        // A library has opened it for itself. SAFETY: a handle of the loader's, and a string that ends with a zero.
        found = opened().map_or(ptr::null_mut(), |handle| unsafe { libc::dlsym(handle, name.as_ptr()) });
    }
    (!found.is_null()).then_some(found)
}

/// A loaded libgomp, also under another name, such as Python wheels give it.
fn opened() -> Option<*mut c_void> {
    unsafe extern "C" fn object(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's, and what the caller has handed over.
        unsafe {
            let path = if (*info).dlpi_name.is_null() { c"" } else { CStr::from_ptr((*info).dlpi_name) };
            let is_libgomp = path
                .to_bytes()
                .rsplit(|&byte| byte == b'/')
                .next()
                .is_some_and(|file| file.starts_with(b"libgomp"));
            if is_libgomp {
                *data.cast::<Option<CString>>() = Some(path.to_owned());
            }
            is_libgomp.into()
        }
    }
    let mut path: Option<CString> = None;
    // SAFETY: the callback uses only what it is given; the library at the path is already loaded.
    unsafe {
        libc::dl_iterate_phdr(Some(object), (&raw mut path).cast());
        let open: extern "C" fn(*const libc::c_char, c_int) -> *mut c_void = std::mem::transmute(dlopen());
        let handle = open(path?.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        (!handle.is_null()).then_some(handle)
    }
}

/// Called for a function that the program's own libgomp does not have.
extern "C" fn missing() {
    line("openmp", "the program calls a function that its libgomp does not have");
    std::process::abort();
}
