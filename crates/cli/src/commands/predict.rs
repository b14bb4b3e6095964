//! `coho predict`: what measured costs mean for a program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Subcommand;
use coho_model::cpi::{self, Line};
use coho_profile::{PairMethod, check_writable, write_atomic};
use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use crate::arguments::{check_outputs, file_name};
use crate::report::subject::Subject;
use crate::report::{classes, text};
use crate::svg::lines::{Lines, Series};
use crate::terminal;
use crate::visible::{Style, visible};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Cycles per instruction by the rate of coherence events, one line a class of CPU pairs
    Cpi(CpiArgs),
    /// Barriers, fork and join from the latencies between CPUs, for every algorithm
    Barrier(super::predict_barrier::Args),
    /// What FreeBSD's ULE does to programs by the topology that it believes in, and why
    Placement(super::predict_placement::Args),
    /// What regions and barriers cost an OpenMP program, here and with libgomp, by its counts: `coho run --openmp --count`
    Openmp(super::predict_openmp::Args),
    /// Which system calls another core should execute, from which cache footprint on, and what that gains
    Delegate(super::predict_delegate::Args),
}

#[derive(Debug, clap::Args)]
struct CpiArgs {
    /// Profile files, or `published:NAME` (`published:kawabe-furuya/e5620`)
    #[arg(value_name = "PROFILE", default_value = PUBLISHED)]
    profiles: Vec<String>,
    /// Cycles per instruction without coherence events
    #[arg(long, value_name = "CPI", default_value = "2.0", value_parser = positive)]
    base_cpi: f64,
    /// Coherence events per 100 instructions
    #[arg(
        long,
        value_name = "PERCENT",
        value_delimiter = ',',
        default_value = "0,0.5,1,1.5,2",
        value_parser = percent
    )]
    rate: Vec<f64>,
    /// Whose times: free-running as the papers', turn, flags [default: the first of these that was measured]
    #[arg(long, value_name = "METHOD", value_parser = super::coherence::method)]
    method: Option<PairMethod>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also draw the chart to a file
    #[arg(long, value_name = "FILE", value_parser = file_name())]
    svg: Option<PathBuf>,
}

/// What is predicted from where no profile is given: the paper's machines.
const PUBLISHED: &str = "published:kawabe-furuya";

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("must be above 0".into()) }
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    if (0.0..=100.0).contains(&value) { Ok(value) } else { Err("must lie between 0 and 100".into()) }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.what {
        What::Cpi(args) => run_cpi(args),
        What::Barrier(args) => super::predict_barrier::run(args),
        What::Placement(args) => super::predict_placement::run(args),
        What::Openmp(args) => super::predict_openmp::run(args),
        What::Delegate(args) => super::predict_delegate::run(args),
    }
}

/// Lines of several profiles, each with its source, and why others have none.
struct Prediction {
    lines: Vec<(String, Line)>,
    not_available: BTreeMap<String, String>,
}

fn run_cpi(args: &CpiArgs) -> anyhow::Result<()> {
    if let Some(file) = &args.svg {
        check_outputs(&[file], &args.profiles.iter().map(Path::new).collect::<Vec<_>>())?;
        check_writable(file)?;
    }
    let prediction = Prediction::of(&Subject::load_all(&args.profiles)?, args);
    if let Some(file) = &args.svg
        && !prediction.lines.is_empty()
    {
        write_atomic(file, visible(&prediction.svg()?, Style::Plain).as_bytes())?;
    }
    let mut out = terminal::out(args.json);
    if args.json {
        writeln!(out, "{:#}", prediction.json(args.base_cpi))?;
    } else {
        out.write_all(prediction.table(args).as_bytes())?;
        if args.profiles == [PUBLISHED] && std::io::stderr().is_terminal() {
            crate::say!("The published machines; `coho predict cpi PROFILE` shows yours.");
        }
    }
    if prediction.lines.is_empty() {
        let reasons: Vec<String> =
            prediction.not_available.iter().map(|(source, reason)| format!("{source}: {reason}")).collect();
        bail!("not available: {}", reasons.join("; "));
    }
    Ok(())
}

impl Prediction {
    fn of(subjects: &[Subject], args: &CpiArgs) -> Self {
        let mut prediction = Self { lines: Vec::new(), not_available: BTreeMap::new() };
        for subject in subjects {
            match cpi::lines(&subject.profile, args.base_cpi, &args.rate, args.method) {
                Ok(lines) => {
                    prediction.lines.extend(lines.into_iter().map(|line| (subject.label.clone(), line)));
                }
                Err(reason) => {
                    prediction.not_available.insert(subject.label.clone(), reason.to_string());
                }
            }
        }
        prediction
    }

    fn json(&self, base_cpi: f64) -> serde_json::Value {
        let point = |point: &cpi::Point| json!({ "rate_percent": point.rate_percent, "cpi": point.cpi });
        let line = |(source, line): &(String, Line)| {
            json!({
                "class": line.class,
                "cycles": line.cycles,
                "points": line.points.iter().map(point).collect::<Vec<_>>(),
                "source": source,
                "method": line.method,
            })
        };
        let lines: Vec<_> = self.lines.iter().map(line).collect();
        let mut all = json!({ "base_cpi": base_cpi, "lines": lines });
        if !self.not_available.is_empty() {
            all["not_available"] = json!(self.not_available);
        }
        all
    }

    fn table(&self, args: &CpiArgs) -> String {
        let mut written = String::new();
        if !self.lines.is_empty() {
            let mut table = Table::new();
            table.load_style(presets::NOTHING);
            let rates = args.rate.iter().map(|rate| format!("{rate}%"));
            let head = ["source", "class", "method", "cycles"].map(str::to_owned);
            table.set_header(head.into_iter().chain(rates));
            for (source, line) in &self.lines {
                let cpis = line.points.iter().map(|point| format!("{:.2}", point.cpi));
                let method = classes::method_name(line.method).to_owned();
                let name = [text::tame(source), text::tame(&line.class), method];
                table.add_row(name.into_iter().chain([format!("{:.2}", line.cycles)]).chain(cpis));
            }
            for column in table.column_iter_mut().skip(3) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            written += &format!(
                "Cycles per instruction by coherence events per 100 instructions, {} without:\n",
                args.base_cpi
            );
            written += &table.trim_fmt();
            written.push('\n');
        }
        let methods: BTreeSet<PairMethod> = self.lines.iter().map(|(_, line)| line.method).collect();
        if methods.len() > 1 {
            written +=
                "Of different methods: a turn is a transfer, a free-running increment often less than one.\n";
        }
        for (source, reason) in self.not_available.iter().filter(|_| !self.lines.is_empty()) {
            written += &format!("{}: not available: {}\n", text::tame(source), text::tame(reason));
        }
        written
    }

    fn svg(&self) -> anyhow::Result<String> {
        let series = |(source, line): &(String, Line)| Series {
            name: text::tame(&format!("{source}: {}, {:.1} cycles", line.class, line.cycles)),
            points: line.points.iter().map(|point| (point.rate_percent, point.cpi)).collect(),
        };
        let series: Vec<Series> = self.lines.iter().map(series).collect();
        let chart = Lines {
            title: "CPI under coherence events",
            x_label: "coherence events per 100 instructions",
            y_label: "cycles per instruction",
            series: &series,
            y_from: 0.0,
        };
        chart.to_svg()
    }
}
