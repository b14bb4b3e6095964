//! What clang, icx and flang compile: the interface of LLVM's runtime (`libomp`, `libiomp5`) over the same teams as
//! libgomp's. A program may have code of both kinds.
//!
//! The compilers pass a place in the source and the thread's number to nearly every function. Functions here take only
//! what they use, as arguments that are not taken do no harm; a thread is known without its number.

pub mod arguments;
pub mod atomic;
mod deal;
mod distribute;
mod doacross;
mod fork;
mod lock;
mod loops;
mod memory;
mod private;
mod reduce;
mod serial;
mod sync;
mod task;
mod teams;
mod threads;

pub use distribute::*;
pub use doacross::*;
pub use fork::*;
pub use lock::*;
pub use loops::*;
pub(crate) use memory::own_function;
pub use memory::*;
pub use private::*;
pub use reduce::*;
pub use serial::*;
pub use sync::*;
pub use task::*;
pub use teams::*;
pub use threads::*;

use libc::{c_char, c_int};

/// A place in the source, as compilers describe it.
#[repr(C)]
pub struct Place {
    reserved: c_int,
    flags: c_int,
    others: [c_int; 2],
    text: *const c_char,
}
