//! Grouping of values that belong together.

use coho_profile::Mode;

use super::{SAME_MODE, is_time};
use crate::stats::median;

/// A mode with a smaller share of the samples is no headline.
const LEAST_SHARE: f64 = 0.1;

/// Whether two values are of one mode.
pub(super) fn is_one_mode(one: f64, other: f64) -> bool {
    one.max(other) < SAME_MODE * one.min(other)
}

/// Whether a mode is more than a few stragglers.
pub(super) fn counts(mode: &Mode) -> bool {
    is_time(mode.value) && mode.share >= LEAST_SHARE
}

/// Groups of close values in ascending order. Each group is narrower than [`SAME_MODE`]: where values follow each
/// other closely over a wider range, they are split at the widest gaps.
pub(super) fn groups<T>(ascending: &[T], value: impl Fn(&T) -> f64 + Copy) -> Vec<&[T]> {
    let [first, .., last] = ascending else {
        return if ascending.is_empty() { Vec::new() } else { vec![ascending] };
    };
    if is_one_mode(value(first), value(last)) {
        return vec![ascending];
    }
    let gap = |at: &usize| value(&ascending[*at]) / value(&ascending[at - 1]);
    let widest = (1..ascending.len()).max_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or(1);
    let (less, more) = ascending.split_at(widest);
    [groups(less, value), groups(more, value)].concat()
}

/// The middle of each group of values.
pub(super) fn middles(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    groups(&values, |value| *value).into_iter().map(|group| median(&mut group.to_vec())).collect()
}

/// The modes with close ones merged, most frequent first.
pub(super) fn gather(mut modes: Vec<Mode>) -> Vec<Mode> {
    modes.retain(counts);
    let all: f64 = modes.iter().map(|mode| mode.share).sum();
    modes.sort_by(|a, b| a.value.total_cmp(&b.value));
    let one = |modes: &[Mode]| Mode {
        value: median(&mut modes.iter().map(|mode| mode.value).collect::<Vec<_>>()),
        share: modes.iter().map(|mode| mode.share).sum::<f64>() / all,
    };
    let mut gathered: Vec<Mode> = groups(&modes, |mode| mode.value).into_iter().map(one).collect();
    gathered.sort_by(|a, b| b.share.total_cmp(&a.share));
    gathered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_chain_are_not_one_mode() {
        assert_eq!(middles(vec![59.0, 27.0, 40.0]), [27.0, 49.5]);
        assert_eq!(middles(vec![10.2, 14.6, 12.9, 12.0]), [12.45]);
        assert_eq!(middles(vec![26.0, 128.0, 26.5, 18.0, 27.5]), [18.0, 26.5, 128.0]);
        assert_eq!(middles(vec![]), [0.0; 0]);
    }

    #[test]
    fn stragglers_bridge_no_gap() {
        let modes = [(27.0, 0.6), (38.0, 0.02), (55.0, 0.38)];
        let found = gather(modes.map(|(value, share)| Mode { value, share }).to_vec());
        let values: Vec<f64> = found.iter().map(|mode| mode.value).collect();
        assert_eq!(values, [27.0, 55.0]);
    }
}
