//! `coho idle`: idle states and frequency, observed, or set while a command runs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use coho_probe::Experiment;
use coho_probe::host;
use coho_probe::idle::control::{Effect, Held, Plan, Wish, restore};
use coho_probe::idle::{self, Options, Root};
use coho_profile::{Idle, IdleControl, Wakeup};
use coho_run::{Job, Output, Signals};
use coho_show::sections;
use coho_topology::{CpuSet, Topology};

use crate::arguments::{self, Course, WrongUsage};
use crate::printed::{self, How};
use crate::results::{File, Kept};

const EXAMPLES: &str = examples![
    ("Idle states, and how long waking takes", "coho idle"),
    ("Run a command while CPUs wake within 10 us", "coho idle --dma-latency 10 -- ./server"),
];

/// Show idle states and wake-up times, or limit them for a command
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// While the command runs, disable the idle states with these names
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "command")]
    disable: Vec<String>,
    /// While the command runs, disable idle states that take longer than this to leave
    #[arg(long, value_name = "US", requires = "command")]
    max_latency: Option<u64>,
    /// While the command runs, limit the wake-up latency of all CPUs through /dev/cpu_dma_latency
    #[arg(long, value_name = "US", requires = "command",
          value_parser = clap::value_parser!(u32).range(0..=i32::MAX as i64))]
    dma_latency: Option<u32>,
    /// While the command runs, use this frequency governor
    #[arg(long, value_name = "GOVERNOR", requires = "command")]
    governor: Option<String>,
    /// Use these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Fewer wake-ups
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    /// Print the profile's section as JSON, and nothing else
    ///
    /// The command's output then goes to standard error.
    #[arg(long)]
    json: bool,
    /// Show all rows, and how they were obtained
    #[arg(long, conflicts_with = "json")]
    full: bool,
    #[command(flatten)]
    file: File,
    /// The folder that contains sys, dev and run
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true, global = true)]
    root: PathBuf,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const RESTORE_EXAMPLES: &str =
    examples![("Undo the settings that a killed coho idle left", "coho idle restore")];

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Undo the settings of a run that was killed
    #[command(after_help = RESTORE_EXAMPLES)]
    Restore,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(Action::Restore) = args.action {
        return put_back(args);
    }
    if args.command.is_empty() { watch(args) } else { control(args) }
}

fn put_back(args: &Args) -> anyhow::Result<ExitCode> {
    match restore(&Root::at(&args.root))? {
        0 => coho_show::say!("coho: nothing is left to restore"),
        files => coho_show::say!("coho: restored {}", coho_show::words::count(files, "file")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows what there is.
fn watch(args: &Args) -> anyhow::Result<ExitCode> {
    let idle = args.file.begin()?.measure(&options(args), false)?.section;
    How { json: args.json, full: args.full }.show_section(idle, sections::idle::section)?;
    Ok(ExitCode::SUCCESS)
}

/// Applies the requested settings, runs the command, and restores everything.
fn control(args: &Args) -> anyhow::Result<ExitCode> {
    let wish = Wish {
        disable: args.disable.clone(),
        max_latency_us: args.max_latency,
        governor: args.governor.clone(),
        dma_latency_us: args.dma_latency,
        cpus: args.cpus.clone(),
    };
    if wish == (Wish { cpus: wish.cpus.clone(), ..Wish::default() }) {
        let what = "--disable, --max-latency, --dma-latency or --governor";
        return Err(WrongUsage::new(format!("say what to set while the command runs: {what}")).into());
    }
    args.file.check()?;
    // Signals wait from here on: none ends the process between a change and its restoration.
    let signals = Signals::hold().context("cannot hold signals for the command")?;
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let options = options(args);
    let mut idle = idle::told(&options);
    // Here the controls say what was set, not what could be set.
    idle.controls.clear();
    let plan = Plan::of(&options.root, &wish);
    let set = plan
        .map_err(anyhow::Error::from)
        .and_then(|plan| Ok((set(&plan, &options, &topology, &mut idle)?, plan)));
    let ((held, after), plan) = match set {
        Ok(set) => set,
        Err(why) => {
            // Either everything is set or nothing. A script reads here why its command did not run.
            if idle.controls.is_empty() {
                let status = format!("not available: nothing was set: {why:#}");
                let refused = |name| IdleControl { name, status: status.clone() };
                idle.controls = wish.names().into_iter().map(refused).collect();
            }
            if args.json {
                printed::json(&idle)?;
            }
            return Err(why);
        }
    };
    idle.wakeups.extend(after.into_iter().map(|wakeup| Wakeup { under: Some(plan.name()), ..wakeup }));
    for control in &idle.controls {
        coho_show::say!("coho: {}: {}", control.name, control.status);
    }
    let job = Job {
        command: args.command.clone(),
        output: if args.json { Output::StandardError } else { Output::Inherited },
        ..Job::default()
    };
    let status = match job.start(&signals) {
        Ok(running) => running.wait(&signals)?.status.exit_status(),
        Err(failed) => {
            coho_show::say!("coho: {failed}");
            failed.exit_status()
        }
    };
    held.restore()?;
    keep(args, &idle)?;
    if args.json {
        printed::json(&idle)?;
    }
    Ok(ExitCode::from(status))
}

/// Applies the plan, observing the state before and after, and records the result.
fn set(
    plan: &Plan,
    options: &Options,
    topology: &Topology,
    idle: &mut Idle,
) -> anyhow::Result<(Held, Vec<Wakeup>)> {
    let quick = Options { quick: true, ..options.clone() };
    let before = Effect::look(&quick, topology)?;
    let held = Held::apply(&options.root, plan)?;
    let after = Effect::look(&quick, topology)?;
    idle.wakeups = before.wakeups.clone();
    idle.controls = plan.verdicts(&before, &after);
    if Plan::failed(&idle.controls) {
        let failed = idle.controls.iter().map(|control| format!("{}: {}", control.name, control.status));
        let failed = failed.collect::<Vec<_>>().join("; ");
        held.restore()?;
        bail!("{failed}");
    }
    Ok((held, after.wakeups))
}

fn options(args: &Args) -> Options {
    Options { root: Root::at(&args.root), quick: args.quick, course: args.course.on(args.cpus.as_ref()) }
}

/// Writes the profile, if one is requested; an existing profile keeps its other sections.
fn keep(args: &Args, idle: &Idle) -> anyhow::Result<()> {
    let kept = Kept {
        name: "idle",
        host: Some(host::collect()),
        has_figures: Options::has_figures(idle),
        is_in: |profile| profile.idle.as_ref().is_some_and(Options::has_figures),
    };
    args.file.keep(kept, |profile| profile.idle = Some(idle.clone()))
}
