//! The rounds of `coho share`: the program on several CPUs and on one, the control, and what is recorded.

use std::time::Duration;

use coho_model::share::{Observed, OneCpu, bounds, is_rough, why_not};
use coho_model::share_lines;
use coho_probe::statistics;
use coho_profile::{Estimate, ShareTotal};

use super::control::Control;
use super::lines::{self, Recorded, lines};
use super::once::{Run, once, sampled};
use super::recordings::{Place, Recordings, little_room};
use super::{ALL, ONE, Wish};
use crate::child::{Job, Signals};
use crate::plan::{Error, Listener, Notice};
use crate::preload;
use crate::trial::{self, rounds, rounds_while};

/// A run on one CPU may take so many times the CPU time of one on all CPUs, and [`GRACE`] more.
const MOST_TIMES: u32 = 3;
const GRACE: Duration = Duration::from_secs(1);

/// Runs before coho concludes that the threads never run at the same time: other work may keep them apart.
const TRIES: usize = 3;
/// What is visited in every round; what is recorded, in the first [`RECORDED`] rounds.
const ON_ALL: usize = 0;
const ON_ONE: usize = 1;
const CONTROL: usize = 2;
const RECORD_ALL: usize = 3;
const THINGS: usize = 5;

/// Rounds whose runs are recorded too.
const RECORDED: usize = 27;
/// If the rounds would take longer, coho first tells what a single run of each shows.
const LONG: Duration = Duration::from_secs(10);
/// Recorded runs of a program that has no cost, as it waits by spinning.
const RECORDED_SPINNING: u32 = 3;

/// The runs' CPU times and elapsed times, and the control's shares, round by round.
#[derive(Default)]
pub(super) struct Series {
    pub(super) all: Vec<Run>,
    pub(super) one: Vec<Run>,
    /// `None` in a round in which the loop could not run.
    pub(super) control: Vec<Option<f64>>,
    pub(super) no_control: Option<String>,
    pub(super) recorded: Recorded,
    /// The recorded runs on all CPUs.
    pub(super) runs: Vec<Run>,
    pub(super) no_lines: Option<String>,
}

impl Series {
    fn take(&mut self, thing: usize, one: Visited) {
        match (thing, one) {
            (ON_ALL, Visited::Run(run)) => self.all.push(run),
            (_, Visited::Run(run)) => self.one.push(run),
            (_, Visited::Control(share)) => self.control.push(share),
            (RECORD_ALL, Visited::Recorded(Some((run, recorded)))) => {
                self.runs.push(run);
                self.recorded.all.push(recorded);
            }
            (_, Visited::Recorded(Some((_, recorded)))) => self.recorded.one.push(recorded),
            (_, Visited::Recorded(None)) => {}
        }
    }
}

/// One visit of a round.
pub(super) enum Visited {
    Run(Run),
    Control(Option<f64>),
    /// A run with what it recorded; nothing of a round that records none.
    Recorded(Option<(Run, share_lines::Run)>),
}

impl Visited {
    fn run(&self) -> Option<Run> {
        match self {
            Self::Run(run) => Some(*run),
            _ => None,
        }
    }
}

/// The share of the CPU time in user mode that the first runs save of the others', round by round.
pub(super) fn shares(saving: &[Run], all: &[Run]) -> impl Iterator<Item = f64> {
    saving.iter().zip(all).map(|(one, all)| 1.0 - one.user.as_secs_f64() / all.user.as_secs_f64())
}

/// Whether rounds go on after so many: some may follow, and one of the shares is known only roughly.
pub(super) fn go_on(rounds: usize, most: u32, shares: impl IntoIterator<Item = Vec<f64>>) -> bool {
    let estimate = |share| statistics::estimate(&[share]);
    rounds < most as usize && shares.into_iter().filter_map(estimate).any(|share| is_rough(&share))
}

pub(super) struct Measuring {
    pub(super) on_all: Job,
    pub(super) on_one: Job,
    pub(super) order: Vec<u32>,
    pub(super) objection: Option<preload::Objection>,
    pub(super) signals: Signals,
    /// How many times the CPU time a run on one CPU had taken when it was killed.
    pub(super) endless: Option<f64>,
    /// Why its lines cannot be looked for, if they cannot.
    pub(super) no_lines: Option<String>,
    pub(super) recordings: Recordings,
}

