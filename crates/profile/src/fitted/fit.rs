//! The model of Nakamura et al., fitted to the points of a loop.
//!
//! T_1 = S + P n and T_n = S + P + T_F + T_B there, with P the share of one of n threads; here the loop length L varies
//! too, so that P is the time of one element: T = S + P L / n + T_F + T_B. Totals alone cannot separate fork T_F from
//! join T_B, so their sum is fitted, one for each barrier, mapping and number of threads.

use std::collections::BTreeMap;

use super::{ELEMENT, LEFT_OUT, LONGEST, RESIDUAL, SERIAL, fork_join};
use crate::KernelPoint;

/// Fits S, P and every T_F + T_B to the points of loops no longer than `longest`, beyond which P differs because the
/// data is farther away. What [`fitted`](crate::Kernel::fitted) holds: constants by name.
///
/// Least squares of the relative residuals, since times range over decades; no constant may be negative. Empty if there
/// are not more points than constants.
///
/// ```
/// use coho_profile::{Estimate, KernelPoint, fitted};
/// let point = |length: u64, threads: u32, ns: f64| KernelPoint {
///     length: Some(length),
///     threads,
///     barrier: if threads > 1 { "fbs".into() } else { "none".into() },
///     mapping: "sequential".into(),
///     seconds: Some(Estimate::exact(ns / 1e9)),
///     ..KernelPoint::default()
/// };
/// let points = [
///     point(100, 1, 60.0), point(1000, 1, 510.0), point(100, 2, 235.0), point(1000, 2, 460.0), point(2000, 2, 710.0),
/// ];
/// let constants = fitted::fit(&points, 2000);
/// assert!((constants[fitted::SERIAL] - 10.0).abs() < 1e-6);
/// assert!((constants[fitted::ELEMENT] - 0.5).abs() < 1e-9);
/// assert!((constants[&fitted::fork_join("fbs", "sequential", 2)] - 200.0).abs() < 1e-6);
/// let seconds = fitted::seconds(&constants, 4000, 2, "fbs", "sequential").unwrap();
/// assert!((seconds * 1e9 - 1210.0).abs() < 1e-6);
/// ```
pub fn fit(points: &[KernelPoint], longest: u64) -> BTreeMap<String, f64> {
    let equations: Vec<Equation> = points
        .iter()
        .filter(|point| !point.disturbed)
        .filter_map(|point| Equation::of(point, longest))
        .collect();
    let all: Vec<&Equation> = equations.iter().collect();
    let Some(constants) = Constants::of(&all) else { return BTreeMap::new() };
    let reach = equations.iter().map(|equation| equation.length).fold(0.0, f64::max);
    let errors = [
        Some((RESIDUAL, root_mean_square(all.iter().filter_map(|equation| constants.miss(equation))))),
        Some((LEFT_OUT, error_left_out(&all))).filter(|(_, error)| error.is_finite()),
        Some((LONGEST, reach)),
    ];
    let errors = errors.into_iter().flatten().map(|(name, value)| (name.to_owned(), value));
    constants.names.into_iter().zip(constants.values).chain(errors).collect()
}

/// Constants by name.
struct Constants {
    names: Vec<String>,
    values: Vec<f64>,
}

impl Constants {
    /// `None` if there are no more equations than constants, or they do not determine the constants.
    fn of(equations: &[&Equation]) -> Option<Self> {
        let mut names = vec![SERIAL.to_owned(), ELEMENT.to_owned()];
        for name in equations.iter().filter_map(|equation| equation.barrier.as_ref()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        if equations.len() <= names.len() {
            return None;
        }
        let rows: Vec<Vec<f64>> = equations.iter().map(|equation| equation.row(&names)).collect();
        Some(Self { values: least_squares(&rows)?, names })
    }

    /// The relative error at a point; `None` if its team is not known.
    fn miss(&self, equation: &Equation) -> Option<f64> {
        let known = equation.barrier.as_ref().is_none_or(|name| self.names.contains(name));
        let row = equation.row(&self.names);
        known.then(|| row.iter().zip(&self.values).map(|(a, x)| a * x).sum::<f64>() - 1.0)
    }
}

/// The error of each length in a fit to all others; NaN if nothing is left to fit.
fn error_left_out(equations: &[&Equation]) -> f64 {
    let mut lengths: Vec<u64> = equations.iter().map(|equation| equation.length as u64).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let errors = lengths.into_iter().flat_map(|length| {
        let (out, others): (Vec<&Equation>, Vec<&Equation>) =
            equations.iter().partition(|equation| equation.length as u64 == length);
        let constants = Constants::of(&others);
        out.into_iter().filter_map(move |equation| constants.as_ref()?.miss(equation)).collect::<Vec<_>>()
    });
    root_mean_square(errors)
}

fn root_mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value * value, n + 1.0));
    (sum / n).sqrt()
}

