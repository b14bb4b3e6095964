//! `coho path fit`: a stage's parameters from measurements.

use std::io::Write;
use std::path::PathBuf;

use coho_model::path::{self, Fit, Segment};
use coho_profile::read_text;
use coho_show::render::terminal::{self, Options};
use coho_show::sections::paths;
use coho_show::visible::{Out, Style};
use serde_json::json;

#[derive(Debug, clap::Args)]
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
    let mut out = Out::new(if args.json { Style::Json } else { Style::Plain });
    if args.json {
        let segment = |part: &Segment| {
            json!({
                "from_bytes": part.from_bytes,
                "to_bytes": part.to_bytes,
                "fixed_ns": part.fixed,
                "bytes_per_s": part.bytes_per_s,
                "relative_error": part.error,
            })
        };
        let segments: Vec<_> = fit.segments.iter().map(segment).collect();
        writeln!(out, "{:#}", json!({ "pairs": fit.pairs, "segments": segments }))?;
        return Ok(());
    }
    terminal::parts(&mut out, &paths::fitted(&fit), Options::stdout(false))?;
    writeln!(out)?;
    out.write_all(stages(&fit).as_bytes())?;
    Ok(())
}

/// The fitted parts in the form of a path's file.
fn stages(fit: &Fit) -> String {
    let mut text = String::from("[rates]\n");
    for (index, part) in fit.segments.iter().enumerate() {
        if let Some(rate) = part.bytes_per_s {
            text += &format!("fitted-{} = {{ bytes_per_s = {rate:.4e} }}\n", index + 1);
        }
    }
    for (index, part) in fit.segments.iter().enumerate() {
        let name = index + 1;
        text += &format!("\n[[stage]]\nname = \"fitted {name}\"\nkind = \"link\"\n");
        if part.bytes_per_s.is_some() {
            text += &format!("rate = \"fitted-{name}\"\n");
        }
        text += &format!("fixed_ns = {:.1}\n", part.fixed.0);
    }
    text
}
