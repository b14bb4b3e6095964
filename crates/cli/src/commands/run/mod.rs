//! `coho run`: runs a command under a placement, or finds the best placement by trying.

mod words;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use coho_probe::Progress;
use coho_probe::placement::Placement;
use coho_run::delegation::{HostCpus, List};
use coho_run::live::{self, Measure};
use coho_run::plan::{
    Comparison, Delegated, Error, Listener, Location, Memory, Mpi, Notice, Outcome, Pinned, Place, Plan,
    Teams, Wish,
};
use coho_run::trial;
use coho_show::say;
use coho_show::sections::trials;

use crate::arguments::{self, Course, PLACEMENTS, WrongUsage, offering};
use crate::printed::{self, How};
use crate::progress;
use crate::results::Stopped;

const EXAMPLES: &str = examples![
    ("Find the best placement by trying", "coho run --try -- make -j2"),
    ("Run under the placement that was best", "coho run --place auto -- make -j2"),
    (
        "Run an OpenMP program on coho's barriers, and see whether that pays",
        "coho run --openmp --try -- ./heat",
    ),
    ("Run an MPI program on coho's barrier", "coho run --mpi -- mpiexec -n 2 ./stencil"),
    ("Have another core execute the calls that gain from it", "coho run --delegate -- ./server"),
];

/// Run a command with chosen CPUs, coho's OpenMP or delegated calls
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("comparison").args(["trial", "live"]),
          group = clap::ArgGroup::new("replaced").args(["openmp", "mpi"]).multiple(true))]
pub struct Args {
    /// Where to run: compact, spread, none, auto, a level (smt, module, l1, l2, l3, l4, die, numa, package) or CPUs
    /// (0-3,8)
    ///
    /// auto is the placement that was best when it was tried. If nothing is remembered of the command, coho tries the
    /// placements first. A list may name CPUs outside the inherited mask, as long as the cpuset has them.
    #[arg(long, value_name = "PLACEMENT", default_value = "none", hide_possible_values = true,
          value_parser = offering(str::parse::<Place>, PLACEMENTS))]
    place: Place,
    /// Run the command under each of these placements in turn, and report which is best
    ///
    /// Without a list, it tries compact, spread, none and the levels that mean other numbers of CPUs. With --openmp
    /// or --delegate it takes no list, and compares coho's teams with the program's own runtime, or delegation with
    /// none. If standard input is a file, each run reads it from where it stands; otherwise the runs read nothing.
    #[arg(long = "try", value_name = "LIST", value_delimiter = ',', num_args = 0..=1, conflicts_with = "place",
          hide_possible_values = true,
          value_parser = offering(or_command::<Placement>, PLACEMENTS[1..].iter().copied()))]
    trial: Option<Vec<Placement>>,
    /// Move the command among these placements while it runs, and keep it where it makes most progress
    ///
    /// Without a list, it tries compact, spread, none and the levels that mean other numbers of CPUs.
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, hide_possible_values = true,
          value_parser = offering(or_command::<Placement>, PLACEMENTS[1..].iter().copied()),
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
    /// Threads to make room for, or auto with --openmp [default: one for compact, one on each core for spread, all of
    /// a level]
    ///
    /// auto finds the number of threads with which each parallel region finishes first, while the program runs. It is
    /// for programs that are right under OMP_DYNAMIC=true: it takes fewer threads than a region would get, never more.
    #[arg(long, value_name = "N", value_parser = offering(str::parse::<Threads>, ["auto"]))]
    threads: Option<Threads>,
    /// Pin each new thread to the next CPU of the placement, in dynamic programs
    #[arg(long)]
    per_thread: bool,
    /// Pin each new process to the next CPU of the placement, in dynamic programs
    #[arg(long, conflicts_with = "per_thread")]
    per_process: bool,
    /// Export OMP_PLACES and OMP_PROC_BIND, so that OpenMP binds its threads in the placement's order
    #[arg(long)]
    omp_places: bool,
    /// Run a program compiled by gcc, clang or icx -fopenmp on coho's teams and barriers instead of its runtime's
    ///
    /// With COHO_OPENMP=verbose in the environment, the library says whether it took over. With --place, OpenMP
    /// binds threads as with --omp-places.
    #[arg(long)]
    openmp: bool,
    /// Serve MPI_Barrier and MPI_Allreduce of up to 64 bytes on coho's barrier, for communicators within a node
    ///
    /// It is for programs of MPICH, Open MPI and what shares MPICH's ABI, as they are; MPI does all else. With
    /// COHO_MPI_PRELOAD=verbose in the environment, ranks say which communicators are served, and why others are not.
    #[arg(long)]
    mpi: bool,
    /// Say what --openmp or --mpi would serve, and which of its functions the program imports, without running it
    #[arg(long, requires = "replaced", conflicts_with_all = ["comparison", "per_thread", "per_process"])]
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
    /// The name under which the choice is remembered [default: the command's whole line]
    ///
    /// By default, coho tries a command anew in another folder, and once its program or script has changed.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print what --try, --live, --check or --threads auto found as JSON, and nothing else
    ///
    /// 'best' took the least time, but it beat all others beyond chance only if 'decided' is true. Nothing beat the
    /// 'winners' beyond chance; --place auto picks one of them if the scheduler's own choice is worse. A live
    /// command's output then goes to standard error, and so does that of one with --threads auto.
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

