//! One node's survey, by a process of its own: it may use all of the node's CPUs, wherever the launcher bound its rank,
//! and what the experiments do to their process does not reach MPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use coho_platform::{pin, stop};
use coho_probe::experiment::{Course, EXPERIMENTS, Observer, Plan, Survey, survey as walk};
use coho_probe::host;
use coho_profile::Profile;

/// The command by which a rank has its node surveyed.
pub(crate) const COMMAND: &str = "survey-node";

/// How a node is surveyed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct How {
    /// Fewer passes and sizes: some seconds on a small node
    #[arg(long)]
    pub(crate) quick: bool,
    /// Stop each node's survey after this time and keep what is done, such as 60s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) time_limit: Option<Duration>,
}

/// Survey this node: for a rank, not for people
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    file: PathBuf,
    /// The rank's process, with which this one ends
    #[arg(long)]
    parent: u32,
    #[command(flatten)]
    how: How,
}

/// Has this node surveyed, and sleeps meanwhile. The profile takes its name once it is whole.
pub(super) fn survey(folder: &Path, file: &str, how: How) -> Result<()> {
    let (whole, unfinished) = (folder.join(file), folder.join(format!("{file}.unfinished")));
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| unfinished.display().to_string());
        }
        _ => {}
    }
    let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
    command.arg(COMMAND).arg(&unfinished).arg("--parent").arg(std::process::id().to_string());
    command.args(how.quick.then_some("--quick"));
    command.args(how.time_limit.map(|limit| format!("--time-limit={}ns", limit.as_nanos())));
    let done = command.stdin(Stdio::null()).output().context("cannot start the survey")?;
    if !done.status.success() {
        let told = String::from_utf8_lossy(&done.stderr);
        match told.lines().last() {
            Some(last) => bail!("{}", last.trim_start_matches("coho-mpi: ")),
            None => bail!("its survey ended by {}", done.status),
        }
    }
    ensure!(whole.symlink_metadata().is_err(), "somebody else has written {}", whole.display());
    fs::rename(&unfinished, &whole).with_context(|| whole.display().to_string())
}

/// Says nothing: a rank has no terminal.
struct Silent;

impl Observer for Silent {}

/// The survey itself.
pub(crate) fn run(args: &Args) -> Result<()> {
    stop::on_signals().context("cannot catch signals")?;
    end_with(args.parent)?;
    // What binds a rank is meant for the job's own work.
    if let Ok(cpus) = pin::reachable() {
        pin::confine(&cpus).context("cannot use all CPUs")?;
    }
    Profile::check_update(&args.file)?;
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let course = Course { time_limit: args.how.time_limit, seed: fastrand::u64(..), ..Course::default() };
    let asked = Survey { quick: args.how.quick, only: None, course };
    let plan = Plan { host: &host, topology: &topology, mpi_rank: None, path: Some(&args.file) };
    let outcome = walk(EXPERIMENTS, &asked, plan, &mut Silent)?;
    if let Some(signal) = stop::signal() {
        bail!("stopped by signal {signal}: what was measured until then is in {}", args.file.display());
    }
    ensure!(outcome.has_figures, "nothing was measured, or the time was too short");
    Ok(())
}

/// Has this process asked to stop when its rank ends, however that happens.
fn end_with(parent: u32) -> Result<()> {
    // SAFETY: no memory is used.
    let refused = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } != 0;
    ensure!(!refused, "cannot follow the rank: {}", std::io::Error::last_os_error());
    // It may have ended before.
    ensure!(std::os::unix::process::parent_id() == parent, "the rank that wanted this survey has ended");
    Ok(())
}
