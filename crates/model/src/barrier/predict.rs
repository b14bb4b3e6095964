//! Every algorithm's time for a team.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use coho_profile::Ns;
use serde::Serialize;

use super::algorithm::{Partition, shape};
use super::program::Program;
use super::{Algorithm, By, Machine, Mapping, Way, barrier_limit, fork_join_limit, simulate};
use crate::{Error, json};

/// A predicted time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// How the threads wait.
    #[serde(flatten)]
    pub algorithm: Algorithm,
    /// How many threads exchange flags in each round, for algorithms that gather in groups: `[16, 8]` for groups
    /// of 16 threads and then 8 groups. Empty for the others.
    pub shape: Vec<usize>,
    /// Threads that take part.
    pub threads: usize,
    /// Which CPUs they run on.
    #[serde(serialize_with = "json::text")]
    pub mapping: Mapping,
    /// How the region begins and ends, for a fork and join.
    pub by: Option<By>,
    /// Time of one barrier, or of one fork and join.
    #[serde(rename = "ns")]
    pub time: Ns,
    /// The range of the time over everything that is assumed or fitted, where it was computed
    /// ([`add_ranges`](super::add_ranges)).
    #[serde(rename = "range_ns", serialize_with = "json::known_ends")]
    pub range: Option<(Ns, Ns)>,
    /// `time` over the lower bound for that team; infinite where the bound is 0.
    pub times_limit: f64,
}

impl Prediction {
    /// The algorithm with its layout and groups: `fbs, one-line`, `grid 16x8`.
    pub fn name(&self) -> String {
        let layout = self.algorithm.layout();
        let layout = if layout.is_empty() { String::new() } else { format!(", {layout}") };
        let shape: Vec<_> = self.shape.iter().map(usize::to_string).collect();
        let shape = if shape.is_empty() { String::new() } else { format!(" {}", shape.join("x")) };
        format!("{}{layout}{shape}", self.algorithm.name())
    }
}

/// The time of a barrier of the first `threads` CPUs of a mapping, for every algorithm, quickest first. Algorithms
/// that gather in groups do so along the machine's levels or in equal blocks, whichever is quicker, and are left out
/// where there is nothing to gather.
///
/// ```
/// use coho_model::barrier::{Algorithm, Machine, Mapping, predict};
/// let matrix = coho_model::Matrix::parse("\n25\n90,92\n91,93,26\n")?;
/// let predictions = predict(&Machine::from_matrix(&matrix)?, 4, Mapping::Sequential)?;
/// assert_eq!(predictions[0].algorithm, Algorithm::Fbs);
/// assert!(predictions[0].times_limit >= 1.0);
/// # Ok::<(), coho_model::Error>(())
/// ```
///
/// # Errors
/// If there are fewer than two threads, or more threads than CPUs.
pub fn predict(machine: &Machine, threads: usize, mapping: Mapping) -> Result<Vec<Prediction>, Error> {
    let team = team(machine, threads, mapping)?;
    let limit = |way| barrier_limit(machine, &team.cpus, way);
    let barrier = |algorithm: Algorithm, levels: &[Partition]| Some(algorithm.barrier(threads, levels));
    Ok(sorted(team.predict(&Algorithm::BARRIERS, &limit, Ns::INFINITY, barrier)))
}

/// As [`predict`], but without algorithms that are slower than another, unless the [rule](coho_sync::rule) may choose
/// them: simulating thousands of threads takes long.
///
/// # Errors
/// As for [`predict`].
pub fn predict_quick(machine: &Machine, threads: usize, mapping: Mapping) -> Result<Vec<Prediction>, Error> {
    let team = team(machine, threads, mapping)?;
    let limit = |way| barrier_limit(machine, &team.cpus, way);
    let barrier = |algorithm: Algorithm, levels: &[Partition]| Some(algorithm.barrier(threads, levels));
    let (chosen, others): (Vec<_>, Vec<_>) =
        Algorithm::BARRIERS.into_iter().partition(|algorithm| is_ruled(*algorithm, threads));
    let mut predictions = team.predict(&chosen, &limit, Ns::INFINITY, barrier);
    let best = predictions.iter().map(|prediction| prediction.time).fold(Ns::INFINITY, Ns::min);
    predictions.extend(team.predict(&others, &limit, best, barrier));
    Ok(sorted(predictions))
}

