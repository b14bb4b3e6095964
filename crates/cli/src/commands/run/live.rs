//! A command that is moved between placements while it runs.

use std::process::ExitCode;

use anyhow::bail;
use coho_platform::host::date;
use coho_probe::placement::Placement;
use coho_profile::{Examination, Live};
use coho_run::child::Signals;
use coho_run::live::{self, Error, Measure, News, Options};
use coho_show::sections::trials;

use super::{Args, Machine, remembered, tried};
use crate::printed;

/// Runs the command, keeps it where it makes most progress, and remembers the result.
pub fn follow(
    placements: &[Placement],
    args: &Args,
    machine: &Machine,
    signals: &Signals,
) -> anyhow::Result<ExitCode> {
    let measure = measure(args, machine)?;
    let placements = match placements {
        [] => tried::worth_trying(args, machine)?,
        named => named.to_vec(),
    };
    let candidates = tried::candidates(&placements, args, machine)?;
    let options =
        Options { period: args.period, again: args.again, seed: args.course.seed(), to_stderr: args.json };
    let mut last = None;
    let mut tell = |news: News<'_>| {
        let line = match news {
            News::Settled(examination) if is_as(last.as_ref(), examination) => return,
            News::Settled(examination) => {
                last = Some(examination.clone());
                trials::settled(examination, measure.name())
            }
            News::Silent => {
                "live: no progress can be seen; the command stays where the scheduler puts it".into()
            }
            News::GivenUp(why) => format!("live: {why}; the command stays where the scheduler puts it"),
        };
        if !args.quiet {
            coho_show::say!("coho: {line}");
        }
    };
    match live::run(&candidates, &machine.room.cpus, &measure, &options, signals, &mut tell) {
        Ok((live, ended)) => {
            let live = Live { date: Some(date()), ..live };
            if live.best.is_some() {
                // The exit status is the command's in any case.
                remembered::remember_live(args, &live)
                    .unwrap_or_else(|error| coho_show::say!("coho: {error:#}"));
            } else if !args.quiet {
                coho_show::say!("coho: live: the command ended before a placement was settled on");
            }
            if args.json {
                printed::json(&live)?;
            }
            Ok(ExitCode::from(ended.status.exit_status()))
        }
        Err(Error::Start(failed)) => {
            coho_show::say!("coho: {failed}");
            Ok(ExitCode::from(failed.exit_status()))
        }
        Err(other) => Err(other.into()),
    }
}

/// How the command's progress is measured.
fn measure(args: &Args, machine: &Machine) -> anyhow::Result<Measure> {
    if let Some(printed) = &args.rate {
        return Ok(printed.clone());
    }
    let cpu = machine.room.cpus.first().expect("a room has a CPU");
    match Measure::instructions(cpu) {
        Ok(instructions) => Ok(instructions),
        Err(why) => bail!(
            "the command's progress cannot be measured: instructions are not counted: {why}; if the command prints a \
             rate, name it: --rate 'trips/s: ([0-9.]+)'"
        ),
    }
}

/// Whether there is nothing new to report.
fn is_as(last: Option<&Examination>, now: &Examination) -> bool {
    last.is_some_and(|last| (&last.best, last.decided) == (&now.best, now.decided))
}
