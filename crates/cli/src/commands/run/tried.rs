//! Trying placements, and acting on the result.

use anyhow::bail;
use coho_platform::host::date;
use coho_platform::load::Busy;
use coho_probe::placement::Placement;
use coho_profile::Trial;
use coho_run::child::{Output, Signals};
use coho_run::trial::{self, Candidate, Options};
use coho_show::sections::trials;
use coho_topology::Level;

use super::chosen::Chosen;
use super::{Args, Machine, job, remembered, threads};
use crate::printed::How;
use crate::progress;
use crate::results::Stopped;

/// Levels that `auto` also tries if they mean more or fewer CPUs than the other candidates.
const LEVELS: [Level; 6] = [Level::Core, Level::Module, Level::L2, Level::L3, Level::Numa, Level::Package];

/// Tries the listed placements, or those worth trying; remembers and reports the result.
pub fn report(list: &[Placement], args: &Args, machine: &Machine, signals: &Signals) -> anyhow::Result<()> {
    let placements = if list.is_empty() { worth_trying(args, machine)? } else { list.to_vec() };
    let trial = try_each(&placements, args, machine, signals)?;
    How { json: args.json, full: args.full }.print(&trial, trials::trial)?;
    let Some(signal) = signals.asked_to_end() else {
        if trial.best.is_none() {
            bail!("the trial was stopped before every placement had run once");
        }
        return remembered::remember(args, &trial);
    };
    let stopped = Stopped { signal };
    if trial.best.is_none() {
        return Err(anyhow::Error::new(stopped).context("not every placement had run once"));
    }
    match remembered::remember_part(args, &trial)? {
        true => Err(anyhow::Error::new(stopped).context("the rounds that were complete are remembered")),
        false => Err(anyhow::Error::new(stopped).context("the earlier trial stays remembered")),
    }
}

/// The placement that is best, now or in an earlier trial. Where nothing is better, the scheduler keeps its choice.
pub fn best(args: &Args, machine: &Machine, signals: &Signals) -> anyhow::Result<Placement> {
    let name = remembered::name(args);
    let now;
    let trial = match remembered::trial(args, machine) {
        Some(trial) => trial,
        None => {
            let placements = worth_trying(args, machine)?;
            if !args.quiet {
                let names: Vec<_> = placements.iter().map(Placement::to_string).collect();
                let times =
                    if args.repeat == 1 { "once".to_owned() } else { format!("{} times", args.repeat) };
                coho_show::say!("coho: nothing is remembered of '{name}': it runs {times} under each of");
                coho_show::say!("      {}, and then under the best", names.join(", "));
            }
            now = try_each(&placements, args, machine, signals)?;
            if let Some(signal) = signals.asked_to_end() {
                return Err(
                    anyhow::Error::new(Stopped { signal }).context("the placements were not compared")
                );
            }
            if now.best.is_none() || now.method.interrupted {
                bail!("the trial was stopped before its placements were compared");
            }
            // The command is to run in any case.
            remembered::remember(args, &now).unwrap_or_else(|error| coho_show::say!("coho: {error:#}"));
            &now
        }
    };
    if !args.quiet {
        let date = trial.date.as_deref().unwrap_or("an unknown date");
        coho_show::say!("coho: auto, as tried {date}: {}", trials::verdict(trial));
    }
    match trial::choice(trial) {
        Some(best) => {
            best.parse().map_err(|error| anyhow::anyhow!("the profile remembers '{best}': {error}"))
        }
        None => Ok(Placement::None),
    }
}

/// `compact`, `spread`, `none`, and each level that means another number of CPUs.
pub fn worth_trying(args: &Args, machine: &Machine) -> anyhow::Result<Vec<Placement>> {
    let mut placements = vec![Placement::Compact, Placement::Spread, Placement::None];
    let cpus = |placement: &Placement| {
        Chosen::now(placement, threads(args, machine), machine, Busy::default)
            .map(|chosen| chosen.choice.cpus)
    };
    let mut known = placements.iter().map(cpus).collect::<Result<Vec<_>, _>>()?;
    for placement in LEVELS.map(Placement::Within) {
        // A level that the machine does not report is not tried.
        if let Some(cpus) =
            cpus(&placement).ok().filter(|cpus| !known.iter().any(|one| one.len() == cpus.len()))
        {
            known.push(cpus);
            placements.push(placement);
        }
    }
    Ok(placements)
}

fn try_each(
    placements: &[Placement],
    args: &Args,
    machine: &Machine,
    signals: &Signals,
) -> anyhow::Result<Trial> {
    compare(candidates(placements, args, machine)?, args, machine, signals)
}

/// Runs candidates in turn, without their output.
pub fn compare(
    mut candidates: Vec<Candidate>,
    args: &Args,
    machine: &Machine,
    signals: &Signals,
) -> anyhow::Result<Trial> {
    candidates.iter_mut().for_each(|candidate| candidate.job.output = Output::Nowhere);
    let options =
        Options { repeats: args.repeat, time_limit: args.course.time_limit, seed: args.course.seed() };
    let trial = trial::compare(&candidates, &options, signals, &mut progress::on_stderr())?;
    Ok(Trial { allowed_cpus: machine.room.cpus.iter().collect(), date: Some(date()), ..trial })
}

/// The command under each of the placements.
pub fn candidates(
    placements: &[Placement],
    args: &Args,
    machine: &Machine,
) -> anyhow::Result<Vec<Candidate>> {
    let busy = Busy::look();
    let candidate = |placement: &Placement| {
        let chosen = Chosen::now(placement, threads(args, machine), machine, || busy.clone())?;
        let job = job(args, &chosen, None, machine.profile.as_ref())?;
        Ok(Candidate { name: placement.to_string(), order: chosen.choice.order, job })
    };
    placements.iter().map(candidate).collect()
}
