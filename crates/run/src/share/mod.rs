//! What it costs a program that its threads share cache lines: it runs on several CPUs and, with the same threads, on one
//! of them, where no line moves.

mod control;
mod once;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use coho_model::share::{Observed, OneCpu, why_not};
use coho_platform::host::date;
use coho_platform::load::Busy;
use coho_platform::room::Room;
use coho_platform::stolen::Steal;
use coho_probe::placement::{self, Placement};
use coho_probe::statistics;
use coho_profile::{Method, Share, ShareTotal};
use coho_topology::CpuSet;
use serde_json::json;

use crate::child::{Input, Job, Output, Signals, orphans};
use crate::per_thread;
use crate::plan::{Error, Left, Listener, Notice};
use crate::preload::{self, Library};
use crate::trial::{self, rounds};
use control::Control;
use once::{Run, once};

/// A run on one CPU may take so many times the CPU time of one on all CPUs, and [`GRACE`] more.
const MOST_TIMES: u32 = 3;
const GRACE: Duration = Duration::from_secs(1);

const DESCRIPTION: &str = "The command runs on the CPUs, its threads dealt out to them in turn, and with all threads on \
                           the first, in every round, in random order, after one run on all that does not count. CPU time is that of the command and its \
                           descendants in user mode. The control is a loop in registers, a thread on each CPU or all on the \
                           first.";

/// What is run, and how often.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Its CPUs; one of each core if `None`.
    pub cpus: Option<CpuSet>,
    /// How often, and in which order.
    pub rounds: trial::Options,
    /// Where the first run's standard output goes; that of the others goes nowhere.
    pub output: Output,
}

/// Runs that show whether threads ever run at the same time: other work may keep them from it.
const TRIES: usize = 3;
/// What the runs are called.
const ALL: &str = "all CPUs";
const ONE: &str = "one CPU";

/// What is visited in every round.
const ON_ALL: usize = 0;
const ON_ONE: usize = 1;
const CONTROL: usize = 2;

/// Runs the program and finds out what sharing costs it. A signal or the time limit ends the rounds early; whole ones
/// count, and the signal is returned. To be called before any other thread starts, as for [`Plan::execute`](crate::plan::Plan::execute).
///
/// # Errors
/// [`Error`] if the program cannot be started or does not end well, or no CPUs can be had.
pub fn measure(wish: &Wish, listener: &mut dyn Listener) -> Result<(Share, Option<i32>), Error> {
    let signals = Signals::hold().map_err(Error::Signals)?;
    orphans::adopt().map_err(Error::Orphans)?;
    let topology = coho_topology::detect().map_err(Error::Topology)?;
    let room = Room::here(&topology.cpus()).map_err(Error::Room)?;
    let order = match &wish.cpus {
        Some(cpus) => {
            let placement = Placement::Cpus(cpus.iter().collect());
            let room = room.reaching(&cpus.intersection(&topology.cpus()));
            placement::choose(&placement, None, &topology, &room, &Busy::default())?.order
        }
        // Without the quota, which is told of.
        None => {
            placement::choose(
                &Placement::Spread,
                None,
                &topology,
                &Room { quota: None, ..room.clone() },
                &Busy::default(),
            )?
            .order
        }
    };
    let (input, none) = Input::of_each_run();
    if let Some(why) = none {
        listener.hear(Notice::NoInput(&why));
    }
    let cpus = Some(order.iter().copied().collect::<CpuSet>());
    let mut on_all =
        Job { command: wish.command.clone(), cpus, input, output: Output::Nowhere, ..Job::default() };
    let mut objection = wish.command.first().and_then(preload::objection);
    let mut on_one = on_all.clone();
    if objection.as_ref().is_some_and(preload::Objection::is_static) {
        on_all.traced = order.clone();
        on_one.traced = order[..1].to_vec();
        objection = None;
    } else if objection.is_none() {
        // The same library in both: the scheduler may leave threads on one CPU for a while though another is idle.
        let library = preload::variable(&[Library::Pin])?;
        on_all.environment = vec![per_thread::environment(&order), library.clone()];
        on_one.environment = vec![per_thread::environment(&order[..1]), library];
    }
    let mut measuring = Measuring { on_all, on_one, order, objection, signals, endless: None };
    let started = Instant::now();
    let steal = Steal::from_now(measuring.order.iter().copied().collect());
    let (series, interrupted) = measuring.rounds(wish, listener)?;
    let duration_s = started.elapsed().as_secs_f64();
    let steal_s = steal.seconds();
    let mut method = Method {
        description: DESCRIPTION.into(),
        parameters: [
            ("repeats".to_owned(), json!(wish.rounds.repeats)),
            ("seed".to_owned(), json!(wish.rounds.seed)),
        ]
        .into(),
        date: Some(date()),
        passes: series.one.len() as u64,
        duration_s,
        interrupted,
        steal_s: steal_s.unwrap_or(0.0),
        ..Method::default()
    };
    if steal_s.is_none() {
        method.not_available.insert("steal".into(), "/proc/stat does not report it".into());
    }
    if let Some(why) = &series.no_control {
        method.not_available.insert("control".into(), why.clone());
    }
    let stolen = method.steal_s / (duration_s * measuring.order.len() as f64).max(f64::MIN_POSITIVE);
    let total = measuring.total(&series, room.quota, stolen);
    let signal = measuring.signals.asked_to_end();
    if let (Some(signal), 0) = (signal, method.passes) {
        return Err(Error::Stopped { signal, left: Some(Left::NoRound) });
    }
    let command = wish.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Ok((Share { method, command, cpus: measuring.order, total, ..Share::default() }, signal))
}

