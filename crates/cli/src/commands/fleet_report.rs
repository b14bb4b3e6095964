//! `coho fleet report`: tables, metrics and a page of many machines.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use coho_model::fleet::{Baseline, FACTS, Fleet, GROUPED, Skipped, Surveyed};
use coho_platform::{host, stop};
use coho_probe::Progress;
use coho_profile::{Growing, check_unnamed, write_unnamed};
use coho_show::fleet::{Tables, metrics, page, parts};
use coho_show::render::html::is_report;
use coho_show::say;

use crate::arguments::file_name;
use crate::gather::{self, Found, Read as Content};
use crate::progress::on_stderr;
use crate::results::Stopped;
use crate::{arguments, printed};

const EXAMPLES: &str = examples![
    ("Which of the machines differ whose profiles are in a folder", "coho fleet report profiles -o fleet"),
    (
        "What an update of the kernel changed, and on how many machines",
        "coho fleet report after -o fleet-after --baseline fleet/fleet.jsonl --group-by cpu,topology",
    ),
];

/// Which machines differ, and in what: tables, metrics and a page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile files, or folders of them
    ///
    /// Of a folder, every regular file whose name ends in .json is read, also of the folders in it. A machine is called as its
    /// file, less a date, or as the file's folder where the file is called profile or coho-DATE.
    #[arg(required = true, value_name = "PROFILE|DIR")]
    profiles: Vec<PathBuf>,
    /// The folder to write fleet.jsonl, fleet.parquet, fleet.prom and fleet.html into
    #[arg(short, long, value_name = "DIR", value_parser = file_name())]
    output: PathBuf,
    /// Leave out surveys before this date (2026-11-20, 2026-11-20T12:00:00Z)
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,
    #[command(flatten)]
    grouping: Grouping,
    /// The fleet.jsonl of an earlier report, to say which figures changed, and on how many machines
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    how: printed::How,
}

/// What the machines of a group have in common.
#[derive(Debug, clap::Args)]
pub struct Grouping {
    /// Group machines in which these facts are equal: cpu, topology, kernel, mitigations, hypervisor, microcode, firmware, …
    /// [default: the first four]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true, value_parser = fact())]
    group_by: Vec<&'static str>,
}

impl Grouping {
    /// The facts.
    pub fn facts(&self) -> Vec<&'static str> {
        if self.group_by.is_empty() { GROUPED.to_vec() } else { self.group_by.clone() }
    }
}

fn fact() -> impl clap::builder::TypedValueParser<Value = &'static str> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(FACTS.iter().map(|(name, _)| *name))
        .map(|name| FACTS.iter().find(|(known, _)| *known == name).expect("one of the possible values").0)
}

/// A date, with or without a time.
fn date(text: &str) -> Result<String, String> {
    let fits = |shape| gather::has_shape(text.as_bytes(), shape);
    match fits(gather::DATE) || fits("0000-00-00T00:00:00Z") {
        true => Ok(text.into()),
        false => Err("give a date such as 2026-11-20 or 2026-11-20T12:00:00Z".into()),
    }
}

/// The longest line of a baseline; those of a report are hundreds of bytes long.
const LONGEST_LINE: u64 = 1 << 20;