impl Measuring {
    pub(super) fn rounds(
        &mut self,
        wish: &Wish,
        listener: &mut dyn Listener,
    ) -> Result<(Series, bool), Error> {
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
        let spins = |run: Run| run.elapsed.as_secs_f64() / first.cpu.as_secs_f64();
        let mut early = None;
        // Before the rounds, as a program that spins would never finish one.
        match once(&self.on_one, ONE, Some(most), &self.signals)? {
            None => return Ok((series, true)),
            Some(run) if run.was_killed => {
                self.endless = Some(spins(run));
                let interrupted = self.record_spinning(&mut series, wish, listener)?;
                return Ok((series, interrupted));
            }
            Some(one) if 2 * wish.rounds.repeats * (first.elapsed + one.elapsed) > LONG => {
                early = self.first_look(&first, &one, listener)?;
                if self.signals.asked_to_end().is_some() {
                    return Ok((series, true));
                }
            }
            Some(_) => {}
        }
        let control = Control::new(self.order.len());
        let mut random = fastrand::Rng::with_seed(wish.rounds.seed);
        let (mut no_control, mut no_lines, mut endless) = (None, self.no_lines.clone(), None);
        let mut progress = listener.progress();
        let mut visits = 0;
        let mut visit = |thing: usize| {
            let round = visits / THINGS;
            visits += 1;
            let run = match thing {
                ON_ALL => once(&self.on_all, ALL, None, &self.signals)?.map(Visited::Run),
                ON_ONE => once(&self.on_one, ONE, Some(most), &self.signals)?.map(Visited::Run),
                CONTROL => {
                    let share = control.share(&self.order).map_err(|why| no_control = Some(why.to_string()));
                    Some(Visited::Control(share.ok().filter(|share| share.is_finite())))
                }
                _ if round >= RECORDED || no_lines.is_some() => Some(Visited::Recorded(None)),
                _ => {
                    let (job, name, within) = match thing {
                        RECORD_ALL => (&self.on_all, ALL, None),
                        _ => (&self.on_one, ONE, Some(most)),
                    };
                    let recorded =
                        recorded(&mut self.recordings, job, name, within, thing == RECORD_ALL, &self.signals);
                    match recorded? {
                        None => None,
                        Some(Ok(recorded)) => Some(Visited::Recorded(Some(recorded))),
                        Some(Err(why)) => {
                            no_lines = Some(why);
                            Some(Visited::Recorded(None))
                        }
                    }
                }
            };
            match run {
                Some(Visited::Run(run) | Visited::Recorded(Some((run, _)))) if run.was_killed => {
                    endless = Some(spins(run));
                    Ok::<_, Error>(None)
                }
                run => Ok(run),
            }
        };
        let takes_more = |done: &[Vec<Visited>]| {
            let runs = |thing: usize| Vec::from_iter(done[thing].iter().filter_map(Visited::run));
            let (all, one) = (runs(ON_ALL), runs(ON_ONE));
            go_on(all.len(), wish.most_rounds, [shares(&one, &all).collect()])
        };
        let (done, interrupted) =
            rounds_while(THINGS, &wish.rounds, &mut random, &mut progress, &mut visit, takes_more)?;
        self.endless = endless;
        drop(progress);
        // Runs before the rounds have no counterparts on one CPU.
        series.all.clear();
        for (thing, visited) in done.into_iter().enumerate() {
            visited.into_iter().for_each(|one| series.take(thing, one));
        }
        series.no_control = no_control;
        series.no_lines = no_lines;
        let mut stopped = interrupted && self.endless.is_none();
        if self.endless.is_some() && series.recorded.all.is_empty() {
            stopped = self.record_spinning(&mut series, wish, listener)?;
        }
        // The last one, as it has no counterpart on one CPU.
        series.recorded.all.extend(early);
        Ok((series, stopped))
    }

    /// Tells what one run on all CPUs, one on one, and one that is recorded show. Returns the last.
    fn first_look(
        &mut self,
        all: &Run,
        one: &Run,
        listener: &mut dyn Listener,
    ) -> Result<Option<share_lines::Run>, Error> {
        let [all_s, one_s] = [all, one].map(|run| run.user.as_secs_f64());
        listener.hear(Notice::OneRunEach { all_s, one_s });
        if self.no_lines.is_some() {
            return Ok(None);
        }
        // If nothing can be recorded, the rounds say why.
        let recorded = recorded(&mut self.recordings, &self.on_all, ALL, None, true, &self.signals)?;
        let Some(Ok((_, run))) = recorded else { return Ok(None) };
        let mut recorded = Recorded { all: vec![run], one: Vec::new() };
        let found = lines(&recorded, &self.recordings.files, &ShareTotal::default());
        let found: Vec<_> = found.into_iter().map(|found| found.line).collect();
        listener.hear(Notice::LinesOfOneRun(&found));
        Ok(recorded.all.pop())
    }

