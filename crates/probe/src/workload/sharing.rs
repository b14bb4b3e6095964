//! What two CPUs take from each other: kernels that depend on one resource, alone and together.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use coho_profile::{Estimate, SharedKernel};
use coho_topology::{CacheKind, CpuSet, Topology};

use super::pairs::Class;
use crate::Error;
use crate::calls::walk::Ring;
use crate::clock::{Clock, Ticks};
use crate::frame::{Frame, Passes};
use crate::statistics;
use crate::workers::{Job, Workers};

/// How long a kernel runs.
const RUN: Duration = Duration::from_millis(10);
/// Time to start both, and to fetch what a level-2 cache holds from memory.
const START: Duration = Duration::from_millis(10);
/// The most pairs of a class that are measured.
const PAIRS: usize = 3;
/// The share of the level-2 cache that the cache-resident kernel walks: one fits, two do not.
const SHARE: (usize, usize) = (3, 4);
/// How much it walks if the level-2 cache is not known, in bytes.
const UNTOLD: usize = 192 << 10;
const MOST: usize = 64 << 20;

/// A program that is limited by one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernel {
    /// Multiplications of integers that do not wait for each other.
    Integer,
    /// Multiplications and additions of doubles that do not wait for each other.
    FloatingPoint,
    /// Loads, each of the address that the one before brought, from three quarters of the level-2 cache.
    CacheResident,
}

impl Kernel {
    const ALL: [Self; 3] = [Self::Integer, Self::FloatingPoint, Self::CacheResident];

    fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::FloatingPoint => "floating-point",
            Self::CacheResident => "cache-resident",
        }
    }

    /// Steps a ns, from one reading of the clock until another. It runs before that, too: its caches are then warm.
    fn run(self, ring: &Ring, clock: &Clock, from: Ticks, until: Ticks) -> f64 {
        while clock.now() < from {
            self.work(ring);
        }
        let start = clock.now();
        let mut steps = 0;
        loop {
            steps += self.work(ring);
            let now = clock.now();
            if now >= until {
                return steps as f64 / clock.ns(now - start);
            }
        }
    }

    /// Some work, in steps.
    fn work(self, ring: &Ring) -> u64 {
        match self {
            Self::Integer => integers(),
            Self::FloatingPoint => doubles(),
            Self::CacheResident => {
                ring.walk();
                ring.lines() as u64
            }
        }
    }
}

const ROUNDS: u64 = 512;

