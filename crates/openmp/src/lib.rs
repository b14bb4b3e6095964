//! A library to preload (`LD_PRELOAD`) into a program compiled by `gcc -fopenmp`, clang or icx. It takes the place of
//! libgomp and of LLVM's runtime: the program's regions run on [`coho_sync::Team`], its barriers are FBS, and nothing is
//! rebuilt.
//!
//! It decides once, before the first region, for the whole process: it takes over if it knows everything that is
//! imported from a runtime. Otherwise it stands aside, and each function jumps to the runtime's own. A team's members never
//! meet both.
//!
//! `COHO_OPENMP=off` makes it stand aside; with `COHO_OPENMP=verbose` it says on standard error what it has decided and
//! why. `coho run --openmp` sets it up.
#![warn(missing_docs)]

mod affinity;
mod binding;
mod cancel;
mod count;
mod decide;
mod exclusive;
mod exports;
mod fit;
mod frame;
mod group;
mod here;
mod kmp;
mod lock;
mod openings;
mod pool;
mod query;
mod region;
mod settings;
mod sharing;
mod stack;
mod sync;
mod task;
mod teams;
mod thread;
mod truth;

/// The library's file.
pub const NAME: &str = "libcoho_openmp.so";
