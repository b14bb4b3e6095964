//! `coho path list`: the paths that come with the program.

use std::io::Write;

use coho_model::path::ready;
use coho_show::render::terminal::wrapped;
use coho_show::visible::{Out, Style};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = Out::new(if args.json { Style::Json } else { Style::Plain });
    let mut listed = Vec::new();
    for name in ready::names() {
        let file = ready::file(name)?;
        if args.json {
            let profile = file.profile().map(str::to_owned);
            listed.push(json!({
                "name": name,
                "about": file.about().trim(),
                "source": file.source(),
                "needs_profile": file.needs_profile() && profile.is_none(),
                "profile": profile,
            }));
        } else {
            writeln!(out, "{}", wrapped(&format!("{name:<15}"), file.about().trim()))?;
        }
    }
    if args.json {
        writeln!(out, "{:#}", json!({ "paths": listed }))?;
    } else {
        writeln!(out, "\n`coho path NAME --profile FILE`; `dimmnet` is dimmnet-h1.")?;
    }
    Ok(())
}
