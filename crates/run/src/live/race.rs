//! Rates under several placements, round by round, until it is clear which is highest.

use coho_model::chance::{Family, Order};
use coho_probe::statistics;
use coho_profile::Estimate;

/// How often the rates are looked at: each look is a chance to be misled, so they are few.
const LOOKS: usize = 5;
/// Rounds until a look over those until the one before.
const LATER: f64 = 1.4;
/// A placement leaves only if the best is ahead by at least this factor.
const WORTH_LEAVING: f64 = 1.02;

/// The result of a race.
#[derive(Debug, Clone, PartialEq)]
pub struct Result {
    /// The one to keep.
    pub best: usize,
    /// Whether every other was left behind beyond chance.
    pub decided: bool,
    /// The median rate of each.
    pub rates: Vec<Option<Estimate>>,
    /// The best one's rate over each other's, round by round; `None` for the best itself.
    pub best_times: Vec<Option<Estimate>>,
}

/// The rates of the placements that are compared; the same position in each is the same round. A placement that falls
/// behind by more than chance leaves the race, so that the command does not run slowly for longer than necessary.
#[derive(Debug)]
pub struct Race {
    rates: Vec<Vec<f64>>,
    running: Vec<usize>,
    /// The winner if no placement is ahead: the system's own scheduler.
    otherwise: Option<usize>,
    rounds: usize,
    /// Each placement against each other, at each look.
    family: Family,
}

impl Race {
    /// A race of `runners` placements; `otherwise` wins unless another is quicker.
    pub fn of(runners: usize, otherwise: Option<usize>) -> Self {
        let pairs = runners * runners.saturating_sub(1) / 2;
        let family = Family::of(LOOKS * pairs);
        Self {
            rates: vec![Vec::new(); runners],
            running: (0..runners).collect(),
            otherwise,
            rounds: 0,
            family,
        }
    }

    /// Those still in it.
    pub fn running(&self) -> &[usize] {
        &self.running
    }

    /// Rounds so far.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Takes a rate above zero of each that is still running; the result when there is one.
    pub fn round(&mut self, rates: &[(usize, f64)]) -> Option<Result> {
        for &(runner, rate) in rates {
            self.rates[runner].push(rate);
        }
        self.rounds += 1;
        let looks = self.looks();
        if looks.contains(&self.rounds) {
            let ahead = self.ahead();
            let (rates, family) = (&self.rates, self.family);
            let is_behind = |one: usize| {
                let worth: Vec<f64> = rates[one].iter().map(|rate| WORTH_LEAVING * rate).collect();
                family.rounds(&rates[ahead], &worth) == Order::More
            };
            self.running.retain(|&one| one == ahead || !is_behind(one));
        }
        let over = self.running.len() == 1 || self.rounds >= looks[LOOKS - 1];
        over.then(|| self.result())
    }

    /// After how many rounds the rates are looked at: first when a difference could show.
    fn looks(&self) -> [usize; LOOKS] {
        let mut rounds = self.family.fewest_rounds() as f64;
        std::array::from_fn(|_| {
            let now = rounds.round() as usize;
            rounds *= LATER;
            now
        })
    }

    /// The one with the highest median.
    fn ahead(&self) -> usize {
        let median = |&one: &usize| estimate(&self.rates[one]).map_or(0.0, |estimate| estimate.median);
        let by_median = |one: &usize, other: &usize| median(one).total_cmp(&median(other));
        self.running.iter().copied().max_by(by_median).expect("the one ahead never leaves")
    }

    fn result(&self) -> Result {
        let decided = self.running.len() == 1 && self.rates.len() > 1;
        let kept = self.otherwise.filter(|one| !decided && self.running.contains(one));
        let best = kept.unwrap_or_else(|| self.ahead());
        let others = 0..self.rates.len();
        Result {
            best,
            decided,
            rates: self.rates.iter().map(|rates| estimate(rates)).collect(),
            best_times: others
                .map(|one| (one != best).then(|| ratios(&self.rates, best, one)).flatten())
                .collect(),
        }
    }
}

fn estimate(samples: &[f64]) -> Option<Estimate> {
    statistics::estimate(&[samples.to_vec()])
}

/// One's rates over another's in the rounds that both were in.
fn ratios(rates: &[Vec<f64>], one: usize, other: usize) -> Option<Estimate> {
    let ratios: Vec<_> = rates[one].iter().zip(&rates[other]).map(|(one, other)| one / other).collect();
    estimate(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a race of runners with these speeds, within some tenths of noise and under common weather.
    fn run(speeds: &[f64], otherwise: Option<usize>, seed: u64) -> (Result, usize) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut race = Race::of(speeds.len(), otherwise);
        loop {
            let weather = 0.3 + random.f64();
            let rates: Vec<_> = race
                .running()
                .iter()
                .map(|&one| (one, weather * speeds[one] * (0.9 + 0.2 * random.f64())))
                .collect();
            if let Some(result) = race.round(&rates) {
                return (result, race.rounds());
            }
        }
    }

    #[test]
    fn the_slow_leave_early_and_the_quick_one_wins() {
        for seed in 0..20 {
            let (result, rounds) = run(&[1.0, 10.0, 5.0], Some(0), seed);
            assert_eq!((result.best, result.decided, rounds), (1, true, 10));
            assert_eq!(result.best_times[1], None);
            let times = result.best_times[0].as_ref().unwrap().median;
            assert!((8.0..12.0).contains(&times), "{times}");
        }
    }

    #[test]
    fn who_is_behind_does_not_run_on_while_others_are_even() {
        let mut race = Race::of(3, None);
        for round in 0..11_i32 {
            let mut rates = vec![(0, 1.0 + 0.01 * f64::from(round % 3)), (1, 1.0)];
            rates.extend(race.running().contains(&2).then_some((2, 0.5)));
            assert_eq!(race.round(&rates), None);
        }
        assert_eq!(race.running(), [0, 1]);
    }

    #[test]
    fn equal_ones_are_left_to_the_scheduler() {
        // Of 200 races with a chance of 5 % each, 17 or more are seen less often than once in 50.
        let decided = (0..200).filter(|&seed| run(&[1.0, 1.0], Some(1), seed).0.decided).count();
        assert!(decided < 17, "{decided} of 200");
        let (result, rounds) = run(&[1.0, 1.0, 1.0], Some(2), 3);
        assert_eq!((result.best, result.decided, rounds), (2, false, 38));
    }

    #[test]
    fn of_two_that_beat_the_scheduler_evenly_one_is_taken() {
        let (result, _) = run(&[2.0, 2.0, 1.0], Some(2), 5);
        assert!(result.best < 2 && result.best_times[2].as_ref().unwrap().low > 1.0, "{result:?}");
    }

    #[test]
    fn one_alone_has_nothing_to_be_decided() {
        let mut race = Race::of(1, None);
        let result = race.round(&[(0, 3.0)]).unwrap();
        assert_eq!((result.best, result.decided), (0, false));
    }
}