#[derive(Debug, clap::Args)]
struct DelegateArgs {
    /// Have another core execute these system calls (stat, open, close, read, write, …), or auto, the default
    ///
    /// The program must be dynamically linked; reads and writes are delegated on regular files only. auto finds the
    /// calls that gain by trying them while the program runs. With write:async, a write returns before it is done,
    /// and a crash, or a signal that ends the program, may lose the last writes.
    #[arg(long, value_name = "LIST", num_args = 0..=1, default_missing_value = "auto", conflicts_with = "live",
          value_parser = or_command::<List>)]
    delegate: Option<List>,
    /// The CPUs that execute delegated calls [default: one near the program's]
    ///
    /// A thread polls on each of these CPUs, and the program's threads are distributed over them. The program keeps
    /// off these CPUs; with auto alone, only while it delegates. With CALLS, names between commas, the CPUs are for
    /// these calls alone. May be given several times.
    #[arg(long, value_name = "[CALLS=]LIST", requires = "delegate")]
    host_cpus: Vec<HostCpus>,
    /// Have each process of the command take one CPU of each --host-cpus for all its threads, in turn
    #[arg(long, requires = "host_cpus")]
    host_per_process: bool,
    /// How long write:async may leave a write undone while the program goes on writing [default: 1ms]
    #[arg(long, value_name = "SECONDS", requires = "delegate", value_parser = arguments::duration)]
    delegate_flush: Option<Duration>,
}

/// The value of an option that may have none. What follows such an option without `--` is its value, though the command
/// may be meant.
fn or_command<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|why| format!("{why}; if '{text}' is the command, put `--` before it: `-- {text}`"))
}

/// Options whose value may be missing.
const OPTIONAL: [&str; 3] = ["--try", "--live", "--delegate"];

/// Refuses words of which one may be the value of an option or the command: the program `stat`, say, which is also the
/// name of a call.
fn check_unambiguous(words: &[OsString], command: &[OsString]) -> Result<(), WrongUsage> {
    let before = &words[..words.len().saturating_sub(command.len())];
    if before.last().is_some_and(|word| word == "--") {
        return Ok(());
    }
    match before {
        [.., option, value] if OPTIONAL.iter().any(|known| option == known) && is_program(value) => {
            let (option, value) = (option.display(), value.display());
            Err(WrongUsage::new(format!(
                "is '{value}' the value of {option}, or the command? Write `{option}={value}`, or put `--` before the \
                 command: `{option} -- {value}`"
            )))
        }
        _ => Ok(()),
    }
}

fn is_program(word: &OsString) -> bool {
    coho_run::preload::find(word).is_some()
}

/// A number of threads, or the one that coho finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threads {
    Auto,
    Number(u32),
}

impl Threads {
    fn number(self) -> Option<u32> {
        match self {
            Self::Auto => None,
            Self::Number(number) => Some(number),
        }
    }
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(number @ 1..)) => Ok(Self::Number(number)),
            _ => Err(format!("'{text}' is neither a number of threads nor auto")),
        }
    }
}

impl Args {
    fn finds_threads(&self) -> bool {
        self.threads == Some(Threads::Auto)
    }

