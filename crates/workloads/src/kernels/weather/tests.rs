use super::super::crew::Alone;
use super::*;

fn plane(parameters: Parameters) -> Plane {
    Plane::new(parameters, &mut Alone).unwrap()
}

/// Relative changes of mass and energy over three hours in steps of this many seconds.
fn drifts(dt: f64) -> [f64; 2] {
    let mut plane = plane(Parameters::middle_latitudes(24, 32));
    plane.set_jets();
    let (mass, energy) = (plane.mass(), plane.energy());
    plane.run(&mut Alone, dt, (10_800.0 / dt) as u64);
    [(plane.mass() / mass - 1.0).abs(), (plane.energy() / energy - 1.0).abs()]
}

#[test]
fn mass_is_kept_to_rounding_and_energy_to_the_time_steps_error() {
    let drifts = [120.0, 60.0, 30.0].map(drifts);
    assert!(drifts.iter().all(|drift| drift[0] < 1e-13), "{drifts:?}");
    let energy = drifts.map(|drift| drift[1]);
    // The method's order is 4.
    assert!(energy[0] > 12.0 * energy[1] && energy[1] > 12.0 * energy[2], "{energy:?}");
    assert!(energy[1] < 1e-5 && energy[0] > 1e-13, "{energy:?}");
}

/// Largest departure of a gravity wave from the known one, over its amplitude, after it has gone once about.
fn wave_error(eastward: bool) -> f64 {
    let (n, depth, height) = (32, 100.0, 1e-6);
    let (columns, rows) = if eastward { (n, 6) } else { (6, n) };
    let parameters = Parameters { coriolis: 0.0, ..Parameters::middle_latitudes(rows, columns) };
    // The scheme's differences see the wave number 2 sin(k dx / 2) / dx; with it the shallow-water phase speed holds.
    let seen = 2.0 * (TAU / n as f64 / 2.0).sin() / parameters.dx;
    let speed = (parameters.gravity * depth).sqrt();
    let wave = |phase: f64| {
        move |x: f64, y: f64| {
            let crest = (TAU * if eastward { x } else { y } - phase).cos();
            let flow = height * (parameters.gravity / depth).sqrt() * crest;
            let (u, v) = if eastward { (flow, 0.0) } else { (0.0, flow) };
            [u, v, depth + height * crest]
        }
    };
    let mut plane = plane(parameters);
    plane.set(wave(0.0));
    let steps = 400u32;
    plane.run(&mut Alone, TAU / (seen * speed) / f64::from(steps), u64::from(steps));
    let mut known = self::plane(parameters);
    known.set(wave(TAU));
    let apart = plane.state().iter().zip(known.state()).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f64::max) / height
}

#[test]
fn gravity_waves_have_the_phase_speed_of_the_theory() {
    for eastward in [true, false] {
        let error = wave_error(eastward);
        assert!(error < 1e-5, "{error}");
    }
}

/// How far balanced jets have moved after an hour, relative to their speed, on this many rows of a plane of 1280 km.
fn unrest(rows: usize) -> f64 {
    let square = Parameters::middle_latitudes(rows, 8);
    let parameters = Parameters { dy: 1280e3 / rows as f64, ..square };
    let slope = parameters.coriolis * 20.0 * 1280e3 / (TAU * parameters.gravity);
    let mut plane = plane(parameters);
    plane.set(|_, y| [20.0 * (TAU * y).sin(), 0.0, 1000.0 + slope * (TAU * y).cos()]);
    let before: Vec<_> = plane.states().flat_map(|row| [row.u, row.v].concat()).collect();
    plane.run(&mut Alone, 30.0, 120);
    let after = plane.states().flat_map(|row| [row.u, row.v].concat());
    before.iter().zip(after).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / 20.0
}

#[test]
fn balanced_jets_stay_as_steady_as_the_cells_are_small() {
    let unrest = [16, 32, 64].map(unrest);
    // The scheme's order is 2.
    for pair in unrest.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.8..2.3).contains(&order), "{unrest:?}");
    }
    assert!(unrest[2] < 1e-3, "{unrest:?}");
}

#[test]
fn a_plane_at_rest_stays_at_rest() {
    let mut plane = plane(Parameters::middle_latitudes(5, 9));
    plane.set(|_, _| [0.0, 0.0, 1000.0]);
    let before = plane.state().to_vec();
    plane.run(&mut Alone, 60.0, 20);
    assert_eq!(plane.state(), before);
}
