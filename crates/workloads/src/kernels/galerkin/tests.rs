use std::f64::consts::PI;

use super::super::crew::{Alone, Member};
use super::*;
use coho_counters::clock::Ticks;

/// Counts the regions that pass through it.
struct Counting(u64);

impl Crew for Counting {
    fn region(&mut self, body: impl Fn(&Member<'_>) + Sync) {
        self.0 += 1;
        Alone.region(body);
    }

    fn watch(&mut self, _: bool) {}

    fn computed(&mut self) -> Vec<Ticks> {
        Vec::new()
    }
}

#[test]
fn a_step_has_as_many_loops_as_it_says() {
    let mut solver = Solver::new(4, 4, Physics::heated(1000.0, 1.0)).unwrap();
    let mut crew = Counting(0);
    solver.step(&mut crew, 1e-4);
    assert_eq!(crew.0, LOOPS_PER_STEP);
}

/// The growth rate of the mode m = n = 1: the larger root of (s + Pr K^2)(s + K^2) = Ra Pr k^2 / K^2.
fn growth_rate(rayleigh: f64, prandtl: f64) -> f64 {
    let k2 = PI * PI / 2.0;
    let square = k2 + PI * PI;
    let middle = (prandtl + 1.0) * square / 2.0;
    (middle * middle - prandtl * (square * square - rayleigh * k2 / square)).sqrt() - middle
}

#[test]
fn disturbances_grow_and_decay_at_the_rate_of_linear_theory() {
    assert!((Physics::critical_rayleigh() - 657.51).abs() < 0.01);
    assert!(growth_rate(Physics::critical_rayleigh(), 0.71).abs() < 1e-12);
    for (times, prandtl) in [(0.5, 0.71), (0.95, 7.0), (1.05, 7.0), (3.0, 0.71)] {
        let rayleigh = times * Physics::critical_rayleigh();
        let rate = growth_rate(rayleigh, prandtl);
        assert_eq!(rate > 0.0, times > 1.0);
        let mut solver = Solver::new(4, 5, Physics::heated(rayleigh, prandtl)).unwrap();
        let (k, square) = (PI / 2f64.sqrt(), 1.5 * PI * PI);
        solver.now.theta[1] = 1e-9;
        solver.now.psi[1] = 1e-9 * (rate + square) / k;
        let (dt, steps) = (2e-4, 1000);
        for _ in 0..steps {
            solver.step(&mut Alone, dt);
        }
        let seen = (solver.now.theta[1] / 1e-9).ln() / (dt * f64::from(steps));
        assert!((seen - rate).abs() < 1e-6 * rate.abs(), "Ra {rayleigh}, Pr {prandtl}: {seen} for {rate}");
    }
}

/// The three amplitudes of Lorenz (1963), before he scaled them, one Runge-Kutta step ahead.
fn lorenz_step(y: [f64; 3], rayleigh: f64, prandtl: f64, dt: f64) -> [f64; 3] {
    let k = PI / 2f64.sqrt();
    let square = k * k + PI * PI;
    let slope = |[a, b, c]: [f64; 3]| {
        [
            -prandtl * square * a + rayleigh * prandtl * k / square * b,
            k * a - square * b + PI * k * a * c,
            -4.0 * PI * PI * c - 0.5 * PI * k * a * b,
        ]
    };
    let ahead = |by: f64, s: [f64; 3]| [0, 1, 2].map(|i| y[i] + by * s[i]);
    let s1 = slope(y);
    let s2 = slope(ahead(dt / 2.0, s1));
    let s3 = slope(ahead(dt / 2.0, s2));
    let s4 = slope(ahead(dt, s3));
    [0, 1, 2].map(|i| y[i] + dt / 6.0 * (s1[i] + 2.0 * s2[i] + 2.0 * s3[i] + s4[i]))
}

#[test]
fn the_smallest_truncation_is_lorenz_and_finds_his_steady_rolls() {
    let (ratio, prandtl) = (10.0, 10.0);
    let rayleigh = ratio * Physics::critical_rayleigh();
    let mut solver = Solver::new(2, 2, Physics::heated(rayleigh, prandtl)).unwrap();
    // psi(1, 1), theta(1, 1) and theta(m = 0, n = 2); the modes stand by n, then m.
    let mut known = [0.3, 0.1, -0.02];
    (solver.now.psi[1], solver.now.theta[1], solver.now.theta[2]) = (known[0], known[1], known[2]);
    let dt = 2e-4;
    for step in 0..20_000 {
        solver.step(&mut Alone, dt);
        known = lorenz_step(known, rayleigh, prandtl, dt);
        if step == 300 {
            let [a, b, c] = known;
            let apart = [solver.now.psi[1] - a, solver.now.theta[1] - b, solver.now.theta[2] - c];
            assert!(apart.iter().all(|apart| apart.abs() < 1e-10), "{apart:?} from {known:?}");
            assert!(
                [solver.now.psi[3], solver.now.theta[0], solver.now.theta[3]].iter().all(|x| x.abs() < 1e-12)
            );
        }
    }
    // Nu = 1 + 2 Z / r with Z = r - 1; heat flows through the plate by - d theta / dz = - 2 pi theta(0, 2).
    let nusselt = 1.0 - 2.0 * PI * solver.now.theta[2];
    assert!((nusselt - (3.0 - 2.0 / ratio)).abs() < 1e-9, "{nusselt}");
}

/// Relative change of the energy over the same time in this many steps.
fn drift(steps: u32) -> f64 {
    let mut solver = Solver::new(6, 7, Physics::waves(1.0)).unwrap();
    solver.stir(3.0);
    let before = solver.energy();
    for _ in 0..steps {
        solver.step(&mut Alone, 2.0 / f64::from(steps));
    }
    (solver.energy() / before - 1.0).abs()
}

#[test]
fn without_diffusion_energy_changes_by_the_time_steps_error_alone() {
    let drifts = [drift(50), drift(100), drift(200)];
    // The method's order is 4.
    assert!(drifts[0] > 12.0 * drifts[1] && drifts[1] > 12.0 * drifts[2], "{drifts:?}");
    assert!(drifts[2] < 1e-6 && drifts[0] > 1e-12, "{drifts:?}");
}

#[test]
fn the_waves_are_not_linear() {
    let shape = |amplitude: f64| {
        let mut solver = Solver::new(6, 7, Physics::waves(1.0)).unwrap();
        solver.stir(amplitude);
        for _ in 0..100 {
            solver.step(&mut Alone, 0.01);
        }
        solver.now.theta[8] / amplitude
    };
    assert!((shape(3.0) / shape(1e-6) - 1.0).abs() > 0.01, "{} {}", shape(3.0), shape(1e-6));
}
