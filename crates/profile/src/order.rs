//! Order statistics used wherever figures are measured, read or shown: the median and its interval.

/// Median of sorted values: the middle one, or the mean of the two in the middle; `NaN` if there are none.
///
/// ```
/// assert_eq!(coho_profile::order::median(&[1.0, 2.0, 9.0, 40.0]), 5.5);
/// ```
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// As [`median`], for values in any order, without sorting them all. Reorders them.
pub fn median_of(values: &mut [f64]) -> f64 {
    let (n, middle) = (values.len(), values.len() / 2);
    if n == 0 {
        return f64::NAN;
    }
    let (less, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    match n % 2 {
        1 => upper,
        _ => f64::midpoint(less.iter().copied().fold(f64::NEG_INFINITY, f64::max), upper),
    }
}

/// The middle of values in any order, and of two in the middle the lower: always one of the values, where the median
/// of two groups of equal size may lie far from any. Reorders the values.
pub fn middle_of(values: &mut [f64]) -> f64 {
    match values.len().checked_sub(1) {
        Some(last) => *values.select_nth_unstable_by(last / 2, f64::total_cmp).1,
        None => f64::NAN,
    }
}

/// The median's interval of at least 95 % confidence by order statistics (binomial with p = 1/2). It holds for every
/// distribution of independent samples. Fewer than six samples have no such interval; theirs is their whole range.
pub fn interval(sorted: &[f64]) -> (f64, f64) {
    let n = sorted.len();
    if n == 0 {
        return (f64::NAN, f64::NAN);
    }
    let rank = lower_rank(n as u64, TAIL).unwrap_or(0) as usize;
    (sorted[rank], sorted[n - 1 - rank])
}

/// What may lie beyond either end of an interval of 95 %.
const TAIL: f64 = 0.025;
/// The most samples whose ranks are counted exactly.
const COUNTED: u64 = 200;

/// The largest r such that P(fewer than r + 1 of n coins show heads) is at most `tail`, counted from 0; `None` if there are
/// too few coins.
fn lower_rank(n: u64, tail: f64) -> Option<u64> {
    if n > COUNTED {
        // Normal approximation of the binomial, rounded outwards.
        return Some(((n as f64 / 2.0 - 0.98 * (n as f64).sqrt()).floor() as u64).saturating_sub(1));
    }
    let mut term = 0.5f64.powi(n as i32);
    let mut below = 0.0;
    for rank in 0..n / 2 {
        below += term;
        if below > tail {
            return rank.checked_sub(1);
        }
        term *= (n - rank) as f64 / (rank + 1) as f64;
    }
    (n / 2).checked_sub(1)
}

/// The lower end of the median's interval at a confidence above 95 %, where only the least sample and the 95 % interval's
/// lower end are known; `None` if there are too few samples for it. Few samples have the least as its end; of more, the
/// order statistics between are taken to lie evenly.
pub(crate) fn low_at(confidence: f64, n: u64, [min, low, median]: [f64; 3]) -> Option<f64> {
    let wider = wider(confidence, n)?;
    Some(if wider.reaches_extreme { min } else { (median - wider.times * (median - low)).max(min) })
}

/// As [`low_at`], of an end beyond which the extreme sample is not known: where that would be the end, its distance from the
/// median is taken to be twice that of order statistics that lie evenly. What is never negative is taken to lie evenly on a
/// logarithmic scale.
pub(crate) fn end_at(confidence: f64, n: u64, [median, end]: [f64; 2], is_positive: bool) -> Option<f64> {
    let Wider { times, reaches_extreme } = wider(confidence, n)?;
    let times = if reaches_extreme && times > 1.0 { 2.0 * times } else { times };
    Some(match is_positive {
        _ if times <= 1.0 => end,
        true => median * (end / median).powf(times),
        false => median + times * (end - median),
    })
}

/// An interval of more confidence beside that of 95 %.
struct Wider {
    /// How many times as far from the median it reaches if order statistics lie evenly.
    times: f64,
    /// Whether its ends are the least and the greatest sample.
    reaches_extreme: bool,
}

fn wider(confidence: f64, n: u64) -> Option<Wider> {
    // The ratio of the two distances hardly depends on the number of samples.
    let n = n.min(COUNTED);
    let (strict, usual) = (lower_rank(n, (1.0 - confidence) / 2.0)?, lower_rank(n, TAIL)?);
    let from_middle = |rank: u64| (n - 1) as f64 / 2.0 - rank as f64;
    Some(Wider { times: from_middle(strict) / from_middle(usual), reaches_extreme: strict == 0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Conover, Practical Nonparametric Statistics, table A3 (p = 0.5, two-sided 95 %), counted from 0.
        for (n, rank) in [(6, 0), (8, 0), (9, 1), (11, 1), (15, 3), (20, 5), (100, 39)] {
            assert_eq!(lower_rank(n, TAIL), Some(rank), "n = {n}");
        }
        assert_eq!(lower_rank(5, TAIL), None);
    }

    #[test]
    fn more_confidence_takes_more_samples_or_a_wider_interval() {
        let low_at = |confidence, n| low_at(confidence, n, [-100.0, 80.0, 100.0]);
        assert_eq!(low_at(0.95, 40), Some(80.0));
        // One test in 9: P(8 of 8) is 1 in 128, too likely for 0.05 / 9; P(9 of 9) is not.
        let ninth = 1.0 - 0.05 / 9.0;
        assert_eq!((low_at(ninth, 8), low_at(ninth, 9)), (None, Some(-100.0)));
        // Of 40 samples, the rank falls from 13 to 10: the distance from the middle grows from 6.5 to 9.5.
        let wider = low_at(ninth, 40).unwrap();
        assert!((wider - (100.0 - 20.0 * 9.5 / 6.5)).abs() < 1e-9, "{wider}");
        assert!(low_at(ninth, 1_000_000).unwrap() > 60.0);
        let high_at = |confidence, n| end_at(confidence, n, [100.0, 120.0], false);
        assert_eq!(
            (high_at(0.95, 6), high_at(0.95, 40), high_at(ninth, 8)),
            (Some(120.0), Some(120.0), None)
        );
        assert_eq!(high_at(ninth, 40), Some(100.0 + 20.0 * 9.5 / 6.5));
        assert!(high_at(ninth, 9).unwrap() > 140.0, "nobody knows how far away the greatest is");
        let low = end_at(1.0 - 1e-6, 200, [100.0, 1.0], true).unwrap();
        assert!(low > 0.0 && low < 1.0, "a time is never negative: {low}");
    }

    #[test]
    fn of_nothing_there_is_no_median() {
        assert!(median(&[]).is_nan() && median_of(&mut []).is_nan() && middle_of(&mut []).is_nan());
        assert_eq!(middle_of(&mut [90.0, 25.0, 91.0, 26.0]), 26.0);
    }

    proptest! {
        #[test]
        fn both_ways_agree(mut values in prop::collection::vec(-1e9f64..1e9, 1..80)) {
            let quick = median_of(&mut values.clone());
            values.sort_by(f64::total_cmp);
            prop_assert_eq!(median(&values), quick);
            let (low, high) = interval(&values);
            prop_assert!(low <= quick && quick <= high);
        }
    }
}
