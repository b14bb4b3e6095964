//! Which pairs show the groups of a machine that has too many to measure them all.
//!
//! 1. One CPU meets all others. Where its times have a gap, those on the near side may be its group.
//! 2. Groups are proposed: the claimed ones, and those that repeat the first CPU's by the CPUs' numbers. In each, every
//!    CPU meets two others, so that one odd figure divides no group.
//! 3. Random pairs follow, as many as show each class of a hundredth of all pairs, but for one run in a thousand.
//! 4. CPUs that a proposal places wrongly, and what no proposal explains, are settled without one: a CPU meets all that
//!    are left, which divides them into near and far, and so do both parts.

mod groups;
mod settle;

use std::collections::BTreeMap;

use coho_profile::Coherence;

use groups::Groups;

/// The smallest ratio of neighbouring times that may divide near from far.
const GAP: f64 = 1.1;
/// The ratio from which on a gap that no proposal explains is looked into: noise makes narrower ones.
const PLAIN_GAP: f64 = 1.4;

/// A pair of CPUs by rank, the lower first.
pub type Pair = (usize, usize);

/// Measures some pairs, none of them twice: the time of each in ns, if it has one. `None` ends the sampling.
pub type Ask<'a> = dyn FnMut(&[Pair]) -> Option<Vec<Option<f64>>> + 'a;

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// The pairs, and their times in ns.
    pub times: BTreeMap<Pair, Option<f64>>,
    /// How many of them were drawn at random from all.
    pub random: usize,
}

impl Sample {
    fn between(&self, a: usize, b: usize) -> Option<f64> {
        self.times.get(&pair(a, b)).copied().flatten()
    }
}

fn pair(a: usize, b: usize) -> Pair {
    (a.min(b), a.max(b))
}

/// Samples the pairs of `n` CPUs, of which the claimed partitions say which are near each other.
pub fn sample(
    n: usize,
    claimed: &[Vec<Vec<usize>>],
    random: &mut fastrand::Rng,
    ask: &mut Ask<'_>,
) -> Sample {
    let mut sampling = Sampling { n, sample: Sample::default(), ask, random };
    // It ends early only if the one who is asked wants it to.
    let _ended = sampling.run(claimed);
    sampling.sample
}

struct Sampling<'a, 'b> {
    n: usize,
    sample: Sample,
    ask: &'a mut Ask<'b>,
    random: &'a mut fastrand::Rng,
}

impl Sampling<'_, '_> {
    fn run(&mut self, claimed: &[Vec<Vec<usize>>]) -> Option<()> {
        self.meet((1..self.n).map(|other| (0, other)))?;
        let proposals = self.proposals(claimed);
        for groups in &proposals {
            self.meet(groups.rings(&proposals))?;
        }
        self.meet_at_random()?;
        self.settle(&proposals)
    }

    /// Measures pairs that have not been yet.
    fn meet(&mut self, pairs: impl IntoIterator<Item = (usize, usize)>) -> Option<()> {
        let mut new: Vec<Pair> = pairs.into_iter().filter(|(a, b)| a != b).map(|(a, b)| pair(a, b)).collect();
        new.sort_unstable();
        new.dedup();
        new.retain(|pair| !self.sample.times.contains_key(pair));
        if !new.is_empty() {
            let times = (self.ask)(&new)?;
            self.sample.times.extend(new.into_iter().zip(times));
        }
        Some(())
    }

    /// The claimed partitions and those that the first CPU's times suggest, the finest first.
    fn proposals(&self, claimed: &[Vec<Vec<usize>>]) -> Vec<Groups> {
        let repeated =
            self.near_sets(0, GAP).into_iter().filter_map(|(near, _)| Groups::repeated(self.n, &near));
        let claimed = claimed.iter().map(|groups| Groups::new(self.n, groups));
        let mut proposals: Vec<Groups> = Vec::new();
        for groups in claimed.chain(repeated).filter(Groups::tell) {
            if !proposals.contains(&groups) {
                proposals.push(groups);
            }
        }
        proposals.sort_by_key(Groups::pairs_within);
        proposals
    }

    /// The sets of CPUs that a gap of at least this ratio divides from all that are farther from one, itself included,
    /// and the ratio.
    fn near_sets(&self, one: usize, ratio: f64) -> Vec<(Vec<usize>, f64)> {
        let row = self.row(one, 0..self.n);
        let gap = |at: usize| row[at].0 / row[at - 1].0;
        let cuts = (1..row.len()).filter(|&at| row[at - 1].0 > 0.0 && gap(at) >= ratio);
        let near = |at: usize| {
            let mut near: Vec<usize> = row[..at].iter().map(|&(_, other)| other).chain([one]).collect();
            near.sort_unstable();
            near
        };
        cuts.map(|at| (near(at), gap(at))).collect()
    }

    /// The times of one CPU with some others, the nearest first.
    fn row(&self, one: usize, others: impl Iterator<Item = usize>) -> Vec<(f64, usize)> {
        let mut row: Vec<_> =
            others.filter_map(|other| Some((self.sample.between(one, other)?, other))).collect();
        row.sort_by(|a, b| a.0.total_cmp(&b.0));
        row
    }

    fn meet_at_random(&mut self) -> Option<()> {
        let draw = |random: &mut fastrand::Rng| {
            let a = random.usize(..self.n);
            let b = random.usize(..self.n - 1);
            (a, b + usize::from(b >= a))
        };
        let drawn: Vec<_> = (0..Coherence::ENOUGH_DRAWS).map(|_| draw(self.random)).collect();
        self.meet(drawn)?;
        self.sample.random += Coherence::ENOUGH_DRAWS;
        Some(())
    }
}
