//! A value over time as a line of bars.

use coho_profile::order;

use super::columns;
use crate::scale;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns that stay free at the right.
const MARGIN: usize = 8;

/// Heights between the least and the largest median, on a logarithmic scale, over slices of the time.
pub(super) fn bars(values: impl Iterator<Item = f64>) -> String {
    let values: Vec<f64> = values.collect();
    let slice = values.len().div_ceil(columns() - MARGIN).max(1);
    let medians: Vec<f64> = values.chunks(slice).map(|slice| order::median_of(&mut slice.to_vec())).collect();
    let (least, most) = scale::ends(medians.iter().copied()).unwrap_or((1.0, 1.0));
    // Differences of less than half are drawn low, like noise.
    let span = (most / least).max(1.5).ln();
    let height = |value: &f64| ((value / least).ln() / span * (BARS.len() - 1) as f64).round() as usize;
    medians.iter().map(|value| BARS[height(value).min(BARS.len() - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_seen_and_noise_is_not() {
        let jump = bars((0..100).map(|i| if i < 50 { 26.0 } else { 128.0 }));
        assert!(jump.starts_with('▁') && jump.ends_with('█'), "{jump}");
        assert!(jump.chars().count() <= columns() - MARGIN);
        let noise = bars((0..100).map(|i| 26.0 + f64::from(i % 2)));
        assert!(noise.chars().all(|bar| bar == '▁' || bar == '▂'), "{noise}");
    }
}
