//! `coho path fit`: a stage's parameters from what was measured.

use std::io::Write;
use std::path::PathBuf;

use coho_model::path::{self, Fit, Segment};
use coho_profile::read_text;
use serde_json::json;

use crate::report::text;
use crate::terminal;
use crate::terminal::table::table;

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
    let mut out = terminal::out(args.json);
    if args.json {
        let segment = |part: &Segment| {
            json!({
                "from_bytes": part.from_bytes,
                "to_bytes": part.to_bytes,
                "fixed_ns": part.fixed_ns,
                "bytes_per_s": part.bytes_per_s,
                "relative_error": part.error,
            })
        };
        let segments: Vec<_> = fit.segments.iter().map(segment).collect();
        writeln!(out, "{:#}", json!({ "pairs": fit.pairs, "segments": segments }))?;
        return Ok(());
    }
    let rows = fit.segments.iter().map(|part| {
        [
            text::number(part.from_bytes),
            text::number(part.to_bytes),
            text::number(part.fixed_ns),
            part.bytes_per_s.map_or_else(|| "–".to_owned(), |rate| text::number(rate / 1e9)),
            format!("{:.1} %", part.error * 100.0),
        ]
    });
    let header = ["from, B", "to, B", "fixed, ns", "rate, GB/s", "rms error"];
    writeln!(out, "{}", table(header, 0, rows.collect()))?;
    let lines =
        if fit.segments.len() > 1 { "; several lines: the protocol changes between them" } else { "" };
    writeln!(out, "{} pairs{lines}.\n", fit.pairs)?;
    out.write_all(stages(&fit).as_bytes())?;
    Ok(())
}

/// The parts as they go into a path's file.
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
        text += &format!("fixed_ns = {:.1}\n", part.fixed_ns);
    }
    text
}
