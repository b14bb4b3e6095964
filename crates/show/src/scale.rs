//! What several charts and tables compute from numbers: the ends of axes, means and medians.

use coho_profile::order;

/// A second: no line takes so long to share. A profile that says so is damaged, and axes over it would be endless.
const MAX_NS: f64 = 1e9;

/// Whether a number can be a time, in ns, that a chart shows.
pub fn is_time(ns: f64) -> bool {
    ns > 0.0 && ns < MAX_NS
}

/// Times that differ by less are of one kind: the colours of a map span at least this ratio, or noise would look like a
/// pattern.
const ONE_KIND: f64 = 1.5;

/// The ends of a map's colours: all but the outermost hundredths of the values lie between them, so that one odd pair does
/// not use up the colours. `None` if there is no positive value.
pub fn colour_ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = values.filter(|value| is_time(*value)).collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let cut = values.len() / 100;
    let (low, high) = (values[cut], values[last - cut]);
    let beyond = (ONE_KIND * low / high).sqrt().max(1.0);
    Some((low / beyond, high * beyond))
}

/// The least and the greatest of some values; `None` of none.
pub fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Each value once, in the order in which they first occur.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// The mean of values that are all finite.
pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let n = values.len() as f64;
    Some(values.sum::<f64>() / n).filter(|mean| mean.is_finite())
}

/// The median of finite values.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    (!values.is_empty()).then(|| order::median_of(&mut values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_time_is_none() {
        assert!(is_time(0.3) && is_time(5e8));
        assert!(![0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX].into_iter().any(is_time));
    }

    #[test]
    fn times_of_one_kind_do_not_use_up_the_colours() {
        let (low, high) = colour_ends([70.0, 75.0, 81.0].into_iter()).unwrap();
        assert!((high / low - ONE_KIND).abs() < 1e-9 && low < 70.0 && high > 81.0, "{low} {high}");
        assert_eq!(colour_ends([26.0, 110.0].into_iter()), Some((26.0, 110.0)));
    }

    #[test]
    fn one_odd_value_of_many_does_not_set_the_ends() {
        let values = (0..1000).map(|i| if i == 7 { 1e6 } else { 100.0 + f64::from(i) / 100.0 });
        let (low, high) = colour_ends(values).unwrap();
        assert!(low > 80.0 && high < 135.0, "{low} {high}");
        assert_eq!(colour_ends([f64::NAN].into_iter()), None);
    }
}
