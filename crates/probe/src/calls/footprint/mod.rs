//! Which calls another core should execute, and from which footprint of their caller on (the question of Shimosawa,
//! Hori & Ishikawa): each call at home and on another core, after its caller has used a given amount of its caches.

mod affinity;
mod channel;
mod curve;
mod deed;
mod ground;
mod record;
mod remote;
mod settle;
mod several;
mod stand;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use coho_counters::Column;
use coho_delegate::Host;
use coho_profile::{Calls, Method};
use coho_topology::{Level, Topology};

use self::channel::Parcels;
use self::deed::Deeds;
use self::ground::Point;
use self::record::{Mode as Distances, Record, WORKS};
use self::remote::Remote;
use self::stand::{Stand, Way};
use super::Options;
use super::caches::Caches;
use super::pmu::{Hardware, Source};
use crate::Error;
use crate::frame::{Frame, Progress};
use crate::workers::Workers;

/// How the curves are measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    /// A folder on whose file system calls on files are measured as well.
    pub folder: Option<PathBuf>,
}

/// How long it takes if no time limit is set.
const TIME: Duration = Duration::from_secs(100);
const QUICK: Duration = Duration::from_secs(12);
/// The share of the time for one caller; the rest is for several.
const PART: f64 = 0.85;
/// The most passes; further ones are not worth their time.
const PASSES: usize = 40;
/// The number of passes that there should be time for: verdicts on nine gains take nine.
const WANTED: f64 = 10.0;
/// The counters' column that is shown beside the times.
const MISSES: Column = Column::L1dMisses;

/// Measures the curves and what explains them, and puts them into the section. What cannot be measured is named in
/// `footprint_conditions.not_available`.
pub(super) fn add(calls: &mut Calls, options: &Options, curves: &Curves, progress: &mut dyn FnMut(Progress)) {
    match Run::start(options, curves, progress) {
        Ok(mut run) => {
            run.passes();
            run.finish(calls);
        }
        Err(error) => {
            let why = [("footprint".to_owned(), format!("not available: {error}"))];
            calls.footprint_conditions = Some(Method { not_available: why.into(), ..Method::default() });
        }
    }
}

/// A host and the channel to it.
struct Away {
    cpu: u32,
    claimed: String,
    times: channel::Times,
    /// `None` for the nearest host, whose channel belongs to the stand.
    remote: Option<Remote>,
    _host: Host,
}

/// One caller's run in progress.
struct Run<'a> {
    options: &'a Options,
    curves: &'a Curves,
    cpu: u32,
    caches: Caches,
    stand: Stand,
    parcels: Parcels,
    hosts: Vec<Away>,
    deeds: Deeds,
    failed: Vec<bool>,
    points: Vec<Point>,
    /// Time of a walk of each, in ns.
    walks: Vec<f64>,
    records: BTreeMap<(usize, usize), Record>,
    affinity: BTreeMap<usize, affinity::Times>,
    loads: Vec<(&'static str, usize, f64)>,
    source: Option<Box<dyn Source>>,
    /// The distance at which most visits were made, their number, and the number of all visits.
    visits_at: Option<(Distances, usize, usize)>,
    limit: Duration,
    // Last, so that the stand, whose memory the frame's thread has touched, is dropped before it.
    frame: Frame<'a>,
}

/// One visit of a pass.
#[derive(Clone, Copy)]
enum Visit {
    Curve { deed: usize, point: usize },
    Affinity(usize),
    Channel(usize),
}

