//! Which of several series of times is shortest, and whether the difference is more than chance.

use coho_model::chance::{Family, Order};
use coho_probe::statistics;
use coho_profile::Estimate;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The series with the least median.
    pub best: usize,
    /// Each series over the best one, round by round; `None` for the best itself.
    pub times_best: Vec<Option<Estimate>>,
    /// Whether every other series is longer by more than chance, by the sign test of the rounds, with an allowance for the
    /// number of series.
    pub decided: bool,
    /// The series that no other beats by more than chance; all of them if nothing was found.
    pub winners: Vec<usize>,
}

/// Compares series of times; the same position in each is the same round. `None` if there is no whole round.
///
/// A comparison is a ratio within a round: anything that slows the whole machine down for a while slows both.
///
/// ```
/// use coho_run::trial::decide;
/// let quick = vec![1.0, 1.1, 2.0, 1.0, 1.1, 1.0, 3.0];
/// let slow: Vec<f64> = quick.iter().map(|time| time * 1.2).collect();
/// let verdict = decide(&[slow, quick]).unwrap();
/// assert_eq!((verdict.best, verdict.decided), (1, true));
/// ```
pub fn decide(series: &[Vec<f64>]) -> Option<Verdict> {
    let rounds = series.iter().map(Vec::len).min().filter(|&rounds| rounds > 0)?;
    let medians: Vec<f64> = series
        .iter()
        .filter_map(|times| Some(statistics::estimate(&[times[..rounds].to_vec()])?.median))
        .collect();
    let best = (0..series.len()).min_by(|&one, &other| medians[one].total_cmp(&medians[other]))?;
    let ratios = |times: &Vec<f64>, than: &Vec<f64>| {
        let ratios = times.iter().zip(than).map(|(time, than)| time / than).collect();
        statistics::estimate(&[ratios])
    };
    let times_best: Vec<Option<Estimate>> = series
        .iter()
        .enumerate()
        .map(|(index, times)| (index != best).then(|| ratios(times, &series[best])).flatten())
        .collect();
    let family = Family::among(series.len());
    let longer = |one: usize, other: usize| family.rounds(&series[one], &series[other]) == Order::More;
    let loses = |one: usize| (0..series.len()).any(|other| other != one && longer(one, other));
    let decided = series.len() > 1 && (0..series.len()).all(|other| other == best || longer(other, best));
    let mut winners: Vec<usize> = (0..series.len()).filter(|&one| !loses(one)).collect();
    if winners.is_empty() {
        // Each one loses to another, so nothing is known.
        winners = (0..series.len()).collect();
    }
    Some(Verdict { best, times_best, decided, winners })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(random: &mut fastrand::Rng, value: f64, rounds: usize) -> Vec<f64> {
        (0..rounds).map(|_| value * (0.9 + 0.2 * random.f64())).collect()
    }

    #[test]
    fn what_slows_a_whole_round_decides_nothing() {
        let mut random = fastrand::Rng::with_seed(1);
        let weather: Vec<f64> = (0..12).map(|_| 1.0 + 9.0 * random.f64()).collect();
        let under = |value: f64| -> Vec<f64> { weather.iter().map(|weather| weather * value).collect() };
        let verdict = decide(&[under(1.0), under(1.1)]).unwrap();
        assert!(verdict.decided && verdict.best == 0);
        assert!((verdict.times_best[1].as_ref().unwrap().median - 1.1).abs() < 1e-9);
        assert_eq!(verdict.times_best[0], None);
    }

    /// A heavy tail on one side, and a level that drifts from round to round and within one.
    fn restless(random: &mut fastrand::Rng, rounds: usize, series: usize) -> Vec<Vec<f64>> {
        let mut level: f64 = 1.0;
        let mut all = vec![Vec::new(); series];
        for _ in 0..rounds {
            let mut order: Vec<usize> = (0..series).collect();
            random.shuffle(&mut order);
            for at in order {
                level *= 1.0 + 0.2 * (random.f64() - 0.5);
                all[at].push(level * (1.0 + 0.05 * (1.0 - random.f64()).powf(-1.0 / 1.5)));
            }
        }
        all
    }

    #[test]
    fn none_of_several_equals_is_called_best_or_worse_more_often_than_chance_allows() {
        const REPEATS: usize = 200;
        // Of 200 trials with a chance of 5 % each, 17 or more are seen less often than once in 50.
        const MOST: usize = 17;
        let mut random = fastrand::Rng::with_seed(2);
        for series in [2, 3, 5] {
            for rounds in [5, 6, 8, 10, 25] {
                let verdicts = (0..REPEATS).map(|_| decide(&restless(&mut random, rounds, series)).unwrap());
                let wrong =
                    verdicts.filter(|verdict| verdict.decided || verdict.winners.len() < series).count();
                assert!(wrong < MOST, "{wrong} of {REPEATS}: {series} series of {rounds} rounds");
            }
        }
    }

    #[test]
    fn what_is_better_is_found_in_as_many_rounds_as_it_takes() {
        let mut random = fastrand::Rng::with_seed(4);
        for series in [2, 3, 5] {
            let rounds = Family::among(series).fewest_rounds();
            let mut decided = |rounds: usize| {
                let all = (0..series).map(|at| noisy(&mut random, if at == 0 { 1.0 } else { 1.5 }, rounds));
                decide(&all.collect::<Vec<_>>()).unwrap().decided
            };
            assert_eq!([decided(rounds - 1), decided(rounds)], [false, true], "{series} series");
        }
    }

    /// Two equal placements must not keep a third among the winners.
    #[test]
    fn what_is_far_worse_than_one_of_two_equals_is_no_winner() {
        let mut random = fastrand::Rng::with_seed(3);
        let series = [1.0, 3.0, 1.0].map(|value| noisy(&mut random, value, 10));
        let verdict = decide(&series).unwrap();
        assert_eq!((verdict.decided, verdict.winners), (false, vec![0, 2]));
        let equal = [1.0, 1.0, 1.0].map(|value| noisy(&mut random, value, 5));
        assert_eq!(decide(&equal).unwrap().winners, [0, 1, 2], "five rounds carry no verdict");
        let clear = [1.0, 3.0, 2.0].map(|value| noisy(&mut random, value, 10));
        let verdict = decide(&clear).unwrap();
        assert_eq!((verdict.decided, verdict.winners), (true, vec![0]));
    }

    #[test]
    fn few_rounds_and_single_series_decide_nothing() {
        let verdict = decide(&[vec![1.0; 5], vec![9.0; 5]]).unwrap();
        assert_eq!((verdict.best, verdict.decided), (0, false));
        assert!(!decide(&[vec![1.0; 9]]).unwrap().decided);
        assert_eq!(decide(&[vec![1.0], vec![]]), None);
        assert_eq!(decide(&[]), None);
    }
}
