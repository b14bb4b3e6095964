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
    /// Correlation above which the two halves agree, at 95 % confidence, on which lines are quick.
    pub const AGREES: f64 = 0.3;

    /// Lower end of the 95 % interval of [`split_half`](Self::split_half), by Fisher's transformation.
    ///
    /// ```
    /// let lines = coho_profile::LineSpread {
    ///     count: 64, p10: 24.0, p50: 28.0, p90: 32.0, split_half: Some(0.91), share: None,
    /// };
    /// assert!((lines.split_half_low().unwrap() - 0.855).abs() < 0.001);
    /// assert!(lines.differ());
    /// ```
    pub fn split_half_low(&self) -> Option<f64> {
        let correlation = self.split_half.filter(|r| r.abs() <= 1.0)?;
        (self.count > 3).then(|| (correlation.atanh() - 1.96 / ((self.count - 3) as f64).sqrt()).tanh())
    }

    /// Whether the lines really differ, beyond the scatter of their times: both halves agree on which lines are
    /// quick.
    pub fn differ(&self) -> bool {
        self.split_half_low().is_some_and(|low| low > Self::AGREES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: u64, split_half: Option<f64>) -> LineSpread {
        LineSpread { count, p10: 24.0, p50: 28.0, p90: 32.0, split_half, share: None }
    }

    #[test]
    fn lines_differ_only_beyond_doubt() {
        assert!(lines(64, Some(0.6)).differ() && lines(64, Some(1.0)).differ());
        // The interval of 0.5 begins at 0.29.
        assert!(!lines(64, Some(0.5)).differ() && !lines(64, Some(-0.9)).differ());
        assert!(!lines(8, Some(0.8)).differ() && !lines(3, Some(1.0)).differ());
        assert!(!lines(64, None).differ() && !lines(64, Some(7.0)).differ());
    }

    #[test]
    fn what_could_not_be_computed_may_be_absent() {
        let read: LineSpread = serde_json::from_str(r#"{"count":2,"p10":1.0,"p50":2.0,"p90":3.0}"#).unwrap();
        assert_eq!((read.split_half, read.share), (None, None));
    }
}
