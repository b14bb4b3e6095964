//! Every algorithm's time for a team.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::algorithm::{Partition, shape};
use super::program::Program;
use super::{Algorithm, Machine, Mapping, barrier_limit, fork_join_limit, simulate};
use crate::Error;

/// A predicted time.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// How the threads wait.
    pub algorithm: Algorithm,
    /// How many exchange flags in each round, of algorithms that gather in groups: `[16, 8]` for groups of 16 threads
    /// and then 8 groups. Empty for the others.
    pub shape: Vec<usize>,
    /// Threads that take part.
    pub threads: usize,
    /// Which CPUs they run on.
    pub mapping: Mapping,
    /// Time of one barrier, or of one fork and join, in ns.
    pub ns: f64,
    /// The same over the latency limit of that team; infinite where the limit is 0.
    pub times_limit: f64,
}

/// The time of a barrier of the first `threads` CPUs of a mapping, for every algorithm, quickest first. Those that
/// gather in groups do so along the machine's levels or by the block, whatever is quickest, and are left out where there
/// is nothing to gather.
///
/// ```
/// use coho_model::barrier::{Algorithm, Machine, Mapping, predict};
/// let matrix = coho_model::Matrix::parse_csv("\n25\n90,92\n91,93,26\n")?;
/// let predictions = predict(&Machine::from_matrix(&matrix)?, 4, Mapping::Sequential)?;
/// assert_eq!(predictions[0].algorithm, Algorithm::Fbs);
/// assert!(predictions[0].times_limit >= 1.0);
/// # Ok::<(), coho_model::Error>(())
/// ```
///
/// # Errors
/// If there are fewer than two threads, or more than CPUs.
pub fn predict(machine: &Machine, threads: usize, mapping: Mapping) -> Result<Vec<Prediction>, Error> {
    let team = team(machine, threads, mapping)?;
    let limit = barrier_limit(machine, &team.cpus);
    let barrier = |algorithm: Algorithm, levels: &[Partition]| Some(algorithm.barrier(threads, levels));
    Ok(sorted(team.predict(&Algorithm::BARRIERS, limit, f64::INFINITY, barrier)))
}

/// As [`predict`], but without algorithms that are slower than another, unless the
/// [rule](coho_sync::rule) chooses among them: those of thousands of threads take long to simulate.
///
/// # Errors
/// As [`predict`].
pub fn predict_quick(machine: &Machine, threads: usize, mapping: Mapping) -> Result<Vec<Prediction>, Error> {
    let team = team(machine, threads, mapping)?;
    let limit = barrier_limit(machine, &team.cpus);
    let barrier = |algorithm: Algorithm, levels: &[Partition]| Some(algorithm.barrier(threads, levels));
    let (chosen, others): (Vec<_>, Vec<_>) =
        Algorithm::BARRIERS.into_iter().partition(|algorithm| is_ruled(*algorithm, threads));
    let mut found = team.predict(&chosen, limit, f64::INFINITY, barrier);
    let best = found.iter().map(|prediction| prediction.ns).fold(f64::INFINITY, f64::min);
    found.extend(team.predict(&others, limit, best, barrier));
    Ok(sorted(found))
}

/// Whether the rule may choose an algorithm for so many threads.
fn is_ruled(algorithm: Algorithm, threads: usize) -> bool {
    use Algorithm::{Dissemination, Fbs, FbsOneLine, Grid, Hierarchical};
    match threads {
        2 => algorithm == FbsOneLine,
        _ => matches!(algorithm, Fbs | Grid | Dissemination | Hierarchical),
    }
}

/// Quickest first; of equals the one that is named first.
fn sorted(mut predictions: Vec<Prediction>) -> Vec<Prediction> {
    let place = |of: Algorithm| Algorithm::BARRIERS.iter().position(|&algorithm| algorithm == of);
    predictions.sort_by(|a, b| a.ns.total_cmp(&b.ns).then(place(a.algorithm).cmp(&place(b.algorithm))));
    predictions
}

/// The time of a fork and join of an empty region by the mapping's first CPU, for every algorithm that can start
/// threads, quickest first.
///
/// # Errors
/// As [`predict`].
pub fn predict_fork_join(
    machine: &Machine,
    threads: usize,
    mapping: Mapping,
) -> Result<Vec<Prediction>, Error> {
    let team = team(machine, threads, mapping)?;
    let limit = fork_join_limit(machine, &team.cpus, 0);
    let fork_join = |algorithm: Algorithm, levels: &[Partition]| algorithm.fork_join(threads, levels);
    Ok(sorted(team.predict(&Algorithm::FORK_JOINS, limit, f64::INFINITY, fork_join)))
}

