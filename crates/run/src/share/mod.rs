//! What it costs a program that its threads share cache lines: it runs on several CPUs and, with the same threads, on
//! one of them, where no line moves.

mod allocated;
mod attached;
mod control;
mod exact;
mod lines;
mod once;
mod padding;
mod patch;
mod perf;
mod placing;
mod recordings;
mod symbols;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use coho_model::share::{Observed, OneCpu, bounds, is_rough, why_not};
use coho_model::share_lines;
use coho_platform::host::date;
use coho_platform::load::Busy;
use coho_platform::room::Room;
use coho_platform::stolen::Steal;
use coho_probe::placement::{self, Placement};
use coho_probe::statistics;
use coho_profile::{Estimate, Method, Share, ShareTotal};
use coho_topology::{CpuSet, Topology};
use serde_json::json;

use crate::child::{Input, Job, Output, Signals, Traced, orphans, why_no_samples, words};
use crate::go::is_go;
use crate::per_thread;
use crate::plan::{Error, Left, Listener, Notice};
use crate::preload::{self, Library};
use crate::trial::{self, rounds, rounds_while};
pub use attached::attached;
use control::Control;
pub use exact::exact;
use lines::{Recorded, lines};
use once::{Run, once, sampled};
use padding::Trying;
pub use perf::{NotRead, recorded_by_perf};
use recordings::{Place, Recordings};

/// A run on one CPU may take so many times the CPU time of one on all CPUs, and [`GRACE`] more.
const MOST_TIMES: u32 = 3;
const GRACE: Duration = Duration::from_secs(1);

const DESCRIPTION: &str = "The command runs on the CPUs, its threads dealt out to them in turn, if it is no Go \
                           program, and with all threads on the first, in every round, in random order, after one run \
                           on all that does not count. CPU time is that of the command and its descendants in user \
                           mode. The control is a loop with loads and stores of lines of its own, a thread on each CPU \
                           or all on the first: the median of three turns a round.";

/// What is run, and how often.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Its CPUs; one of each core if `None`.
    pub cpus: Option<CpuSet>,
    /// How often, and in which order.
    pub rounds: trial::Options,
    /// As many rounds at most, while what was found is known only roughly.
    pub most_rounds: u32,
    /// Where the first run's standard output goes; that of the others goes nowhere.
    pub output: Output,
}

/// Runs that show whether threads ever run at the same time: other work may keep them from it.
const TRIES: usize = 3;
/// What the runs are called.
const ALL: &str = "all CPUs";
const ONE: &str = "one CPU";

/// What is visited in every round; what is recorded, in the first [`RECORDED`] rounds.
const ON_ALL: usize = 0;
const ON_ONE: usize = 1;
const CONTROL: usize = 2;
const RECORD_ALL: usize = 3;
const THINGS: usize = 5;

/// Rounds whose runs are recorded too.
const RECORDED: usize = 27;
/// If the rounds are to take longer, what one run each shows is told before them.
const LONG: Duration = Duration::from_secs(10);
/// Recorded runs of a program that has no cost, as it waits by spinning.
const RECORDED_SPINNING: u32 = 3;

