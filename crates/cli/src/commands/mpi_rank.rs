//! `coho mpi-rank`: what `mpiexec` starts on behalf of `coho calls`; not for people.

use std::path::PathBuf;

use coho_probe::calls::mpi::rank_main;

/// The command's name, which is the module's.
pub const NAME: &str = "mpi-rank";

/// Measure MPI's functions as one of its ranks
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// The private folder of the run
    folder: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    Ok(rank_main(&args.folder)?)
}
