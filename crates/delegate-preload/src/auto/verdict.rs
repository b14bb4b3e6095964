//! What a trial's blocks say.

/// A block's time per call in nanoseconds, from one call's start to the next one's: at home, and delegated.
pub type Pair = (f32, f32);

/// Pairs of a trial that is not broken off.
pub const PAIRS: usize = 24;
/// An interval leaves out the median with this probability.
const ERROR: f64 = 0.01;
/// So many losses from the beginning on are enough.
const LOSSES: usize = 5;

/// What is known after a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    pub gains: bool,
    /// The medians.
    pub home_ns: f32,
    pub away_ns: f32,
    /// Of the median difference, by this many pairs; by fewer if the trial was broken off.
    pub difference_ns: (f32, f32),
    pub pairs: usize,
}

/// Whether more pairs cannot show a gain any more.
pub fn is_lost(pairs: &[Pair]) -> bool {
    let losses = pairs.iter().filter(|(home, away)| away >= home).count();
    losses >= LOSSES && (losses == pairs.len() || losses > below(PAIRS))
}

/// Judges all pairs. Delegation gains if the interval of the median difference lies below zero, and the means without the
/// slowest block of each kind agree: the first says that it is no chance, the second that rare long waits do not eat it up.
pub fn judge(pairs: &[Pair]) -> Verdict {
    let mut differences: [f32; PAIRS] = [0.0; PAIRS];
    let (mut homes, mut aways) = (differences, differences);
    let count = pairs.len().min(PAIRS);
    for (place, &(home, away)) in pairs.iter().take(PAIRS).enumerate() {
        (homes[place], aways[place], differences[place]) = (home, away, away - home);
    }
    let sort = |values: &mut [f32]| values.sort_unstable_by(f32::total_cmp);
    let (homes, aways, differences) = (&mut homes[..count], &mut aways[..count], &mut differences[..count]);
    sort(homes);
    sort(aways);
    sort(differences);
    let [first, .., last] = *differences else {
        let nothing = f32::NAN;
        return Verdict {
            gains: false,
            home_ns: nothing,
            away_ns: nothing,
            difference_ns: (nothing, nothing),
            pairs: count,
        };
    };
    let outside = below(count);
    let interval = (differences[outside], differences[count - 1 - outside]);
    let sum = |values: &[f32]| values[..count - 1].iter().sum::<f32>();
    Verdict {
        gains: count == PAIRS && interval.1 < 0.0 && sum(aways) < sum(homes),
        home_ns: homes[count / 2],
        away_ns: aways[count / 2],
        difference_ns: if outside > 0 { interval } else { (first, last) },
        pairs: count,
    }
}

/// How many of the lowest, and of the highest, of `n` differences lie outside the interval.
fn below(count: usize) -> usize {
    let mut probability = 0.5f64.powi(count as i32);
    let mut total = 0.0;
    for rank in 0..count / 2 {
        total += 2.0 * probability;
        if total > ERROR {
            return rank.saturating_sub(1);
        }
        probability *= (count - rank) as f64 / (rank + 1) as f64;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(difference: impl Fn(usize) -> f32) -> Vec<Pair> {
        (0..PAIRS).map(|pair| (1000.0 + pair as f32, 1000.0 + pair as f32 + difference(pair))).collect()
    }

    #[test]
    fn ranks_are_those_of_the_sign_test() {
        // Of 24 tosses, 2 times the probability of 5 or fewer heads is 0.0066, of 6 or fewer 0.0227.
        assert_eq!(below(24), 5);
        // Of 8, none: 2 / 256; of 7, even all alike say too little.
        assert_eq!((below(8), below(7)), (0, 0));
    }

    #[test]
    fn gains_are_those_beyond_chance() {
        let gain = judge(&pairs(|_| -100.0));
        assert!(gain.gains && gain.difference_ns == (-100.0, -100.0), "{gain:?}");
        assert_eq!((gain.home_ns, gain.away_ns), (1012.0, 912.0));
        assert!(!judge(&pairs(|_| 100.0)).gains);
        assert!(!judge(&pairs(|pair| if pair % 3 == 0 { 100.0 } else { -100.0 })).gains, "a third");
        assert!(judge(&pairs(|pair| if pair % 6 == 0 { 100.0 } else { -100.0 })).gains, "a sixth");
    }

    #[test]
    fn one_long_wait_is_chance_and_two_are_not() {
        assert!(judge(&pairs(|pair| if pair == 7 { 1e6 } else { -100.0 })).gains);
        assert!(!judge(&pairs(|pair| if pair % 12 == 7 { 1e6 } else { -100.0 })).gains);
    }

    #[test]
    fn losing_trials_are_broken_off() {
        let (losing, gaining) = (pairs(|_| 1.0), pairs(|_| -1.0));
        assert!(!is_lost(&losing[..4]) && is_lost(&losing[..5]));
        assert!(!is_lost(&gaining));
        let mixed = pairs(|pair| if pair % 2 == 0 { 1.0 } else { -1.0 });
        assert!(!is_lost(&mixed[..10]) && is_lost(&mixed[..11]), "six losses");
        let broken_off = judge(&losing[..5]);
        assert!(!broken_off.gains && broken_off.pairs == 5 && broken_off.difference_ns == (1.0, 1.0));
        assert!(!judge(&[]).gains);
    }
}
