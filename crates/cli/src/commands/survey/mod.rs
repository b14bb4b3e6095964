//! `coho survey`: every quick experiment, a profile and a report.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use coho_model::fleet::Surveyed;
use coho_platform::stop;
use coho_probe::experiment::{EXPERIMENTS, Outcome, Plan, Survey, survey};
use coho_probe::host;
use coho_profile::{Profile, check_writable, write_atomic};
use coho_show::fleet::metrics_of;
use coho_show::visible::on_one_line;
use coho_show::{Subject, page, say, summary};
use coho_topology::CpuSet;

use crate::arguments::{self, Course, check_outputs};
use crate::history;
use crate::page_file::PageFile;
use crate::printed;
use crate::progress::Watching;
use crate::results::{enough_memory, say_lost, signal_name};

const EXAMPLES: &str = examples![
    (
        "Measure this machine in seconds, and write a report to look at",
        "coho survey --quick -o mine.json --report mine.html",
    ),
    ("Measure four CPUs only, for at most a minute", "coho survey --cpus 0-3 --time-limit 60s"),
];

/// Run all quick experiments, and write a profile and a report
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to write the profile [default: coho-DATE.json]
    #[arg(short, long, value_name = "FILE", value_parser = arguments::file_name())]
    output: Option<PathBuf>,
    /// Where to write the report [default: the profile's name with .html]
    #[arg(long, value_name = "FILE", value_parser = arguments::file_name())]
    report: Option<PathBuf>,
    /// Also write the main figures into this file for Prometheus: node_exporter reads it with its textfile collector
    #[arg(long, value_name = "FILE", value_parser = arguments::file_name())]
    metrics: Option<PathBuf>,
    /// Measure these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Fewer passes and sizes: some seconds on a small machine
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    history: history::Choice,
    #[command(flatten)]
    how: printed::How,
}

/// Memory for the experiments, the profile and the report, which holds a plotting library.
const LEAST_MEMORY: u64 = 48 << 20;

pub fn run(args: &Args) -> anyhow::Result<()> {
    enough_memory(LEAST_MEMORY)?;
    stop::on_signals().context("cannot catch signals")?;
    let host = host::collect();
    let named;
    let output = match &args.output {
        Some(output) => output.clone(),
        None => {
            named = DefaultName::take(host.date.as_deref());
            named.0.clone()
        }
    };
    let report = PageFile::new(args.report.as_deref(), output.with_extension("html"));
    let outputs = [Some(output.as_path()), Some(report.path()), args.metrics.as_deref()];
    check_outputs(&outputs.into_iter().flatten().collect::<Vec<_>>(), &[])?;
    args.metrics.as_deref().map_or(Ok(()), check_writable)?;
    let earlier = Profile::check_update(&output)?;
    earlier.check_machine(&output, &host)?;
    report.check("--report")?;
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let asked = Survey { quick: args.quick, only: None, course: args.course.on(args.cpus.as_ref()) };
    let rank = super::calls::rank().ok();
    let plan =
        Plan { host: &host, topology: &topology, mpi_rank: rank.as_ref(), path: Some(output.as_path()) };
    let history = (!args.history.no_history).then_some(&host);
    let outcome = survey(EXPERIMENTS, &asked, plan, &mut Watching::new(history))?;
    name_incomplete(&outcome, &output);
    say_lost(&output, &earlier, &outcome.profile);

    let profile = &outcome.profile;
    let subject = Subject::of_file(&output, profile.clone()).answered();
    report.write(&page(std::slice::from_ref(&subject)))?;
    if let Some(file) = &args.metrics {
        let mut text = Vec::new();
        metrics_of(&mut text, Surveyed::of("", "", profile))?;
        write_atomic(file, &text)?;
    }
    let mut out = args.how.out();
    if args.how.json {
        out.write_all(profile.to_json().as_bytes())?;
    } else {
        let needs_two: Vec<&str> = EXPERIMENTS.iter().flat_map(|entry| entry.needs_two).copied().collect();
        summary::write(&mut out, &subject, args.how.full, &needs_two)?;
        let shown = |path: &Path| on_one_line(&path.to_string_lossy());
        writeln!(out, "\nprofile  {}\nreport   {}", shown(&output), shown(report.path()))?;
    }
    if !outcome.has_figures {
        bail!("nothing was measured; each section's 'not_available' says why, or the time was too short");
    }
    Ok(())
}

/// Names the sections that are incomplete, missing or of an earlier run.
fn name_incomplete(outcome: &Outcome, output: &Path) {
    let mut parts = Vec::new();
    if !outcome.incomplete.is_empty() {
        parts.push(format!("not complete: {}", outcome.incomplete.join(", ")));
    }
    if !outcome.missing.is_empty() {
        parts.push(format!("not measured: {}", outcome.missing.join(", ")));
    }
    if !outcome.old.is_empty() {
        parts.push(format!("{} keeps its earlier {}", output.display(), outcome.old.join(", ")));
    }
    let why = match stop::signal() {
        Some(signal) => format!("stopped by {}", signal_name(signal)),
        None if parts.is_empty() => return,
        None => "not everything was measured".into(),
    };
    say!("coho: {}", std::iter::once(why).chain(parts).collect::<Vec<_>>().join("; "));
}

/// The profile's name in a survey whose user gave none. Its file is created empty at once, so that no other survey
/// takes the name, and is removed if nothing has been written to it.
struct DefaultName(PathBuf);

impl DefaultName {
    /// `coho-2026-11-21T21-30-00Z.json`, or with a number appended if that is taken: no run overwrites another's files.
    fn take(date: Option<&str>) -> Self {
        let date = date.unwrap_or("profile").replace(':', "-");
        let names = (1..)
            .map(|n: u32| if n == 1 { format!("coho-{date}.json") } else { format!("coho-{date}-{n}.json") });
        let is_free = |name: &PathBuf| {
            let is_taken = name.with_extension("html").symlink_metadata().is_ok()
                // The check of the output reports any other failure.
                || File::create_new(name).is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
            !is_taken
        };
        Self(names.map(PathBuf::from).find(is_free).expect("some number is free"))
    }
}

impl Drop for DefaultName {
    fn drop(&mut self) {
        if self.0.symlink_metadata().is_ok_and(|file| file.is_file() && file.len() == 0) {
            // If it cannot be removed, an empty file does no harm.
            let _ = fs::remove_file(&self.0);
        }
    }
}
