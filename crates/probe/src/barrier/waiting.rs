//! Barriers when threads have to wait for CPUs: more threads than CPUs, all on one CPU, a busy neighbour, a quota. Each
//! is compared with the C library's barrier, which always sleeps, by the same threads in the same run.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use coho_platform::{cgroup, pin, threads};
use coho_profile::Method;
pub use coho_profile::{Waiting, WaitingCell};
use coho_sync::{Algorithm, Barrier, Mapping, Team};
use coho_topology::{CpuSet, Topology};

use super::peers::Pthread;
use crate::clock::Clock;
use crate::frame::{End, Frame, Passes, Phase, Progress, Step};
use crate::{Course, Error, statistics};

/// The default numbers of threads.
const THREADS: [u32; 6] = [2, 3, 8, 16, 64, 200];
/// Long compared with time slices of a few ms, so that most bursts include what others take.
const BURST: Duration = Duration::from_millis(30);
/// A first burst that takes longer than this is not lengthened, and its barrier is measured by half as many bursts.
const LONG: Duration = Duration::from_millis(120);
/// The largest factor by which a burst's barriers grow from one to the next.
const GROWTH: u64 = 8;

/// What to measure and how well.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WaitingOptions {
    /// Numbers of threads; 2, 3, 8, 16, 64 and 200 if empty.
    pub threads: Vec<u32>,
    /// The algorithms; all if empty. A team's barrier is always measured.
    pub algorithms: Vec<Algorithm>,
    /// Fewer bursts.
    pub quick: bool,
    /// For how long; the CPUs are all that the process may use.
    pub course: Course,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pinning {
    Own,
    One,
    Free,
}

impl Pinning {
    const ALL: [Self; 3] = [Self::Own, Self::One, Self::Free];

    fn name(self) -> &'static str {
        match self {
            Self::Own => "own CPU",
            Self::One => "one CPU",
            Self::Free => "free",
        }
    }

    /// The CPU of each rank; empty if they are not pinned.
    fn cpus(self, order: &[u32], threads: usize) -> Vec<u32> {
        match self {
            Self::Own => order.iter().cycle().take(threads).copied().collect(),
            Self::One => vec![order[0]; threads],
            Self::Free => Vec::new(),
        }
    }
}

/// Measures barriers in every condition that is possible for this process: under its own quota if it has one, otherwise
/// idle and beside a busy neighbour.
///
/// A stop ([`coho_platform::stop`]) or the time limit ends it early: what it has is returned, marked as interrupted.
///
/// # Errors
/// If the threads, or an algorithm for this many, are not available.
pub fn measure(
    options: &WaitingOptions,
    topology: &Topology,
    progress: &mut dyn FnMut(Progress),
) -> Result<Waiting, Error> {
    let allowed = pin::allowed()?;
    let course = options.course.moved(Vec::from_iter(allowed.iter()));
    let mut frame = Frame::bare(&course, progress);
    let order = Mapping::Sequential.order(topology, &allowed);
    let threads = if options.threads.is_empty() { THREADS.to_vec() } else { options.threads.clone() };
    let conditions = conditions(&mut frame);
    let groups = conditions.iter().flat_map(|(condition, has_neighbour)| {
        threads.iter().flat_map(move |&threads| {
            Pinning::ALL.map(|pinning| (condition, *has_neighbour, threads, pinning))
        })
    });
    let mut phase = Phase::new("waiting", groups.clone().count() as u64);
    let mut cells = Vec::new();
    for (condition, has_neighbour, threads, pinning) in groups {
        if frame.end().has_come() {
            break;
        }
        if pinning == Pinning::One && order.len() == 1 {
            frame.lacks("one CPU", "there is one CPU: the same as one of its own");
        } else {
            let group = Group { topology, allowed: &allowed, order: &order, threads, pinning, condition };
            let neighbour = has_neighbour.then(|| Neighbour::start(order[0])).transpose()?;
            let measured = group.measure(options, &mut frame);
            drop(neighbour);
            cells.extend(measured?);
        }
        frame.advance(&mut phase, 1);
    }
    let Method { not_available, interrupted, steal_s, .. } = frame.finish("");
    Ok(Waiting { cells, not_available, interrupted, steal_s })
}

/// The conditions by name, and whether they have a neighbour.
fn conditions(frame: &mut Frame<'_>) -> Vec<(String, bool)> {
    match cgroup::cpu_quota() {
        Some(quota) => {
            for name in ["idle", "neighbour"] {
                let why = "this process has a quota, which holds in every condition";
                frame.lacks(name, why);
            }
            vec![(format!("quota {quota}"), false)]
        }
        None => {
            let why = "this process has none; run it under one: systemd-run --scope -p CPUQuota=50% coho …";
            frame.lacks("quota", why);
            vec![("idle".into(), false), ("neighbour".into(), true)]
        }
    }
}

