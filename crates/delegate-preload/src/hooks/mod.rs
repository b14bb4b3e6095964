//! Calls that the C library makes for itself: stdio's writes, reads, seeks and closes, and `fopen`'s open.
//!
//! They don't go through the symbol that this library stands before, but by a direct call to the same function. So a jump
//! is stored at the function's entry while the program has no other thread. Whatever is not as expected stays as it is,
//! and those calls unseen.

mod plan;
mod store;

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// A function of the C library's, as it is without the jump at its entry.
struct Hooked {
    entry: usize,
    original: usize,
}

static HOOKED: OnceLock<Vec<Hooked>> = OnceLock::new();

/// What has no jump yet.
struct Target {
    entry: usize,
    bytes: usize,
    hook: usize,
}

/// Stores jumps at the entries of the C library's functions of these names, to the functions beside them; all or none: what is
/// seen opened must be seen closed.
pub fn install(hooks: &[(&CStr, *const ())]) {
    let targets: Option<Vec<Target>> =
        hooks.iter().map(|&(name, hook)| target(name, hook as usize)).collect();
    let Some(mut targets) = targets else { return };
    // Two names may be one function's.
    targets.sort_by_key(|target| target.entry);
    targets.dedup_by_key(|target| target.entry);
    let _ = HOOKED.set(store::store(&targets).unwrap_or_default());
}

/// Whether all that stdio does with descriptors is seen.
pub fn see_stdio() -> bool {
    HOOKED.get().is_some_and(|hooked| !hooked.is_empty())
}

/// The function as it is without a jump, if there is one at its entry.
pub fn original(function: *mut c_void) -> *mut c_void {
    let hooked = HOOKED.get().into_iter().flatten().find(|hooked| hooked.entry == function as usize);
    hooked.map_or(function, |hooked| hooked.original as *mut c_void)
}

/// The function that this library's calls of this name reach, if it is the C library's own, and how long it is.
fn target(name: &CStr, hook: usize) -> Option<Target> {
    let entry = coho_preload::real(name);
    let (base, bytes) = located(entry)?;
    let (c_library, _) = located(libc::gnu_get_libc_version as *const c_void)?;
    (base == c_library).then_some(Target { entry: entry as usize, bytes, hook })
}

/// The library that a function is in, by its address, and how many bytes the function has.
fn located(function: *const c_void) -> Option<(*mut c_void, usize)> {
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *const libc::Elf64_Sym,
            what: c_int,
        ) -> c_int;
    }
    const SYMBOL: c_int = 1;
    let mut symbol = std::ptr::null();
    // SAFETY: zeroed values are valid, and the call writes to these alone; a symbol stays where it is.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if dladdr1(function, &raw mut info, &raw mut symbol, SYMBOL) == 0 || symbol.is_null() {
            return None;
        }
        (info.dli_saddr.cast_const() == function).then(|| (info.dli_fbase, (*symbol).st_size as usize))
    }
}
