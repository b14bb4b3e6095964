//! `coho figures`: every figure of profiles as a row, for tables, data frames and databases.

use std::collections::BTreeMap;
use std::io::Write;

use coho_profile::{Estimate, Figure};
use coho_show::Subject;
use coho_show::render::csv;
use coho_show::visible::{Out, Style};
use serde::Serialize;

use crate::printed;

const EXAMPLES: &str = examples![
    ("Every figure of a profile as CSV", "coho figures mine.json >mine.csv"),
    ("The same as JSON, with a publication's", "coho figures mine.json published:nakamura-fbs --json"),
];

/// Print every figure of profiles as a row, for scripts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile files, or `published:NAME` (`published:kawabe-furuya/e5620`)
    ///
    /// Keys, labels and units are those of `coho schema --figures`; parameters tell figures of one key apart.
    #[arg(required = true)]
    profile: Vec<String>,
    /// Print JSON rather than CSV
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row<'a> {
    profile: &'a str,
    key: &'static str,
    label: &'static str,
    parameters: BTreeMap<&'static str, &'a str>,
    unit: &'static str,
    better: &'static str,
    #[serde(flatten)]
    estimate: &'a Estimate,
}

impl<'a> Row<'a> {
    fn of(profile: &'a str, figure: &'a Figure<'_>) -> Self {
        let quantity = figure.quantity;
        Self {
            profile,
            key: quantity.key,
            label: quantity.label,
            parameters: figure.parameters.iter().map(|(name, value)| (*name, &**value)).collect(),
            unit: quantity.unit,
            better: quantity.better.name(),
            estimate: &figure.estimate,
        }
    }

    /// In the order of [`HEAD`].
    fn cells(&self) -> Vec<String> {
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let Estimate { median, low, high, min, n, .. } = self.estimate;
        vec![
            self.profile.to_owned(),
            self.key.to_owned(),
            self.label.to_owned(),
            parameters.join(" "),
            median.to_string(),
            low.to_string(),
            high.to_string(),
            min.to_string(),
            n.to_string(),
            self.unit.to_owned(),
            self.better.to_owned(),
        ]
    }
}

const HEAD: &[&str] =
    &["profile", "key", "label", "parameters", "median", "low", "high", "min", "n", "unit", "better"];

pub fn run(args: &Args) -> anyhow::Result<()> {
    let subjects = Subject::load_all(&args.profile)?;
    let figures: Vec<_> =
        subjects.iter().map(|subject| (&*subject.label, subject.profile.figures())).collect();
    let rows: Vec<Row<'_>> = figures
        .iter()
        .flat_map(|(label, figures)| figures.iter().map(|figure| Row::of(label, figure)))
        .collect();
    if args.json {
        return printed::json(&rows);
    }
    let mut out = Out::new(Style::Data);
    out.write_all(csv::rows(HEAD, rows.iter().map(Row::cells))?.as_bytes())?;
    Ok(out.flush()?)
}
