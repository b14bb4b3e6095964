//! Several CPUs make the same call at the same time, at home and away; also with several hosts.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::Duration;

use coho_delegate::Host;
use coho_platform::pin;
use coho_profile::{AssignedBy, Assignment, Files, Footprint};

use super::super::caches::Caches;
use super::super::record::figure;
use super::super::request::Request;
use super::super::scratch::Scratch;
use super::deed::{self, Deed};
use super::ground::Point;
use super::record::{Callers, Record};
use super::remote::{self, Remote};
use super::stand::{Stand, Way, median};
use crate::Error;
use crate::frame::{Frame, Passes, Phase};
use crate::workers::Job;

/// The calls: the paper's calls on files.
const CALLS: [&str; 4] = ["stat", "open", "write(1)", "write(4096)"];
/// What each caller has walked between two calls, in bytes.
const WALKED: usize = 8 << 10;
/// Calls in a block, and in further blocks until all callers are done.
const BLOCK: usize = 40;
const ON: usize = 2;
/// The most passes.
const PASSES: usize = 12;
/// Callers and hosts whose assignment is compared.
const PAIRED: usize = 2;

/// The CPUs that call, the first one first.
pub(super) struct Crowd<'a> {
    pub(super) cpus: Vec<u32>,
    pub(super) caches: Caches,
    pub(super) place: &'a Scratch,
    pub(super) seed: u64,
}

/// The results.
#[derive(Default)]
pub(super) struct Together {
    pub(super) rows: Vec<Footprint>,
    pub(super) assignments: Vec<Assignment>,
    pub(super) passes: usize,
}

/// A caller among others.
struct Seat {
    cpu: u32,
    stand: Stand,
    same: Vec<Deed>,
    different: Vec<Deed>,
}

/// What is compared: a call, its number of callers, and which files they use.
type Case = (usize, usize, Files);

