//! `coho survey`: every quick experiment, a profile and a report.

mod figures;
mod sections;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use coho_platform::{pin, stop};
use coho_probe::{barrier, calls, coherence, contention, counters, host, idle, kernels, memory};
use coho_profile::{
    Calls, Coherence, Contention, Counters, Idle, Memory, PairMethod, Profile, Sync, TopologySection,
};
use coho_show::render::terminal::{self as written, Options};
use coho_show::sections::{self as shown, machine};
use coho_show::visible::{Paint, on_one_line};
use coho_show::{Subject, page, words};
use coho_topology::{CpuSet, Topology};

use crate::arguments::{self, Course, check_outputs};
use crate::history;
use crate::page_file::PageFile;
use crate::results::{enough_memory, same_machine};
use crate::{printed, progress};
use figures::Figures;
use sections::{Measured, Sections};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write the profile [default: coho-DATE.json]
    #[arg(short, long, value_name = "FILE", value_parser = arguments::file_name())]
    output: Option<PathBuf>,
    /// Where to write the report [default: the profile's name with .html]
    #[arg(long, value_name = "FILE", value_parser = arguments::file_name())]
    report: Option<PathBuf>,
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

/// How long a pair is watched for changes.
const A_WHILE: Duration = Duration::from_secs(5);
const BRIEFLY: Duration = Duration::from_secs(1);
/// The most time for counters and calls.
const COUNTERS: Duration = Duration::from_secs(20);
const COUNTERS_BRIEFLY: Duration = Duration::from_secs(3);
const CALLS: Duration = Duration::from_secs(60);
const CALLS_BRIEFLY: Duration = Duration::from_secs(10);
/// Repetitions, which take less than that on a machine that does little else.
const CALLS_REPEATED: u32 = 100;
const CALLS_REPEATED_BRIEFLY: u32 = 50;
/// The most time for memory; it usually ends sooner.
const MEMORY: Duration = Duration::from_secs(30);
const MEMORY_BRIEFLY: Duration = Duration::from_secs(6);
/// The most time for barriers, and for each program under them.
const BARRIERS: Duration = Duration::from_secs(20);
const BARRIERS_BRIEFLY: Duration = Duration::from_secs(3);
const PROGRAM: Duration = Duration::from_secs(15);
/// The most time for CPUs to contend for one line.
const CONTENTION: Duration = Duration::from_secs(10);
const CONTENTION_BRIEFLY: Duration = Duration::from_secs(2);
/// The most time for CPUs to be watched waking up.
const WAKING: Duration = Duration::from_secs(10);
const WAKING_BRIEFLY: Duration = Duration::from_secs(2);

/// Memory for the experiments, the profile and the report, which holds a plotting library.
const LEAST_MEMORY: u64 = 48 << 20;

