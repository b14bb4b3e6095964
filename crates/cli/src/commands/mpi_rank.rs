//! `coho mpi-rank`: what `mpiexec` starts on behalf of `coho calls`; not for people.

use std::path::PathBuf;

use coho_probe::calls::mpi::rank_main;

/// The command's name.
pub const NAME: &str = "mpi-rank";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The private folder of the run
    folder: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    Ok(rank_main(&args.folder)?)
}
