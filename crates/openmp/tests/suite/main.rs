//! OpenMP programs on the preloaded library.

mod aside;
mod clang;
mod generated;
mod programs;
mod state;
mod support;
