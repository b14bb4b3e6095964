//! What it costs a program that its threads share cache lines: it runs on several CPUs and, with the same threads, on
//! one of them, where no line moves.

mod allocated;
mod attached;
#[cfg(test)]
mod compiled;
mod control;
mod exact;
mod lines;
mod measuring;
mod once;
mod padding;
mod patch;
mod perf;
mod placing;
mod recordings;
mod symbols;

use std::ffi::OsString;
use std::time::Instant;

use coho_platform::host::date;
use coho_platform::load::Busy;
use coho_platform::room::Room;
use coho_platform::stolen::Steal;
use coho_probe::placement::{self, Placement};
use coho_profile::{Method, Share};
use coho_topology::{CpuSet, Topology};
use serde_json::json;

use crate::child::{Input, Job, Output, Signals, Traced, orphans, why_no_samples, words};
use crate::go::is_go;
use crate::per_thread;
use crate::plan::{Error, Left, Listener, Notice};
use crate::preload::{self, Library};
use crate::trial;
pub use attached::attached;
pub use exact::exact;
use measuring::Measuring;
use once::once;
use padding::Trying;
pub use perf::{NotRead, recorded_by_perf};
use recordings::Recordings;

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

/// What the runs are called.
const ALL: &str = "all CPUs";
const ONE: &str = "one CPU";

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
