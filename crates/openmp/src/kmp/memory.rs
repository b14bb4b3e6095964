//! Allocators. The program's own runtime keeps serving them; its functions take the number that it gave the thread.

use std::ptr;
use std::sync::OnceLock;

use libc::{c_int, c_void};

use crate::exports::own;

/// A function of the program's own runtime.
macro_rules! own_function {
    ($name:literal: $function:ty) => {{
        static OWN: OnceLock<$function> = OnceLock::new();
        *OWN.get_or_init(|| {
            let found = own(concat!($name, "\0")).expect("a runtime with one of these has all");
            // SAFETY: the runtime's function of that name has that type.
            unsafe { std::mem::transmute::<*mut c_void, $function>(found) }
        })
    }};
}

/// The number that the program's own runtime gives the calling thread.
pub fn own_number() -> c_int {
    let function = own_function!("__kmpc_global_thread_num": unsafe extern "C" fn(*const c_void) -> c_int);
    // SAFETY: it takes no place for an answer.
    unsafe { function(ptr::null()) }
}

macro_rules! own_functions {
    ($($name:ident = $own:literal($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => { $(
        pub unsafe extern "C" fn $name(_number: c_int, $($argument: $kind),*) $(-> $result)? {
            let function = own_function!($own: unsafe extern "C" fn(c_int, $($kind),*) $(-> $result)?);
            // SAFETY: the compiler's.
            unsafe { function(own_number(), $($argument),*) }
        }
    )* };
}

own_functions! {
    alloc = "__kmpc_alloc"(bytes: usize, allocator: usize) -> *mut c_void;
    aligned_alloc = "__kmpc_aligned_alloc"(align: usize, bytes: usize, allocator: usize) -> *mut c_void;
    calloc = "__kmpc_calloc"(count: usize, bytes: usize, allocator: usize) -> *mut c_void;
    realloc = "__kmpc_realloc"(memory: *mut c_void, bytes: usize, allocator: usize, frees: usize) -> *mut c_void;
    free = "__kmpc_free"(memory: *mut c_void, allocator: usize);
    init_allocator = "__kmpc_init_allocator"(space: usize, count: c_int, traits: *const c_void) -> usize;
    destroy_allocator = "__kmpc_destroy_allocator"(allocator: usize);
    get_default_allocator = "__kmpc_get_default_allocator"() -> usize;
}