/// Whether the rule may choose an algorithm for this many threads.
fn is_ruled(algorithm: Algorithm, threads: usize) -> bool {
    use Algorithm::{Dissemination, Fbs, FbsOneLine, Grid, Hierarchical};
    match threads {
        2 => algorithm == FbsOneLine,
        _ => matches!(algorithm, Fbs | Grid | Dissemination | Hierarchical),
    }
}

/// Quickest first; of equals, the one named first.
fn sorted(mut predictions: Vec<Prediction>) -> Vec<Prediction> {
    let place = |of: Algorithm| Algorithm::BARRIERS.iter().position(|&algorithm| algorithm == of);
    predictions.sort_by(|a, b| a.time.total_cmp(&b.time).then(place(a.algorithm).cmp(&place(b.algorithm))));
    predictions
}

/// The time that a fork and join of an empty region costs the mapping's first CPU, beyond a serial part during which
/// all others come to wait; quickest first. Covers every algorithm that can start threads by a go flag and, in teams
/// of up to 1024 threads, the paper's algorithms with a barrier at either end.
///
/// # Errors
/// As for [`predict`].
pub fn predict_fork_join(
    machine: &Machine,
    threads: usize,
    mapping: Mapping,
) -> Result<Vec<Prediction>, Error> {
    let team = team(machine, threads, mapping)?;
    let limit = |way| fork_join_limit(machine, &team.cpus, 0, way);
    let serial = team.serial();
    let by_go_flag = |algorithm: Algorithm, levels: &[Partition]| {
        Some(algorithm.by_go_flag(threads, levels)?.with_serial_part(1, serial))
    };
    let mut predictions = team.predict(&Algorithm::BY_GO_FLAG, &limit, Ns::INFINITY, by_go_flag);
    predictions.iter_mut().for_each(|prediction| prediction.by = Some(By::GoFlag));
    if threads <= MOST_BY_BARRIER {
        let by_barrier = |algorithm: Algorithm, _: &[Partition]| Some(team.region_by_barrier(algorithm));
        let mut more = team.predict(&Algorithm::BY_BARRIER, &limit, Ns::INFINITY, by_barrier);
        more.iter_mut().for_each(|prediction| prediction.by = Some(By::Barrier));
        predictions.append(&mut more);
    }
    Ok(sorted(predictions))
}

/// The largest team simulated with two barriers per region; larger ones take too long.
const MOST_BY_BARRIER: usize = 1024;

/// Threads on the CPUs of a machine.
pub(super) struct Team<'a> {
    machine: &'a Machine,
    mapping: Mapping,
    /// The CPU of each rank.
    pub cpus: Vec<usize>,
}

pub(super) fn team(machine: &Machine, threads: usize, mapping: Mapping) -> Result<Team<'_>, Error> {
    if threads < 2 {
        return Err(Error::new(format!("a barrier needs at least 2 threads, not {threads}")));
    }
    let mut cpus = machine.order(mapping).to_vec();
    if threads > cpus.len() {
        return Err(Error::new(format!("{threads} threads; the machine has {} CPUs", cpus.len())));
    }
    cpus.truncate(threads);
    Ok(Team { machine, mapping, cpus })
}

