//! `coho path list`: the paths that come with the program.

use std::io::Write;

use coho_model::path::ready;
use coho_show::render::terminal::wrapped;
use coho_show::visible::{Out, Style};

use crate::printed;

const EXAMPLES: &str = examples![("The paths that come with coho", "coho path list")];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let list = ready::list();
    if args.json {
        return printed::json(&list);
    }
    let mut out = Out::new(Style::Plain);
    for path in list.paths {
        writeln!(out, "{}", wrapped(&format!("{:<15}", path.name), &path.about))?;
    }
    writeln!(out, "\n`coho path NAME --profile FILE`; `dimmnet` is dimmnet-h1.")?;
    Ok(())
}
