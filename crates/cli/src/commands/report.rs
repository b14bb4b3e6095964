//! `coho report`: profiles as a page to read, or as charts for a paper.

use std::path::PathBuf;

use crate::report::{self, subject::Subject};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile files, or `published:NAME` (`published:kawabe-furuya/e5620`)
    #[arg(required = true, value_name = "PROFILE")]
    profiles: Vec<String>,
    /// Where to write the page; it stands alone and fetches nothing
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let subjects = Subject::load_all(&args.profiles)?;
    coho_profile::write_atomic(&args.output, report::render(&subjects).as_bytes())?;
    eprintln!("wrote {}", args.output.display());
    Ok(())
}
