//! The experiments on the machine at hand.

mod busy;
mod calls;
mod coherence;
mod contention;
mod footprint;
mod idle;
mod kernels;
mod memory;
mod mpi;
mod step;
mod walk;
mod workload;
