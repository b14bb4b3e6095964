//! The solver and the weather model as programs to time.

use super::crew::{Alone, Crew};
use super::galerkin::{LOOPS_PER_STEP, Physics, Solver};
use super::program::{Program, Size};
use super::weather::{BARRIERS_PER_STEP, OPERATIONS_PER_CELL, Parameters, Plane};
use crate::Error;

/// Steps of a run: milliseconds.
const STEPS: u64 = 8;

/// The error if a crew's result differs from that of one thread.
fn differs(what: &str) -> Error {
    Error::Broken(format!("{what} differs from that of one thread: the barrier or the memory is broken"))
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Convection, heated from below at ten times the critical Rayleigh number.
pub struct Galerkin {
    sizes: Vec<Size>,
    modes: Vec<usize>,
    /// The stream function and the temperature that one thread computes.
    known: Vec<[Vec<f64>; 2]>,
}

/// A layer to time, and how well the crew conserved the energy of another one.
pub struct Layer {
    solver: Solver,
    beginning: [Vec<f64>; 2],
    known: [Vec<f64>; 2],
    drift: f64,
}

impl Galerkin {
    /// Layers with this many modes in each direction.
    pub fn new(modes: &[usize]) -> Result<Self, Error> {
        let (mut sizes, mut known) = (Vec::new(), Vec::new());
        for &modes in modes {
            let mut solver = Self::layer(modes)?;
            let (n, operations) = (solver.unknowns() as u64, STEPS * solver.operations_per_step());
            sizes.push(Size { n, operations });
            Self::steps(&mut solver, &mut Alone);
            known.push([solver.now.psi.to_vec(), solver.now.theta.to_vec()]);
        }
        Ok(Self { sizes, modes: modes.to_vec(), known })
    }

    fn layer(modes: usize) -> Result<Solver, Error> {
        let mut solver = Solver::new(modes, modes, Physics::heated(6575.1, 0.71))?;
        solver.stir(1.0);
        Ok(solver)
    }

    fn steps(solver: &mut Solver, crew: &mut impl Crew) {
        // Within the stability of the finest modes that are run here, whose squared wave number is below 4e4.
        let dt = 5e-5;
        for _ in 0..STEPS {
            solver.step(crew, dt);
        }
    }

    /// Relative change of the energy of a stratified layer without diffusion.
    fn drift(modes: usize, crew: &mut impl Crew) -> Result<f64, Error> {
        let mut waves = Solver::new(modes, modes, Physics::waves(1.0))?;
        waves.stir(1.0);
        let before = waves.energy();
        for _ in 0..STEPS {
            waves.step(crew, 1e-3);
        }
        Ok((waves.energy() / before - 1.0).abs())
    }
}

impl Program for Galerkin {
    type Problem = Layer;
    const REGIONS: u64 = STEPS * LOOPS_PER_STEP;
    const BARRIERS: u64 = 0;
    const WIDE: bool = true;
    const REPEATABLE: bool = false;

    fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    fn set_up(&self, size: usize, crew: &mut impl Crew) -> Result<Layer, Error> {
        let modes = self.modes[size];
        let solver = Self::layer(modes)?;
        let beginning = [solver.now.psi.to_vec(), solver.now.theta.to_vec()];
        Ok(Layer { solver, beginning, known: self.known[size].clone(), drift: Self::drift(modes, crew)? })
    }

    fn reset(&self, layer: &mut Layer) {
        layer.solver.now.psi.copy_from_slice(&layer.beginning[0]);
        layer.solver.now.theta.copy_from_slice(&layer.beginning[1]);
    }

    fn run(&self, layer: &mut Layer, crew: &mut impl Crew) {
        Self::steps(&mut layer.solver, crew);
    }

    fn check(&self, layer: &Layer) -> Result<f64, Error> {
        let now = &layer.solver.now;
        if same(&now.psi, &layer.known[0]) && same(&now.theta, &layer.known[1]) {
            Ok(layer.drift)
        } else {
            Err(differs("the layer"))
        }
    }
}

/// Jets and a hill of air on a plane.
pub struct Weather {
    sizes: Vec<Size>,
    edges: Vec<usize>,
    /// The state that one thread computes.
    known: Vec<Vec<f64>>,
}

/// A plane to time.
pub struct Day {
    plane: Plane,
    beginning: Vec<f64>,
    mass: f64,
    energy: f64,
    known: Vec<f64>,
}

impl Weather {
    /// Square planes with this many cells in each direction.
    pub fn new(edges: &[usize]) -> Result<Self, Error> {
        let (mut sizes, mut known) = (Vec::new(), Vec::new());
        for &edge in edges {
            let mut plane = Self::plane(edge, &mut Alone)?;
            let cells = (edge * edge) as u64;
            sizes.push(Size { n: cells, operations: STEPS * OPERATIONS_PER_CELL * cells });
            Self::steps(&mut plane, &mut Alone);
            known.push(plane.state().to_vec());
        }
        Ok(Self { sizes, edges: edges.to_vec(), known })
    }

    fn plane(edge: usize, crew: &mut impl Crew) -> Result<Plane, Error> {
        let mut plane = Plane::new(Parameters::middle_latitudes(edge, edge), crew)?;
        plane.set_jets();
        Ok(plane)
    }

    fn steps(plane: &mut Plane, crew: &mut impl Crew) {
        plane.run(crew, 60.0, STEPS);
    }
}

impl Program for Weather {
    type Problem = Day;
    const REGIONS: u64 = 1;
    const BARRIERS: u64 = STEPS * BARRIERS_PER_STEP;
    const WIDE: bool = false;
    const REPEATABLE: bool = false;

    fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    fn set_up(&self, size: usize, crew: &mut impl Crew) -> Result<Day, Error> {
        let plane = Self::plane(self.edges[size], crew)?;
        let (beginning, mass, energy) = (plane.state().to_vec(), plane.mass(), plane.energy());
        Ok(Day { plane, beginning, mass, energy, known: self.known[size].clone() })
    }

    fn reset(&self, day: &mut Day) {
        day.plane.set_state(&day.beginning);
    }

    fn run(&self, day: &mut Day, crew: &mut impl Crew) {
        Self::steps(&mut day.plane, crew);
    }

    fn check(&self, day: &Day) -> Result<f64, Error> {
        if !same(day.plane.state(), &day.known) {
            return Err(differs("the weather"));
        }
        let drift = |now: f64, before: f64| (now / before - 1.0).abs();
        Ok(drift(day.plane.mass(), day.mass).max(drift(day.plane.energy(), day.energy)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::crew::{Member, tests::Threads};
    use super::*;
    use coho_counters::clock::Ticks;

    /// Runs a program's first size once and checks the result.
    fn once<P: Program>(program: &P, crew: &mut impl Crew) -> Result<f64, Error> {
        let mut problem = program.set_up(0, crew)?;
        for _ in 0..2 {
            program.reset(&mut problem);
            program.run(&mut problem, crew);
        }
        program.check(&problem)
    }

    #[test]
    fn any_number_of_threads_comes_to_the_same_result() {
        let (galerkin, weather) = (Galerkin::new(&[5]).unwrap(), Weather::new(&[9]).unwrap());
        for n in [1, 2, 3, 11] {
            assert!(once(&galerkin, &mut Threads(n)).unwrap() < 1e-9);
            assert!(once(&weather, &mut Threads(n)).unwrap() < 1e-6);
        }
    }

    /// Two threads of whom the second never does its share.
    struct Idle;

    impl Crew for Idle {
        fn region(&mut self, body: impl Fn(&Member<'_>) + Sync) {
            body(&Member::new(0, 2, &|| (), None));
        }

        fn watch(&mut self, _: bool) {}

        fn computed(&mut self) -> Vec<Ticks> {
            Vec::new()
        }
    }

    #[test]
    fn a_share_that_is_not_done_is_noticed() {
        let (galerkin, weather) = (Galerkin::new(&[5]).unwrap(), Weather::new(&[9]).unwrap());
        assert!(once(&galerkin, &mut Idle).unwrap_err().to_string().contains("differs"));
        assert!(once(&weather, &mut Idle).unwrap_err().to_string().contains("differs"));
    }
}
