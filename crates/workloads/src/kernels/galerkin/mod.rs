//! Natural convection between two horizontal plates without friction on them, by the spectral Galerkin method.
//!
//! The stream function is a sum of sin(m k x) sin(n pi z), the departure of the temperature from conduction one of
//! cos(m k x) sin(n pi z), on a layer of height 1 (Saltzman 1962; Chandrasekhar, Hydrodynamic and Hydromagnetic
//! Stability, chapter II). With vorticity w = laplace psi:
//!
//! - dw/dt + J(psi, w) = viscosity laplace w + buoyancy d theta/dx
//! - d theta/dt + J(psi, theta) = conductivity laplace theta + gradient d psi/dx
//!
//! It stands for SPEC's galgel in Nakamura et al. and is equally untuned: every small matrix product is a parallel
//! loop of its own, [`LOOPS_PER_STEP`] of them in one step of the fourth-order Runge-Kutta method. Every element is
//! summed in the same order whoever computes it, so results do not depend on the number of threads.

mod basis;

use std::f64::consts::PI;

use super::crew::Crew;
use super::field::Field;
use super::vector::combine;
use crate::Error;
use basis::{Direction, transposed};

/// Parallel loops of one time step.
pub(super) const LOOPS_PER_STEP: u64 = 102;

/// The coefficients of the equations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Physics {
    /// Diffusion of vorticity.
    pub(super) viscosity: f64,
    /// Diffusion of heat.
    pub(super) conductivity: f64,
    /// The effect of a horizontal temperature gradient on vorticity.
    pub(super) buoyancy: f64,
    /// 1 if the lower plate is the warmer one, -1 if it is the colder one.
    pub(super) gradient: f64,
    /// Horizontal wave number of the first mode, k.
    pub(super) wave_number: f64,
}

impl Physics {
    /// A layer heated from below, in units of its height and the time in which heat diffuses through it.
    pub(super) fn heated(rayleigh: f64, prandtl: f64) -> Self {
        Self {
            viscosity: prandtl,
            conductivity: 1.0,
            buoyancy: rayleigh * prandtl,
            gradient: 1.0,
            wave_number: PI / 2f64.sqrt(),
        }
    }

    /// A layer heated from above and without diffusion: waves whose energy is conserved.
    pub(super) fn waves(buoyancy: f64) -> Self {
        Self { viscosity: 0.0, conductivity: 0.0, gradient: -1.0, buoyancy, ..Self::heated(1.0, 1.0) }
    }

    /// The lowest Rayleigh number at which a disturbance grows, for the wave number chosen here: 27 pi^4 / 4.
    #[cfg(test)]
    pub(super) fn critical_rayleigh() -> f64 {
        27.0 * PI.powi(4) / 4.0
    }
}

/// Amplitudes of every mode, by n, then m.
pub(super) struct Modes {
    /// The stream function's amplitudes; those of m = 0 are 0.
    pub(super) psi: Field,
    /// The temperature's amplitudes.
    pub(super) theta: Field,
}

impl Modes {
    fn map(length: usize) -> Result<Self, Error> {
        Ok(Self { psi: Field::map(length)?, theta: Field::map(length)? })
    }
}

/// The two factors of a product on the points, before and after the vertical sum.
struct Factor {
    half: Field,
    full: Field,
}

/// A layer and everything that a step needs.
pub(super) struct Solver {
    physics: Physics,
    x: Direction,
    z: Direction,
    /// Squared total wave number of each mode.
    squares: Field,
    sine_x: Field,
    sine_slope_x: Field,
    cosine_x: Field,
    cosine_slope_x: Field,
    onto_sine_x: Field,
    onto_cosine_x: Field,
    sine_z: Field,
    sine_slope_z: Field,
    onto_sine_z: Field,
    /// The state at the present time.
    pub(super) now: Modes,
    stage: Modes,
    slope: Modes,
    sum: Modes,
    vorticity: Field,
    factors: [Factor; 6],
    products: [Factor; 2],
    projected: Modes,
}

