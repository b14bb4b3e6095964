//! Every barrier and the team for many episodes: all algorithms, numbers of threads, places and ways of waiting.
//!
//! Two variables make it a soak: `COHO_STRESS_EPISODES=OWN,SHARED` says how many episodes threads on CPUs of their own run
//! in each case, and how many those that share CPUs; `COHO_SOAK_SECONDS` limits the time of each test, which the cases
//! share. Each test says how many episodes of either kind it ran.
//!
//! A program of its own: threads that spin without end leave nothing for other tests.

use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use coho_platform::pin;
use coho_sync::{Algorithm, Barrier, Team, WaitPolicy};
use coho_topology::Topology;

/// Episodes of a case whose threads share CPUs.
const SHARED: usize = 10;
/// Episodes of one whose threads have CPUs of their own, which takes much less time for each.
const OWN: usize = 10_000;
/// The same for threads that spin without end: on a busy machine they wait for whole time slices. A soak runs as many as
/// of the others.
const OWN_ACTIVE: usize = 100;
/// A case looks at the time after so many episodes, on CPUs of their own and otherwise.
const CHUNKS: [usize; 2] = [100_000, 100];
const THREADS: [usize; 4] = [2, 3, 8, 16];
const POLICIES: [WaitPolicy; 4] = [
    WaitPolicy::Adaptive,
    WaitPolicy::SpinFor(Duration::from_micros(3)),
    WaitPolicy::Passive,
    WaitPolicy::Active,
];
/// If no thread completes an episode for this long, a case has stalled, however busy the machine is.
const STALL: Duration = Duration::from_secs(120);

/// A test has the CPUs for itself.
static ALONE: Mutex<()> = Mutex::new(());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Each on a CPU of its own, as far as there are enough.
    Own,
    /// All on one CPU. The barrier is not told, so that they spin where it is in vain.
    One,
    Free,
}

const PLACES: [Place; 3] = [Place::Own, Place::One, Place::Free];

#[derive(Debug, Clone, Copy)]
struct Case {
    /// Of a team's fork and join if there is none.
    algorithm: Option<Algorithm>,
    in_team: bool,
    threads: usize,
    place: Place,
    policy: WaitPolicy,
}

impl Case {
    /// All that end in time.
    fn all(algorithms: &[Option<Algorithm>], in_team: bool) -> Vec<Self> {
        let mut cases = Vec::new();
        for &algorithm in algorithms {
            for threads in THREADS {
                for place in PLACES {
                    let case = |policy| Self { algorithm, in_team, threads, place, policy };
                    // A thread that spins without end where others must run gets on only when its time slice is over.
                    let ends = |case: &Self| case.policy != WaitPolicy::Active || case.has_cpus();
                    cases.extend(POLICIES.into_iter().map(case).filter(ends));
                }
            }
        }
        cases
    }

    fn has_cpus(&self) -> bool {
        self.threads <= allowed().len() && self.place != Place::One
    }

    fn cpus(&self) -> Option<Vec<u32>> {
        let cpus = allowed();
        match self.place {
            Place::Own => Some((0..self.threads).map(|rank| cpus[rank % cpus.len()]).collect()),
            Place::One => Some(vec![cpus[0]; self.threads]),
            Place::Free => None,
        }
    }

    fn on_own_cpus(&self) -> bool {
        self.has_cpus() && self.place == Place::Own
    }

    fn episodes(&self) -> usize {
        let spins = matches!(self.policy, WaitPolicy::Adaptive | WaitPolicy::SpinFor(_));
        match (given(EPISODES), self.on_own_cpus()) {
            (Some(given), own) => {
                let (of_own, shared) = given.split_once(',').expect("two numbers of episodes");
                if own { of_own } else { shared }.trim().parse().expect("a number of episodes")
            }
            (None, true) if spins => OWN,
            (None, true) if self.policy == WaitPolicy::Active => OWN_ACTIVE,
            (None, _) => SHARED,
        }
    }

    /// Runs the case's episodes, or as many of them as there is time for, and says how many.
    fn run(self, until: Option<Instant>) -> usize {
        let (all, begun) = (self.episodes(), Instant::now());
        let mut done = 0;
        while done < all && (done == 0 || until.is_none_or(|until| Instant::now() < until)) {
            let chunk = CHUNKS[usize::from(!self.on_own_cpus())].min(all - done);
            self.run_watched(chunk);
            done += chunk;
        }
        println!("{done} episodes in {:.1?}: {self:?}", begun.elapsed());
        done
    }

