//! The functions that stand before MPI's.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use crate::mpi::{SUCCESS, mpi};
use crate::real::loaded;
use crate::reduce::{MOST_BYTES, suits};
use crate::table;
use crate::wait::WINDOWS;

/// The next function of a name, found when it is first called.
struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline(always)]
    fn address(&self) -> *mut c_void {
        let found = self.found.load(Relaxed);
        if found.is_null() { self.find() } else { found }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // Maybe a tool's; MPI's own may not lie in the program's scope.
        let next = coho_preload::real(self.name);
        let found =
            if next.is_null() { loaded().and_then(|mpi| mpi.function(self.name)) } else { Some(next) };
        let Some(found) = found else {
            coho_preload::line("mpi", format_args!("no library has {}", self.name.to_string_lossy()));
            std::process::abort();
        };
        self.found.store(found, Relaxed);
        found
    }
}

/// Calls the next function of this name.
macro_rules! next {
    ($name:literal; $($argument:expr),*; $($kind:ty),*) => {{
        static NEXT: Next = Next::new($name);
        // SAFETY: MPI's function of this name has this type, and the caller upholds its contract.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> c_int>(NEXT.address())(
                $($argument),*
            )
        }
    }};
}

/// # Safety
/// As MPI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(comm: usize) -> c_int {
    match table::group(comm) {
        Some(group) => group.meet_all().err().unwrap_or(SUCCESS),
        None => next!(c"MPI_Barrier"; comm; usize),
    }
}

/// # Safety
/// As MPI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    own: *const c_void,
    result: *mut c_void,
    count: c_int,
    kind: usize,
    operation: usize,
    comm: usize,
) -> c_int {
    // All ranks give the same number, type and operation, so all decide alike.
    if (1..=MOST_BYTES as c_int).contains(&count)
        && let Some(mpi) = mpi()
        && let (Some(number), Some(reduced)) = (mpi.abi.number(kind), mpi.abi.operation(operation))
        && count as usize * number.bytes() <= MOST_BYTES
        && suits(number, reduced)
        && let Some(group) = table::group(comm)
    {
        let own = if mpi.abi.is_in_place(own) { result } else { own };
        // SAFETY: the caller's buffers have so many numbers.
        return unsafe { group.reduce(own, result, count as usize, number, reduced) };
    }
    next!(c"MPI_Allreduce"; own, result, count, kind, operation, comm; *const c_void, *mut c_void, c_int, usize, usize, usize)
}

/// Stands before a function that opens a window, and counts those that are open.
macro_rules! opens_window {
    ($name:ident, $next:literal; $($argument:ident: $kind:ty),*) => {
        /// # Safety
        /// As MPI's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            let error = next!($next; $($argument),*; $($kind),*);
            if error == SUCCESS {
                WINDOWS.fetch_add(1, Relaxed);
            }
            error
        }
    };
}

opens_window!(MPI_Win_create, c"MPI_Win_create";
    base: *mut c_void, bytes: isize, unit: c_int, info: usize, comm: usize, window: *mut c_void);
opens_window!(MPI_Win_allocate, c"MPI_Win_allocate";
    bytes: isize, unit: c_int, info: usize, comm: usize, base: *mut c_void, window: *mut c_void);
opens_window!(MPI_Win_allocate_shared, c"MPI_Win_allocate_shared";
    bytes: isize, unit: c_int, info: usize, comm: usize, base: *mut c_void, window: *mut c_void);
opens_window!(MPI_Win_create_dynamic, c"MPI_Win_create_dynamic"; info: usize, comm: usize, window: *mut c_void);

/// # Safety
/// As MPI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Win_free(window: *mut c_void) -> c_int {
    let error = next!(c"MPI_Win_free"; window; *mut c_void);
    if error == SUCCESS {
        let one_less = |windows: usize| Some(windows.saturating_sub(1));
        let _ = WINDOWS.fetch_update(Relaxed, Relaxed, one_less);
    }
    error
}
