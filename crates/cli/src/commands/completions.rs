//! `coho completions`: what a shell needs to complete coho's commands.

use std::io::Write;

use clap_complete::Shell;

use crate::cli::Cli;

const EXAMPLES: &str = examples![("Completions for bash", "coho completions bash")];

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