impl Solver {
    /// A layer at rest with horizontal modes m below `columns` and vertical modes n from 1 to `rows`.
    pub(super) fn new(rows: usize, columns: usize, physics: Physics) -> Result<Self, Error> {
        let x = Direction::new(0, columns, physics.wave_number);
        let z = Direction::new(1, rows, PI);
        let mut squares = Field::map(rows * columns)?;
        for (square, index) in squares.iter_mut().zip(0..) {
            *square = z.waves[index / columns].powi(2) + x.waves[index % columns].powi(2);
        }
        let factor = || -> Result<Factor, Error> {
            Ok(Factor { half: Field::map(rows * x.points)?, full: Field::map(z.points * x.points)? })
        };
        Ok(Self {
            physics,
            squares,
            sine_x: x.sines()?,
            sine_slope_x: x.sine_slopes()?,
            cosine_x: x.cosines()?,
            cosine_slope_x: x.cosine_slopes()?,
            onto_sine_x: transposed(&x.onto_sines()?, columns)?,
            onto_cosine_x: transposed(&x.onto_cosines()?, columns)?,
            sine_z: transposed(&z.sines()?, rows)?,
            sine_slope_z: transposed(&z.sine_slopes()?, rows)?,
            onto_sine_z: z.onto_sines()?,
            now: Modes::map(rows * columns)?,
            stage: Modes::map(rows * columns)?,
            slope: Modes::map(rows * columns)?,
            sum: Modes::map(rows * columns)?,
            vorticity: Field::map(rows * columns)?,
            factors: [factor()?, factor()?, factor()?, factor()?, factor()?, factor()?],
            products: [factor()?, factor()?],
            projected: Modes::map(rows * columns)?,
            x,
            z,
        })
    }

    /// Number of unknowns.
    pub(super) fn unknowns(&self) -> usize {
        self.z.modes * (2 * self.x.modes - 1)
    }

    /// Floating-point operations of a step: those of the matrix products and of the products on the points.
    pub(super) fn operations_per_step(&self) -> u64 {
        let (rows, columns) = (self.z.modes, self.x.modes);
        let (points_x, points_z) = (self.x.points, self.z.points);
        let eight = 8 * (rows * columns * points_x + rows * points_x * points_z) * 2;
        4 * (eight + 2 * 3 * points_x * points_z) as u64
    }

    /// Sets small amplitudes that decrease with the wave number and differ from mode to mode.
    pub(super) fn stir(&mut self, amplitude: f64) {
        let columns = self.x.modes;
        for index in 0..self.now.psi.len() {
            let size = amplitude / (1.0 + self.squares[index]);
            let phase = index as f64 * 2.399_963; // the golden angle: no two modes alike
            self.now.psi[index] = if index % columns == 0 { 0.0 } else { size * phase.sin() };
            self.now.theta[index] = size * phase.cos();
        }
    }

    /// Kinetic energy plus, where the layer is stratified, potential energy; means over the layer.
    ///
    /// Without diffusion it is conserved: the projection loses none of the equations' quadratic invariants.
    pub(super) fn energy(&self) -> f64 {
        let kinetic: f64 = self.now.psi.iter().zip(self.squares.iter()).map(|(a, k)| k * a * a).sum();
        let columns = self.x.modes;
        let weigh = |index: usize| if self.x.waves[index % columns] == 0.0 { 2.0 } else { 1.0 };
        let position: f64 = self.now.theta.iter().enumerate().map(|(index, b)| weigh(index) * b * b).sum();
        (kinetic - self.physics.buoyancy / self.physics.gradient * position) / 8.0
    }

    /// One step of the classical fourth-order Runge-Kutta method.
    pub(super) fn step(&mut self, crew: &mut impl Crew, dt: f64) {
        let width = self.x.modes;
        for (weight, ahead) in [(1.0, 0.0), (2.0, 0.5), (2.0, 0.5), (1.0, 1.0)] {
            let first = ahead == 0.0;
            let pairs = [
                (&mut self.stage.psi, &self.now.psi, &self.slope.psi),
                (&mut self.stage.theta, &self.now.theta, &self.slope.theta),
            ];
            for (stage, now, slope) in pairs {
                crew.split(stage, width, |start, part| {
                    for (out, at) in part.iter_mut().zip(start..) {
                        *out = if first { now[at] } else { now[at] + ahead * dt * slope[at] };
                    }
                });
            }
            self.find_slope(crew);
            let pairs = [(&mut self.sum.psi, &self.slope.psi), (&mut self.sum.theta, &self.slope.theta)];
            for (sum, slope) in pairs {
                crew.split(sum, width, |start, part| {
                    for (sum, at) in part.iter_mut().zip(start..) {
                        *sum = if first { slope[at] } else { *sum + weight * slope[at] };
                    }
                });
            }
        }
        let pairs = [(&mut self.now.psi, &self.sum.psi), (&mut self.now.theta, &self.sum.theta)];
        for (now, sum) in pairs {
            crew.split(now, width, |start, part| {
                for (now, at) in part.iter_mut().zip(start..) {
                    *now += dt / 6.0 * sum[at];
                }
            });
        }
    }

