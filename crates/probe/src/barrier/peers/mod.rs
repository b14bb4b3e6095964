//! Other libraries' barriers and parallel regions, in the same process and by the same rules.

mod local;
mod openmp;

pub(super) use local::{Local, Pthread};
pub(super) use openmp::{OpenMp, Runtime};
