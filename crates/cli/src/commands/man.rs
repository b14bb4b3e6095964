//! `coho man`: the manual page of coho, or of one of its commands.

use std::io::Write;

use clap_mangen::Man;
use coho_profile::write_unnamed;

use crate::cli::Cli;

const EXAMPLES: &str = examples![("The manual page of a command", "coho man survey")];

/// Print the manual page of coho or of a command
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The command, and its subcommand if it has any (`predict barrier`) [default: coho itself]
    command: Vec<String>,
    /// Write the pages of coho and of all its commands into this folder: coho.1, coho-survey.1, …
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    all: Option<std::path::PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(folder) = &args.all {
        return write_all(folder, Cli::whole(), "coho");
    }
    let mut command = Cli::whole();
    let mut name = "coho".to_owned();
    for word in &args.command {
        name = format!("{name}-{word}");
        let sub = command.find_subcommand(word).cloned();
        command = sub.ok_or_else(|| anyhow::anyhow!("there is no command '{}'", args.command.join(" ")))?;
    }
    Ok(std::io::stdout().write_all(&page(command, name)?)?)
}

fn page(command: clap::Command, name: String) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.display_name(name)).render(&mut page)?;
    Ok(page)
}

fn write_all(folder: &std::path::Path, command: clap::Command, name: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        write_all(folder, sub.clone(), &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(write_unnamed(&folder.join(format!("{name}.1")), &page(command, name.to_owned())?)?)
}