/// A point as an equation for the constants.
struct Equation {
    length: f64,
    threads: f64,
    ns: f64,
    /// Which sum of fork and join it contains; `None` for one thread.
    barrier: Option<String>,
}

impl Equation {
    fn of(point: &KernelPoint, longest: u64) -> Option<Self> {
        let length = point.length.filter(|&length| length <= longest)?;
        let ns = point.seconds.as_ref()?.median * 1e9;
        let barrier = (point.threads > 1).then(|| fork_join(&point.barrier, &point.mapping, point.threads));
        (ns > 0.0 && point.threads > 0).then_some(Self {
            length: length as f64,
            threads: f64::from(point.threads),
            ns,
            barrier,
        })
    }

    /// Coefficients of the named constants, over the time.
    fn row(&self, names: &[String]) -> Vec<f64> {
        let mut row = vec![0.0; names.len()];
        row[0] = 1.0 / self.ns;
        row[1] = self.length / self.threads / self.ns;
        if let Some(at) = names.iter().position(|name| Some(name) == self.barrier.as_ref()) {
            row[at] = 1.0 / self.ns;
        }
        row
    }
}

/// The non-negative x that bring every row's sum nearest to 1: unconstrained at first, then without what came out
/// below 0, most negative first. `None` if the rows do not determine it.
fn least_squares(rows: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = rows.first()?.len();
    let mut free: Vec<usize> = (0..n).collect();
    loop {
        let sum = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>();
        let normal: Vec<Vec<f64>> = free
            .iter()
            .map(|&i| {
                let right = rows.iter().map(|row| row[i]).sum();
                free.iter().map(|&j| sum(i, j)).chain([right]).collect()
            })
            .collect();
        let solved = solve(normal)?;
        let lowest = (0..free.len()).min_by(|&a, &b| solved[a].total_cmp(&solved[b]))?;
        if solved[lowest] >= 0.0 {
            let mut x = vec![0.0; n];
            free.iter().zip(solved).for_each(|(&at, value)| x[at] = value);
            return Some(x);
        }
        free.remove(lowest);
    }
}

/// Gaussian elimination with scaled pivoting, as the constants differ in size. A row ends with its right-hand side.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    let scale: Vec<f64> = (0..n).map(|i| rows[i][i].sqrt()).collect();
    if scale.iter().any(|scale| !scale.is_normal()) {
        return None;
    }
    for (i, row) in rows.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value /= scale[i] * scale.get(j).copied().unwrap_or(1.0);
        }
    }
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        if rows[pivot][column].abs() < 1e-12 {
            return None;
        }
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        for row in below {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).skip(column).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * x[j]).sum();
        x[i] = (rows[i][n] - known) / rows[i][i];
    }
    Some(x.iter().zip(scale).map(|(x, scale)| x / scale).collect())
}

#[cfg(test)]
mod tests {
    use crate::Estimate;
    use crate::fitted::{refusal, seconds};
    use proptest::prelude::*;

    use super::*;

