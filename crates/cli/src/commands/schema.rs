//! `coho schema`: the JSON Schema that profiles follow, and the quantities that their figures are of.

use std::io::Write;
use std::path::PathBuf;

use coho_profile::{Profile, Quantity, SECTIONS};
use coho_show::visible::{Out, Style, on_one_line};

const EXAMPLES: &str = examples![("The JSON Schema of profiles", "coho schema")];

/// Print the JSON Schema of profiles
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Instead of printing the schema, check that these profiles have its version and types
    #[arg(long, value_name = "FILE", num_args = 1..)]
    check: Vec<PathBuf>,
    /// Instead of printing the schema, list what a profile's figures may be of: a line each of key, label, unit, which
    /// of two is better (lower, higher, neither) and whether machines of a fleet are told apart by it (yes, no), separated
    /// by tabs
    #[arg(long, conflicts_with = "check")]
    figures: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = Out::new(if args.check.is_empty() && !args.figures { Style::Json } else { Style::Data });
    for quantity in SECTIONS.iter().filter(|_| args.figures).flat_map(|section| (section.quantities)()) {
        let Quantity { key, label, unit, better, headline } = quantity;
        let headline = if *headline { "yes" } else { "no" };
        writeln!(out, "{key}\t{label}\t{unit}\t{}\t{headline}", better.name())?;
    }
    for file in &args.check {
        Profile::read(file)?;
        writeln!(out, "{}: ok", on_one_line(&file.to_string_lossy()))?;
    }
    if args.check.is_empty() && !args.figures {
        out.write_all(Profile::JSON_SCHEMA.as_bytes())?;
    }
    Ok(())
}