    /// Records a program that waits by spinning on all CPUs alone. Returns whether runs are missing.
    fn record_spinning(
        &mut self,
        series: &mut Series,
        wish: &Wish,
        listener: &mut dyn Listener,
    ) -> Result<bool, Error> {
        if self.no_lines.is_some() {
            return Ok(false);
        }
        let options =
            trial::Options { repeats: wish.rounds.repeats.min(RECORDED_SPINNING), ..wish.rounds.clone() };
        let mut progress = listener.progress();
        let mut random = fastrand::Rng::with_seed(wish.rounds.seed);
        let (done, interrupted) = rounds(1, &options, &mut random, &mut progress, |_| {
            recorded(&mut self.recordings, &self.on_all, ALL, None, true, &self.signals)
        })?;
        for one in done.into_iter().flatten() {
            match one {
                Ok((_, run)) => series.recorded.all.push(run),
                Err(why) => series.no_lines = Some(why),
            }
        }
        Ok(interrupted)
    }

    /// The lines that recorded runs show, or why there are none to look at.
    pub(super) fn found(&self, series: &Series, total: &ShareTotal) -> Result<Vec<lines::Found>, String> {
        if let Some(why) = &self.objection {
            return Err(why.to_string());
        }
        if let Some(why) = self.no_lines.as_ref().or(series.no_lines.as_ref()) {
            return Err(why.clone());
        }
        if series.recorded.all.is_empty() {
            return Err(total.why_not.clone().unwrap_or_else(|| "no round was finished".into()));
        }
        if series.recorded.all.iter().all(|run| run.seconds == 0.0) {
            let why = little_room().map_or(String::new(), |why| format!(": {why}"));
            return Err(format!("no thread of it was recorded{why}"));
        }
        let found = lines(&series.recorded, &self.recordings.files, total);
        match little_room().filter(|_| found.is_empty()) {
            Some(why) => Err(why),
            None => Ok(found),
        }
    }

    /// By how much recording lengthens a run, round by round.
    pub(super) fn recording(&self, series: &Series) -> Option<Estimate> {
        let both = series.runs.iter().zip(&series.all);
        let more = both.map(|(recorded, plain)| recorded.user.as_secs_f64() / plain.user.as_secs_f64() - 1.0);
        statistics::estimate(&[more.filter(|more| more.is_finite()).collect()])
    }

    pub(super) fn total(&self, series: &Series, quota: Option<f64>, stolen: f64) -> ShareTotal {
        let of = |values: Vec<f64>| statistics::estimate(&[values]);
        let user = |runs: &[Run]| of(runs.iter().map(|run| run.user.as_secs_f64()).collect());
        let shares: Vec<f64> = shares(&series.one, &series.all).collect();
        let control = of(series.control.iter().flatten().copied().collect());
        let (low, high) = bounds(&shares, &series.control, control.as_ref());
        let mut figures = ShareTotal {
            share_of_cpu_time: of(low).zip(of(high)).map(|(low, high)| spanning(&low, &high)),
            cpu_s: user(&series.all),
            one_cpu_s: user(&series.one),
            at_once: of(series.all.iter().map(Run::at_once).collect()),
            control,
            why_not: None,
        };
        let elapsed =
            series.one.iter().zip(&series.all).map(|(one, all)| one.elapsed.div_duration_f64(all.elapsed));
        let elapsed = of(elapsed.collect());
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

/// What lies between two estimates from the same rounds, or in their intervals.
fn spanning(low: &Estimate, high: &Estimate) -> Estimate {
    let median = f64::midpoint(low.median, high.median);
    Estimate { median, high: high.high, ..low.clone() }
}

/// A run with what it recorded, or why it recorded nothing.
pub(super) type RecordedRun = Result<(Run, share_lines::Run), String>;

/// One recorded run, or why nothing could be recorded; `None` if a signal asked for the end.
pub(super) fn recorded(
    recordings: &mut Recordings,
    job: &Job,
    name: &str,
    within: Option<Duration>,
    with_lines: bool,
    signals: &Signals,
) -> Result<Option<RecordedRun>, Error> {
    let mut job = job.clone();
    let place = if let Some(traced) = &mut job.traced {
        traced.are_sampled = true;
        None
    } else {
        match Place::new() {
            Ok(place) => Some(place),
            Err(why) => return Ok(Some(Err(format!("no file to record into: {why}")))),
        }
    };
    job.environment.extend(place.as_ref().map(Place::variable));
    let run = match sampled(&job, name, within, signals) {
        // Without recording it ended well.
        Err(why @ trial::Error::Unsuccessful { .. }) => {
            return Ok(Some(Err(format!("while it was recorded, {why}"))));
        }
        run => run?,
    };
    let Some((run, samples)) = run else { return Ok(None) };
    let recorded = match place {
        Some(place) => recordings.read(&place, with_lines),
        None => Ok(recordings.read_samples(samples, with_lines)),
    };
    Ok(Some(recorded.map(|recorded| (run, recorded))))
}
