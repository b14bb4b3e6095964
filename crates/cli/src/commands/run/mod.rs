//! `coho run`: runs a command under a placement, or finds the best placement by trying.

mod chosen;
mod counted;
mod delegate;
mod live;
mod omp_places;
mod openmp;
mod remembered;
mod tried;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use coho_platform::load::Busy;
use coho_platform::room::Room;
use coho_probe::placement::Placement;
use coho_profile::Profile;
use coho_run::child::orphans;
use coho_run::live::Measure;
use coho_run::preload::Library;
use coho_run::{Job, Signals, per_thread, preload};
use coho_topology::Topology;

use crate::arguments::{self, Course, PLACEMENTS, WrongUsage, offering};
use chosen::Chosen;
use counted::Counted;
use delegate::{DelegateArgs, Delegation};
pub use remembered::default_path as default_profile;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("comparison").args(["trial", "live"]))]
pub struct Args {
    /// Where to run: compact, spread, none, auto, a level (smt, module, l1, l2, l3, l4, die, numa, package) or CPUs
    /// (0-3,8)
    ///
    /// auto is the placement that was best when it was tried. If nothing is remembered of the command, coho tries the
    /// placements first.
    #[arg(long, value_name = "PLACEMENT", default_value = "none", hide_possible_values = true,
          value_parser = offering(str::parse::<Place>, PLACEMENTS))]
    place: Place,
    /// Run the command under each of these placements in turn, and report which is best
    ///
    /// Without a list, it tries compact, spread, none and the levels that mean other numbers of CPUs. With --openmp
    /// or --delegate it takes no list, and compares coho's teams with libgomp, or delegation with none.
    #[arg(long = "try", value_name = "LIST", value_delimiter = ',', num_args = 0..=1, conflicts_with = "place",
          hide_possible_values = true, value_parser = offering(str::parse::<Placement>, PLACEMENTS[1..].iter().copied()))]
    trial: Option<Vec<Placement>>,
    /// Move the command among these placements while it runs, and keep it where it makes most progress
    ///
    /// Without a list, it tries compact, spread, none and the levels that mean other numbers of CPUs.
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, require_equals = true, hide_possible_values = true,
          value_parser = offering(str::parse::<Placement>, PLACEMENTS[1..].iter().copied()),
          conflicts_with_all = ["place", "per_thread", "per_process", "omp_places", "openmp"])]
    live: Option<Vec<Placement>>,
    /// A regular expression for the rate that a live command prints [default: count instructions, if the CPU can]
    ///
    /// The rate measures progress. It is the first group of the expression, if there is one, in the lines that the
    /// command prints.
    #[arg(long, value_name = "REGEX", requires = "live", value_parser = Measure::printed)]
    rate: Option<Measure>,
    /// How long a live command stays under a placement at a time; longer if it prints its rate less often
    #[arg(long, value_name = "SECONDS", requires = "live", default_value = "200ms", value_parser = arguments::duration)]
    period: Duration,
    /// Compare a live command's placements again after this time [default: 20 times what the comparison took]
    #[arg(long, value_name = "SECONDS", requires = "live", value_parser = arguments::duration)]
    again: Option<Duration>,
    /// Rounds of a trial
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    #[command(flatten)]
    course: Course,
    /// Threads to make room for [default: one for compact, one on each core for spread, all of a level]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Pin each new thread to the next CPU of the placement, in dynamic programs
    #[arg(long)]
    per_thread: bool,
    /// Pin each new process to the next CPU of the placement, in dynamic programs
    #[arg(long, conflicts_with = "per_thread")]
    per_process: bool,
    /// Export OMP_PLACES and OMP_PROC_BIND, so that OpenMP binds its threads in the placement's order
    #[arg(long)]
    omp_places: bool,
    /// Run a program compiled by gcc -fopenmp on coho's teams and barriers instead of libgomp's
    ///
    /// With COHO_OPENMP=verbose in the environment, the library says whether it took over. With --place, OpenMP
    /// binds threads as with --omp-places.
    #[arg(long)]
    openmp: bool,
    /// Say whether --openmp would take over, and which OpenMP functions the program imports, without running it
    #[arg(long, requires = "openmp", conflicts_with_all = ["comparison", "per_thread", "per_process"])]
    check: bool,
    /// Count each process's regions, barriers and waiting on coho's teams, and write the counts to a file
    ///
    /// `coho predict openmp` reads that file. Counting adds two clock readings to a barrier.
    #[arg(long, value_name = "FILE", requires = "openmp", conflicts_with_all = ["comparison", "check"],
          value_parser = arguments::file_name())]
    count: Option<PathBuf>,
    #[command(flatten)]
    delegation: DelegateArgs,
    /// A profile of this machine, to read what sharing costs and to remember choices [default: coho/profile.json in
    /// $XDG_STATE_HOME or ~/.local/state]
    #[arg(short, long, value_name = "FILE", value_parser = arguments::file_name())]
    profile: Option<PathBuf>,
    /// The name under which the choice is remembered [default: the program's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print what --try, --live or --check found as JSON, and nothing else
    ///
    /// 'best' took the least time, but it beat all others beyond chance only if 'decided' is true. Nothing beat the
    /// 'winners' beyond chance; --place auto picks one of them if the scheduler's own choice is worse. A live
    /// command's output then goes to standard error.
    #[arg(long)]
    json: bool,
    /// With --try: also show cache misses and the clock, if they were counted
    #[arg(long, requires = "trial", conflicts_with = "json")]
    full: bool,
    /// Print no messages of coho's own
    #[arg(short, long)]
    quiet: bool,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Args {
    /// How threads and processes get the placement's CPUs.
    fn dealt(&self) -> &'static str {
        match (self.per_thread, self.per_process, self.omp_places || self.openmp) {
            (true, ..) => "each new thread on the next",
            (_, true, _) => "each new process on the next",
            (.., true) => "OpenMP's threads in this order",
            _ => "one mask, within which the scheduler places",
        }
    }

    /// Whether placements are compared, and the result remembered.
    fn compares(&self) -> bool {
        self.trial.is_some() || self.live.is_some()
    }
}