    /// What is asked for.
    fn wish(&self) -> Wish {
        let pinned = match (self.per_thread, self.per_process) {
            (true, _) => Some(Pinned::Threads),
            (_, true) => Some(Pinned::Processes),
            _ => None,
        };
        let DelegateArgs { delegate, host_cpus, host_per_process, delegate_flush } = &self.delegation;
        let delegation = delegate.as_ref().map(|calls| Delegated {
            calls: calls.clone(),
            hosts: host_cpus.clone(),
            per_process: *host_per_process,
            flush: *delegate_flush,
        });
        let seed = self.course.seed();
        let live = |placements: &Vec<Placement>| Comparison::Live {
            placements: placements.clone(),
            measure: self.rate.clone(),
            options: live::Options { period: self.period, again: self.again, seed, to_stderr: self.json },
        };
        Wish {
            command: self.command.clone(),
            location: Location {
                place: self.place.clone(),
                threads: self.threads.and_then(Threads::number),
                pinned,
                omp_places: self.omp_places,
            },
            openmp: self.openmp.then(|| Teams {
                only_check: self.check,
                count: self.count.clone(),
                finds_threads: self.finds_threads(),
                to_stderr: self.json,
            }),
            mpi: self.mpi.then_some(Mpi { only_check: self.check }),
            delegation,
            comparison: self.trial.clone().map(Comparison::Trial).or_else(|| self.live.as_ref().map(live)),
            rounds: trial::Options { repeats: self.repeat, time_limit: self.course.time_limit, seed },
            memory: Memory { profile: self.profile.clone(), name: self.name.clone() },
        }
    }
}

/// Prints what a plan has to say on standard error.
pub(super) struct Said {
    pub(super) quiet: bool,
}

impl Listener for Said {
    fn hear(&mut self, notice: Notice<'_>) {
        if notice.is_warning() || !self.quiet {
            words::lines(&notice).iter().for_each(|line| say!("{line}"));
        }
    }

    fn progress(&mut self) -> Box<dyn FnMut(Progress)> {
        Box::new(progress::on_stderr())
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    check_program(&args.command)?;
    let words: Vec<OsString> = std::env::args_os().collect();
    check_unambiguous(&words, &args.command)?;
    if args.finds_threads() && !args.openmp {
        return Err(WrongUsage::new("--threads auto is for --openmp").into());
    }
    if args.json && !args.check && args.trial.is_none() && args.live.is_none() && !args.finds_threads() {
        return Err(WrongUsage::new("--json is for --try, --live, --check and --threads auto").into());
    }
    if args.check && args.openmp && args.mpi {
        return Err(WrongUsage::new("--check is for one of --openmp and --mpi").into());
    }
    let plan = Plan::new(args.wish()).map_err(|why| WrongUsage::new(why.to_string()))?;
    let how = How { json: args.json, full: args.full };
    match plan.execute(&mut Said { quiet: args.quiet }) {
        Ok(Outcome::Checked(decision)) => {
            how.print(&decision, |decision| words::decision(&args.command[0], decision))?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Outcome::CheckedMpi(decision)) => {
            how.print(&decision, |decision| words::mpi(&args.command[0], decision))?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Outcome::Ended(status)) => Ok(ExitCode::from(status)),
        Ok(Outcome::Fitted(chosen, status)) => {
            if args.json {
                printed::json(&chosen)?;
            }
            Ok(ExitCode::from(status))
        }
        Ok(Outcome::Compared(trial, end)) => {
            how.print(&trial, trials::trial)?;
            end.map(|()| ExitCode::SUCCESS).map_err(failed)
        }
        Ok(Outcome::Followed(live, status)) => {
            if args.json {
                printed::json(&live)?;
            }
            Ok(ExitCode::from(status))
        }
        Err(error) => not_done(error),
    }
}

/// Refuses an option that does not exist where the command begins.
pub(super) fn check_program(command: &[OsString]) -> Result<(), WrongUsage> {
    let Some(program) = command.first().filter(|program| program.as_encoded_bytes().starts_with(b"-")) else {
        return Ok(());
    };
    let program = program.display();
    Err(WrongUsage::new(format!(
        "there is no option '{program}', and a program of that name needs its path: './{program}'"
    )))
}

/// The end where a plan was not carried out: the status that shells use if the command cannot be started.
pub(super) fn not_done(error: Error) -> anyhow::Result<ExitCode> {
    match error {
        Error::Start(failed) | Error::Trial(trial::Error::Start(failed)) => {
            say!("coho: {failed}");
            Ok(ExitCode::from(failed.exit_status()))
        }
        error => Err(failed(error)),
    }
}

/// An error with the exit status of its signal, if one ended the plan.
fn failed(error: Error) -> anyhow::Error {
    match error {
        Error::Stopped { signal, left: Some(left) } => anyhow::Error::new(Stopped { signal }).context(left),
        Error::Stopped { signal, left: None } => Stopped { signal }.into(),
        other => other.into(),
    }
}
