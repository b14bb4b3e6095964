//! Looks for the number of threads with which a region finishes first, among the numbers up to the most that it gets.
//!
//! Two numbers are compared at a time, by executions in turn: a smaller or a larger rival replaces the best so far only
//! if it wins beyond chance, so a region whose times say nothing keeps the number that it would have anyway. Fewer
//! threads are tried by halves, and the numbers between the best one and those that lost by bisection, on the
//! assumption that times rise on both sides of the best one.

/// A batch of executions takes this long if they are short.
const BATCH_NS: f64 = 50_000.0;
/// The most executions of a batch.
const MOST_IN_BATCH: u32 = 64;
/// An execution of this length need not be repeated: starting and ending a region are no part of it.
const LONG_NS: f64 = 1_000_000.0;
/// Executions before the first comparison: threads start, and memory is touched for the first time.
const FIRST: u32 = 3;
/// The rounds after which numbers that are not told apart are a tie.
const MOST_ROUNDS: usize = 25;

/// What is known of a number of threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    pub threads: u32,
    /// Time of an execution, by the median of the batches of its last comparison.
    pub ns: f64,
}

/// How a comparison has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Won,
    Lost,
}

/// A search that goes on, or has ended.
#[derive(Debug, Clone)]
pub struct Search {
    pub most: u32,
    best: u32,
    /// The largest number below the best that has lost to it; 0 if none is known.
    below: u32,
    /// The smallest number above that has lost.
    above: Option<u32>,
    /// Executions to come before the first comparison.
    first: u32,
    comparison: Option<Comparison>,
    tried: Vec<Tried>,
    /// Executions that the search has taken.
    pub executions: u64,
    /// The state of a generator of random numbers, by which the two of a round take turns.
    random: u64,
}

/// Two numbers that are compared.
#[derive(Debug, Clone)]
struct Comparison {
    best: u32,
    rival: u32,
    /// Times of each round: the best one's and its rival's.
    rounds: Vec<[f64; 2]>,
    /// Of the round that goes on.
    now: [Option<f64>; 2],
    /// Whose batch it is: 0 the best one's.
    turn: usize,
    batch: Batch,
}

#[derive(Debug, Clone, Copy, Default)]
struct Batch {
    /// Executions to come.
    left: u32,
    /// The first one, which follows one with another number, is not measured if others follow.
    skips: bool,
    measured: u32,
    ns: f64,
}

impl Search {
    /// Begins with as many threads as the region gets anyway.
    pub fn new(most: u32) -> Self {
        Self::from(most, most, FIRST)
    }

    /// Looks again, as other programs may have come or gone.
    pub fn again(&self) -> Self {
        Self { random: self.random, ..Self::from(self.most, self.best, 1) }
    }

