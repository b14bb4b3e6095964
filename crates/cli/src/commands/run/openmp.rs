//! Programs on coho's teams: whether they would be taken over, whether that pays, and with which barrier.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use anyhow::bail;
use coho_model::barrier::quickest_measured;
use coho_profile::Profile;
use coho_run::Signals;
use coho_run::openmp::{self, Decision};
use coho_run::trial::Candidate;
use coho_show::part::{Part, Text};
use coho_show::sections::trials;

use super::chosen::Chosen;
use super::{Args, Machine, Placement, job, tried};
use crate::printed::How;
use crate::results::Stopped;

/// Reports whether the program would be taken over.
pub fn check(args: &Args) -> anyhow::Result<ExitCode> {
    let program = args.command.first().expect("a command is required");
    let decision = openmp::check(program).map_err(anyhow::Error::msg)?;
    How { json: args.json, full: false }.print(&decision, |decision| parts(program, decision))?;
    Ok(ExitCode::SUCCESS)
}

fn parts(program: &OsStr, decision: &Decision) -> Vec<Part> {
    let program = program.display();
    let first = match &decision.reason {
        None => format!("{program} would run on coho's teams."),
        Some(reason) => format!("{program} would run as without --openmp: {reason}."),
    };
    let imports =
        (!decision.imports.is_empty()).then(|| format!("It imports {}.", decision.imports.join(" ")));
    let last = "What it opens while it runs was not examined.".to_owned();
    let sentences = [Some(first), imports, Some(last)].into_iter().flatten();
    sentences.map(|one| Part::summary(Text::new(one))).collect()
}

/// The quickest barrier for a team of all its CPUs, if it was measured.
pub fn environment(chosen: &Chosen, profile: Option<&Profile>) -> Option<(OsString, OsString)> {
    if std::env::var_os("COHO_OPENMP_BARRIER").is_some() {
        return None;
    }
    let threads = match std::env::var("OMP_NUM_THREADS") {
        Ok(list) => list.split(',').next()?.trim().parse().ok()?,
        Err(_) => u32::try_from(chosen.choice.cpus.len()).ok()?,
    };
    let barrier = quickest_measured(profile?.sync.as_ref()?, threads)?;
    Some(("COHO_OPENMP_BARRIER".into(), barrier.into()))
}

/// Runs the program with libgomp and with coho's teams in turn, and reports which takes less time.
pub fn report(args: &Args, machine: &Machine, signals: &Signals) -> anyhow::Result<ExitCode> {
    if args.trial.as_ref().is_some_and(|list| !list.is_empty()) {
        bail!("--try takes no list of placements with --openmp");
    }
    let chosen = Chosen::now(&Placement::None, args.threads, machine, Default::default)?;
    let with = job(args, &chosen, None, machine.profile.as_ref())?;
    let mut without = with.clone();
    without.environment.clear();
    let candidate =
        |name: &str, job| Candidate { name: name.into(), order: chosen.choice.order.clone(), job };
    let candidates = vec![candidate("libgomp", without), candidate("coho", with)];
    let trial = tried::compare(candidates, args, machine, signals)?;
    How { json: args.json, full: false }.print(&trial, trials::trial)?;
    match signals.asked_to_end() {
        Some(signal) => Err(Stopped { signal }.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}
