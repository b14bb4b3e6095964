//! OpenMP programs on the preloaded library.

mod answers;
mod aside;
mod clang;
mod companions;
mod fit;
mod generated;
mod programs;
mod state;
mod support;
