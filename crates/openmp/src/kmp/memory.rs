//! Allocators. The program's own runtime keeps serving them; its functions take the number that it gave the thread.

use std::ptr;

use coho_preload::Mask;
use libc::{c_int, c_void};

use crate::query::{meant, set_default_allocator};
use crate::thread;

/// A function of the program's own runtime.
macro_rules! own_function {
    ($name:literal: $function:ty) => {{
        static OWN: std::sync::OnceLock<$function> = std::sync::OnceLock::new();
        *OWN.get_or_init(|| {
            let found =
                $crate::exports::own(concat!($name, "\0")).expect("a runtime with one of these has all");
            // SAFETY: the runtime's function of that name has that type.
            unsafe { std::mem::transmute::<*mut libc::c_void, $function>(found) }
        })
    }};
}

pub(crate) use own_function;

/// The number that the program's own runtime gives the calling thread.
pub fn own_number() -> c_int {
    let function = own_function!("__kmpc_global_thread_num": unsafe extern "C" fn(*const c_void) -> c_int);
    // SAFETY: it takes no place for an answer.
    let ask = || unsafe { function(ptr::null()) };
    if thread::this().has_own_number.replace(true) {
        return ask();
    }
    // LLVM's runtime binds a thread when it gives it a number, also one that is bound already.
    let before = Mask::current();
    let number = ask();
    if let Some(before) = before
        && Mask::current().as_ref() != Some(&before)
    {
        before.apply();
    }
    number
}

/// The same for a call that passes this number. A runtime that is about to end calls itself with one that is no thread's,
/// and holds the lock under which threads get theirs.
fn own_number_for(number: c_int) -> c_int {
    if number < 0 { number } else { own_number() }
}

macro_rules! own_functions {
    ($($name:ident = $own:literal($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => { $(
        pub unsafe extern "C" fn $name(number: c_int, $($argument: $kind),*) $(-> $result)? {
            let function = own_function!($own: unsafe extern "C" fn(c_int, $($kind),*) $(-> $result)?);
            // SAFETY: the compiler's.
            unsafe { function(own_number_for(number), $($argument),*) }
        }
    )* };
}

/// The same where the last argument is the allocator.
macro_rules! allocating {
    ($($name:ident = $own:literal($($argument:ident),*);)*) => { $(
        pub unsafe extern "C" fn $name(number: c_int, $($argument: usize,)* allocator: usize) -> *mut c_void {
            type Function = unsafe extern "C" fn(c_int, $(allocating!(@ $argument),)* usize) -> *mut c_void;
            let function = own_function!($own: Function);
            // SAFETY: the compiler's.
            unsafe { function(own_number_for(number), $($argument,)* meant(allocator)) }
        }
    )* };
    (@ $argument:ident) => { usize };
}

allocating! {
    alloc = "__kmpc_alloc"(bytes);
    aligned_alloc = "__kmpc_aligned_alloc"(align, bytes);
    calloc = "__kmpc_calloc"(count, bytes);
}

own_functions! {
    free = "__kmpc_free"(memory: *mut c_void, allocator: usize);
    init_allocator = "__kmpc_init_allocator"(space: usize, count: c_int, traits: *const c_void) -> usize;
    destroy_allocator = "__kmpc_destroy_allocator"(allocator: usize);
}

pub unsafe extern "C" fn realloc(
    number: c_int,
    memory: *mut c_void,
    bytes: usize,
    allocator: usize,
    frees: usize,
) -> *mut c_void {
    type Function = unsafe extern "C" fn(c_int, *mut c_void, usize, usize, usize) -> *mut c_void;
    // Memory stays with its allocator.
    let allocator = if memory.is_null() { meant(allocator) } else { allocator };
    let function = own_function!("__kmpc_realloc": Function);
    // SAFETY: the compiler's.
    unsafe { function(own_number_for(number), memory, bytes, allocator, frees) }
}

pub extern "C" fn set_default_allocator_of(_number: c_int, allocator: usize) {
    set_default_allocator(allocator);
}
