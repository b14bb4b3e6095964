//! A shallow-water dynamical core on a doubly periodic plane, standing for Nakamura et al.'s weather model.
//!
//! Like that model it is tuned for parallel threads: one parallel region for the whole run, static shares of rows,
//! one sweep over the rows for everything in a stage of the Runge-Kutta method, with intermediate results in private
//! rows, and [`BARRIERS_PER_STEP`] barriers per step. A member computes the rows between its share and its
//! neighbours' itself rather than wait for them. Each element is computed in the same way whoever does it, so results
//! do not depend on the number of threads.

mod rows;
mod scheme;

use std::f64::consts::TAU;

use super::crew::{Crew, Member};
use super::field::Field;
use crate::Error;
use rows::Rows;
use scheme::{Edge, Middle, State, Tendency, close, first, stride};

/// Barriers per time step: one per stage of the Runge-Kutta method.
pub(super) const BARRIERS_PER_STEP: u64 = 4;

/// Floating-point operations per cell and step, where a division counts as one: fluxes 6, Bernoulli function 10,
/// vorticity 11 and tendencies 23 in each of four stages, and 14 for each field where the stages are combined.
pub(super) const OPERATIONS_PER_CELL: u64 = 4 * (6 + 10 + 11 + 23) + 3 * 14;

/// The plane and the constants of the equations; SI units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parameters {
    /// Cells eastward.
    pub(super) columns: usize,
    /// Cells northward.
    pub(super) rows: usize,
    /// Width of a cell.
    pub(super) dx: f64,
    /// Height of a cell.
    pub(super) dy: f64,
    /// Acceleration of gravity.
    pub(super) gravity: f64,
    /// Twice the angular velocity of the plane.
    pub(super) coriolis: f64,
}

impl Parameters {
    /// A plane of square cells of 20 km at middle latitudes.
    pub(super) fn middle_latitudes(rows: usize, columns: usize) -> Self {
        Self { columns, rows, dx: 20e3, dy: 20e3, gravity: 9.81, coriolis: 1e-4 }
    }
}

/// The state of the plane and room for a step.
pub(super) struct Plane {
    parameters: Parameters,
    /// u, v and h of each row, one after the other.
    now: Field,
    ahead: Field,
    before: Field,
    sum: Field,
}

impl Plane {
    /// A plane of still, level air; its rows are first touched by the members that will compute them.
    pub(super) fn new(parameters: Parameters, crew: &mut impl Crew) -> Result<Self, Error> {
        let width = 3 * stride(parameters.columns);
        let field = || Field::map(parameters.rows * width);
        let mut plane = Self { parameters, now: field()?, ahead: field()?, before: field()?, sum: field()? };
        for field in [&mut plane.now, &mut plane.ahead, &mut plane.before, &mut plane.sum] {
            crew.split(field, width, |_, part| part.fill(0.0));
        }
        Ok(plane)
    }

    /// Sets u, v and h to functions of the position, given as shares of the plane: each field is evaluated at the
    /// points where it is defined.
    pub(super) fn set(&mut self, value: impl Fn(f64, f64) -> [f64; 3]) {
        let Parameters { rows, columns, .. } = self.parameters;
        let width = 3 * stride(columns);
        for (j, row) in self.now.chunks_exact_mut(width).enumerate() {
            for i in 0..columns {
                let (west, south) = (i as f64 / columns as f64, j as f64 / rows as f64);
                let (x, y) = ((i as f64 + 0.5) / columns as f64, (j as f64 + 0.5) / rows as f64);
                row[first(0, columns) + i] = value(west, y)[0];
                row[first(1, columns) + i] = value(x, south)[1];
                row[first(2, columns) + i] = value(x, y)[2];
            }
            close(row, columns);
        }
    }

    /// Sets an eastward jet and a westward one with the slope of the air that balances them, and a hill of air beside
    /// them.
    pub(super) fn set_jets(&mut self) {
        let Parameters { rows, dy, gravity, coriolis, .. } = self.parameters;
        let (speed, depth) = (20.0, 1000.0);
        let slope = coriolis * speed * rows as f64 * dy / (TAU * gravity);
        self.set(|x, y| {
            let hill = 20.0 * ((TAU * (x - 0.5)).cos() - 1.0 + (TAU * (y - 0.3)).cos() - 1.0).exp();
            [speed * (TAU * y).sin(), 0.0, depth + slope * (TAU * y).cos() + hill]
        });
    }

    /// The state, row by row, margins included.
    pub(super) fn state(&self) -> &[f64] {
        &self.now
    }

    /// Restores a state.
    pub(super) fn set_state(&mut self, state: &[f64]) {
        self.now.copy_from_slice(state);
    }

    /// Mass over the density and the area of a cell, in m.
    pub(super) fn mass(&self) -> f64 {
        let columns = self.parameters.columns;
        self.states().map(|row| row.h[1..=columns].iter().sum::<f64>()).sum()
    }