/// Threads on CPUs of a machine.
pub(super) struct Team<'a> {
    machine: &'a Machine,
    mapping: Mapping,
    /// The CPU of each rank.
    pub cpus: Vec<usize>,
}

pub(super) fn team(machine: &Machine, threads: usize, mapping: Mapping) -> Result<Team<'_>, Error> {
    if threads < 2 {
        return Err(Error::new(format!("a barrier of {threads} threads waits for nobody; give 2 or more")));
    }
    let mut cpus = mapping.order(machine);
    if threads > cpus.len() {
        return Err(Error::new(format!("{threads} threads; the machine has {} CPUs", cpus.len())));
    }
    cpus.truncate(threads);
    Ok(Team { machine, mapping, cpus })
}

impl Team<'_> {
    /// The time of each algorithm that takes `at_most_ns`, in order; on as many threads as there are CPUs.
    fn predict(
        &self,
        algorithms: &[Algorithm],
        limit: f64,
        at_most_ns: f64,
        program: impl Fn(Algorithm, &[Partition]) -> Option<Program> + Sync,
    ) -> Vec<Prediction> {
        let n = self.cpus.len();
        let (levels, partings) = (self.levels(), self.partings());
        let levels = if levels.is_empty() { Vec::new() } else { vec![levels] };
        let quickest = |&algorithm: &Algorithm| {
            let choices = match algorithm {
                Algorithm::Grid | Algorithm::Leaders => &partings,
                Algorithm::Hierarchical => &levels,
                _ => &vec![Vec::new()],
            };
            let time = |levels: &Vec<Partition>| {
                Some((self.time(&program(algorithm, levels)?, at_most_ns)?, shape(n, levels)))
            };
            let (ns, shape) = choices.iter().filter_map(time).min_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(Prediction {
                algorithm,
                shape,
                threads: n,
                mapping: self.mapping,
                ns,
                times_limit: if limit > 0.0 { ns / limit } else { f64::INFINITY },
            })
        };
        if n < MANY {
            return algorithms.iter().filter_map(quickest).collect();
        }
        let next = AtomicUsize::new(0);
        let found = Mutex::new(vec![None; algorithms.len()]);
        let work = || loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(algorithm) = algorithms.get(index) else { return };
            let prediction = quickest(algorithm);
            found.lock().unwrap_or_else(PoisonError::into_inner)[index] = prediction;
        };
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from).min(algorithms.len());
            for _ in 1..threads {
                // Whatever threads there are share the work; the calling one does what is left.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
    }

    /// The mean time of an episode, in ns, from the first arrival to the last departure of a series; `None` if it is
    /// longer than `at_most_ns`.
    pub(super) fn time(&self, program: &Program, at_most_ns: f64) -> Option<f64> {
        let episodes = episodes(self.cpus.len());
        let until_ns = at_most_ns * f64::from(episodes);
        let outcome = simulate::run(self.machine, &self.cpus, program, episodes, until_ns)?;
        Some(outcome.finished.into_iter().fold(0.0, f64::max) / f64::from(episodes))
    }

    /// The machine's levels, as far as they part the team; by rank.
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

    /// The ways to part the team once: along each of the machine's levels, and in equal blocks of near ranks of about
    /// the square root of their number.
    fn partings(&self) -> Vec<Vec<Partition>> {
        let n = self.cpus.len();
        let mut place = vec![0; self.machine.len()];
        Mapping::Sequential.order(self.machine).into_iter().enumerate().for_each(|(at, cpu)| place[cpu] = at);
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

/// Threads of a team from which on a simulation takes longer than starting a thread for it.
const MANY: usize = 256;

/// Episodes of a series: enough for threads to fall out of step where an algorithm lets them, few enough for thousands
/// of threads, which have some n² events each. An even number, so that the diameter stays a limit: two threads that only
/// tell each other in turns are back where they were after two.
fn episodes(threads: usize) -> u32 {
    match threads {
        ..=1024 => (64 / threads.max(1)).clamp(4, 32) as u32 & !1,
        _ => 2,
    }
}
