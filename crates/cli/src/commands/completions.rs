//! `coho completions`: what a shell needs to complete coho's commands.

use std::io::Write;

use clap_complete::Shell;

use crate::cli::Cli;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::whole(), "coho", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
