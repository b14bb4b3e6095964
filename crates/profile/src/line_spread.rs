//! How much the time of a pair depends on which cache line it shares.

use serde::{Deserialize, Serialize};

/// Times of one pair over many lines. A line's address decides which slice of a cache holds it, and so how far its
/// transfers travel.
///
/// Each round visits every line once, in random order. A line's time is the median over the rounds of its time
/// relative to the round's median, times the median of the rounds' medians. A jump of the pair to another mode
/// between rounds therefore does not spread the lines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineSpread {
    /// Number of lines.
    pub count: u64,
    /// The time below which one line in ten lies, in ns.
    pub p10: f64,
    /// The median line's time, in ns.
    pub p50: f64,
    /// The time above which one line in ten lies, in ns.
    pub p90: f64,
    /// Correlation over the lines between their times in the first and the second half of the rounds, −1 to 1:
    /// near 1 where the same lines are quick in both, about 0 where the spread is noise. `null` where there were
    /// too few lines or rounds, or all lines were alike.
    #[serde(default)]
    pub split_half: Option<f64>,
    /// The lines' share of the variance of single visits, 0 to 1: the intraclass correlation of a one-way
    /// analysis of variance of the times relative to their round's median, with the lines as groups. It is (B −
    /// W) / (B + (k − 1) W), where B and W are the mean squares between and within lines and k is the number of
    /// visits of a line; below 0 it counts as 0. Times outside 1.5 interquartile ranges of their line's quartiles
    /// count as preempted and are left out. `null` as for `split_half`.
    #[serde(default)]
    pub share: Option<f64>,
}

impl LineSpread {
    /// Correlation above which the two halves agree on which lines are quick.
    pub const AGREES: f64 = 0.3;

    /// Lower end of the interval of [`split_half`](Self::split_half) at a confidence, by Fisher's transformation.
    ///
    /// ```
    /// let lines = coho_profile::LineSpread {
    ///     count: 64, p10: 24.0, p50: 28.0, p90: 32.0, split_half: Some(0.91), share: None,
    /// };
    /// assert!((lines.split_half_low(0.95).unwrap() - 0.855).abs() < 0.001);
    /// assert!(lines.differ(0.95));
    /// ```
    pub fn split_half_low(&self, confidence: f64) -> Option<f64> {
        let correlation = self.split_half.filter(|r| r.abs() <= 1.0)?;
        let deviations = deviations(confidence);
        (self.count > 3).then(|| (correlation.atanh() - deviations / ((self.count - 3) as f64).sqrt()).tanh())
    }

    /// Whether the lines really differ, beyond the scatter of their times: both halves agree on which lines are
    /// quick, at this confidence. It is 0.95 for one pair that was not chosen from several.
    pub fn differ(&self, confidence: f64) -> bool {
        self.split_half_low(confidence).is_some_and(|low| low > Self::AGREES)
    }
}

/// How many standard deviations from its mean a normal distribution has so much within, both ways: Abramowitz and Stegun's
/// formula 26.2.23, which errs by less than 0.0005.
fn deviations(confidence: f64) -> f64 {
    let t = (-2.0 * ((1.0 - confidence) / 2.0).ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    t - above / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: u64, split_half: Option<f64>) -> LineSpread {
        LineSpread { count, p10: 24.0, p50: 28.0, p90: 32.0, split_half, share: None }
    }

    #[test]
    fn lines_differ_only_beyond_doubt() {
        let of_one = |lines: LineSpread| lines.differ(0.95);
        assert!(of_one(lines(64, Some(0.6))) && of_one(lines(64, Some(1.0))));
        // The interval of 0.5 begins at 0.29.
        assert!(!of_one(lines(64, Some(0.5))) && !of_one(lines(64, Some(-0.9))));
        assert!(!of_one(lines(8, Some(0.8))) && !of_one(lines(3, Some(1.0))));
        assert!(!of_one(lines(64, None)) && !of_one(lines(64, Some(7.0))));
        // Of a hundred pairs, one shows 0.6 by chance rather than one of one.
        assert!(!lines(64, Some(0.6)).differ(1.0 - 0.05 / 100.0) && lines(64, Some(0.7)).differ(0.9995));
    }

    #[test]
    fn deviations_are_those_of_the_tables() {
        for (confidence, expected) in [(0.90, 1.6449), (0.95, 1.96), (0.99, 2.5758), (0.9999, 3.8906)] {
            assert!((deviations(confidence) - expected).abs() < 0.0005, "{confidence}");
        }
    }

    #[test]
    fn what_could_not_be_computed_may_be_absent() {
        let read: LineSpread = serde_json::from_str(r#"{"count":2,"p10":1.0,"p50":2.0,"p90":3.0}"#).unwrap();
        assert_eq!((read.split_half, read.share), (None, None));
    }
}
