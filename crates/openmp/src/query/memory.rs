//! The default allocator, which each thread of a region has for itself. The program's own runtime allocates.

use libc::{c_int, c_void};

use crate::affinity::{Dialect, dialect};
use crate::exports::resolved;
use crate::here::here;
use crate::kmp::own_function;
use crate::settings::settings;

/// OpenMP's `omp_null_allocator`, which stands for the default one, and `omp_default_mem_alloc`.
const NONE: usize = 0;
pub const DEFAULT: usize = 1;

/// The allocator that is meant, as far as the program has chosen it.
pub fn meant(allocator: usize) -> usize {
    if allocator == NONE { here().allocator() } else { allocator }
}

pub extern "C" fn set_default_allocator(allocator: usize) {
    here().set_allocator(if allocator == NONE { DEFAULT } else { allocator });
}

pub extern "C" fn get_default_allocator() -> usize {
    match here().allocator() {
        NONE => settings().allocator,
        chosen => chosen,
    }
}

/// Fortran's form: LLVM's runtime takes the value.
pub unsafe extern "C" fn set_default_allocator_(allocator: *const usize) {
    set_default_allocator(match dialect() {
        // SAFETY: the program's variable.
        Dialect::Libgomp => unsafe { *allocator },
        Dialect::Llvm => allocator.addr(),
    });
}

macro_rules! allocating {
    ($($name:ident = $own:literal($($argument:ident),*);)*) => { $(
        pub unsafe extern "C" fn $name($($argument: usize,)* allocator: usize) -> *mut c_void {
            let function = own_function!($own: unsafe extern "C" fn($(allocating!(@ $argument),)* usize) -> *mut c_void);
            // SAFETY: the program's.
            unsafe { function($($argument,)* meant(allocator)) }
        }
    )* };
    (@ $argument:ident) => { usize };
}

allocating! {
    alloc_by = "omp_alloc"(bytes);
    aligned_alloc_by = "omp_aligned_alloc"(align, bytes);
    calloc_by = "omp_calloc"(count, bytes);
    aligned_calloc_by = "omp_aligned_calloc"(align, count, bytes);
    alloc_of_gcc = "GOMP_alloc"(align, bytes);
}

pub unsafe extern "C" fn realloc_by(
    memory: *mut c_void,
    bytes: usize,
    allocator: usize,
    frees: usize,
) -> *mut c_void {
    let function = own_function!(
        "omp_realloc": unsafe extern "C" fn(*mut c_void, usize, usize, usize) -> *mut c_void
    );
    // Memory stays with its allocator. SAFETY: the program's.
    unsafe { function(memory, bytes, if memory.is_null() { meant(allocator) } else { allocator }, frees) }
}

pub extern "C" fn get_default_device() -> c_int {
    here().variables().device
}

pub extern "C" fn set_default_device(device: c_int) {
    let device = if device < 0 { understood(device) } else { device };
    here().change(|variables| variables.device = device);
}

/// What the program's own runtime makes of a number that is no device's.
fn understood(device: c_int) -> c_int {
    let (Some(set), Some(get)) = (resolved("omp_set_default_device\0"), resolved("omp_get_default_device\0"))
    else {
        return device;
    };
    // SAFETY: the runtimes' functions of these names have these types.
    unsafe {
        let set: unsafe extern "C" fn(c_int) = std::mem::transmute(set);
        let get: unsafe extern "C" fn() -> c_int = std::mem::transmute(get);
        let before = get();
        set(device);
        let understood = get();
        set(before);
        understood
    }
}