/// A thread that computes on a CPU until it is dropped.
struct Neighbour {
    ends: std::sync::Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Neighbour {
    fn start(cpu: u32) -> Result<Self, Error> {
        let ends = std::sync::Arc::new(AtomicBool::new(false));
        let seen = std::sync::Arc::clone(&ends);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let work = move || {
            let pinned = pin::to(cpu);
            let runs = pinned.is_ok();
            // The thread that starts it waits for this.
            let _ = ready.send(pinned);
            while runs && !seen.load(Relaxed) {
                for _ in 0..1000 {
                    std::hint::black_box(());
                }
            }
        };
        let thread = std::thread::Builder::new().name("coho neighbour".into()).spawn(work);
        let thread = thread.map_err(|error| Error::cpu(cpu, format!("no thread for it: {error}")))?;
        let neighbour = Self { ends, thread: Some(thread) };
        is_ready.recv().map_err(|_| Error::cpu(cpu, "the neighbour did not start"))??;
        Ok(neighbour)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// A number of threads, placed in one way, in one condition.
struct Group<'a> {
    topology: &'a Topology,
    allowed: &'a CpuSet,
    order: &'a [u32],
    threads: u32,
    pinning: Pinning,
    condition: &'a str,
}

enum Subject {
    Pthread(Pthread),
    Barrier(Box<Barrier>),
    /// Only its leader, rank 0, is one of the group's threads.
    Team(Box<Mutex<Team>>),
}

/// What rank 0 orders the others to do next.
#[derive(Default)]
struct Order {
    subject: AtomicU64,
    barriers: AtomicU64,
}

impl Group<'_> {
    fn measure(&self, options: &WaitingOptions, frame: &mut Frame<'_>) -> Result<Vec<WaitingCell>, Error> {
        let subjects = self.subjects(options)?;
        let cpus = self.pinning.cpus(self.order, self.threads as usize);
        let meeting = std::sync::Barrier::new(self.threads as usize);
        let order = Order::default();
        let rounds = if options.quick { 4 } else { 6 };
        let end = frame.end().clone();
        let random = Mutex::new(&mut frame.random);
        let times = threads::together(self.threads as usize, &|rank| {
            // A rank that cannot be pinned must still take part, or the others wait for ever.
            let placed = match cpus.get(rank) {
                Some(&cpu) => pin::to(cpu).is_ok(),
                None => pin::confine(self.allowed).is_ok(),
            };
            let burst = |subject: usize, barriers: u64| match &subjects[subject].1 {
                Subject::Pthread(pthread) => timed(barriers, || pthread.wait()),
                Subject::Barrier(barrier) => timed(barriers, || barrier.wait(rank)),
                Subject::Team(team) if rank == 0 => {
                    let leader_ns = Mutex::new(f64::NAN);
                    team.lock().unwrap_or_else(PoisonError::into_inner).run(|member| {
                        let ns = timed(barriers, || member.barrier());
                        if member.rank() == 0 {
                            *leader_ns.lock().unwrap_or_else(PoisonError::into_inner) = ns;
                        }
                    });
                    leader_ns.into_inner().unwrap_or_else(PoisonError::into_inner)
                }
                Subject::Team(_) => f64::NAN,
            };
            if rank > 0 {
                loop {
                    meeting.wait();
                    match order.barriers.load(Acquire) {
                        0 => return (placed, Vec::new()),
                        barriers => {
                            burst(order.subject.load(Acquire) as usize, barriers);
                        }
                    }
                    // All must have read this order before the next is given. Most threads have no part in a team's burst.
                    meeting.wait();
                }
            }
            let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
            let lead = |subject: usize, barriers: u64| {
                order.subject.store(subject as u64, Release);
                order.barriers.store(barriers, Release);
                meeting.wait();
                let ns = burst(subject, barriers);
                meeting.wait();
                ns
            };
            let times = lead_rounds(subjects.len(), rounds, &end, &mut random, lead);
            order.barriers.store(0, Release);
            meeting.wait();
            (placed, times)
        });
        let mut ranks = times.map_err(|error| Error::system(format!("{} threads", self.threads), error))?;
        if let Some(rank) = ranks.iter().position(|(placed, _)| !placed) {
            let cpu = cpus.get(rank).copied().unwrap_or(self.order[0]);
            return Err(Error::cpu(cpu, "a thread could not be pinned to it"));
        }
        let times = ranks.swap_remove(0).1;
        Ok(self.cells(&subjects, &times))
    }

    /// The C library's barrier first.
    fn subjects(&self, options: &WaitingOptions) -> Result<Vec<(String, Subject)>, Error> {
        let threads = self.threads as usize;
        let cpus = self.pinning.cpus(self.order, threads);
        let mut subjects = vec![("pthread".to_owned(), Subject::Pthread(Pthread::new(threads)?))];
        let all: Vec<_> = [Algorithm::Auto].into_iter().chain(Algorithm::ALL).collect();
        for &algorithm in if options.algorithms.is_empty() { &all } else { &options.algorithms } {
            let mut barrier = Barrier::builder(threads).algorithm(algorithm);
            if self.pinning == Pinning::Own {
                barrier = barrier.places(self.topology, &cpus);
            }
            subjects.push((algorithm.name(), Subject::Barrier(Box::new(barrier.build()?))));
        }
        let team = match self.pinning {
            Pinning::Free => Team::builder(threads).pinned(false),
            Pinning::Own | Pinning::One => Team::builder(threads).cpus(cpus),
        };
        subjects.push(("team".into(), Subject::Team(Box::new(Mutex::new(team.start()?)))));
        Ok(subjects)
    }

    fn cells(&self, subjects: &[(String, Subject)], rounds: &[Vec<f64>]) -> Vec<WaitingCell> {
        let of =
            |subject: usize| rounds.iter().map(move |round| round.get(subject).copied().unwrap_or(f64::NAN));
        let cell = |(subject, (name, _)): (usize, &(String, Subject))| {
            Some(WaitingCell {
                algorithm: name.clone(),
                threads: self.threads,
                pinning: self.pinning.name(),
                condition: self.condition.to_owned(),
                ns: statistics::estimate_of_passes(of(subject))?,
                pthread_ratio: statistics::estimate_of_passes(
                    of(subject).zip(of(0)).map(|(ns, pthread)| ns / pthread),
                )?,
            })
        };
        subjects.iter().enumerate().skip(1).filter_map(cell).collect()
    }
}

/// Ns that this many barriers take after a first one, at which the threads arrive from other work.
fn timed(barriers: u64, wait: impl Fn()) -> f64 {
    let clock = Clock::get();
    wait();
    let start = clock.now();
    (0..barriers).for_each(|_| wait());
    clock.ns(clock.now() - start)
}

/// Runs rounds of bursts of every subject, in a new order each time; returns ns a barrier for each subject in each
/// round. `lead` does the given number of barriers of a subject and returns the ns that they took.
fn lead_rounds(
    subjects: usize,
    rounds: usize,
    end: &End,
    random: &mut fastrand::Rng,
    lead: impl Fn(usize, u64) -> f64,
) -> Vec<Vec<f64>> {
    let wanted = BURST.as_nanos() as f64;
    let long = LONG.as_nanos() as f64;
    // The first bursts show how many barriers fill one, and also let patience learn.
    let fill = |subject: usize| {
        let mut barriers = 1;
        loop {
            let ns = lead(subject, barriers);
            if ns >= wanted / 2.0 || end.has_come() {
                return (barriers, ns);
            }
            let fitting = (barriers as f64 * wanted / ns.max(1.0)) as u64;
            barriers = fitting.clamp(barriers + 1, barriers * GROWTH);
        }
    };
    let filled: Vec<_> = (0..subjects).map(fill).collect();
    let mut times = vec![vec![f64::NAN; subjects]; rounds];
    for Step { pass, at, .. } in Passes::new(rounds, subjects, random, end) {
        let (barriers, first_ns) = filled[at];
        if first_ns <= long || pass % 2 == 0 {
            times[pass][at] = lead(at, barriers) / barriers as f64;
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_fills_its_bursts_in_every_round() {
        let asked = Mutex::new(Vec::new());
        let lead = |subject: usize, barriers: u64| {
            asked.lock().unwrap().push((subject, barriers));
            // 1 us and 1 ms a barrier, and one that takes longer than a burst.
            barriers as f64 * [1e3, 1e6, 2e8][subject]
        };
        let end = End::after(std::time::Instant::now(), None);
        let times = lead_rounds(3, 4, &end, &mut fastrand::Rng::with_seed(1), lead);
        assert!(times.iter().all(|round| round[..2] == [1e3, 1e6]), "{times:?}");
        let long: Vec<_> = times.iter().map(|round| round[2].is_nan()).collect();
        assert_eq!(long, [false, true, false, true]);
        let most =
            |subject| asked.lock().unwrap().iter().filter(|one| one.0 == subject).map(|one| one.1).max();
        assert_eq!(most(2), Some(1));
        assert!((15_000..=30_000).contains(&most(0).unwrap()), "{:?}", most(0));
    }

    #[test]
    fn ranks_take_their_own_cpus_in_turn_or_all_the_first() {
        assert_eq!(Pinning::Own.cpus(&[4, 6], 3), [4, 6, 4]);
        assert_eq!(Pinning::One.cpus(&[4, 6], 3), [4, 4, 4]);
        assert!(Pinning::Free.cpus(&[4, 6], 3).is_empty());
    }

    #[test]
    fn each_barrier_is_measured_beside_the_c_library_s() {
        let options = WaitingOptions {
            threads: vec![2],
            algorithms: vec![Algorithm::Auto],
            quick: true,
            ..WaitingOptions::default()
        };
        let topology = coho_topology::detect().unwrap();
        let mut steps = 0;
        let waiting = measure(&options, &topology, &mut |_| steps += 1).unwrap();
        let conditions = if cgroup::cpu_quota().is_some() { 1 } else { 2 };
        let pinnings = if pin::allowed().unwrap().len() == 1 { 2 } else { 3 };
        assert_eq!((steps, waiting.cells.len()), (3 * conditions, 2 * pinnings * conditions));
        assert!(!waiting.interrupted);
        for cell in &waiting.cells {
            assert!(cell.ns.median > 0.0 && cell.pthread_ratio.median > 0.0, "{cell:?}");
        }
    }
}