/// The runs' CPU times and elapsed times, and the control's shares, round by round.
#[derive(Default)]
struct Series {
    all: Vec<Run>,
    one: Vec<Run>,
    control: Vec<f64>,
    no_control: Option<String>,
}

/// One visit of a round.
enum Visited {
    Run(Run),
    Control(f64),
}

struct Measuring {
    on_all: Job,
    on_one: Job,
    order: Vec<u32>,
    objection: Option<preload::Objection>,
    signals: Signals,
    /// How many times the CPU time a run on one CPU had taken when it was killed.
    endless: Option<f64>,
}

impl Measuring {
    fn rounds(&mut self, wish: &Wish, listener: &mut dyn Listener) -> Result<(Series, bool), Error> {
        let mut series = Series::default();
        let first = Job { output: wish.output, ..self.on_all.clone() };
        let Some(first) = once(&first, ALL, None, &self.signals)? else { return Ok((series, true)) };
        series.all.push(first);
        // What cannot be told is not measured ten times over.
        if self.objection.is_some() || self.order.len() < 2 {
            return Ok((series, false));
        }
        while series.all.iter().all(|run| !run.ran_together()) {
            if series.all.len() == TRIES {
                return Ok((series, false));
            }
            let Some(next) = once(&self.on_all, ALL, None, &self.signals)? else { return Ok((series, true)) };
            series.all.push(next);
        }
        let most = first.cpu * MOST_TIMES + GRACE;
        // Before the rounds, as a program that spins would never finish one.
        match once(&self.on_one, ONE, Some(most), &self.signals)? {
            None => return Ok((series, true)),
            Some(run) if run.was_killed => {
                self.endless = Some(run.elapsed.as_secs_f64() / first.cpu.as_secs_f64());
                return Ok((series, false));
            }
            Some(_) => {}
        }
        let control = Control::new(self.order.len());
        let mut random = fastrand::Rng::with_seed(wish.rounds.seed);
        let mut no_control = None;
        let mut endless = None;
        let mut progress = listener.progress();
        let visit = |thing: usize| match thing {
            ON_ALL => Ok::<_, Error>(once(&self.on_all, ALL, None, &self.signals)?.map(Visited::Run)),
            ON_ONE => {
                let run = once(&self.on_one, ONE, Some(most), &self.signals)?;
                if let Some(run) = run.filter(|run| run.was_killed) {
                    endless = Some(run.elapsed.as_secs_f64() / first.cpu.as_secs_f64());
                    return Ok(None);
                }
                Ok(run.map(Visited::Run))
            }
            _ => Ok(Some(Visited::Control(control.share(&self.order).unwrap_or_else(|error| {
                no_control = Some(error.to_string());
                f64::NAN
            })))),
        };
        let (mut done, interrupted) = rounds(CONTROL + 1, &wish.rounds, &mut random, &mut progress, visit)?;
        self.endless = endless;
        let runs = |done: &mut Vec<Visited>| {
            std::mem::take(done).into_iter().filter_map(|one| match one {
                Visited::Run(run) => Some(run),
                Visited::Control(_) => None,
            })
        };
        series.all = runs(&mut done[ON_ALL]).collect();
        series.one = runs(&mut done[ON_ONE]).collect();
        let controls = done[CONTROL].iter().filter_map(|one| match one {
            Visited::Control(share) if share.is_finite() => Some(*share),
            _ => None,
        });
        series.control = controls.collect();
        series.no_control = no_control;
        Ok((series, interrupted && self.endless.is_none()))
    }

    fn total(&self, series: &Series, quota: Option<f64>, stolen: f64) -> ShareTotal {
        let of = |values: Vec<f64>| statistics::estimate(&[values]);
        let user = |runs: &[Run]| of(runs.iter().map(|run| run.user.as_secs_f64()).collect());
        let ratios = |of_run: fn(&Run) -> Duration| {
            let both = series.one.iter().zip(&series.all);
            both.map(move |(one, all)| of_run(one).as_secs_f64() / of_run(all).as_secs_f64())
        };
        let shares = ratios(|run| run.user).map(|ratio| 1.0 - ratio);
        let mut figures = ShareTotal {
            share_of_cpu_time: of(shares.collect()),
            cpu_s: user(&series.all),
            one_cpu_s: user(&series.one),
            at_once: of(series.all.iter().map(Run::at_once).collect()),
            control: of(series.control.clone()),
            why_not: None,
        };
        let elapsed = of(ratios(|run| run.elapsed).collect());
        figures.why_not = why_not(&Observed {
            figures: &figures,
            objection: self.objection.as_ref().map(ToString::to_string).as_deref(),
            cpus: self.order.len(),
            quota,
            one_cpu: self.endless.map_or(OneCpu::Ended, OneCpu::Endless),
            elapsed: elapsed.as_ref(),
            stolen,
        });
        figures.share_of_cpu_time = figures.share_of_cpu_time.filter(|_| figures.why_not.is_none());
        figures
    }
}
