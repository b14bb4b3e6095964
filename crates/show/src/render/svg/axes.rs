//! Values to places, and the ticks of an axis.

use super::{text_width, ticks};
use crate::chart::{Axis, Scale, Ticks};
use crate::{scale, words};

/// An axis with its ends, in values and in pixels.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    scale: Scale,
    low: f64,
    high: f64,
    pub(super) from_px: f64,
    to_px: f64,
    /// Where ticks stand, in pixels, with their texts.
    pub(super) ticks: Vec<(f64, String)>,
}

/// No measured value is larger, or smaller than its inverse: a damaged profile must not stretch an axis without end.
const MOST: f64 = 1e18;

/// Pixels from one tick to the next at least, so that both can be read.
const APART_X: f64 = 64.0;
const APART_Y: f64 = 32.0;

impl Placed {
    /// An axis over `values`, which are what it must show, from one pixel to another.
    pub(super) fn of(axis: &Axis, values: &[f64], from_px: f64, to_px: f64) -> Self {
        let usable = |value: &f64| value.abs() < MOST && (axis.scale == Scale::Linear || *value > 1.0 / MOST);
        let values: Vec<f64> = values.iter().copied().filter(usable).collect();
        let nothing = (if axis.scale == Scale::Log { 1.0 } else { 0.0 }, 10.0);
        let (low, high) = scale::ends(values.iter().copied()).unwrap_or(nothing);
        let (low, high) = match axis.scale {
            Scale::Linear => {
                let low = if axis.from_zero { low.min(0.0) } else { low };
                // The frame would cut what ends at it.
                let room = if high > low { (high - low) * 0.05 } else { low.abs().max(1.0) * 0.1 };
                (if axis.from_zero && low >= 0.0 { low } else { low - room }, high + room)
            }
            Scale::Log => {
                let room = (high / low).powf(0.04).max(1.04);
                (low / room, high * room)
            }
        };
        let mut placed = Self { scale: axis.scale, low, high, from_px, to_px, ticks: Vec::new() };
        placed.ticks = placed.choose(axis.ticks, &values);
        placed
    }

    /// Where a value stands; beyond the ends at the nearer of them.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from_px + part.clamp(0.0, 1.0) * (self.to_px - self.from_px)
    }

    /// Whether a value lies between the ends.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Whether bars may grow from its beginning: their length is then proportional to their value.
    pub(super) fn is_from_zero(&self) -> bool {
        self.scale == Scale::Linear && self.low == 0.0
    }

    fn choose(&self, ticks: Ticks, values: &[f64]) -> Vec<(f64, String)> {
        let length = (self.to_px - self.from_px).abs();
        let apart = if self.to_px > self.from_px { APART_X } else { APART_Y };
        let most = (length / apart).max(2.0) as usize;
        let all: Vec<(f64, String)> = match (ticks, self.scale) {
            (Ticks::Values, _) => {
                let mut distinct = values.to_vec();
                distinct.sort_by(f64::total_cmp);
                distinct.dedup();
                distinct.into_iter().map(|value| (value, words::plain(value))).collect()
            }
            (Ticks::Bytes, _) => {
                let powers = (0..63u32).map(|power| 1u64 << power);
                let within = powers.filter(|size| (self.low..=self.high).contains(&(*size as f64)));
                within.map(|size| (size as f64, words::bytes(size))).collect()
            }
            (Ticks::Decimal, Scale::Log) => ticks::logarithmic(self.low, self.high),
            (Ticks::Decimal, Scale::Linear) => ticks::round(self.low, self.high, most.clamp(2, 8)),
        };
        let room = |before: &str, text: &str| match apart == APART_X {
            true => (text_width(before) + text_width(text)) / 2.0 + 5.0,
            false => APART_Y * 0.45,
        };
        // Numbers of CPUs gather at one end of the axis: what would stand on its neighbour is left out.
        let every = |step: usize| {
            let mut placed: Vec<(f64, String)> = Vec::new();
            for (value, text) in all.iter().step_by(step) {
                let at = self.at(*value);
                if placed.last().is_none_or(|(place, before)| (at - place).abs() >= room(before, text)) {
                    placed.push((at, text.clone()));
                }
            }
            placed
        };
        let least = all.len().div_ceil(most * 2).max(1);
        match ticks {
            // Sizes are equally far apart, and so are their ticks.
            Ticks::Bytes => (least..)
                .map(|step| (step, every(step)))
                .find(|(step, placed)| placed.len() == all.len().div_ceil(*step))
                .map_or(Vec::new(), |(_, placed)| placed),
            _ => every(least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, values: &[f64], px: f64) -> Vec<String> {
        Placed::of(axis, values, 0.0, px).ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn every_axis_has_ticks_within_its_ends() {
        for axis in [Axis::linear(""), Axis::log(""), Axis::bytes(""), Axis::counts("")] {
            for values in [&[][..], &[26.0], &[25.9, 26.1], &[1.0, 512.0], &[1e-3, 5e9]] {
                let ticks = Placed::of(&axis, values, 0.0, 500.0).ticks;
                assert!(axis.ticks != Ticks::Decimal || !ticks.is_empty(), "{axis:?} {values:?}");
                assert!(ticks.len() <= 20 && ticks.iter().all(|(at, _)| (0.0..=500.0).contains(at)));
            }
        }
    }

    #[test]
    fn ticks_are_round_and_apart() {
        assert_eq!(texts(&Axis::linear(""), &[0.0, 100.0], 400.0), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(texts(&Axis::counts(""), &[1.0, 2.0, 4.0, 8.0, 16.0], 500.0), ["1", "2", "4", "8", "16"]);
        let many: Vec<f64> = (1..=192).map(f64::from).collect();
        let placed = Placed::of(&Axis::counts(""), &many, 0.0, 500.0);
        assert!(placed.ticks.windows(2).all(|two| two[1].0 - two[0].0 >= 18.0), "{:?}", placed.ticks);
        assert_eq!(texts(&Axis::bytes(""), &[4096.0, 16384.0], 500.0), ["4 KiB", "8 KiB", "16 KiB"]);
        let wide = texts(&Axis::bytes(""), &[16384.0, 67_108_864.0], 500.0);
        assert_eq!(
            wide,
            ["16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB"],
            "every second one"
        );
    }

    #[test]
    fn places_grow_with_values_and_keep_to_the_frame() {
        for axis in [Axis::linear(""), Axis::log("")] {
            let placed = Placed::of(&axis, &[10.0, 1000.0], 400.0, 50.0);
            assert!(placed.at(10.0) > placed.at(100.0) && placed.at(100.0) > placed.at(1000.0));
            assert!(placed.at(1e9) >= 50.0 && placed.at(-5.0) <= 400.0);
        }
    }
}