    /// For a machine that follows the model, lengths that were not fitted are predicted well; otherwise the fit is
    /// better than the prediction.
    #[test]
    fn lengths_that_the_fit_has_not_seen_tell_what_it_is_worth() {
        let waits = [("fbs", 2, 200.0)];
        let exact = fit(&points(10.0, 0.5, &waits, |_| 1.0), 1 << 20);
        assert!(exact[LEFT_OUT] < 1e-6 && exact[RESIDUAL] < 1e-6, "{exact:?}");
        let noisy = fit(&points(10.0, 0.5, &waits, |at| 1.0 + 0.2 * (at % 3) as f64), 1 << 20);
        assert!(noisy[LEFT_OUT] > noisy[RESIDUAL] && noisy[RESIDUAL] > 0.01, "{noisy:?}");
        assert_eq!(refusal(&exact), None);
        assert!(noisy[LEFT_OUT] > 0.1 && refusal(&noisy).unwrap().contains("more than 0.1"), "{noisy:?}");
        assert!(refusal(&BTreeMap::new()).is_some());
        let few = fit(&points(10.0, 0.5, &[], |_| 1.0)[..3], 1 << 20);
        assert!(few.contains_key(RESIDUAL) && !few.contains_key("no such"), "{few:?}");
    }

    /// Points of a machine that keeps to the model, each time by a factor of its own.
    fn points(
        serial: f64,
        element: f64,
        waits: &[(&str, u32, f64)],
        noise: impl Fn(usize) -> f64,
    ) -> Vec<KernelPoint> {
        let mut points = Vec::new();
        for (barrier, threads, wait) in [("none", 1, 0.0)].iter().chain(waits) {
            for power in 6..16 {
                let length = 1u64 << power;
                let ns = serial + element * length as f64 / f64::from(*threads) + wait;
                let ns = ns * noise(points.len());
                points.push(KernelPoint {
                    length: Some(length),
                    threads: *threads,
                    barrier: (*barrier).into(),
                    mapping: "sequential".into(),
                    seconds: Some(Estimate::exact(ns / 1e9)),
                    ..KernelPoint::default()
                });
            }
        }
        points
    }

    #[test]
    fn finds_every_constant_among_noise() {
        let waits = [("fbs", 2, 120.0), ("lock", 2, 400.0), ("fbs", 8, 900.0)];
        let mut random = fastrand::Rng::with_seed(5);
        let noise: Vec<f64> = (0..64).map(|_| 0.97 + 0.06 * random.f64()).collect();
        let points = points(5.0, 0.3, &waits, |at| noise[at]);
        let fitted = fit(&points, 1 << 16);
        assert!((fitted[ELEMENT] / 0.3 - 1.0).abs() < 0.03, "{fitted:?}");
        for (barrier, threads, wait) in waits {
            let found = fitted[&fork_join(barrier, "sequential", threads)];
            assert!((found / wait - 1.0).abs() < 0.03, "{barrier} {threads}: {found}");
        }
        assert!((0.01..0.03).contains(&fitted[RESIDUAL]), "{fitted:?}");
        for point in &points {
            let known = point.seconds.as_ref().unwrap().median;
            let length = point.length.unwrap();
            let told = seconds(&fitted, length, point.threads, &point.barrier, &point.mapping).unwrap();
            assert!((told / known - 1.0).abs() < 0.1);
        }
        assert_eq!(seconds(&fitted, 64, 4, "fbs", "sequential"), None);
    }

    #[test]
    fn loops_out_of_reach_change_nothing() {
        let mut points = points(5.0, 0.3, &[("fbs", 2, 120.0)], |_| 1.0);
        points.last_mut().unwrap().seconds = Some(Estimate::exact(1.0));
        let fitted = fit(&points, 1 << 14);
        assert!((fitted[SERIAL] - 5.0).abs() < 1e-6 && fitted[LONGEST] == 16384.0, "{fitted:?}");
    }

    #[test]
    fn too_few_points_fit_nothing() {
        let points = points(5.0, 0.3, &[("fbs", 2, 120.0)], |_| 1.0);
        assert!(fit(&points[..2], 1 << 20).is_empty());
        assert!(fit(&points, 10).is_empty());
        // Ten times the same loop say nothing about S and P.
        assert!(fit(&vec![points[0].clone(); 10], 1 << 20).is_empty());
    }

    proptest! {
        #[test]
        fn no_constant_is_negative(ns in prop::collection::vec(1.0f64..1e6, 20)) {
            let mut points = points(5.0, 0.3, &[("fbs", 2, 120.0)], |_| 1.0);
            for (point, ns) in points.iter_mut().zip(ns) {
                point.seconds = Some(Estimate::exact(ns / 1e9));
            }
            prop_assert!(fit(&points, 1 << 20).values().all(|&value| value >= 0.0));
        }
    }
}