pub fn run(args: &Args) -> anyhow::Result<()> {
    enough_memory(LEAST_MEMORY)?;
    stop::on_signals().context("cannot catch signals")?;
    let host = host::collect();
    let output = args.output.clone().unwrap_or_else(|| default_name(host.date.as_deref()));
    let report = PageFile::new(args.report.as_deref(), output.with_extension("html"));
    check_outputs(&[&output, report.path()], &[])?;
    same_machine(&output, &Profile::check_update(&output)?, &host)?;
    report.check("--report")?;
    let effort = if args.quick { coherence::Options::quick() } else { coherence::Options::default() };
    let options = coherence::Options {
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..effort.on(args.cpus.iter().flat_map(CpuSet::iter).collect())?
    };

    let started = Instant::now();
    let left =
        || args.course.time_limit.map_or(Duration::MAX, |limit| limit.saturating_sub(started.elapsed()));
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let mut sections = Sections::begin(&output, host.clone(), TopologySection::from(topology.clone()))?;
    match share(args, &options, &topology)? {
        // Times between CPUs from an earlier survey are worth more than one CPU's.
        Some(Ok(alone)) if alone.pairs.is_empty() && has_pairs(sections.profile()) => {
            sections.put("coherence", |profile| &mut profile.coherence, Some(Err(alone)))?;
        }
        Some(Ok(measured)) => {
            let time = left().min(if args.quick { BRIEFLY } else { A_WHILE });
            let finished = |measured: Coherence| {
                let mut section = watch(measured.clone(), time).unwrap_or(measured);
                if !args.history.no_history {
                    history::meet(&mut section, &host);
                }
                section
            };
            if sections.profile().coherence.is_some() {
                // An earlier survey's times stay until these have been watched to the end.
                sections.put("coherence", |profile| &mut profile.coherence, Some(Ok(finished(measured))))?;
            } else {
                sections.put("coherence", |profile| &mut profile.coherence, Some(Ok(measured.clone())))?;
                sections.add("coherence", |profile| &mut profile.coherence, finished(measured))?;
            }
        }
        other => sections.put("coherence", |profile| &mut profile.coherence, other)?,
    }
    sections.put("counters", |profile| &mut profile.counters, count(args, options.seed, left()))?;
    let calls = call(args, options.seed, left(), sections.profile());
    sections.put("calls", |profile| &mut profile.calls, calls)?;
    let memory = move_data(args, options.seed, &topology, left());
    sections.put("memory", |profile| &mut profile.memory, memory)?;
    let sync = synchronise(args, &topology, options.seed, left(), sections.profile().sync.as_ref());
    sections.put("sync", |profile| &mut profile.sync, sync)?;
    let contention = contend(args, &topology, options.seed, left());
    sections.put("contention", |profile| &mut profile.contention, contention)?;
    let idle = wake(args, &topology, options.seed, left());
    sections.put("idle", |profile| &mut profile.idle, idle)?;
    sections.report();

    let profile = sections.profile();
    let subject = Subject::of_file(&output, profile.clone()).answered();
    report.write(&page(std::slice::from_ref(&subject)))?;
    let mut out = args.how.out();
    if args.how.json {
        out.write_all(profile.to_json().as_bytes())?;
    } else {
        summarise(&mut out, &subject, args.how.full)?;
        let shown = |path: &Path| on_one_line(&path.to_string_lossy());
        writeln!(out, "\nprofile  {}\nreport   {}", shown(&output), shown(report.path()))?;
    }
    if !sections.has_figures() {
        bail!("nothing was measured; each section's 'not_available' says why, or the time was too short");
    }
    Ok(())
}

fn has_pairs(profile: &Profile) -> bool {
    profile.coherence.as_ref().is_some_and(|coherence| coherence.times().next().is_some())
}

/// Whether the survey must end before another experiment begins.
fn is_over(left: Duration) -> bool {
    stop::requested() || left.is_zero()
}

/// What it costs CPUs to share a line; `None` if the survey must end.
fn share(
    args: &Args,
    options: &coherence::Options,
    topology: &Topology,
) -> anyhow::Result<Option<Measured<Coherence>>> {
    if stop::requested() {
        return Ok(None);
    }
    let cpus = match options.cpus.len() {
        0 => pin::allowed()?.len(),
        n => n,
    };
    // One CPU has nobody to share with; what it can show is measured all the same.
    let measure = if cpus == 1 { coherence::measure_alone } else { coherence::measure };
    match measure(options, topology, &mut progress::on_stderr()) {
        Ok(measured) => Ok(Some(Ok(measured))),
        // A CPU that was requested by name must exist; a machine of one CPU still has a topology to report.
        Err(error) if args.cpus.is_some() => Err(error.into()),
        Err(error) => {
            let mut section = Coherence::default();
            section.method.not_available.insert("coherence".into(), error.to_string());
            Ok(Some(Err(section)))
        }
    }
}

/// What counting costs; `None` if the survey must end.
fn count(args: &Args, seed: u64, left: Duration) -> Option<Measured<Counters>> {
    let longest = if args.quick { COUNTERS_BRIEFLY } else { COUNTERS };
    let options = counters::Options {
        cpu: args.cpus.as_ref().and_then(|cpus| cpus.iter().next()),
        quick: true,
        time_limit: Some(longest.min(left)),
        seed,
    };
    if is_over(left) {
        return None;
    }
    let measured = counters::measure(&options, &mut progress::on_stderr());
    Some(measured.map_err(|error| {
        let mut section = Counters::default();
        section.method.not_available.insert("counters".into(), error.to_string());
        section
    }))
}

