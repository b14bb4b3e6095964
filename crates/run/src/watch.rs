//! Watches the machine while a command runs: pauses before, between and after its runs, and glances meanwhile.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use coho_model::watch::{Command, HAND_OVER, HandOver, Jump, Machine, Watched, When, Window, changes};
use coho_platform::room::Room;
use coho_platform::stolen::Steal;
use coho_probe::glance::Glances;
use coho_probe::{host, statistics};
use coho_profile::order;
use coho_topology::CpuSet;

use crate::Output;
use crate::child::{Job, Signals, orphans};
use crate::plan::Error;

/// Looks at each pair in a pause, and as many at the clock and at memory: enough for an interval with an allowance for many
/// comparisons.
const LOOKS: usize = 24;
/// The least time between two glances while the command runs,
const BETWEEN: Duration = Duration::from_millis(100);
/// and as a multiple of the CPU time of a glance, so that all of them take no more than half a per cent of one CPU.
const APART: u32 = 200;
/// A level that lasts for a shorter time is no jump,
const LASTS_S: f64 = 1.0;
/// nor is one that was seen less often.
const LASTING_LOOKS: usize = 5;

/// CPU time of which a tick, by which the kernel counts stolen time, is a hundredth.
const MANY_TICKS_S: f64 = 1.0;

/// What to run, how often, and where to look.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// How often it runs; the first run that fails is the last.
    pub runs: u32,
    /// The CPUs to look at; those of the caller if `None`. The command may use all CPUs.
    pub cpus: Option<CpuSet>,
    /// Whether to look while the command runs.
    pub meanwhile: bool,
    /// Where the command's output goes.
    pub output: Output,
}

/// What was seen, and the signal that ended it early, if one did. To be called before any other thread starts.
///
/// # Errors
/// If the command cannot be run, or the CPUs cannot be looked at.
pub fn watch(wish: &Wish) -> Result<(Watched, Option<i32>), Error> {
    let signals = Signals::hold().map_err(Error::Signals)?;
    orphans::adopt().map_err(Error::Orphans)?;
    let cpus = match &wish.cpus {
        Some(cpus) => cpus.clone(),
        None => Room::of_thread().map_err(Error::Room)?.cpus,
    };
    let mut watch = Watch { glances: Glances::at(&cpus)?, cpus, begun: Instant::now(), windows: Vec::new() };
    let host = host::collect();
    let machine = Machine {
        cpu: host.cpu,
        hypervisor: host.hypervisor,
        kernel: host.kernel,
        date: Some(host::run_date()),
        coho: env!("CARGO_PKG_VERSION").to_owned(),
    };
    watch.pause(When::Before);
    let (mut jumps, mut command) = (Vec::new(), Command::default());
    for run in 1..=wish.runs {
        let job = Job {
            command: wish.command.clone(),
            output: wish.output,
            ends_with_coho: true,
            ..Job::default()
        };
        let (status, seen) = watch.run(run, job, wish.meanwhile, &signals)?;
        jumps.extend(seen);
        command = Command { status, runs: run };
        let is_last = run == wish.runs || status != 0 || signals.asked_to_end().is_some();
        watch.pause(if is_last { When::After } else { When::Between(run) });
        if is_last {
            break;
        }
    }
    let changes = changes(&watch.windows, &jumps);
    let moved = changes.iter().any(|change| change.is_machine);
    let watched = Watched { moved, changes, windows: watch.windows, command, machine };
    Ok((watched, signals.asked_to_end()))
}

struct Watch {
    glances: Glances,
    cpus: CpuSet,
    begun: Instant,
    windows: Vec<Window>,
}

/// A look at a pair: when, since its run began, and what it took, in ns.
type Look = (f64, f64);

/// The looks at each pair.
type Looks = BTreeMap<(u32, u32), Vec<Look>>;

impl Watch {
    fn now_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Looks at everything while the command does not run.
    fn pause(&mut self, when: When) {
        let (from_s, steal) = (self.now_s(), Steal::from_now(self.cpus.clone()));
        let mut looks = Looks::new();
        for _ in 0..LOOKS * self.glances.pairs().count() {
            if let Some((pair, ns)) = self.glances.hand_over() {
                looks.entry(pair).or_default().push((0.0, ns));
            }
        }
        // The CPU is awake by now.
        let clock = (0..LOOKS).filter_map(|_| self.glances.clock_ghz()).collect();
        let memory = (0..LOOKS).map_while(|_| self.glances.memory_ns()).collect();
        self.windows.push(Window {
            when,
            from_s,
            to_s: self.now_s(),
            hand_over: hand_over(&looks),
            clock_ghz: statistics::estimate(&[clock]),
            memory_ns: statistics::estimate(&[memory]),
            stolen: self.stolen(&steal, from_s),
        });
    }

    /// Runs the command once; returns its exit status, and the jumps that were seen meanwhile.
    fn run(
        &mut self,
        run: u32,
        job: Job,
        meanwhile: bool,
        signals: &Signals,
    ) -> Result<(u8, Vec<Jump>), Error> {
        let (from_s, steal) = (self.now_s(), Steal::from_now(self.cpus.clone()));
        let running = job.start(signals).map_err(Error::Start)?;
        let over = (Mutex::new(false), Condvar::new());
        let glances = &mut self.glances;
        let (ended, looks, clock) = thread::scope(|scope| {
            let looker = thread::Builder::new().name("coho watch".into());
            // Without the thread there are no looks meanwhile.
            let looker =
                meanwhile.then(|| looker.spawn_scoped(scope, || look(glances, &over)).ok()).flatten();
            let ended = running.wait(signals);
            *over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            over.1.notify_all();
            let (looks, clock) = looker.and_then(|looker| looker.join().ok()).unwrap_or_default();
            (ended, looks, clock)
        });
        self.windows.push(Window {
            when: When::Run(run),
            from_s,
            to_s: self.now_s(),
            hand_over: hand_over(&looks),
            clock_ghz: statistics::estimate(&[clock]),
            memory_ns: None,
            stolen: self.stolen(&steal, from_s),
        });
        let status = ended.map_err(Error::Wait)?.status.exit_status();
        Ok((status, looks.iter().flat_map(|(pair, looks)| jumps(run, *pair, looks)).collect()))
    }