impl Crowd<'_> {
    /// Measures as much as the time allows; names what cannot be measured.
    pub(super) fn measure(&self, frame: &mut Frame<'_>, time: Duration) -> Together {
        let cpus = self.cpus.len();
        if cpus < 2 {
            let why = "not available: several callers need two CPUs, and the run has one";
            frame.lacks("several callers", why);
            return Together::default();
        }
        if cpus < 3 {
            let why = "not available: two callers and a host need three CPUs, and the run has two";
            frame.lacks("several callers, away", why);
        }
        if cpus < 2 * PAIRED {
            let why = format!(
                "not available: two callers and two hosts need four CPUs, and the run has {cpus}; affinity \
                 is that of functions alone"
            );
            frame.lacks("assignments", why);
        }
        match self.seats().and_then(|seats| self.passes(seats, frame, time)) {
            Ok(together) => together,
            Err(error) => {
                frame.lacks("several callers", format!("not available: {error}"));
                Together::default()
            }
        }
    }

    fn seats(&self) -> Result<Vec<Seat>, Error> {
        let points = [point()];
        let jobs = self.cpus.iter().enumerate().map(|(index, &cpu)| {
            let caches = self.caches;
            let seed = self.seed.wrapping_add(index as u64);
            let job: Job<'_, Result<Stand, Error>> =
                Box::new(move || Stand::new(&points, caches, None, seed));
            (cpu, job)
        });
        let stands = on_their_cpus(jobs.collect());
        let seat = |(index, stand): (usize, Result<Result<Stand, Error>, Error>)| {
            let deeds = |name: &str| CALLS.map(|call| self.deed(call, name)).into_iter().collect();
            let own = format!("of-{index}");
            let same: Result<Vec<Deed>, Error> = deeds("of-all");
            Ok(Seat { cpu: self.cpus[index], stand: stand??, same: same?, different: deeds(&own)? })
        };
        stands.into_iter().enumerate().map(seat).collect()
    }

    /// A call on a file with this name, and on another one away.
    fn deed(&self, call: &str, file: &str) -> Result<Deed, Error> {
        let request: Request = call.parse()?;
        let act = |place: &str| {
            deed::act(request, &self.place.beside(&format!("{file}-{place}"))).map_err(Error::work)
        };
        Ok(Deed {
            call: request.name(),
            payload_bytes: request.moved(),
            filesystem: Some(self.place.filesystem().to_owned()),
            home: act("home")?,
            away: act("away")?,
        })
    }

    fn passes(&self, mut seats: Vec<Seat>, frame: &mut Frame<'_>, time: Duration) -> Result<Together, Error> {
        let mut cases: Vec<Case> = Vec::new();
        for number in numbers(self.cpus.len()) {
            let files = [Files::Same, Files::Different];
            cases.extend((0..CALLS.len()).flat_map(|call| files.map(|files| (number, call, files))));
        }
        let mut records: BTreeMap<Case, Record> = BTreeMap::new();
        let mut assigned: BTreeMap<AssignedBy, Vec<f64>> = BTreeMap::new();
        let mut together = Together::default();
        // After the cases come the two ways to assign calls to hosts.
        let pairs = usize::from(self.cpus.len() >= 2 * PAIRED);
        let end = frame.end().clone();
        let mut passes = Passes::new(PASSES, cases.len() + pairs, &mut frame.random, &end).within(time);
        let mut phase = Phase::new("several callers", passes.total() as u64);
        for step in passes.by_ref() {
            if let Some(&case) = cases.get(step.at) {
                let costs = self.case(&mut seats, case, &mut frame.random)?;
                let record = records.entry(case).or_default();
                record.home.push(costs.0);
                if let Some(away) = costs.1 {
                    record.away.push(away);
                    record.gain.push(costs.0 - away);
                }
            } else {
                let mut ways = [AssignedBy::Function, AssignedBy::Application];
                frame.random.shuffle(&mut ways);
                for by in ways {
                    let ns = self.assigned(&mut seats, by)?;
                    assigned.entry(by).or_default().push(ns);
                }
            }
            frame.advance(&mut phase, 1);
        }
        together.passes = passes.complete();
        for ((number, call, files), record) in &records {
            let callers = Callers { number: *number as u32, files: Some(*files) };
            together.rows.extend(record.rows(&seats[0].same[*call], point(), callers));
        }
        let (callers, hosts) = (PAIRED as u32, PAIRED as u32);
        let assignment = |(by, times): (&AssignedBy, &Vec<f64>)| {
            Some(Assignment { by: *by, callers, hosts, ns: figure(times)? })
        };
        together.assignments = assigned.iter().filter_map(assignment).collect();
        Ok(together)
    }

    /// Lets the first `number` CPUs make a call at the same time: at home and, if a CPU is left for a host, away, in
    /// random order. Returns the median over the callers, in ns, minus the walk alone.
    fn case(
        &self,
        seats: &mut [Seat],
        (number, call, files): Case,
        random: &mut fastrand::Rng,
    ) -> Result<(f64, Option<f64>), Error> {
        let mut ways = vec![Way::None, Way::Home];
        if number < self.cpus.len() {
            ways.push(Way::Away);
        }
        random.shuffle(&mut ways);
        let mut costs = Vec::new();
        for way in ways {
            // A host polls, so it exists only while it is used.
            let host = (way == Way::Away).then(|| remote::host(self.cpus[number])).transpose()?;
            let ns = at_once(&mut seats[..number], host.as_ref(), |seat| {
                let deeds = if files == Files::Same { &mut seat.same } else { &mut seat.different };
                (&mut seat.stand, &mut deeds[call], way)
            })?;
            costs.push((way, ns));
        }
        let of = |wanted| costs.iter().find(|(way, _)| *way == wanted).map(|(_, ns)| *ns);
        let alone = of(Way::None).unwrap_or(f64::NAN);
        Ok((of(Way::Home).unwrap_or(f64::NAN) - alone, of(Way::Away).map(|away| away - alone)))
    }

    /// Two callers that make two calls in turn, by two hosts: one for each call, or one for each caller. The median time of
    /// a call, in ns.
    fn assigned(&self, seats: &mut [Seat], by: AssignedBy) -> Result<f64, Error> {
        let hosts = [remote::host(self.cpus[PAIRED])?, remote::host(self.cpus[PAIRED + 1])?];
        let arrived = AtomicUsize::new(0);
        let jobs = seats[..PAIRED].iter_mut().enumerate().map(|(index, seat)| {
            let mut ways = [0, 1].map(|call| {
                let host = if by == AssignedBy::Function { call } else { index };
                Remote::to(&hosts[host], 1)
            });
            let cpu = seat.cpu;
            let arrived = &arrived;
            let job: Job<'_, io::Result<f64>> = Box::new(move || {
                let clock = seat.stand.clock;
                let acts = &mut seat.different;
                for (way, deed) in ways.iter_mut().zip(&mut *acts) {
                    // stat and open need no clean-up within a block.
                    way.ready(&mut deed.away, BLOCK)?;
                }
                meet(arrived, PAIRED);
                let mut times = Vec::with_capacity(2 * BLOCK);
                let mut least = 0;
                for index in 0..BLOCK {
                    for (way, deed) in ways.iter_mut().zip(&mut *acts) {
                        let start = clock.now();
                        least = least.min(way.one(&mut deed.away, index));
                        times.push(clock.ns(clock.now() - start));
                    }
                }
                for (way, deed) in ways.iter_mut().zip(&mut *acts) {
                    way.clean(&mut deed.away)?;
                }
                if least < 0 {
                    return Err(io::Error::from_raw_os_error(-least as i32));
                }
                Ok(median(times))
            });
            (cpu, job)
        });
        middle(on_their_cpus(jobs.collect()))
    }
}

fn point() -> Point {
    Point { bytes: WALKED, code: 0 }
}

/// Powers of two, and all.
fn numbers(cpus: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = std::iter::successors(Some(2), |number| Some(2 * number))
        .take_while(|number| *number < cpus)
        .collect();
    numbers.push(cpus);
    numbers
}

