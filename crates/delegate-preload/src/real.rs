//! The C library's own functions, found when they are first called.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use crate::{hooks, state};

/// A function of the libraries that the loader searches after this one. Its first word, which assembly reads, is the address,
/// or null until it has been looked up.
#[repr(C)]
pub struct Real {
    found: AtomicPtr<c_void>,
    name: &'static CStr,
}

impl Real {
    pub const fn new(name: &'static CStr) -> Self {
        Self { found: AtomicPtr::new(ptr::null_mut()), name }
    }

    /// Its address. Whoever calls it has linked to it; a C library without it ends the program.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        let found = self.found.load(Relaxed);
        if found.is_null() { self.find() } else { found }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let found = coho_preload::real(self.name);
        if found.is_null() {
            coho_preload::line(
                "delegate",
                format_args!("the C library has no {}", self.name.to_string_lossy()),
            );
            std::process::abort();
        }
        // Until the library has begun, it may get a jump at its entry.
        if state::has_begun() {
            let found = hooks::original(found);
            self.found.store(found, Relaxed);
            return found;
        }
        found
    }
}

/// Calls the C library's function of the same name with the same arguments.
macro_rules! real {
    ($name:ident($($argument:expr),* ; $($kind:ty),*) -> $result:ty) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("an identifier has no zero"),
            },
        );
        let function = REAL.address();
        ::std::mem::transmute::<*mut ::std::ffi::c_void, unsafe extern "C-unwind" fn($($kind),*) -> $result>(
            function,
        )($($argument),*)
    }};
}

pub(crate) use real;