    /// The share of the CPUs' time that the hypervisor took; unknown of a time that is not long against the kernel's ticks.
    fn stolen(&self, steal: &Steal, from_s: f64) -> Option<f64> {
        let all = (self.now_s() - from_s) * self.cpus.len() as f64;
        steal.seconds().filter(|_| all >= MANY_TICKS_S).map(|seconds| (seconds / all).min(1.0))
    }
}

/// Looks at the pairs in turn, and now and then at the clock, until it is over.
fn look(glances: &mut Glances, over: &(Mutex<bool>, Condvar)) -> (Looks, Vec<f64>) {
    let begun = Instant::now();
    let (mut looks, mut clock) = (Looks::new(), Vec::new());
    let mut pause = BETWEEN;
    loop {
        let ended = over.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = over.1.wait_timeout_while(ended, pause, |ended| !*ended);
        if *waited.unwrap_or_else(PoisonError::into_inner).0 {
            return (looks, clock);
        }
        let (glance, used) = (Instant::now(), cpu_time());
        if let Some((pair, ns)) = glances.hand_over() {
            looks.entry(pair).or_default().push(((glance - begun).as_secs_f64(), ns));
        }
        clock.extend(glances.clock_ghz());
        pause = BETWEEN.max(APART * cpu_time().saturating_sub(used));
    }
}

/// CPU time of this process. While the command runs, only glances use it.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure; if it does not know the clock, the time stays 0.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn hand_over(looks: &Looks) -> Vec<HandOver> {
    let of = |(&(a, b), looks): (&(u32, u32), &Vec<Look>)| {
        let ns = statistics::estimate(&[looks.iter().map(|(_, ns)| *ns).collect()])?;
        Some(HandOver { a, b, ns })
    };
    looks.iter().filter_map(of).collect()
}

/// The jumps of a pair's time to another level that lasts: the median of the looks that follow is another, and so is the first
/// of them.
fn jumps(run: u32, pair: (u32, u32), looks: &[Look]) -> Vec<Jump> {
    let (mut jumps, mut level) = (Vec::new(), None);
    for at in 0..looks.len() {
        let lasting = looks.iter().skip(at).position(|look| look.0 - looks[at].0 >= LASTS_S);
        let Some(lasting) =
            lasting.map(|lasting| lasting.max(LASTING_LOOKS)).filter(|n| at + n <= looks.len())
        else {
            break;
        };
        let following = median(&looks[at..at + lasting]);
        let before = *level.get_or_insert(following);
        let moves = |to: f64, by: f64| if before < following { to >= before * by } else { to * by <= before };
        if moves(following, HAND_OVER) && moves(looks[at].1, HAND_OVER.sqrt()) {
            jumps.push(Jump { run, at_s: looks[at].0, pair, ns: (before, following) });
            level = Some(following);
        }
    }
    jumps
}

fn median(looks: &[Look]) -> f64 {
    order::median_of(&mut looks.iter().map(|(_, ns)| *ns).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_lasts_is_a_jump_and_a_disturbance_is_none() {
        let series = |levels: &[(usize, f64)]| -> Vec<Look> {
            let times =
                levels.iter().flat_map(|&(n, ns)| (0..n).map(move |i| ns * (1.0 + 0.01 * (i % 3) as f64)));
            times.enumerate().map(|(at, ns)| (0.1 * at as f64, ns)).collect()
        };
        let told = |levels: &[(usize, f64)]| -> Vec<(f64, f64)> {
            let of = |jump: &Jump| (jump.ns.0.round(), jump.ns.1.round());
            jumps(1, (0, 1), &series(levels)).iter().map(of).collect()
        };
        assert_eq!(told(&[(40, 26.0)]), []);
        assert_eq!(told(&[(20, 26.0), (20, 128.0)]), [(26.0, 129.0)]);
        assert_eq!(told(&[(20, 128.0), (20, 26.0)]), [(129.0, 26.0)]);
        assert_eq!(told(&[(20, 26.0), (20, 60.0), (20, 26.0)]), [(26.0, 61.0), (61.0, 26.0)]);
        assert_eq!(told(&[(20, 26.0), (20, 30.0)]), [], "by less than half");
        assert_eq!(told(&[(20, 26.0), (4, 128.0), (20, 26.0)]), [], "for less than a second");
        assert_eq!(told(&[]), []);
    }

    #[test]
    fn a_run_is_watched_between_two_pauses_and_its_status_is_kept() {
        let wish = Wish {
            command: ["sh", "-c", "sleep 0.5; exit 7"].map(Into::into).to_vec(),
            runs: 3,
            cpus: None,
            meanwhile: true,
            output: Output::Nowhere,
        };
        let (watched, signal) = watch(&wish).unwrap();
        assert_eq!(
            (watched.command.status, watched.command.runs, signal),
            (7, 1, None),
            "a failed run is the last"
        );
        let when: Vec<_> = watched.windows.iter().map(|window| window.when).collect();
        assert_eq!(when, [When::Before, When::Run(1), When::After]);
        assert!(watched.windows.windows(2).all(|two| two[0].to_s <= two[1].from_s));
        assert!(watched.windows[1].memory_ns.is_none(), "the command's memory is left alone");
    }
}