    /// The time derivative at `stage`.
    fn find_slope(&mut self, crew: &mut impl Crew) {
        let (width, points) = (self.x.modes, self.x.points);
        let (psi, theta, squares) = (&self.stage.psi, &self.stage.theta, &self.squares);
        crew.split(&mut self.vorticity, width, |start, part| {
            for (out, at) in part.iter_mut().zip(start..) {
                *out = -squares[at] * psi[at];
            }
        });
        // psi_x, psi_z, w_x, w_z, theta_x, theta_z on the points.
        let terms = [
            (psi, &self.sine_slope_x, &self.sine_z),
            (psi, &self.sine_x, &self.sine_slope_z),
            (&self.vorticity, &self.sine_slope_x, &self.sine_z),
            (&self.vorticity, &self.sine_x, &self.sine_slope_z),
            (theta, &self.cosine_slope_x, &self.sine_z),
            (theta, &self.cosine_x, &self.sine_slope_z),
        ];
        for (factor, (modes, along_x, along_z)) in self.factors.iter_mut().zip(terms) {
            multiply(crew, &mut factor.half, modes, along_x, points);
            multiply(crew, &mut factor.full, along_z, &factor.half, points);
        }
        let [psi_x, psi_z, w_x, w_z, theta_x, theta_z] = &self.factors;
        let [of_w, of_theta] = &mut self.products;
        let pairs = [
            (of_w, w_x, w_z, &self.onto_sine_x, &mut self.projected.psi),
            (of_theta, theta_x, theta_z, &self.onto_cosine_x, &mut self.projected.theta),
        ];
        for (product, along_x, along_z, onto_x, projected) in pairs {
            crew.split(&mut product.full, points, |start, part| {
                let end = start + part.len();
                let (psi_x, psi_z) = (&psi_x.full[start..end], &psi_z.full[start..end]);
                let (along_x, along_z) = (&along_x.full[start..end], &along_z.full[start..end]);
                for (at, out) in part.iter_mut().enumerate() {
                    *out = psi_x[at] * along_z[at] - psi_z[at] * along_x[at];
                }
            });
            multiply(crew, &mut product.half, &self.onto_sine_z, &product.full, points);
            multiply(crew, projected, &product.half, onto_x, width);
        }
        let (physics, waves) = (self.physics, &self.x.waves);
        let projected = &self.projected;
        crew.split(&mut self.slope.psi, width, |start, part| {
            for (out, at) in part.iter_mut().zip(start..) {
                let forcing = projected.psi[at] + physics.buoyancy * waves[at % width] * theta[at];
                *out = forcing / squares[at] - physics.viscosity * squares[at] * psi[at];
            }
        });
        crew.split(&mut self.slope.theta, width, |start, part| {
            for (out, at) in part.iter_mut().zip(start..) {
                let forcing = physics.gradient * waves[at % width] * psi[at] - projected.theta[at];
                *out = forcing - physics.conductivity * squares[at] * theta[at];
            }
        });
    }
}

/// The matrix product `left` times `right`, which has `width` columns, as one parallel loop over the rows.
fn multiply(crew: &mut impl Crew, out: &mut [f64], left: &[f64], right: &[f64], width: usize) {
    let inner = right.len() / width;
    crew.split(out, width, |start, part| {
        let first = start / width;
        for (row, out) in part.chunks_exact_mut(width).enumerate() {
            combine(out, &left[(first + row) * inner..][..inner], right);
        }
    });
}

#[cfg(test)]
mod tests;
