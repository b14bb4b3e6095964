//! The measured times, one per pair, and the bands that they fall into.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use coho_profile::{Coherence, Home, Mode, Pair, PairMethod};

use crate::{Classification, MAX_CPUS, Matrix, classify};

/// Two sparse figures belong to different bands if one is this many times the other; NUMA nodes within a socket
/// differ less.
const SPARSE_RATIO: f64 = 1.35;
/// A figure jumps if its values differ by this ratio and each was seen this often.
const JUMP: (f64, f64) = (1.5, 0.05);

/// The time of one pair, in ns.
pub(super) struct Figure {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) ns: f64,
    /// The 95 % interval.
    pub(super) low: f64,
    pub(super) high: f64,
    /// How often it was measured.
    pub(super) samples: u64,
    /// The values between which it jumps; empty if it does not.
    pub(super) jumps: Vec<Mode>,
}

/// The figures of the method that comes closest to counting single transfers, each with the nearest home of the line.
pub(super) struct Figures {
    /// In ascending order of their CPUs.
    pub(super) all: Vec<Figure>,
    /// Whether each figure is the time of a transfer, rather than of increments many of which may need none.
    pub(super) transfers: bool,
    /// Whether the line is known to live with one of the two CPUs.
    pub(super) home_known: bool,
    /// Ends of bands, ascending, in ns. Times on different sides of one are different distances.
    bounds: Vec<f64>,
    /// What the figures say as a matrix, where nearly all pairs were measured, or a sample that stands for all.
    pub(super) classification: Option<Classification>,
}

impl Figures {
    pub(super) fn of(coherence: &Coherence, classification: Option<&Classification>) -> Option<Self> {
        if let Some(matrix) = Matrix::of(coherence).filter(|_| coherence.matrix.is_some()) {
            let figure = |(a, b, ns): (usize, usize, f64)| {
                let (a, b) = (matrix.cpus()[a], matrix.cpus()[b]);
                Figure { a: a.min(b), b: a.max(b), ns, low: ns, high: ns, samples: 1, jumps: Vec::new() }
            };
            let mut all: Vec<Figure> = matrix.pairs().filter(|&(_, _, ns)| ns > 0.0).map(figure).collect();
            all.sort_unstable_by_key(|figure| (figure.a, figure.b));
            let classification = classification.cloned().unwrap_or_else(|| classify(&matrix));
            let bounds = bounds_between_levels(&classification);
            return Some(Self {
                all,
                transfers: true,
                home_known: false,
                bounds,
                classification: Some(classification),
            });
        }
        let methods = [PairMethod::Turn, PairMethod::Flags, PairMethod::Unknown, PairMethod::FreeRunning];
        let homes: [&[Home]; 3] = [&[Home::A, Home::B], &[Home::Unknown], &[Home::Third]];
        let choices = methods.into_iter().flat_map(|method| homes.map(|homes| (method, homes)));
        let pick = |(method, homes): (PairMethod, &[Home])| -> Vec<&Pair> {
            let is = |pair: &&Pair| pair.method == method && homes.contains(&pair.home) && pair.a != pair.b;
            coherence.pairs.iter().filter(is).filter(|pair| pair.ns.median > 0.0).collect()
        };
        let ((method, homes), pairs) =
            choices.map(|choice| (choice, pick(choice))).find(|(_, pairs)| !pairs.is_empty())?;
        let mut nearest: BTreeMap<(u32, u32), Figure> = BTreeMap::new();
        for pair in pairs {
            let figure = Figure::of(pair);
            let key = (pair.a.min(pair.b), pair.a.max(pair.b));
            match nearest.get_mut(&key) {
                Some(known) if known.ns <= figure.ns => known.jumps.extend(figure.jumps),
                _ => {
                    nearest.insert(key, figure);
                }
            }
        }
        let all: Vec<Figure> = nearest.into_values().collect();
        let classification =
            full_matrix(&all, coherence.random_pairs().is_some()).map(|matrix| classify(&matrix));
        let bounds = match &classification {
            Some(classification) => bounds_between_levels(classification),
            None => bounds_of_sparse(all.iter().map(|figure| figure.ns).collect()),
        };
        let transfers = method != PairMethod::FreeRunning;
        Some(Self { all, transfers, home_known: homes.contains(&Home::A), bounds, classification })
    }

    /// The time of two CPUs, if it was measured.
    pub(super) fn between(&self, a: u32, b: u32) -> Option<&Figure> {
        let key = (a.min(b), a.max(b));
        self.all.binary_search_by_key(&key, |figure| (figure.a, figure.b)).ok().map(|at| &self.all[at])
    }

    /// The CPUs of which there is a classification.
    pub(super) fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        self.classification.iter().flat_map(|found| found.cpus.iter().copied())
    }

    /// Which band a time falls into; 0 is the nearest.
    pub(super) fn band(&self, ns: f64) -> usize {
        self.bounds.partition_point(|&bound| bound < ns)
    }
}

impl Figure {
    fn of(pair: &Pair) -> Self {
        let often: Vec<Mode> = pair.ns.modes.iter().copied().filter(|mode| mode.share >= JUMP.1).collect();
        let value = |a: &Mode, b: &Mode| a.value.total_cmp(&b.value);
        let (least, most) = (often.iter().copied().min_by(value), often.iter().copied().max_by(value));
        let jumps = match (least, most) {
            (Some(least), Some(most))
                if pair.ns.stable == Some(false) && most.value >= JUMP.0 * least.value =>
            {
                vec![least, most]
            }
            _ => Vec::new(),
        };
        let (a, b) = (pair.a.min(pair.b), pair.a.max(pair.b));
        Self { a, b, ns: pair.ns.median, low: pair.ns.low, high: pair.ns.high, samples: pair.ns.n, jumps }
    }
}

/// The figures as a matrix, if no more than a tenth of its cells would be empty, or the others were left out since a sample
/// stands for all.
fn full_matrix(figures: &[Figure], sampled: bool) -> Option<Matrix> {
    let cpus: BTreeSet<u32> = figures.iter().flat_map(|figure| [figure.a, figure.b]).collect();
    let n = cpus.len();
    if !(4..=MAX_CPUS).contains(&n) || !sampled && 10 * figures.len() < 9 * (n * (n - 1) / 2) {
        return None;
    }
    let index: HashMap<u32, usize> = cpus.iter().enumerate().map(|(at, &cpu)| (cpu, at)).collect();
    let mut ns = vec![f64::NAN; n * n];
    for figure in figures {
        ns[index[&figure.a] * n + index[&figure.b]] = figure.ns;
    }
    Matrix::new(cpus.into_iter().collect(), ns).ok()
}

/// The middle of each level's gap.
fn bounds_between_levels(classification: &Classification) -> Vec<f64> {
    classification.levels.iter().map(|level| (level.max_inside_ns * level.min_across_ns).sqrt()).collect()
}

fn bounds_of_sparse(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_unstable_by(f64::total_cmp);
    let gaps = times.windows(2).filter(|pair| pair[1] >= SPARSE_RATIO * pair[0]);
    gaps.map(|pair| (pair[0] * pair[1]).sqrt()).collect()
}
