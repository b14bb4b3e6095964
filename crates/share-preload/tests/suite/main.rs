//! Programs into which the library is preloaded, and what it records of them.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

mod allocations;
mod common;
mod operands;
mod signals;
mod state;
mod steps;
mod threads;
