//! Preloaded into a program that `gcc -fopenmp` has compiled (`LD_PRELOAD`), it answers in place of libgomp: the program's
//! regions run on [`coho_sync::Team`], its barriers are FBS, and nothing is rebuilt.
//!
//! It decides once, before the first region, for the whole process: it takes over where it knows all that is imported of
//! libgomp, and otherwise stands aside: each function then jumps to libgomp's own. A team's members never meet both.
//!
//! `COHO_OPENMP=off` has it stand aside, and `COHO_OPENMP=verbose` say on standard error what it has decided and why.
//! `coho run --openmp` sets it up.
#![warn(missing_docs)]

mod binding;
mod count;
mod decide;
mod exclusive;
mod exports;
mod frame;
mod group;
mod here;
mod lock;
mod openings;
mod pool;
mod query;
mod region;
mod settings;
mod sharing;
mod stack;
mod task;
mod thread;

/// The library's file.
pub const NAME: &str = "libcoho_openmp.so";