/// A placement, or the remembered one.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    Auto,
    Named(Placement),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text
                .parse()
                .map(Self::Named)
                .map_err(|why: String| format!("{why}; or auto: the best by trial")),
        }
    }
}

/// The machine as placements see it.
struct Machine {
    topology: Topology,
    room: Room,
    profile: Option<Profile>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(program) = args.command.first().filter(|program| program.as_encoded_bytes().starts_with(b"-"))
    {
        let program = program.display();
        return Err(WrongUsage::new(format!(
            "there is no option '{program}', and a program of that name needs its path: './{program}'"
        ))
        .into());
    }
    if args.json && !args.check && !args.compares() {
        return Err(WrongUsage::new("--json is for --try, --live and --check").into());
    }
    if args.check {
        return openmp::check(args);
    }
    let delegates = args.delegation.delegate.is_some();
    if delegates && args.openmp && args.trial.is_some() {
        return Err(WrongUsage::new("--try compares one thing at a time: --openmp or --delegate").into());
    }
    if delegates && args.place == Place::Auto {
        return Err(WrongUsage::new("--place auto was tried without --delegate: name a placement").into());
    }
    // Before any thread starts, so that all threads block the signals.
    let signals = Signals::hold().context("cannot hold signals for the command")?;
    orphans::adopt().context("cannot look after what the command starts")?;
    if args.trial.is_some() && !args.openmp && !delegates {
        remembered::check(args)?;
    }
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let room = Room::here(&topology.cpus())?;
    let machine = Machine { topology, room, profile: remembered::profile(args)? };
    if args.per_thread || args.per_process {
        let objection = args.command.first().and_then(per_thread::objection);
        objection.into_iter().for_each(|why| coho_show::say!("coho: {why}"));
    }
    if args.openmp {
        let objection = args.command.first().and_then(preload::objection);
        objection.into_iter().for_each(|why| coho_show::say!("coho: {why}: it runs as without --openmp"));
    }
    match &args.trial {
        Some(_) if args.openmp => return openmp::report(args, &machine, &signals),
        Some(_) if delegates => return delegate::report(args, &machine, &signals),
        Some(list) => {
            tried::report(list, args, &machine, &signals)?;
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    if let Some(placements) = &args.live {
        return live::follow(placements, args, &machine, &signals);
    }
    match &args.place {
        Place::Named(placement) => place(placement, args, &machine, &signals),
        Place::Auto => {
            let placement = tried::best(args, &machine, &signals)?;
            place(&placement, args, &machine, &signals)
        }
    }
}

/// Runs the command once.
fn place(
    placement: &Placement,
    args: &Args,
    machine: &Machine,
    signals: &Signals,
) -> anyhow::Result<ExitCode> {
    let mut chosen = Chosen::now(placement, threads(args, machine), machine, Busy::look)?;
    let delegation = Delegation::of(args, &chosen, machine)?;
    if let Some(delegation) = &delegation {
        chosen = chosen.within(delegation.program());
    }
    if !args.quiet {
        coho_show::say!("coho: {}", chosen.line(machine, args.threads, args.dealt()));
        delegation.iter().for_each(|delegation| delegation.say(machine));
    }
    let counted = Counted::new(args)?;
    let mut job = job(args, &chosen, delegation.as_ref(), machine.profile.as_ref())?;
    if let Some(counted) = &counted {
        job.environment.push(counted.environment()?);
    }
    match job.start(signals) {
        Ok(running) => {
            let status = running.wait(signals)?.status.exit_status();
            if let Some(Err(why)) = counted.map(|counted| counted.save(args)) {
                coho_show::say!("coho: the counts are lost: {why:#}");
            }
            Ok(ExitCode::from(status))
        }
        Err(failed) => {
            coho_show::say!("coho: {failed}");
            Ok(ExitCode::from(failed.exit_status()))
        }
    }
}

/// Threads or processes to make room for. Where each is pinned, a bare word means all CPUs, in its order.
fn threads(args: &Args, machine: &Machine) -> Option<u32> {
    let dealt = args.per_thread || args.per_process;
    args.threads.or_else(|| dealt.then(|| u32::try_from(machine.room.width()).unwrap_or(u32::MAX)))
}

/// The command under a placement, with its delegation.
fn job(
    args: &Args,
    chosen: &Chosen,
    delegation: Option<&Delegation>,
    profile: Option<&Profile>,
) -> anyhow::Result<Job> {
    let order = &chosen.choice.order;
    let mut environment = Vec::new();
    let mut libraries = Vec::new();
    if args.omp_places || args.openmp && chosen.is_placed() {
        environment.extend(omp_places::environment(order));
    }
    if args.per_thread && chosen.is_placed() {
        environment.push(per_thread::environment(order));
        libraries.push(Library::Pin);
    }
    if args.per_process && chosen.is_placed() {
        libraries.push(Library::Pin);
    }
    if args.openmp {
        environment.extend(openmp::environment(chosen, profile));
        libraries.push(Library::OpenMp);
    }
    if let Some(delegation) = delegation {
        environment.extend(delegation.environment());
        libraries.push(Library::Delegate);
    }
    if !libraries.is_empty() {
        environment.push(preload::variable(&libraries).map_err(anyhow::Error::msg)?);
    }
    let deal = if args.per_process && chosen.is_placed() { order.clone() } else { Vec::new() };
    Ok(Job { command: args.command.clone(), cpus: chosen.mask(), environment, deal, ..Job::default() })
}