    /// Kinetic energy plus potential energy above a level plane of the same mass, over the density and the area of a
    /// cell, in m^3/s^2.
    pub(super) fn energy(&self) -> f64 {
        let Parameters { rows, columns, gravity, .. } = self.parameters;
        let level = self.mass() / (rows * columns) as f64;
        let mut energy = 0.0;
        let states: Vec<_> = self.states().collect();
        for (j, row) in states.iter().enumerate() {
            let south = states[(j + rows - 1) % rows];
            energy += (1..=columns)
                .map(|i| {
                    let east = 0.5 * (row.h[i - 1] + row.h[i]) * row.u[i] * row.u[i];
                    let north = 0.5 * (south.h[i] + row.h[i]) * row.v[i] * row.v[i];
                    0.5 * (gravity * (row.h[i] - level).powi(2) + east + north)
                })
                .sum::<f64>();
        }
        energy
    }

    fn states(&self) -> impl Iterator<Item = State<'_>> {
        let columns = self.parameters.columns;
        self.now.chunks_exact(3 * stride(columns)).map(move |row| State::of(row, columns))
    }

    /// Runs this many steps of the classical fourth-order Runge-Kutta method, in one parallel region.
    pub(super) fn run(&mut self, crew: &mut impl Crew, dt: f64, steps: u64) {
        let parameters = self.parameters;
        let width = 3 * stride(parameters.columns);
        let shared = Shared {
            states: [Rows::new(&mut self.now, width), Rows::new(&mut self.ahead, width)],
            before: Rows::new(&mut self.before, width),
            sum: Rows::new(&mut self.sum, width),
        };
        crew.region(|member| {
            let mut work = Work::new(parameters.columns);
            for _ in 0..steps {
                for stage in 0..4 {
                    work.stage(member, &shared, &parameters, dt, stage);
                    member.barrier();
                }
            }
        });
    }
}

/// What the members share: they read and write the states in turn, and only a row's owner touches the other fields.
struct Shared<'a> {
    states: [Rows<'a>; 2],
    before: Rows<'a>,
    sum: Rows<'a>,
}

/// A member's own rows.
struct Work {
    columns: usize,
    middles: [Middle; 2],
    edges: [Edge; 2],
    tendency: Tendency,
}

impl Work {
    fn new(columns: usize) -> Self {
        let (middle, edge) = (Middle::new(columns), Edge::new(columns));
        Self {
            columns,
            middles: [middle.clone(), middle],
            edges: [edge.clone(), edge],
            tendency: Tendency::new(columns),
        }
    }

    /// One stage on the member's rows, from south to north.
    fn stage(
        &mut self,
        member: &Member<'_>,
        shared: &Shared<'_>,
        parameters: &Parameters,
        dt: f64,
        stage: usize,
    ) {
        let rows = parameters.rows;
        let mine = member.share(rows, 1);
        if mine.is_empty() {
            return;
        }
        let from = &shared.states[stage % 2];
        // SAFETY: in a stage everybody reads the one state and writes the other; they change places at the barrier.
        let state = |row: usize| State::of(unsafe { from.read(row % rows) }, self.columns);
        let [below, here] = &mut self.middles;
        let [south, north] = &mut self.edges;
        let first = mine.start + rows;
        below.find(state(first - 1), state(first), parameters);
        south.find(state(first), state(first - 1), parameters);
        for row in mine {
            here.find(state(row), state(row + 1), parameters);
            north.find(state(row + 1), state(row), parameters);
            self.tendency.find((below, here), (south, north), parameters);
            std::mem::swap(below, here);
            std::mem::swap(south, north);
            // SAFETY: the row is this member's, and of these fields only its owner touches a row; in a stage everybody
            // writes only own rows of the state that nobody reads.
            let (now, ahead, before, sum) = unsafe {
                let to = &shared.states[(stage + 1) % 2];
                (from.read(row), to.write(row), shared.before.write(row), shared.sum.write(row))
            };
            advance(&self.tendency, now, ahead, before, sum, self.columns, dt, stage);
            close(ahead, self.columns);
        }
    }
}

/// Applies a row's tendency: gives the state that the next stage starts from or, after the last stage, the next
/// step's.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn advance(
    tendency: &Tendency,
    now: &[f64],
    ahead: &mut [f64],
    before: &mut [f64],
    sum: &mut [f64],
    columns: usize,
    dt: f64,
    stage: usize,
) {
    for (field, slope) in [&tendency.u, &tendency.v, &tendency.h].into_iter().enumerate() {
        let cells = first(field, columns)..first(field, columns) + columns;
        let slope = &slope[1..=columns];
        let (now, ahead) = (&now[cells.clone()], &mut ahead[cells.clone()]);
        let (before, sum) = (&mut before[cells.clone()], &mut sum[cells]);
        match stage {
            0 => {
                for i in 0..columns {
                    before[i] = now[i];
                    sum[i] = now[i] + dt / 6.0 * slope[i];
                    ahead[i] = now[i] + dt / 2.0 * slope[i];
                }
            }
            1 | 2 => {
                let far = if stage == 1 { dt / 2.0 } else { dt };
                for i in 0..columns {
                    sum[i] += dt / 3.0 * slope[i];
                    ahead[i] = before[i] + far * slope[i];
                }
            }
            _ => {
                for i in 0..columns {
                    ahead[i] = sum[i] + dt / 6.0 * slope[i];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
