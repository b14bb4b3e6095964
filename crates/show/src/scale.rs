//! Ticks and ends of axes, and what else several charts and tables compute from numbers.

use coho_profile::order;

use crate::words;

/// A second: no line takes so long to share. A profile that says so is damaged, and axes over it would be endless.
const MAX_NS: f64 = 1e9;

/// Whether a number can be a time, in ns, that a chart shows.
pub fn is_time(ns: f64) -> bool {
    ns > 0.0 && ns < MAX_NS
}

/// Ticks and their texts at 1, 2 and 5 times powers of ten between two times; at 1 alone if these are many.
pub fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    if !(low > 0.0 && high >= low && high.is_finite()) {
        return Vec::new();
    }
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let steps: &[f64] = match (high / low).log10() {
        span if span > 4.0 => &[1.0],
        span if span > 0.6 => &[1.0, 2.0, 5.0],
        span if span > 0.15 => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        _ if (high - low) / 4.0 < low * 1e-6 => return vec![(low, words::number(low))],
        // Within a sixth of a decade, round steps of the values themselves.
        _ => return round_ticks(low, high, 4),
    };
    let values = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    let within = values.filter(|value| (low * 0.999..=high * 1.001).contains(value));
    within.map(|value| (value, words::plain(value))).collect()
}

/// Ticks and their texts at round values between two others, about this many.
pub fn round_ticks(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / most as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| i as f64 * step).map(|value| (value, words::plain(value))).collect()
}

/// The ends between which all but the outermost hundredths of the values lie, so that one odd pair does not use up the
/// colours. `None` if there is no positive value.
pub fn robust_ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = values.filter(|value| is_time(*value)).collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let cut = values.len() / 100;
    Some((values[cut], values[last - cut]))
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
    fn ticks_are_round_and_within_the_ends() {
        let texts = |low, high| log_ticks(low, high).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(7.0, 220.0), ["10", "20", "50", "100", "200"]);
        assert_eq!(texts(110.0, 118.0), ["110", "112", "114", "116", "118"]);
        assert_eq!((texts(5.0, 5.0).len(), texts(0.0, 5.0).len()), (1, 0));
    }

    #[test]
    fn what_cannot_be_a_time_is_none() {
        assert!(is_time(0.3) && is_time(5e8));
        assert!(![0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX].into_iter().any(is_time));
    }

    #[test]
    fn one_odd_value_of_many_does_not_set_the_ends() {
        let values = (0..1000).map(|i| if i == 7 { 1e6 } else { 100.0 + f64::from(i) / 100.0 });
        let (low, high) = robust_ends(values).unwrap();
        assert!(low >= 100.0 && high <= 110.0);
        assert_eq!(robust_ends([f64::NAN].into_iter()), None);
    }
}
