//! `coho path list`: the paths that come with the program.

use std::io::Write;

use coho_model::path::{self, PathFile, ready};
use coho_show::render::terminal::wrapped;
use coho_show::visible::{Out, Style};
use serde_json::json;

use crate::printed;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let files = ready::names().map(|name| Ok((name, ready::file(name)?)));
    let files: Vec<(&str, PathFile)> = files.collect::<Result<_, path::Error>>()?;
    if args.json {
        let listed = files.iter().map(|(name, file)| {
            json!({
                "name": name,
                "about": file.about().trim(),
                "source": file.source(),
                "needs_profile": file.needs_profile() && file.profile().is_none(),
                "profile": file.profile(),
            })
        });
        return printed::json(&json!({ "paths": listed.collect::<Vec<_>>() }));
    }
    let mut out = Out::new(Style::Plain);
    for (name, file) in files {
        writeln!(out, "{}", wrapped(&format!("{name:<15}"), file.about().trim()))?;
    }
    writeln!(out, "\n`coho path NAME --profile FILE`; `dimmnet` is dimmnet-h1.")?;
    Ok(())
}
