//! The command `coho`: arguments, tables, plots and reports over what the other crates measure and predict.

mod arguments;
mod cli;
mod commands;
mod judge;
mod report;
mod results;
mod svg;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(status) => status,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("coho: {error:#}");
            if error.is::<arguments::WrongUsage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Whoever reads our output may stop early (`coho … | head`): that is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
