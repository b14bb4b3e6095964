//! Sines and cosines on the modes and on the points between which products are formed.

use std::f64::consts::PI;

use super::super::field::Field;
use crate::Error;

/// Tables of one direction. The points lie in the middle of as many equal parts of half a wave, enough of them to
/// integrate the product of any three modes exactly: what is computed on the points is the Galerkin projection.
pub(super) struct Direction {
    /// Number of modes, including the constant one if they count from 0.
    pub(super) modes: usize,
    /// Number of points.
    pub(super) points: usize,
    /// Wave number of each mode.
    pub(super) waves: Vec<f64>,
    sines: Vec<f64>,
    cosines: Vec<f64>,
}

impl Direction {
    /// `modes` wave numbers from `first` on, in units of `unit`.
    pub(super) fn new(first: usize, modes: usize, unit: f64) -> Self {
        // Half as many again as the highest product's wave number, in whole lines of the cache.
        let highest = first + modes - 1;
        let points = (3 * highest / 2 + 1).next_multiple_of(8);
        let angle = |mode: usize, point: usize| (mode as f64) * (point as f64 + 0.5) * PI / points as f64;
        let table = |of: fn(f64) -> f64| {
            (first..=highest).flat_map(|mode| (0..points).map(move |point| of(angle(mode, point)))).collect()
        };
        let waves = (first..=highest).map(|mode| mode as f64 * unit).collect();
        Self { modes, points, waves, sines: table(f64::sin), cosines: table(f64::cos) }
    }

    /// By mode, then point.
    pub(super) fn sines(&self) -> Result<Field, Error> {
        self.table(|mode, point| self.sines[mode * self.points + point])
    }

    /// By mode, then point.
    pub(super) fn cosines(&self) -> Result<Field, Error> {
        self.table(|mode, point| self.cosines[mode * self.points + point])
    }

    /// The sines' derivatives, by mode, then point.
    pub(super) fn sine_slopes(&self) -> Result<Field, Error> {
        self.table(|mode, point| self.waves[mode] * self.cosines[mode * self.points + point])
    }

    /// The cosines' derivatives, by mode, then point.
    pub(super) fn cosine_slopes(&self) -> Result<Field, Error> {
        self.table(|mode, point| -self.waves[mode] * self.sines[mode * self.points + point])
    }

    /// Weights of the points in the projection on the sines, by mode, then point.
    pub(super) fn onto_sines(&self) -> Result<Field, Error> {
        self.table(|mode, point| self.norm(mode) * self.sines[mode * self.points + point])
    }

    /// Weights of the points in the projection on the cosines, by mode, then point.
    pub(super) fn onto_cosines(&self) -> Result<Field, Error> {
        self.table(|mode, point| self.norm(mode) * self.cosines[mode * self.points + point])
    }

    /// One over the sum of a mode's squares on the points.
    fn norm(&self, mode: usize) -> f64 {
        (if self.waves[mode] == 0.0 { 1.0 } else { 2.0 }) / self.points as f64
    }

    fn table(&self, value: impl Fn(usize, usize) -> f64) -> Result<Field, Error> {
        let mut table = Field::map(self.modes * self.points)?;
        for mode in 0..self.modes {
            for point in 0..self.points {
                table[mode * self.points + point] = value(mode, point);
            }
        }
        Ok(table)
    }
}

/// The table with rows and columns swapped.
pub(super) fn transposed(table: &Field, rows: usize) -> Result<Field, Error> {
    let columns = table.len() / rows;
    let mut turned = Field::map(table.len())?;
    for row in 0..rows {
        for column in 0..columns {
            turned[column * rows + row] = table[row * columns + column];
        }
    }
    Ok(turned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projecting_a_mode_gives_it_back() {
        let direction = Direction::new(0, 9, 2.5);
        let onto = [direction.onto_sines().unwrap(), direction.onto_cosines().unwrap()];
        let modes = [direction.sines().unwrap(), direction.cosines().unwrap()];
        for (kind, first) in [1, 0].into_iter().enumerate() {
            for a in first..9 {
                for b in first..9 {
                    let product: f64 = (0..direction.points)
                        .map(|point| {
                            onto[kind][a * direction.points + point]
                                * modes[kind][b * direction.points + point]
                        })
                        .sum();
                    assert!((product - f64::from(u8::from(a == b))).abs() < 1e-14, "{a} {b}: {product}");
                }
            }
        }
    }
}
