//! `coho path fit`: a stage's parameters from measurements.

use std::io::Write;
use std::path::PathBuf;

use coho_model::path;
use coho_profile::read_text;
use coho_show::render::terminal::{self, Options};
use coho_show::sections::paths;
use coho_show::visible::{Out, Style};

use crate::printed::json;

const EXAMPLES: &str =
    examples![("Fixed cost and rate of measured transfers", "coho path fit transfers.csv")];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// CSV of two columns: bytes, ns
    #[arg(value_name = "PAIRS.csv")]
    pairs: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let text = read_text(&args.pairs)?;
    let pairs = path::parse_pairs(&args.pairs.display().to_string(), &text)?;
    let fit = path::fit(&pairs);
    if args.json {
        return json(&fit);
    }
    let mut out = Out::new(Style::Plain);
    terminal::parts(&mut out, &paths::fitted(&fit), Options::stdout(false))?;
    writeln!(out)?;
    out.write_all(fit.stages().as_bytes())?;
    Ok(())
}
