//! `coho compare`: a profile beside another, or beside published figures or the papers' conclusions.

use std::io::Write;

use anyhow::bail;
use coho_model::claims;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};

use crate::report::compare::{Comparison, Fact, Row, compare};
use crate::report::subject::Subject;
use crate::report::text;
use crate::terminal;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A profile file, or one machine of a publication (`published:kawabe-furuya/e5620`)
    #[arg(value_name = "A", required_unless_present = "claims")]
    first: Option<String>,
    /// What to compare it with: a profile file, or `published:NAME[/MACHINE]`
    #[arg(value_name = "B", required_unless_present = "claims")]
    second: Option<String>,
    /// Judge the papers' conclusions by the figures of this profile
    #[arg(long, value_name = "PROFILE", conflicts_with_all = ["first", "second", "all"])]
    claims: Option<String>,
    /// List every figure, also reads of prepared lines and programs that do not differ
    #[arg(long)]
    all: bool,
    /// Print the comparison, with every figure, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(profile) = &args.claims {
        let subject = Subject::only(profile)?;
        let judge = if subject.published { claims::judge_published } else { claims::judge };
        return terminal::print(args.json, &judge(&subject.profile), |out, judged| {
            terminal::claims::write(out, judged, &subject.profile)
        });
    }
    let (Some(first), Some(second)) = (&args.first, &args.second) else {
        bail!("two profiles are compared, or --claims names one");
    };
    Subject::only(first)?;
    let subjects = Subject::load_all(&[first.clone(), second.clone()])?;
    let comparison = compare(&subjects);
    let mut out = terminal::out(args.json);
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&comparison)?)?;
    } else {
        print(&mut out, &comparison, args.all)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, comparison: &Comparison, all: bool) -> std::io::Result<()> {
    if comparison.figures.is_empty() {
        writeln!(out, "The profiles have no figure in common.")?;
    } else {
        let (shown, passed_over): (Vec<&Row>, Vec<&Row>) =
            comparison.figures.iter().partition(|row| all || !row.is_detail() || row.differs());
        writeln!(out, "{}", figures(&comparison.profiles, &shown))?;
        let first = text::short(&comparison.profiles[0], 30);
        writeln!(out, "ratio: over {first}")?;
        writeln!(out, "≠ beyond noise (intervals do not overlap); = within it; ? an interval is not told")?;
        if !passed_over.is_empty() {
            let n = text::count(passed_over.len(), "figure");
            writeln!(out, "{n} of prepared lines and of programs by size within noise; --all lists them.")?;
        }
    }
    if comparison.without_counterpart > 0 {
        let first = text::short(&comparison.profiles[0], 40);
        let n = text::count(comparison.without_counterpart, "figure");
        writeln!(out, "{n} of {first} without a counterpart.")?;
    }
    let told = [
        ("Host facts that differ", &comparison.host),
        ("Topology counts that differ", &comparison.topology),
        ("Verdicts that differ", &comparison.verdict),
    ];
    for (title, facts) in told {
        if !facts.is_empty() {
            writeln!(out, "\n{title}\n{}", facts_table(&comparison.profiles, facts))?;
        }
    }
    Ok(())
}

fn table(profiles: &[String], first: &str, ratios: bool) -> Table {
    let mut table = Table::new();
    let style = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());
    table.load_style(style).set_content_arrangement(ContentArrangement::Dynamic);
    // A wide terminal is used, but lines that run across a whole screen are hard to follow.
    let width = table.width().unwrap_or(80).clamp(40, 120);
    table.set_width(width);
    let mut header = vec![first.to_owned()];
    for (index, profile) in profiles.iter().enumerate() {
        header.push(text::short(profile, 30));
        if ratios && index > 0 {
            header.push("ratio".to_owned());
        }
    }
    table.set_header(header);
    table
}

fn figures(profiles: &[String], rows: &[&Row]) -> Table {
    let mut table = table(profiles, "figure", true);
    for row in rows {
        let mut cells = vec![Cell::new(format!("{}, {}", row.label, row.unit))];
        for (index, value) in row.values.iter().enumerate() {
            let Some(value) = value else {
                cells.extend([Cell::new("–"), Cell::new("")]);
                continue;
            };
            cells.push(right(text::worded(value.value, value.interval, value.inexact)));
            if index > 0 {
                let sign = match value.beyond_noise {
                    Some(true) => "≠",
                    Some(false) => "=",
                    None => "?",
                };
                let ratio = value.ratio.map_or("–".to_owned(), text::times);
                let interval = value.ratio_interval.map_or(String::new(), |(low, high)| {
                    format!(" ({}–{})", text::times(low), text::times(high))
                });
                cells.push(right(format!("{ratio}{interval} {sign}")));
            }
        }
        table.add_row(cells);
    }
    table
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn facts_table(profiles: &[String], facts: &[Fact]) -> Table {
    let mut table = table(profiles, "", false);
    for fact in facts {
        let values = fact.values.iter().map(|value| value.as_deref().unwrap_or("not told"));
        let row = std::iter::once(fact.name.as_str()).chain(values);
        table.add_row(row.map(|text| text::short(text, 200)).collect::<Vec<_>>());
    }
    table
}