/// What calls cost; `None` if the survey must end. MPI takes seconds to start, so a quick survey leaves it out.
fn call(args: &Args, seed: u64, left: Duration, earlier: &Profile) -> Option<Measured<Calls>> {
    if is_over(left) {
        return None;
    }
    let mut options = calls::Options {
        cpu: args.cpus.as_ref().and_then(|cpus| cpus.iter().next()),
        time_limit: Some(left.min(if args.quick { CALLS_BRIEFLY } else { CALLS })),
        repeats: if args.quick { CALLS_REPEATED_BRIEFLY } else { CALLS_REPEATED },
        seed,
        mpi_rank: super::calls::rank().ok(),
        ..calls::Options::quick()
    };
    if args.quick {
        options.sets.retain(|set| *set != calls::Set::Mpi);
    }
    let mut measured = calls::measure(&options, &mut progress::on_stderr());
    if let Ok(calls) = &mut measured {
        calls.keep_curves_of(earlier.calls.as_ref());
    }
    Some(measured.map_err(|error| {
        let mut section = Calls::default();
        section.conditions.not_available.insert("calls".into(), error.to_string());
        section
    }))
}

/// How fast data moves; `None` if the survey must end.
fn move_data(args: &Args, seed: u64, topology: &Topology, left: Duration) -> Option<Measured<Memory>> {
    if is_over(left) {
        return None;
    }
    let options = memory::Options {
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        time_limit: Some(left.min(if args.quick { MEMORY_BRIEFLY } else { MEMORY })),
        seed,
        ..memory::Options::quick()
    };
    let measured = memory::measure(&options, topology, &mut progress::on_stderr());
    Some(measured.map_err(|error| {
        let mut section = Memory::default();
        section.method.not_available.insert("memory".into(), error.to_string());
        section
    }))
}

/// What barriers cost, and how programs run with them; `None` if the survey must end. A quick survey runs no
/// programs.
fn synchronise(
    args: &Args,
    topology: &Topology,
    seed: u64,
    left: Duration,
    earlier: Option<&Sync>,
) -> Option<Measured<Sync>> {
    if is_over(left) {
        return None;
    }
    let started = Instant::now();
    let cpus: Vec<u32> = args.cpus.iter().flat_map(CpuSet::iter).collect();
    let options = barrier::Options {
        cpus: cpus.clone(),
        quick: true,
        time_limit: Some(left.min(if args.quick { BARRIERS_BRIEFLY } else { BARRIERS })),
        seed,
        ..barrier::Options::default()
    };
    let measured = barrier::measure(&options, topology, &mut progress::on_stderr());
    let mut section = match measured {
        Ok(section) if section.has_figures() => section,
        other => {
            let why = match &other {
                Ok(section) if section.method.interrupted => "the time was too short".to_owned(),
                Ok(_) => "they need two CPUs".to_owned(),
                Err(error) => error.to_string(),
            };
            // Those of an earlier survey, with more CPUs, stay.
            let earlier = earlier.filter(|earlier| earlier.has_figures()).cloned();
            earlier.unwrap_or_else(|| {
                let mut section = other.unwrap_or_default();
                section.method.not_available.insert("barriers".into(), why);
                section
            })
        }
    };
    // Programs also run on one CPU, which has no barriers.
    for which in kernels::Which::ALL.into_iter().filter(|_| !args.quick) {
        let left = left.saturating_sub(started.elapsed());
        if stop::requested() || left.is_zero() {
            break;
        }
        let options = kernels::Options {
            cpus: cpus.clone(),
            quick: true,
            time_limit: Some(left.min(PROGRAM)),
            seed,
            ..kernels::Options::default()
        };
        match kernels::measure(which, &options, topology, &mut progress::on_stderr()) {
            Ok(kernel) => drop(section.kernels.insert(which.name().into(), kernel)),
            Err(error) => {
                drop(section.method.not_available.insert(which.name().into(), error.to_string()));
            }
        }
    }
    if !section.has_figures() && section.kernels.is_empty() {
        return Some(Err(section));
    }
    // Programs that were not run this time stay.
    for (name, kernel) in earlier.map(|sync| sync.kernels.clone()).unwrap_or_default() {
        section.kernels.entry(name).or_insert(kernel);
    }
    Some(Ok(section))
}