fn integers() -> u64 {
    let mut x = black_box([1u64, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..ROUNDS {
        x = x.map(|x| x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1);
    }
    black_box(x);
    ROUNDS * 8
}

fn doubles() -> u64 {
    // As many as keep two units busy over their latency, and as fit the registers.
    let mut x = black_box([1.0f64; 24]);
    let (factor, term) = black_box((0.5, 0.75));
    for _ in 0..ROUNDS {
        x = x.map(|x| x * factor + term);
    }
    black_box(x);
    ROUNDS * 24
}

/// Samples of one kernel on one class.
#[derive(Default)]
struct Samples {
    alone: Vec<Vec<f64>>,
    together: Vec<Vec<f64>>,
    ratios: Vec<f64>,
}

/// Measures every kernel on pairs of every class, in random order, the given number of times.
///
/// # Errors
/// If a CPU is lost, or there is no memory.
pub(super) fn measure(
    frame: &mut Frame<'_>,
    topology: &Topology,
    classes: &[Class],
    passes: usize,
) -> Result<Vec<SharedKernel>, Error> {
    let end = frame.end().clone();
    let Frame { workers, random, .. } = frame;
    let chosen: Vec<Vec<[u32; 2]>> = classes
        .iter()
        .map(|class| {
            let mut pairs: Vec<_> = class.pairs.iter().copied().filter(|[a, b]| a != b).collect();
            random.shuffle(&mut pairs);
            pairs.truncate(PAIRS);
            pairs.sort_unstable();
            pairs
        })
        .collect();
    let cpus: CpuSet = chosen.iter().flatten().flatten().copied().collect();
    let rings = rings(workers, topology, &cpus, random)?;
    let mut samples: BTreeMap<(usize, usize), Samples> = BTreeMap::new();
    let pairs =
        || chosen.iter().enumerate().flat_map(|(class, pairs)| pairs.iter().map(move |pair| (class, *pair)));
    let runs: Vec<(usize, [u32; 2], usize)> = pairs()
        .flat_map(|(class, pair)| (0..Kernel::ALL.len()).map(move |kernel| (class, pair, kernel)))
        .collect();
    for step in Passes::new(passes, runs.len(), random, &end) {
        let (class, pair, kernel) = runs[step.at];
        let run = |cpus: &[u32]| together(workers, &rings, Kernel::ALL[kernel], cpus);
        let alone = || Ok::<_, Error>([run(&pair[..1])?, run(&pair[1..])?].concat());
        let (alone, both) = if random.bool() {
            (alone()?, run(&pair)?)
        } else {
            let both = run(&pair)?;
            (alone()?, both)
        };
        let samples = samples.entry((class, kernel)).or_default();
        samples.ratios.push((both[0] + both[1]) / (alone[0] + alone[1]));
        samples.alone.push(alone);
        samples.together.push(both);
    }
    let estimate = |samples: &[Vec<f64>]| -> Option<Estimate> { statistics::estimate(samples) };
    Ok(samples
        .into_iter()
        .map(|((class, kernel), samples)| SharedKernel {
            kernel: Kernel::ALL[kernel].name().into(),
            pair_class: classes[class].name.clone(),
            pairs: chosen[class].clone(),
            alone_per_ns: estimate(&samples.alone),
            together_per_ns: estimate(&samples.together),
            ratio: statistics::estimate_of_passes(samples.ratios),
        })
        .collect())
}

/// Runs a kernel on all these CPUs over the same time; steps a ns of each.
fn together(
    workers: &Workers,
    rings: &BTreeMap<u32, Ring>,
    kernel: Kernel,
    cpus: &[u32],
) -> Result<Vec<f64>, Error> {
    let clock = Clock::get();
    let from = clock.now() + clock.ticks(START);
    let until = from + clock.ticks(RUN);
    let job = |cpu: &u32| {
        let ring = &rings[cpu];
        (*cpu, Box::new(move || kernel.run(ring, &clock, from, until)) as Job<'_, f64>)
    };
    let results = workers.run(cpus.iter().map(job).collect());
    results.into_iter().map(|result| result.map(|done| done.value)).collect()
}

/// A ring for each CPU, touched by it.
fn rings(
    workers: &Workers,
    topology: &Topology,
    cpus: &CpuSet,
    random: &mut fastrand::Rng,
) -> Result<BTreeMap<u32, Ring>, Error> {
    let mut rings = BTreeMap::new();
    for cpu in cpus.iter() {
        let bytes = bytes(topology, cpu);
        let mut random = random.fork();
        let job: Job<'_, _> = Box::new(move || Ring::new(bytes, &mut random));
        rings.insert(cpu, workers.run(vec![(cpu, job)]).remove(0)?.value?);
    }
    Ok(rings)
}

/// What a CPU walks, in bytes.
fn bytes(topology: &Topology, cpu: u32) -> usize {
    let l2 = topology.caches.iter().find(|cache| {
        cache.level == 2
            && cache.kind != CacheKind::Instruction
            && cache.cpus.contains(cpu)
            && cache.size_bytes > 0
    });
    l2.map_or(UNTOLD, |cache| (cache.size_bytes as usize).min(MOST) / SHARE.1 * SHARE.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Course;
    use crate::workload::pairs;
    use coho_platform::pin;

    #[test]
    fn alone_and_together_on_every_class() {
        let topology = coho_topology::detect().unwrap();
        let allowed = pin::allowed().unwrap();
        let mut ignore = |_| ();
        let mut frame = Frame::on(&Course::default(), &mut ignore).unwrap();
        let classes = pairs::classes(&topology, &allowed);
        let measured = measure(&mut frame, &topology, &classes, 2).unwrap();
        assert_eq!(measured.len(), (classes.len() - 1) * Kernel::ALL.len());
        let is_rate = |rate: &Option<Estimate>| {
            rate.as_ref().is_some_and(|rate| rate.min > 0.0 && rate.high.is_finite())
        };
        for row in measured {
            assert!(
                is_rate(&row.ratio) && is_rate(&row.alone_per_ns) && is_rate(&row.together_per_ns),
                "{row:?}"
            );
        }
    }
}
