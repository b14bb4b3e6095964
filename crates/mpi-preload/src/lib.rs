//! A library to preload into MPI programs (`LD_PRELOAD`). It stands before `MPI_Barrier` and small calls of `MPI_Allreduce`,
//! and serves them in memory that the ranks share, at coho's barrier, where it surely can. All else goes on to MPI, and so
//! do these where it cannot.
//!
//! It needs no MPI to be compiled: MPICH and those that share its ABI (Intel MPI, MVAPICH, Cray) have numbers as handles
//! that are fixed for good, Open MPI has addresses of symbols, and both fit a word. Which it is, the loaded library says
//! (`MPI_Get_library_version`); under any other, nothing is served.
//!
//! A communicator is served if all of its ranks run on one node and have this library, as they tell each other in
//! `roll`, beside MPI: where one lacks it, none waits for it in vain. Set-up takes place at a call that is collective,
//! and which is the same for all ranks: after 16 calls that MPI has served.
//!
//! A waiting rank lets MPI make progress, which other ranks' messages and windows may depend on (`wait`). If a rank dies,
//! the others' calls end by the communicator's error handler; by default that ends the job.
//!
//! `COHO_MPI_PRELOAD=off` leaves all to MPI; `verbose` says on standard error what is served. The library does nothing in
//! a program that runs with more rights than its user.
#![warn(missing_docs)]

mod abi;
mod group;
mod interpose;
mod keeper;
mod mpi;
mod real;
mod reduce;
mod roll;
mod settings;
mod shared;
mod table;
mod wait;

/// The variable that turns the library off, or has it say what it does.
pub const SETTING: &str = "COHO_MPI_PRELOAD";