/// What it costs CPUs to share one line all at once; `None` if the survey must end.
fn contend(args: &Args, topology: &Topology, seed: u64, left: Duration) -> Option<Measured<Contention>> {
    if is_over(left) {
        return None;
    }
    let options = contention::Options {
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        quick: true,
        time_limit: Some(left.min(if args.quick { CONTENTION_BRIEFLY } else { CONTENTION })),
        seed,
        ..contention::Options::default()
    };
    let measured = contention::measure(&options, topology, &mut progress::on_stderr());
    Some(measured.map_err(|error| {
        let mut section = Contention::default();
        section.method.not_available.insert("contention".into(), error.to_string());
        section
    }))
}

/// Which idle states there are and how long CPUs take to wake; `None` if the survey must end.
fn wake(args: &Args, topology: &Topology, seed: u64, left: Duration) -> Option<Measured<Idle>> {
    if is_over(left) {
        return None;
    }
    let options = idle::Options {
        cpus: args.cpus.clone(),
        quick: true,
        time_limit: Some(left.min(if args.quick { WAKING_BRIEFLY } else { WAKING })),
        seed,
        ..idle::Options::default()
    };
    Some(idle::observe(&options, topology).map_err(|error| {
        let mut section = Idle::default();
        section.method.not_available.insert("idle".into(), error.to_string());
        section
    }))
}

/// Watches how the nearest pair's time changes for a while, and adds that to the section; `None` if the survey must
/// end or no pair was measured.
fn watch(mut measured: Coherence, time: Duration) -> Option<Coherence> {
    let nearest = measured.pairs.iter().filter(|pair| pair.method == PairMethod::Turn);
    let nearest = nearest.min_by(|one, other| one.ns.median.total_cmp(&other.ns.median));
    let (a, b) = nearest.map(|pair| (pair.a, pair.b))?;
    if measured.method.interrupted || time.is_zero() {
        return None;
    }
    if !stop::requested() {
        match coherence::watch((a, b), PairMethod::Turn, time, &mut progress::on_stderr()) {
            Ok(timeline) => measured.timeline = Some(timeline),
            Err(error) => drop(measured.method.not_available.insert("timeline".into(), error.to_string())),
        }
    }
    measured.method.interrupted = stop::requested();
    Some(measured)
}

/// `coho-2026-11-21T21-30-00Z.json`, or with a number appended if that is taken: no run overwrites another's files.
fn default_name(date: Option<&str>) -> PathBuf {
    let date = date.unwrap_or("profile").replace(':', "-");
    let names = (1..)
        .map(|n: u32| if n == 1 { format!("coho-{date}.json") } else { format!("coho-{date}-{n}.json") });
    let taken = |name: &PathBuf| {
        name.symlink_metadata().is_ok() || name.with_extension("html").symlink_metadata().is_ok()
    };
    names.map(PathBuf::from).find(|name| !taken(name)).expect("some number is free")
}

/// What a run on one CPU cannot measure.
const NEEDS_TWO: &str = "times between CPUs; barriers, fork and join; many CPUs on one line; messages \
    between processes; rates of shared blocks; delegation";

/// What a person wants to know first: the machine, what its figures mean, a line for each section; with `full`,
/// everything.
fn summarise(out: &mut impl Paint, subject: &Subject, full: bool) -> std::io::Result<()> {
    writeln!(out, "{}", on_one_line(&machine::name(subject)))?;
    writeln!(out, "{}\n", written::wrapped("", &machine::circumstances(subject).join(" · ")))?;
    if let Some(older) = machine::older(subject) {
        writeln!(out, "{}\n", written::wrapped("", &format!("{}.", words::sentence(&older))))?;
    }
    written::findings(out, &subject.answers.findings, Options::stdout(full).depth)?;
    writeln!(out)?;
    let sections = shown::of(subject);
    for section in &sections {
        written::headline(out, section)?;
    }
    if subject.coherence().is_some_and(|coherence| coherence.cpus.len() == 1) {
        writeln!(out, "{}", written::wrapped("needs two CPUs: ", NEEDS_TWO))?;
    }
    let absent = shown::missing(&sections);
    if !absent.is_empty() {
        let absent: Vec<String> = absent.into_iter().map(words::mid_sentence).collect();
        writeln!(out, "{}", written::wrapped("not measured: ", &absent.join("; ")))?;
    }
    if full {
        for section in &sections {
            writeln!(out, "\n{}\n", section.title)?;
            written::parts(out, &section.parts, Options::stdout(true))?;
        }
    }
    Ok(())
}