impl Team<'_> {
    /// Simulates the algorithms on as many threads as there are CPUs, and returns those that take at most `at_most`, in
    /// the given order.
    fn predict(
        &self,
        algorithms: &[Algorithm],
        limit: &dyn Fn(Way) -> Ns,
        at_most: Ns,
        program: impl Fn(Algorithm, &[Partition]) -> Option<Program> + Sync,
    ) -> Vec<Prediction> {
        let n = self.cpus.len();
        let (by_flags, least) = (limit(Machine::message), limit(Machine::one_way));
        let (levels, partings) = (self.levels(), self.partings());
        let levels = if levels.is_empty() { Vec::new() } else { vec![levels] };
        let quickest = |&algorithm: &Algorithm| {
            let choices = match algorithm {
                Algorithm::Grid | Algorithm::Leaders => &partings,
                Algorithm::Hierarchical => &levels,
                _ => &vec![Vec::new()],
            };
            let time = |levels: &Vec<Partition>| {
                Some((self.time(&program(algorithm, levels)?, at_most)?, shape(n, levels)))
            };
            let (time, shape) = choices.iter().filter_map(time).min_by(|a, b| a.0.total_cmp(&b.0))?;
            let limit = if algorithm.has_only_flags() { by_flags } else { least };
            Some(Prediction {
                algorithm,
                by: None,
                shape,
                threads: n,
                mapping: self.mapping,
                time,
                times_limit: if limit > Ns::ZERO { time / limit } else { f64::INFINITY },
                range: None,
            })
        };
        if n < MANY {
            return algorithms.iter().filter_map(quickest).collect();
        }
        let next = AtomicUsize::new(0);
        let predictions = Mutex::new(vec![None; algorithms.len()]);
        let work = || loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(algorithm) = algorithms.get(index) else { return };
            let prediction = quickest(algorithm);
            predictions.lock().unwrap_or_else(PoisonError::into_inner)[index] = prediction;
        };
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from).min(algorithms.len());
            for _ in 1..threads {
                // All threads that can be started share the work; the calling thread does the rest.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        predictions.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
    }

    /// The mean time of an episode: that of a series, from the first arrival to the last departure, over the number of
    /// episodes. For a region, what it costs its caller beyond the serial part. `None` if it exceeds `at_most`.
    pub(super) fn time(&self, program: &Program, at_most: Ns) -> Option<Ns> {
        let episodes = episodes(self.cpus.len());
        let regions = episodes / program.episodes_per_region.max(1);
        let until = (at_most + program.serial) * f64::from(episodes);
        let outcome = simulate::run(self.machine, &self.cpus, program, episodes, until)?;
        Some(match program.episodes_per_region {
            0 => outcome.finished.into_iter().fold(Ns::ZERO, Ns::max) / f64::from(episodes),
            _ => outcome.finished[0] / f64::from(regions) - program.serial,
        })
    }

    /// A region that begins and ends with a barrier without groups.
    pub(super) fn region_by_barrier(&self, algorithm: Algorithm) -> Program {
        algorithm.barrier(self.cpus.len(), &[]).with_serial_part(2, self.serial())
    }

    /// A serial part longer than the slowest barrier.
    fn serial(&self) -> Ns {
        let pairs = self.cpus.iter().flat_map(|&a| self.cpus.iter().map(move |&b| (a, b)));
        let step = |(a, b)| self.machine.message(a, b).max(self.machine.transfer(a, b));
        let longest = pairs.map(step).fold(self.machine.local.time.max(Ns(1.0)), Ns::max);
        16.0 * self.cpus.len() as f64 * longest
    }

    /// The machine's levels that divide the team, by rank.
    fn levels(&self) -> Vec<Partition> {
        let mut rank_of = vec![None; self.machine.len()];
        self.cpus.iter().enumerate().for_each(|(rank, &cpu)| rank_of[cpu] = Some(rank));
        let mut levels: Vec<Partition> = Vec::new();
        for level in self.machine.levels() {
            let members = |group: &Vec<usize>| group.iter().filter_map(|&cpu| rank_of[cpu]).collect();
            let groups: Partition =
                level.iter().map(members).filter(|group: &Vec<usize>| !group.is_empty()).collect();
            let finer = levels.last().map_or(self.cpus.len(), Vec::len);
            if groups.len() > 1 && groups.len() < finer {
                levels.push(groups);
            }
        }
        levels
    }

    /// The ways to divide the team once: along each of the machine's levels, and into equal blocks of near ranks,
    /// of about the square root of their number.
    fn partings(&self) -> Vec<Vec<Partition>> {
        let n = self.cpus.len();
        let mut place = vec![0; self.machine.len()];
        self.machine.by_nearness().iter().enumerate().for_each(|(at, &cpu)| place[cpu] = at);
        let mut near: Vec<usize> = (0..n).collect();
        near.sort_unstable_by_key(|&rank| place[self.cpus[rank]]);
        let root = n.isqrt();
        let sizes = (0..).map(|bits| 1usize << bits).take_while(|&size| size < n);
        let blocks = sizes
            .filter(|&size| size > 1 && 8 * size > root && size <= 8 * root)
            .map(|size| near.chunks(size).map(<[usize]>::to_vec).collect());
        let partings = self.levels().into_iter().chain(blocks);
        partings.map(|groups| vec![groups]).collect()
    }
}

/// The team size from which a simulation takes longer than starting a thread for it.
const MANY: usize = 256;

/// Episodes of a series: enough for threads to fall out of step where an algorithm lets them, few enough for
/// thousands of threads, which cause about n² events each. The number is even, so that the diameter stays a lower
/// bound: two threads that signal each other in turns are back where they were after two episodes.
fn episodes(threads: usize) -> u32 {
    match threads {
        ..=1024 => (64 / threads.max(1)).clamp(4, 32) as u32 & !1,
        _ => 2,
    }
}