/// Blocks of calls on all seats at the same time; the median over the seats of a block's median.
fn at_once<'a>(
    seats: &'a mut [Seat],
    host: Option<&Host>,
    pick: impl Fn(&'a mut Seat) -> (&'a mut Stand, &'a mut Deed, Way),
) -> Result<f64, Error> {
    let number = seats.len();
    let (arrived, done) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let jobs = seats.iter_mut().map(|seat| {
        let cpu = seat.cpu;
        let (stand, deed, way) = pick(seat);
        stand.remote = host.map(|host| Remote::to(host, 1));
        let (arrived, done) = (&arrived, Arc::clone(&done));
        let job: Job<'_, io::Result<f64>> = Box::new(move || {
            meet(arrived, number);
            let cost = stand.block(deed, way, point(), BLOCK, None);
            done.fetch_add(1, AcqRel);
            // The others must keep meeting the same number of callers until they are done.
            while cost.is_ok() && done.load(Acquire) < number {
                stand.block(deed, way, point(), ON, None)?;
            }
            stand.remote = None;
            cost.map(|cost| cost.ns)
        });
        (cpu, job)
    });
    middle(on_their_cpus(jobs.collect()))
}

/// Waits for the others.
fn meet(arrived: &AtomicUsize, number: usize) {
    arrived.fetch_add(1, AcqRel);
    while arrived.load(Acquire) < number {
        std::hint::spin_loop();
    }
}

/// Runs each job on a thread of its own, pinned beforehand, all at the same time, even if a CPU is named twice.
fn on_their_cpus<T: Send>(jobs: Vec<(u32, Job<'_, T>)>) -> Vec<Result<T, Error>> {
    std::thread::scope(|scope| {
        // A thread that cannot be pinned must not leave the others waiting, so all pins are checked before any job
        // begins.
        let pinned: Vec<Result<(), Error>> = jobs
            .iter()
            .map(|(cpu, _)| pin::refusal(*cpu).map_or(Ok(()), |why| Err(Error::cpu(*cpu, why.to_string()))))
            .collect();
        if pinned.iter().any(Result::is_err) {
            let refused =
                |pin: Result<(), Error>| pin.and_then(|()| Err(Error::work("another CPU cannot be used")));
            return pinned.into_iter().map(refused).collect();
        }
        let threads: Vec<_> = jobs
            .into_iter()
            .map(|(cpu, job)| {
                scope.spawn(move || {
                    let pin = pin::to(cpu);
                    let value = job();
                    pin?;
                    pin::verify(cpu)?;
                    Ok(value)
                })
            })
            .collect();
        let value = |thread: std::thread::ScopedJoinHandle<'_, Result<T, Error>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(value).collect()
    })
}

fn middle(results: Vec<Result<io::Result<f64>, Error>>) -> Result<f64, Error> {
    let value = |result: Result<io::Result<f64>, Error>| {
        result?.map_err(|error| Error::work(format!("a call failed: {error}")))
    };
    Ok(median(results.into_iter().map(value).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use coho_topology::CpuSet;

    use super::*;
    use coho_platform::pin;

    #[test]
    fn callers_are_powers_of_two_and_all() {
        assert_eq!(numbers(2), [2]);
        assert_eq!(numbers(6), [2, 4, 6]);
        assert_eq!(numbers(8), [2, 4, 8]);
    }

    /// CPUs named twice stand in for more CPUs: it is slow, but code that needs four runs.
    #[test]
    fn two_callers_have_a_host_and_two_hosts() {
        let allowed: CpuSet = pin::allowed().unwrap();
        let cpus: Vec<u32> = [0, 1, 2, 3].map(|i| allowed.iter().nth(i % allowed.len()).unwrap()).to_vec();
        let topology = coho_topology::detect().unwrap();
        let place = Scratch::create().unwrap();
        let crowd = Crowd { caches: Caches::of(&topology, cpus[0]).unwrap(), cpus, place: &place, seed: 1 };
        let mut seats = crowd.seats().unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        for files in [Files::Same, Files::Different] {
            let (home, away) = crowd.case(&mut seats, (2, 0, files), &mut random).unwrap();
            assert!(home.is_finite() && away.is_some_and(f64::is_finite), "{home} {away:?}");
        }
        assert!(crowd.case(&mut seats, (4, 2, Files::Different), &mut random).unwrap().1.is_none());
        for by in [AssignedBy::Function, AssignedBy::Application] {
            assert!(crowd.assigned(&mut seats, by).unwrap() > 0.0);
        }
    }

    #[test]
    fn a_cpu_that_cannot_be_used_keeps_nobody_waiting() {
        let first = pin::allowed().unwrap().first().unwrap();
        let begun = AtomicUsize::new(0);
        let job = || -> Job<'_, ()> { Box::new(|| meet(&begun, 2)) };
        let results = on_their_cpus(vec![(first, job()), (60_000, job())]);
        assert!(results.iter().all(Result::is_err), "{results:?}");
        assert_eq!(begun.load(Acquire), 0);
    }
}
