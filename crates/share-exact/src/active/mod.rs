//! The library where it works.

mod atomics;
mod begin;
mod calls;
mod lines;
mod memory;
mod slots;
mod table;
mod thread;
