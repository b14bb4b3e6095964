//! `coho share`: what it costs a program that its threads share cache lines.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use coho_probe::host;
use coho_profile::{Profile, Share};
use coho_run::plan::Error;
use coho_run::share::{Wish, attached, exact, measure, recorded_by_perf};
use coho_run::{Output, trial};
use coho_show::{ShareComparison, Subject, compare_share, say, sections};
use coho_topology::CpuSet;

use super::run::{Said, check_program, not_done};
use crate::arguments::{Course, cpus, duration};
use crate::printed;
use crate::results::{Results, Stopped};

const EXAMPLES: &str = examples![
    ("Which lines a program shares, and what they cost", "coho share -- ./server --bench"),
    ("The same kept in a profile", "coho share -o before.json -- ./server --bench"),
    ("What a change gained", "coho share compare before.json after.json"),
    (
        "How often each thread accesses each line, of a build with -fsanitize=thread",
        "coho share --exact -- ./server-tsan"
    ),
    ("Which lines a process shares that runs already", "coho share --attach 1234 --duration 10"),
    ("Which lines perf's memory samples show", "coho share --perf perf.data"),
];

/// Rounds: as few as leave one odd round out of an interval.
const ROUNDS: u32 = 9;
/// Rounds while they differ much.
const MOST_ROUNDS: u32 = 27;
/// How long a process is watched.
const WATCHED: Duration = Duration::from_secs(10);

/// Find out which lines a program shares, and what they cost
///
/// The program runs on several CPUs and, with the same threads, on one of them, in turn. On one CPU no line moves, and
/// so the CPU time that it saves is what sharing costs. In rounds of their own, samples show which lines go back and
/// forth and who touches them. No performance counters are needed. The program must do the same each time and end with
/// status 0.
///
/// The first run's output is the program's; the other runs print nothing.
///
/// With --attach, a process that runs already is watched instead, and runs on. Its lines have no cost.
///
/// With --perf, samples that a CPU's counters have taken are read, for machines that have such counters.
///
/// With --exact, a program that gcc has built with -fsanitize=thread runs once, and accesses to the lines that it
/// shares are counted. They have no cost, as such a build takes time of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Run the program on these CPUs (0-3,8) [default: one of each core]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuSet>,
    /// Rounds; six are the fewest that tell a cost [default: 9, and up to 27 while its interval is wider than 10
    /// points]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
    /// Count accesses, in a program that gcc has built with -fsanitize=thread
    #[arg(long, conflicts_with_all = ["attach", "repeat", "time_limit", "seed"])]
    exact: bool,
    /// Also print the changes to declarations that should end sharing, as diffs where the sources are at hand
    #[arg(long, conflicts_with = "json")]
    patch: bool,
    /// Watch this process, which runs on afterwards
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "cpus", "repeat", "time_limit", "seed"])]
    attach: Option<u32>,
    /// Watch it for this time [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = duration, requires = "attach")]
    duration: Option<Duration>,
    /// Read the memory samples that `perf mem record` or `perf c2c record` has written, or what `perf script` prints
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["attach", "command", "cpus", "exact", "repeat", "time_limit", "seed"]
    )]
    perf: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present_any = ["attach", "perf"],
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Compare what a program shared before and after a change
    Compare(CompareArgs),
}

const COMPARE_EXAMPLES: &str = examples![
    ("What a change gained, and which lines it ended", "coho share compare before.json after.json"),
    ("A program that is called compare", "coho share -- compare"),
];

#[derive(Debug, clap::Args)]
#[command(after_help = COMPARE_EXAMPLES)]
struct CompareArgs {
    /// A profile from before the change, by `coho share -o`
    #[arg(value_name = "A")]
    before: String,
    /// A profile from after it
    #[arg(value_name = "B")]
    after: String,
    #[command(flatten)]
    how: printed::How,
}

impl CompareArgs {
    fn run(&self) -> anyhow::Result<()> {
        let names = [&self.before, &self.after];
        names.iter().try_for_each(|name| Subject::only(name).map(drop))?;
        let subjects = Subject::load_all(&names.map(String::clone))?;
        self.how.print(&compare_share(&subjects[0], &subjects[1])?, ShareComparison::parts)
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(What::Compare(args)) = &args.what {
        return args.run().map(|()| ExitCode::SUCCESS);
    }
    check_program(&args.command)?;
    args.results.file.check()?;
    if let Some(file) = &args.perf {
        return told(args, recorded_by_perf(file)?, None);
    }
    if let Some(process) = args.attach {
        let (share, signal) = attached(process, args.duration.unwrap_or(WATCHED))?;
        return told(args, share, signal);
    }
    let [repeats, most_rounds] = args.repeat.map_or([ROUNDS, MOST_ROUNDS], |rounds| [rounds; 2]);
    let rounds = trial::Options { repeats, time_limit: args.course.time_limit, seed: args.course.seed() };
    let output = if args.results.how.json { Output::StandardError } else { Output::Inherited };
    let wish = Wish { command: args.command.clone(), cpus: args.cpus.clone(), rounds, most_rounds, output };
    let done = if args.exact { exact(&wish) } else { measure(&wish, &mut Said { quiet: false }) };
    let (share, signal) = match done {
        Ok(measured) => measured,
        Err(Error::Trial(why @ trial::Error::Unsuccessful { status, .. })) => {
            say!("coho: {why}");
            return Ok(ExitCode::from(status.exit_status()));
        }
        Err(error) => return not_done(error),
    };
    told(args, share, signal)
}

fn told(args: &Args, share: Share, signal: Option<i32>) -> anyhow::Result<ExitCode> {
    if let Some(path) = args.results.file.path() {
        let host = host::collect();
        Profile::update(path, |profile| {
            profile.host = Some(host);
            profile.share = Some(share.clone());
        })?;
    }
    let patches = args.patch.then(|| sections::share::patches(&share));
    args.results.how.show_section(share, sections::share::section)?;
    if let Some(patches) = patches {
        let mut out = args.results.how.out();
        write!(out, "\n{patches}")?;
        out.flush()?;
    }
    signal.map_or(Ok(ExitCode::SUCCESS), |signal| Err(Stopped { signal }.into()))
}
