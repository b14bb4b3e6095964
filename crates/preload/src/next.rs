//! The functions of the libraries that the loader searches after a preloaded one, found when that is loaded. To look
//! one up later would take away what `dlerror` has to tell the program.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use crate::{line, real};

/// A function. Its first word, which assembly reads, is the address.
#[derive(Debug)]
#[repr(C)]
pub struct Next {
    found: AtomicPtr<c_void>,
    name: &'static CStr,
}

impl Next {
    /// A function of this name; [`next_functions!`](crate::next_functions) makes them.
    pub const fn new(name: &'static CStr) -> Self {
        Self { found: AtomicPtr::new(ptr::null_mut()), name }
    }

    /// Looks it up.
    pub fn look_up(&self) {
        self.found.store(real(self.name), Relaxed);
    }

    /// What was found; null if that is nothing, or it was not looked up.
    #[inline(always)]
    pub fn found(&self) -> *mut c_void {
        self.found.load(Relaxed)
    }

    /// From now on, calls go to another function in its place.
    pub fn replace(&self, function: *mut c_void) {
        self.found.store(function, Relaxed);
    }

    /// Its address. Whoever calls it has linked to it; without it the process ends.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        let found = self.found();
        if found.is_null() { self.find() } else { found }
    }

    /// Another library calls it before this one is loaded completely, or there is none.
    #[cold]
    fn find(&self) -> *mut c_void {
        self.look_up();
        if self.found().is_null() {
            line("preload", format_args!("the C library has no {}", self.name.to_string_lossy()));
            std::process::abort();
        }
        self.found()
    }
}

/// Looks all of these up when a library is loaded.
pub fn look_up_all(functions: &[&Next]) {
    functions.iter().for_each(|function| function.look_up());
    // It tells nothing of those that were not found. SAFETY: no arguments.
    unsafe { libc::dlerror() };
}

/// Defines a [`Next`](crate::Next) for each function, named as the function, and `ALL` of them.
#[macro_export]
macro_rules! next_functions {
    ($($(#[$condition:meta])? $name:ident)+) => {
        $(
            $(#[$condition])?
            #[allow(non_upper_case_globals, reason = "named as the function")]
            pub static $name: $crate::Next = $crate::Next::new(
                match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("an identifier has no zero"),
                },
            );
        )+

        /// All of them.
        pub static ALL: &[&$crate::Next] = &[$($(#[$condition])? &$name),+];
    };
}

/// Calls the function behind a [`Next`](crate::Next) with these arguments.
#[macro_export]
macro_rules! call_next {
    ($function:path; $($argument:expr),* ; $($kind:ty),*; $result:ty) => {
        ::std::mem::transmute::<*mut ::std::ffi::c_void, unsafe extern "C-unwind" fn($($kind),*) -> $result>(
            $function.address(),
        )($($argument),*)
    };
}