pub fn run(args: &Args) -> anyhow::Result<()> {
    stop::on_signals().context("cannot catch signals")?;
    let by = args.grouping.facts();
    let baseline = args.baseline.as_deref().map(baseline).transpose()?;
    let outputs = Outputs::prepare(&args.output)?;
    let inputs: Vec<&Path> = args.profiles.iter().map(PathBuf::as_path).collect();
    arguments::check_outputs(&outputs.all(), &inputs)?;
    let (files, mut skipped) = gather::find(&args.profiles)?;
    ensure!(!files.is_empty() || !skipped.is_empty(), "there is no file whose name ends in .json");
    let begin = |name| Growing::begin_unnamed(&outputs.file(name));
    let mut tables = Tables::new(begin("fleet.jsonl")?, begin("fleet.parquet")?)?;
    let (mut fleet, now) = (Fleet::new(), host::date());
    let mut show = on_stderr();
    let (started, total) = (Instant::now(), files.len() as u64);
    let mut failed = None;
    gather::read(&files, |done, Found { file, machine }, content| {
        let done = done as u64 + 1;
        let left = Duration::try_from_secs_f64(
            started.elapsed().as_secs_f64() / done as f64 * (total - done) as f64,
        );
        show(Progress { phase: "profiles", done, total, left: left.ok() });
        let added = content.and_then(|content| match content {
            Content::Survey(survey) => {
                add(&mut fleet, *survey, args.since.as_deref(), machine, &now).map(Some)
            }
            Content::Nodes(network) => {
                gather::missing(file, &network).into_iter().for_each(|host| fleet.lacks(host));
                Ok(None)
            }
        });
        match added {
            Ok(Some(survey)) => failed = tables.add(&survey, &survey.group(&by)).err(),
            Ok(None) => {}
            Err(why) => skipped.push(Skipped { file: file.display().to_string(), why }),
        }
        failed.is_none() && !stop::requested()
    });
    drop(show);
    if let Some(error) = failed {
        return Err(anyhow::Error::new(error).context(format!("cannot write into {}", args.output.display())));
    }
    if let Some(signal) = stop::signal() {
        return Err(Stopped { signal }.into());
    }
    for Skipped { file, why } in &skipped {
        say!("{}", coho_show::fleet::say_skipped(file, why));
    }
    for host in fleet.missing() {
        say!("{}", coho_show::fleet::say_missing(host));
    }
    if fleet.machines() == 0 {
        bail!("no profile could be read");
    }
    let report = fleet.report(&by, skipped, baseline.as_ref());
    for file in tables.finish()? {
        file.finish()?;
    }
    let mut text = Vec::new();
    metrics(&mut text, &fleet, &report)?;
    write_unnamed(&outputs.file("fleet.prom"), &text)?;
    write_unnamed(&outputs.file("fleet.html"), page(&report).as_bytes())?;
    args.how.print(&report, parts)?;
    if !args.how.json {
        say!("wrote fleet.jsonl, fleet.parquet, fleet.prom and fleet.html into {}", args.output.display());
    }
    Ok(())
}

/// Adds a survey, unless it is too old or known already.
fn add(
    fleet: &mut Fleet,
    mut survey: Surveyed,
    since: Option<&str>,
    machine: &str,
    now: &str,
) -> Result<Surveyed, String> {
    match (since, survey.date.as_deref()) {
        (Some(since), Some(date)) if date < since => return Err(format!("measured {date}, before {since}")),
        (Some(since), None) => return Err(format!("it does not say whether it was measured since {since}")),
        _ => {}
    }
    let date = survey.date.clone();
    fleet.add(&mut survey)?;
    match date {
        Some(date) if date.as_str() > now => {
            fleet.note(
                machine,
                format!("its clock says {date}, which is yet to come: it is ahead of this machine's"),
            );
        }
        Some(_) => {}
        None => fleet
            .note(machine, format!("{} has no date; it counts as the machine's first survey", survey.file)),
    }
    Ok(survey)
}

/// Reads an earlier report's rows.
fn baseline(path: &Path) -> anyhow::Result<Baseline> {
    let open = || format!("cannot read the baseline {}", path.display());
    let is_regular = std::fs::metadata(path).with_context(open)?.is_file();
    ensure!(is_regular, "cannot read the baseline {}: not a regular file", path.display());
    let mut lines = BufReader::new(File::open(path).with_context(open)?);
    let (mut baseline, mut line, mut number) = (Baseline::new(), String::new(), 0);
    loop {
        line.clear();
        number += 1;
        if lines.by_ref().take(LONGEST_LINE).read_line(&mut line).with_context(open)? == 0 {
            break;
        }
        let wrong = || format!("{}:{number}: not a row of a fleet.jsonl", path.display());
        baseline.add(&line).with_context(wrong)?;
    }
    ensure!(!baseline.is_empty(), "{}: no row of a fleet.jsonl has a figure to compare", path.display());
    Ok(baseline)
}

/// The folder of a report.
struct Outputs<'a>(&'a Path);

/// A report's files, each with how one begins that a report of ours may replace.
const FILES: [(&str, &[u8]); 4] = [
    ("fleet.jsonl", b"{\"machine\":"),
    ("fleet.parquet", b"PAR1"),
    ("fleet.prom", b"# HELP coho_"),
    ("fleet.html", b""),
];

impl<'a> Outputs<'a> {
    /// Makes the folder where there is none, and checks that its files may be written and are none but an earlier report's.
    fn prepare(folder: &'a Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        for (name, begins) in FILES {
            let path = folder.join(name);
            check_unnamed(&path)?;
            let is_ours = match name {
                "fleet.html" => is_report(&path),
                _ => begins_with(&path, begins),
            };
            ensure!(
                !path.exists() || is_ours,
                "{} is not of a report of coho's; name another folder by -o",
                path.display()
            );
        }
        Ok(Self(folder))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn all(&self) -> Vec<&'a Path> {
        vec![self.0]
    }
}

/// Whether a file begins so; an empty one is nobody's loss.
fn begins_with(path: &Path, begin: &[u8]) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(begin.len() as u64).read_to_end(&mut head));
    read.is_ok() && (head == begin || head.is_empty())
}