    fn from(most: u32, best: u32, first: u32) -> Self {
        let tried = Vec::new();
        Self {
            most,
            best,
            below: 0,
            above: None,
            first,
            comparison: None,
            tried,
            executions: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The best number so far.
    pub fn best(&self) -> u32 {
        self.best
    }

    /// The numbers that were compared.
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// The number for the next execution; `None` once the search has ended.
    pub fn next(&self) -> Option<u32> {
        if self.first > 0 {
            return Some(self.best);
        }
        self.comparison.as_ref().map(|comparison| [comparison.best, comparison.rival][comparison.turn])
    }

    /// An execution with this number of threads has taken so long.
    pub fn took(&mut self, threads: u32, ns: f64) {
        if self.next() != Some(threads) {
            return;
        }
        self.executions += 1;
        if self.first > 0 {
            self.first -= 1;
            if self.first == 0 {
                self.compare(ns);
            }
            return;
        }
        let Some(comparison) = &mut self.comparison else { return };
        let Some(mean) = comparison.batch.add(ns) else { return };
        comparison.now[comparison.turn] = Some(mean);
        if let [Some(best), Some(rival)] = comparison.now {
            comparison.rounds.push([best, rival]);
            comparison.now = [None; 2];
            if let Some(end) = comparison.end() {
                self.end(end);
                return;
            }
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            comparison.turn = (self.random >> 40) as usize & 1;
            comparison.batch = Batch::of(best.min(rival));
        } else {
            comparison.turn = 1 - comparison.turn;
            comparison.batch = Batch::of(mean);
        }
    }

    /// Begins the next comparison, given the time of an execution.
    fn compare(&mut self, ns: f64) {
        let best = self.best;
        self.comparison = self.rival().map(|rival| Comparison {
            best,
            rival,
            rounds: Vec::new(),
            now: [None; 2],
            turn: 0,
            batch: Batch::of(ns),
        });
    }

    /// The number to compare the best one with.
    fn rival(&self) -> Option<u32> {
        let Self { most, best, below, above, .. } = *self;
        if below == 0 && best > 1 {
            return Some(best.div_ceil(2));
        }
        let Some(above) = above.or((best == most).then_some(most + 1)) else {
            return Some(best.saturating_mul(2).min(most));
        };
        // Nearer numbers hardly differ.
        let step = (best / 8).max(1);
        let (up, down) = (above - best, best - below.max(1).min(best));
        if up > step && best < most {
            return Some(best + up / 2);
        }
        (best > 1 && down > step).then(|| best - down / 2)
    }

    fn end(&mut self, end: End) {
        let Some(comparison) = self.comparison.take() else { return };
        for (at, threads) in [comparison.best, comparison.rival].into_iter().enumerate() {
            let ns = median(comparison.rounds.iter().map(|round| round[at]));
            self.tried.retain(|tried| tried.threads != threads);
            self.tried.push(Tried { threads, ns });
        }
        let Comparison { best, rival, .. } = comparison;
        match (end, rival < best) {
            (End::Won, true) => (self.above, self.best) = (Some(best), rival),
            (End::Won, false) => (self.below, self.best) = (best, rival),
            (End::Lost, true) => self.below = rival,
            (End::Lost, false) => self.above = Some(rival),
        }
        let ns = self.tried.iter().find(|tried| tried.threads == self.best).map_or(0.0, |tried| tried.ns);
        self.compare(ns);
    }
}

impl Batch {
    /// Of executions that take so long.
    fn of(ns: f64) -> Self {
        if ns >= LONG_NS {
            return Self { left: 1, ..Self::default() };
        }
        let left = (BATCH_NS / ns.max(1.0)) as u32;
        Self { left: left.clamp(1, MOST_IN_BATCH) + 1, skips: true, ..Self::default() }
    }

    /// Adds an execution; the mean, once that was the last.
    fn add(&mut self, ns: f64) -> Option<f64> {
        if !std::mem::take(&mut self.skips) {
            self.measured += 1;
            self.ns += ns;
        }
        self.left -= 1;
        (self.left == 0).then(|| self.ns / f64::from(self.measured.max(1)))
    }
}

impl Comparison {
    /// How it has ended, as soon as that is clear.
    fn end(&self) -> Option<End> {
        let count = self.rounds.len();
        let ratios = || self.rounds.iter().map(|[best, rival]| rival / best.max(1.0));
        let all = |holds: &dyn Fn(f64) -> bool| ratios().all(holds);
        let is_long = self.rounds[0][0] >= LONG_NS;
        if is_long && all(&|ratio| ratio >= 1.25) || count >= 3 && all(&|ratio| ratio >= 1.1) {
            return Some(End::Lost);
        }
        if count >= 5 && all(&|ratio| ratio <= 0.8) {
            return Some(End::Won);
        }
        if count < 9 {
            return None;
        }
        let wins = ratios().filter(|&ratio| ratio < 1.0).count();
        let middle = median(ratios());
        // As many wins come about by chance in one case of fifty.
        if wins * 9 >= count * 8 && middle <= 0.97 {
            return Some(End::Won);
        }
        (middle >= 1.0 || count >= MOST_ROUNDS).then_some(End::Lost)
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches where an execution's time is told by the number of threads; the numbers that were used.
    fn found(search: &mut Search, mut cost: impl FnMut(u32) -> f64) -> Vec<u32> {
        let mut used = Vec::new();
        while let Some(threads) = search.next() {
            assert!((1..=search.most).contains(&threads), "{threads} of {}", search.most);
            used.push(threads);
            search.took(threads, cost(threads));
            assert!(used.len() < 200_000, "it does not end");
        }
        used
    }

    /// Work that is divided, and a cost of each thread that takes part.
    fn divided(work: f64, each: f64) -> impl Fn(u32) -> f64 {
        move |threads| work / f64::from(threads) + each * f64::from(threads - 1)
    }

    #[test]
    fn the_number_that_finishes_first_is_found() {
        for (most, work, each, range) in [
            (2, 100.0, 1_000.0, 1..=1),
            (2, 1e8, 1_000.0, 2..=2),
            (16, 100.0, 1_000.0, 1..=1),
            (16, 1e8, 1_000.0, 16..=16),
            // The best is the root of work over cost.
            (16, 36_000.0, 1_000.0, 5..=7),
            (192, 1e6, 1_000.0, 26..=39),
            (3, 1e5, 1e5, 1..=1),
            (1, 100.0, 0.0, 1..=1),
        ] {
            let mut search = Search::new(most);
            found(&mut search, divided(work, each));
            assert!(range.contains(&search.best()), "{} of {most}, {range:?}", search.best());
        }
    }

    #[test]
    fn long_regions_that_gain_from_all_threads_lose_few_executions() {
        let mut search = Search::new(2);
        let used = found(&mut search, divided(1e9, 1_000.0));
        assert_eq!(used.iter().filter(|&&threads| threads == 1).count(), 1, "{used:?}");
    }

    #[test]
    fn noise_alone_changes_nothing() {
        let mut state = 1_u64;
        let mut fewer = 0;
        for _ in 0..200 {
            let mut search = Search::new(2);
            found(&mut search, |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1e6 * (1.0 + (state >> 40) as f64 / f64::from(1 << 24))
            });
            fewer += u32::from(search.best() < 2);
        }
        assert!(fewer <= 8, "{fewer} of 200");
    }

    #[test]
    fn it_follows_what_changes() {
        let mut search = Search::new(8);
        found(&mut search, divided(100.0, 1_000.0));
        assert_eq!(search.best(), 1);
        let mut search = search.again();
        assert_eq!(search.next(), Some(1));
        found(&mut search, divided(1e8, 1_000.0));
        assert_eq!(search.best(), 8);
        let mut search = search.again();
        found(&mut search, divided(1e8, 1_000.0));
        assert_eq!(search.best(), 8);
    }

    #[test]
    fn what_was_tried_is_known() {
        let mut search = Search::new(2);
        found(&mut search, divided(100.0, 1_000.0));
        let mut tried = search.tried().to_vec();
        tried.sort_by_key(|tried| tried.threads);
        assert_eq!(tried, [Tried { threads: 1, ns: 100.0 }, Tried { threads: 2, ns: 1_050.0 }]);
        assert!(search.executions > 0);
    }
}