/// Runs the program and finds out what sharing costs it. A signal or the time limit ends the rounds early; whole ones
/// count, and the signal is returned. To be called before any other thread starts, as for
/// [`Plan::execute`](crate::plan::Plan::execute).
///
/// # Errors
/// [`Error`] if the program cannot be started or does not end well, or no CPUs can be had.
pub fn measure(wish: &Wish, listener: &mut dyn Listener) -> Result<(Share, Option<i32>), Error> {
    let Prepared { signals, topology, order, quota, job: mut on_all } = prepared(wish)?;
    let (input, none) = Input::of_each_run();
    if let Some(why) = none {
        listener.hear(Notice::NoInput(&why));
    }
    on_all.input = input;
    let mut objection = wish.command.first().and_then(preload::objection);
    let mut on_one = on_all.clone();
    let mut no_lines = None;
    let path = wish.command.first().and_then(preload::find);
    // Its runtime takes all signals, and its heap is its own, whether it is linked statically or not.
    let is_go = path.is_some_and(|path| is_go(&path));
    if objection.as_ref().map_or(is_go, preload::Objection::can_be_traced) {
        no_lines = match objection.take().filter(|objection| !objection.can_be_read()) {
            Some(objection) => Some(objection.to_string()),
            None => why_no_samples().map(str::to_owned),
        };
        // Go's scheduler chooses its threads, of which some only wait.
        let turns = if is_go { Vec::new() } else { order.clone() };
        on_all.traced = Some(Traced { turns, are_sampled: false });
        on_one.traced = Some(Traced { turns: order[..1].to_vec(), are_sampled: false });
    } else if objection.is_none() {
        // The same libraries in both: the scheduler may leave threads on one CPU for a while though another is idle.
        let library = preload::variable(&[Library::Pin, Library::Share])?;
        on_all.environment = vec![per_thread::environment(&order), library.clone()];
        on_one.environment = vec![per_thread::environment(&order[..1]), library];
    }
    let mut measuring = Measuring {
        on_all,
        on_one,
        order,
        objection,
        signals,
        endless: None,
        no_lines,
        recordings: Recordings::default(),
    };
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
        let (of, without) = (series.control.len(), series.control.iter().filter(|one| one.is_none()).count());
        method.not_available.insert("control".into(), format!("in {without} of {of} rounds: {why}"));
    }
    let stolen = method.steal_s / (duration_s * measuring.order.len() as f64).max(f64::MIN_POSITIVE);
    let total = measuring.total(&series, quota, stolen);
    let command = words(&wish.command);
    let recording = measuring.recording(&series);
    let mut share =
        Share { method, command, cpus: measuring.order.clone(), total, recording, ..Share::default() };
    match measuring.found(&series, &share.total) {
        Ok(mut found) => {
            let rounds = || {
                let left = wish.rounds.time_limit.map(|limit| limit.saturating_sub(started.elapsed()));
                trial::Options { time_limit: left, ..wish.rounds.clone() }
            };
            measuring.place(&topology, &share.total, &rounds(), &mut found, listener)?;
            let rounds = rounds();
            let trying = Trying { job: &measuring.on_all, rounds, most_rounds: wish.most_rounds };
            share.lines = Some(trying.proved(found, &measuring.signals, listener)?);
        }
        Err(why) => share.why_no_lines = Some(why),
    }
    if measuring.recordings.lost > 0 {
        share.method.parameters.insert("records_lost".into(), json!(measuring.recordings.lost));
    }
    share.method.duration_s = started.elapsed().as_secs_f64();
    let signal = measuring.signals.asked_to_end();
    if let (Some(signal), 0) = (signal, share.method.passes) {
        return Err(Error::Stopped { signal, left: Some(Left::NoRound) });
    }
    Ok((share, signal))
}

/// What every way to run the program begins with.
struct Prepared {
    signals: Signals,
    topology: Topology,
    /// The CPUs, in the order in which threads take them.
    order: Vec<u32>,
    /// CPU time that the control groups allow, in CPUs.
    quota: Option<f64>,
    /// The program on these CPUs, with its input and without its output.
    job: Job,
}

fn prepared(wish: &Wish) -> Result<Prepared, Error> {
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
    let cpus = Some(order.iter().copied().collect::<CpuSet>());
    let job = Job {
        command: wish.command.clone(),
        cpus,
        output: Output::Nowhere,
        ends_with_coho: true,
        ..Job::default()
    };
    Ok(Prepared { signals, topology, order, quota: room.quota, job })
}

/// The runs' CPU times and elapsed times, and the control's shares, round by round.
#[derive(Default)]
struct Series {
    all: Vec<Run>,
    one: Vec<Run>,
    /// `None` in a round in which the loop could not run.
    control: Vec<Option<f64>>,
    no_control: Option<String>,
    recorded: Recorded,
    /// The recorded runs on all CPUs.
    runs: Vec<Run>,
    no_lines: Option<String>,
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
enum Visited {
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
fn shares(saving: &[Run], all: &[Run]) -> impl Iterator<Item = f64> {
    saving.iter().zip(all).map(|(one, all)| 1.0 - one.user.as_secs_f64() / all.user.as_secs_f64())
}

/// Whether rounds go on after so many: some may follow, and one of the shares is known only roughly.
fn go_on(rounds: usize, most: u32, shares: impl IntoIterator<Item = Vec<f64>>) -> bool {
    let estimate = |share| statistics::estimate(&[share]);
    rounds < most as usize && shares.into_iter().filter_map(estimate).any(|share| is_rough(&share))
}

struct Measuring {
    on_all: Job,
    on_one: Job,
    order: Vec<u32>,
    objection: Option<preload::Objection>,
    signals: Signals,
    /// How many times the CPU time a run on one CPU had taken when it was killed.
    endless: Option<f64>,
    /// Why its lines cannot be looked for, if they cannot.
    no_lines: Option<String>,
    recordings: Recordings,
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
    fn found(&self, series: &Series, total: &ShareTotal) -> Result<Vec<lines::Found>, String> {
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
            return Err("no thread of it was recorded".into());
        }
        Ok(lines(&series.recorded, &self.recordings.files, total))
    }

    /// By how much recording lengthens a run, round by round.
    fn recording(&self, series: &Series) -> Option<Estimate> {
        let both = series.runs.iter().zip(&series.all);
        let more = both.map(|(recorded, plain)| recorded.user.as_secs_f64() / plain.user.as_secs_f64() - 1.0);
        statistics::estimate(&[more.filter(|more| more.is_finite()).collect()])
    }

    fn total(&self, series: &Series, quota: Option<f64>, stolen: f64) -> ShareTotal {
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
type RecordedRun = Result<(Run, share_lines::Run), String>;

/// One recorded run, or why nothing could be recorded; `None` if a signal asked for the end.
fn recorded(
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