impl<'a> Run<'a> {
    fn start(
        options: &'a Options,
        curves: &'a Curves,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let cpus = options.course.all()?;
        let cpu = options.course.first()?;
        let topology = coho_topology::detect()?;
        let caches = Caches::of(&topology, cpu)?;
        let points = ground::points(caches, options.quick);
        let needed = 4 * points.iter().map(|point| point.bytes as u64).max().unwrap_or(0);
        let left = coho_platform::memory::room();
        if left < needed {
            return Err(Error::memory(format!(
                "walking twice the last-level cache takes {} MiB of memory, and only {} MiB are left",
                needed >> 20,
                left >> 20
            )));
        }
        let deeds = Deeds::new(options, curves.folder.as_deref())?;
        let mut frame = Frame::bare(&options.course.moved(cpus).within(None), progress);
        frame.workers = Workers::start(&[cpu])?;
        for (what, why) in &deeds.refused {
            frame.lacks(what, format!("not available: {why}"));
        }
        let mut hosts = Vec::new();
        for host in nearest_and_farthest(&topology, cpu, &frame.cpus) {
            let started = remote::host(host)?;
            let remote = Some(Remote::to(&started, channel::LINES));
            let claimed = topology.claimed(cpu, host);
            hosts.push(Away { cpu: host, claimed, times: channel::Times::default(), remote, _host: started });
        }
        if hosts.is_empty() {
            frame.lacks("away", "not available: another core needs a second CPU, and the run has one");
        }
        let near = hosts.first_mut().and_then(|near| near.remote.take());
        let seed = options.course.seed;
        type SetUp = (Stand, Parcels, Vec<(&'static str, usize, f64)>, Vec<f64>);
        let (stand, parcels, loads, walks) = frame.run(cpu, || -> Result<SetUp, Error> {
            let stand = Stand::new(&points, caches, near, seed)?;
            let loads = ground::load_ns(caches, &stand.clock, &mut fastrand::Rng::with_seed(seed))?;
            let walks = points.iter().map(|point| stand.time_walk(*point)).collect();
            Ok((stand, Parcels::new()?, loads, walks))
        })??;
        let find = || Hardware::find().map(|hardware| Box::new(hardware) as Box<dyn Source>);
        let source = options.pmu.then(|| frame.run(cpu, find));
        let source = match source {
            Some(Ok(Ok(source))) if !source.disturbs() && source.has(MISSES) => Some(source),
            Some(Ok(Err(why))) => {
                frame.lacks("misses", format!("not available: {why}"));
                None
            }
            _ => {
                let why =
                    "not available: no counter of level-1 data cache misses that reading does not disturb";
                frame.lacks("misses", why);
                None
            }
        };
        Ok(Self {
            options,
            curves,
            cpu,
            caches,
            stand,
            parcels,
            hosts,
            failed: vec![false; deeds.all.len()],
            deeds,
            points,
            walks,
            records: BTreeMap::new(),
            affinity: BTreeMap::new(),
            loads,
            source,
            visits_at: None,
            limit: options.course.time_limit.unwrap_or(if options.quick { QUICK } else { TIME }),
            frame,
        })
    }

    /// Passes over everything for as long as there is time.
    fn passes(&mut self) {
        let visits = self.visits();
        let own = self.limit.mul_f64(PART).saturating_sub(self.frame.elapsed());
        let mut walk = self.frame.passes_within("calls by footprint", (own, PASSES), visits.len());
        while let Some(step) = self.frame.next(&mut walk) {
            self.visit(visits[step.at]);
        }
        if self.frame.method.passes == 0 {
            self.frame.end().come();
        }
    }

    fn visits(&self) -> Vec<Visit> {
        let deeds = 0..self.deeds.all.len();
        let mut visits: Vec<Visit> = (0..self.hosts.len()).map(Visit::Channel).collect();
        for deed in deeds {
            visits.extend((0..self.points.len()).map(|point| Visit::Curve { deed, point }));
            let in_memory = self.deeds.all[deed].filesystem.as_deref();
            let first = in_memory.is_none_or(|name| name == self.deeds.places[0].filesystem());
            if first && !self.hosts.is_empty() {
                visits.push(Visit::Affinity(deed));
            }
        }
        visits
    }

    fn visit(&mut self, visit: Visit) {
        let (cpu, mut random) = (self.cpu, self.frame.random.fork());
        match visit {
            Visit::Channel(host) => {
                let (stand, parcels) = (&mut self.stand, &self.parcels);
                let Away { times, remote, .. } = &mut self.hosts[host];
                let clock = stand.clock;
                let outcome = self.frame.run(cpu, move || {
                    if let Some(remote) = remote.as_mut().or(stand.remote.as_mut()) {
                        times.pass(remote, parcels, &clock, &mut random);
                    }
                });
                self.note(outcome);
            }
            Visit::Affinity(deed) if !self.failed[deed] => {
                let times = self.affinity.entry(deed).or_default();
                let (stand, deeds) = (&mut self.stand, &mut self.deeds.all);
                let outcome =
                    self.frame.run(cpu, move || affinity::pass(stand, deeds, deed, times, &mut random));
                let outcome = self.note(outcome);
                self.check(deed, outcome);
            }
            Visit::Curve { deed, point } if !self.failed[deed] => {
                let calls = self.calls(point);
                let ways = self.ways(point);
                let (stand, act) = (&mut self.stand, &mut self.deeds.all[deed]);
                let (at, source) = (self.points[point], self.source.as_deref());
                let outcome = self
                    .frame
                    .run(cpu, move || curve::curve(stand, act, at, calls, ways, source, &mut random));
                let outcome = self.note(outcome);
                if let Some(found) = self.check(deed, outcome) {
                    self.records.entry((deed, point)).or_default().add(&found);
                }
            }
            Visit::Affinity(_) | Visit::Curve { .. } => {}
        }
    }

    /// The result of a job on the caller's CPU; without that CPU the run ends.
    fn note<T>(&mut self, outcome: Result<T, Error>) -> Option<T> {
        let lost = |error: Error| {
            self.frame.lacks(format!("CPU {}", self.cpu), error.to_string());
            self.failed.fill(true);
        };
        outcome.map_err(lost).ok()
    }

    /// A call that fails is not made again.
    fn check<T>(&mut self, deed: usize, outcome: Option<std::io::Result<T>>) -> Option<T> {
        match outcome? {
            Ok(value) => Some(value),
            Err(error) => {
                self.failed[deed] = true;
                let name = self.deeds.all[deed].name();
                self.frame.lacks(name, format!("not available: the call failed: {error}"));
                None
            }
        }
    }

    /// The number of calls in a block: the shorter the walk before each, the more.
    fn calls(&self, point: usize) -> usize {
        match self.walks[point] {
            short if short < 2e5 => 7,
            middle if middle < 2e6 => 5,
            long if long < 5e6 => 3,
            _ => 2,
        }
    }

    /// The ways that are compared: all lengths of work, unless the walks leave no time for them.
    fn ways(&self, point: usize) -> Vec<Way> {
        let mut ways = vec![Way::None, Way::Home];
        if self.hosts.is_empty() {
            return ways;
        }
        ways.push(Way::Away);
        let visit = |ways: usize| {
            let all = self.walks.iter().enumerate();
            let one: f64 = all.map(|(point, ns)| (self.calls(point) + 1) as f64 * ns).sum();
            WANTED * 1e-9 * one * (ways * self.deeds.all.len()) as f64
        };
        let has_time = visit(ways.len() + WORKS.len()) < PART * self.limit.as_secs_f64();
        let is_long = self.walks[point] >= 2e6;
        let works = WORKS.iter().filter(|ns| has_time || !is_long || **ns == WORKS[2]);
        ways.extend(works.map(|ns| Way::Async(*ns)));
        ways
    }
}

/// The CPU that shares the closest level with the caller without sharing its core, and the one that shares the
/// farthest; only one if they are the same.
fn nearest_and_farthest(topology: &Topology, cpu: u32, cpus: &[u32]) -> Vec<u32> {
    let mut others: Vec<u32> = cpus.iter().copied().filter(|other| *other != cpu).collect();
    let distance = |other: &u32| {
        let shared = topology.closest_shared(cpu, *other);
        Level::OUTWARD.iter().position(|level| Some(*level) == shared).unwrap_or(Level::OUTWARD.len())
    };
    others.sort_by_key(distance);
    // A core's other thread shares the caches that a host should leave alone, so it is the last choice.
    let apart: Vec<u32> = others.iter().copied().filter(|other| distance(other) > 0).collect();
    let choice = if apart.is_empty() { &others } else { &apart };
    match choice[..] {
        [] => Vec::new(),
        [first, .., last] if distance(&first) != distance(&last) => vec![first, last],
        [first, ..] => vec![first],
    }
}

#[cfg(test)]
mod tests {
    use coho_topology::{Cache, CacheKind};

    use super::*;

    /// Two packages of four cores of two threads, with a level-3 cache for two cores.
    #[test]
    fn hosts_are_the_nearest_and_the_farthest_core() {
        let cache = |level, cpus: std::ops::Range<u32>| Cache {
            level,
            kind: CacheKind::Unified,
            size_bytes: 1 << 20,
            line_bytes: Some(64),
            ways: None,
            cpus: cpus.collect(),
        };
        let unit = |cpus: std::ops::Range<u32>| coho_topology::Unit { id: None, cpus: cpus.collect() };
        let topology = Topology {
            packages: vec![unit(0..8), unit(8..16)],
            cores: (0..8).map(|core| unit(2 * core..2 * core + 2)).collect(),
            caches: (0..4).map(|n| cache(3, 4 * n..4 * n + 4)).collect(),
            ..Topology::default()
        };
        let all: Vec<u32> = (0..16).collect();
        let hosts = nearest_and_farthest(&topology, 4, &all);
        assert_eq!(hosts[0], 6, "a core of the same cache, and not the caller's own");
        assert!(hosts[1] >= 8, "{hosts:?}");
        assert_eq!(nearest_and_farthest(&topology, 4, &[4, 5]), [5], "nothing else is left");
        assert_eq!(nearest_and_farthest(&topology, 4, &[4, 6, 7]), [6]);
        assert!(nearest_and_farthest(&topology, 4, &[4]).is_empty());
    }
}
