//! Round values for axes and legends.

use crate::words;

/// Ticks and their texts at 1, 2 and 5 times powers of ten between two times; at 1 alone if these are many.
pub(super) fn logarithmic(low: f64, high: f64) -> Vec<(f64, String)> {
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
        _ => return round(low, high, 4),
    };
    let values = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    let within = values.filter(|value| (low * 0.999..=high * 1.001).contains(value));
    within.map(|value| (value, words::plain(value))).collect()
}

/// Ticks and their texts at round values between two others, about this many.
pub(super) fn round(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / most as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| i as f64 * step).map(|value| (value, words::plain(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_ends() {
        let texts = |low, high| logarithmic(low, high).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(7.0, 220.0), ["10", "20", "50", "100", "200"]);
        assert_eq!(texts(110.0, 118.0), ["110", "112", "114", "116", "118"]);
        assert_eq!((texts(5.0, 5.0).len(), texts(0.0, 5.0).len()), (1, 0));
    }
}