    /// Runs the case beside a watch, which ends the process if there is something wrong: threads that wait for one that
    /// does not come cannot be ended.
    fn run_watched(self, episodes: usize) {
        let slots: Vec<_> = (0..self.threads).map(|_| Slot(AtomicUsize::new(0))).collect();
        let come = || slots.iter().map(|slot| slot.0.load(Relaxed)).collect::<Vec<_>>();
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            let slots = &slots;
            scope.spawn(move || {
                if self.in_team {
                    self.meet_in_team(slots, episodes)
                } else {
                    self.meet(slots, episodes)
                }
                // The watch may have given up.
                let _ = tell.send(());
            });
            let mut before = come();
            while let Err(why) = told.recv_timeout(STALL) {
                let now = come();
                // Its own message tells of a wrong order.
                if now == before || why == RecvTimeoutError::Disconnected {
                    give_up(&format!("{self:?} stalls; the ranks have come to {now:?}"));
                }
                before = now;
            }
        });
    }

    fn meet(self, slots: &[Slot], episodes: usize) {
        let (topology, cpus) = (Topology::default(), self.cpus());
        let mut barrier = Barrier::builder(self.threads).policy(self.policy);
        barrier = barrier.algorithm(self.algorithm.expect("a barrier has one"));
        if let (Place::Own, Some(cpus)) = (self.place, &cpus) {
            barrier = barrier.places(&topology, cpus);
        }
        let barrier = barrier.build().unwrap();
        std::thread::scope(|scope| {
            for rank in 0..self.threads {
                let (barrier, cpus) = (&barrier, &cpus);
                scope.spawn(move || {
                    if let Some(cpus) = cpus {
                        pin::to(cpus[rank]).unwrap();
                    }
                    self.episodes_of(rank, slots, episodes, || barrier.wait(rank));
                });
            }
        });
    }

    fn meet_in_team(self, slots: &[Slot], episodes: usize) {
        let mut team = Team::builder(self.threads).policy(self.policy);
        if let Some(algorithm) = self.algorithm {
            team = team.algorithm(algorithm);
        }
        team = match self.cpus() {
            Some(cpus) => team.cpus(cpus),
            None => team.pinned(false),
        };
        let mut team = team.start().unwrap();
        let _pin = team.pin_caller().unwrap();
        if self.algorithm.is_some() {
            team.run(|member| self.episodes_of(member.rank(), slots, episodes, || member.barrier()));
            return;
        }
        let mut random = fastrand::Rng::with_seed(0);
        for episode in 1..=episodes {
            // A small team has another size now and then.
            if self.threads <= 8 && random.u8(..8) == 0 {
                team.resize(random.usize(1..=self.threads)).unwrap();
                team.run(|_| ());
                team.resize(self.threads).unwrap();
            }
            team.run(|member| {
                delay(&mut fastrand::Rng::with_seed((episode * self.threads + member.rank()) as u64));
                slots[member.rank()].0.store(episode, Relaxed);
            });
            self.check(slots, episode..=episode);
        }
    }

    fn episodes_of(&self, rank: usize, slots: &[Slot], episodes: usize, wait: impl Fn()) {
        let mut random = fastrand::Rng::with_seed(rank as u64);
        for episode in 1..=episodes {
            delay(&mut random);
            slots[rank].0.store(episode, Relaxed);
            wait();
            self.check(slots, episode..=episode + 1);
        }
    }

    fn check(&self, slots: &[Slot], due: RangeInclusive<usize>) {
        if !slots.iter().all(|slot| due.contains(&slot.0.load(Relaxed))) {
            let seen: Vec<_> = slots.iter().map(|slot| slot.0.load(Relaxed)).collect();
            give_up(&format!("{self:?}: {seen:?} where all should be in {due:?}"));
        }
    }
}

/// The last episode that a rank has come to.
#[repr(align(128))]
struct Slot(AtomicUsize);

/// Now and then a thread comes late: by about as long as others spin, or by so much that they sleep.
fn delay(random: &mut fastrand::Rng) {
    match random.u16(..) {
        0..=8 => std::thread::sleep(Duration::from_micros(random.u64(..100))),
        9..=100 => std::thread::yield_now(),
        101..=1000 => (0..random.u8(..)).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
}

fn allowed() -> Vec<u32> {
    pin::of_process().unwrap().iter().collect()
}

fn give_up(why: &str) -> ! {
    // What a test prints is lost with its process.
    let _ = writeln!(std::io::stderr().lock(), "{why}");
    std::process::exit(101);
}

const EPISODES: &str = "COHO_STRESS_EPISODES";

fn given(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// Runs the cases, each in its share of the time that is left.
fn run(mut cases: Vec<Case>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let end = coho_testing::soak_seconds().map(|seconds| Instant::now() + Duration::from_secs(seconds));
    // What is left of the time when those that share CPUs have run their episodes is for the others, which run far more.
    cases.sort_by_key(Case::on_own_cpus);
    let (mut own, mut shared) = (0, 0);
    for (index, case) in cases.iter().enumerate() {
        let left = (cases.len() - index) as u32;
        let until = end.map(|end| Instant::now() + end.saturating_duration_since(Instant::now()) / left);
        *(if case.on_own_cpus() { &mut own } else { &mut shared }) += case.run(until);
    }
    println!("{own} episodes on CPUs of their own and {shared} others in {} cases", cases.len());
}

fn algorithms() -> Vec<Option<Algorithm>> {
    Algorithm::ALL.into_iter().chain([Algorithm::Auto]).map(Some).collect()
}

#[test]
fn barriers() {
    run(Case::all(&algorithms(), false));
}

#[test]
fn barriers_of_teams() {
    run(Case::all(&[Some(Algorithm::Auto), Some(Algorithm::Fbs), Some(Algorithm::Central)], true));
}

#[test]
fn fork_and_join() {
    run(Case::all(&[None], true));
}
