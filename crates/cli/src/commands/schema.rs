//! `coho schema`: the JSON Schema that profiles follow.

use std::io::Write;
use std::path::PathBuf;

use coho_profile::Profile;

use coho_show::visible::on_one_line;
use coho_show::visible::{Out, Style};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Instead of printing the schema, check that these profiles have its version and types
    #[arg(long, value_name = "FILE", num_args = 1..)]
    check: Vec<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = Out::new(if args.check.is_empty() { Style::Json } else { Style::Plain });
    if args.check.is_empty() {
        out.write_all(Profile::JSON_SCHEMA.as_bytes())?;
    }
    for file in &args.check {
        Profile::read(file)?;
        writeln!(out, "{}: ok", on_one_line(&file.to_string_lossy()))?;
    }
    Ok(())
}
