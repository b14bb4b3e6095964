//! Values from one to another, within bounds.

use coho_profile::Ns;

use super::{MAX_NS, Resolver};
use crate::path::error::{Error, Place};
use crate::path::file::Sweep;

/// The most values of a sweep.
const MAX_SWEEP: usize = 10_000;

impl Resolver<'_> {
    pub(super) fn sweep(&self, place: &Place, sweep: &Sweep) -> Result<Vec<Ns>, Error> {
        let (from, to) = self.span(place, sweep.from, sweep.to, f64::MIN_POSITIVE, MAX_NS)?;
        Ok(self.grid(place, from, to, sweep.points)?.into_iter().map(Ns).collect())
    }

    pub(super) fn span(
        &self,
        place: &Place,
        from: f64,
        to: f64,
        least: f64,
        most: f64,
    ) -> Result<(f64, f64), Error> {
        let from = within(place, "the least value of a sweep", from, least, most)?;
        Ok((from, within(place, "the greatest value of a sweep", to, from, most)?))
    }

    pub(super) fn grid(&self, place: &Place, from: f64, to: f64, points: usize) -> Result<Vec<f64>, Error> {
        if !(2..=MAX_SWEEP).contains(&points) {
            return Err(place.error(format!("a sweep has 2 to {MAX_SWEEP} points, not {points}")));
        }
        Ok(geometric(from, to, points))
    }
}

/// `points` values from one to another, evenly spaced in their logarithms and rounded to twelve digits, so that 1000
/// is 1000.
fn geometric(from: f64, to: f64, points: usize) -> Vec<f64> {
    let step = (to / from).ln() / (points - 1) as f64;
    let rounded = |value: f64| {
        let scale = 10f64.powi(11 - value.log10().floor() as i32);
        if scale.is_normal() { (value * scale).round() / scale } else { value }
    };
    let mut values: Vec<f64> = (0..points).map(|at| rounded(from * (step * at as f64).exp())).collect();
    values[points - 1] = to;
    values
}

pub(super) fn within(place: &Place, what: &str, value: f64, least: f64, most: f64) -> Result<f64, Error> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else if value.is_finite() {
        let bound = if value < least { format!("at least {least}") } else { format!("at most {most:e}") };
        Err(place.error(format!("{what} is {bound}, not {value}")))
    } else {
        Err(place.error(format!("{what} is a number, not {value}")))
    }
}
