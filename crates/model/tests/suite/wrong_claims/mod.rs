//! Wrong claims about the machines of the published matrices are found, and true ones left alone.

mod machines;

use coho_model::measured::measured;
use coho_model::{Matrix, audit, coherence_from_matrix};
use machines::{HYBRID, MACHINES, Machine, Place, claimed, wrong_claims};

fn matrix(machine: &Machine) -> Matrix {
    let file = coho_testing::data(&format!("matrices/{}.csv", machine.matrix));
    Matrix::parse(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn all() -> impl Iterator<Item = &'static Machine> {
    MACHINES.iter().chain([&HYBRID])
}

/// Whether times could never contradict a wrong claim: of pairs that share an L2 nobody can tell that they are no threads,
/// and CPUs that are all alike may be in one package or each in its own. Where the line's home shows, nothing is said of
/// packages, and of a hybrid machine the halves of an L3 are different kinds of cores.
fn is_beyond_times(machine: &Machine, name: &str) -> bool {
    let is_one_of = |parts: &[&str]| parts.iter().any(|part| machine.matrix.contains(part));
    match name {
        "invented threads" => is_one_of(&["FX-8300", "Q9550"]),
        "own packages" => is_one_of(&["E5-2697v3", "Graviton3", "3B4000"]),
        "halved L3s" => is_one_of(&["i9-12900K", "3B4000"]),
        _ => is_one_of(&["3B4000"]),
    }
}

fn contradicted(matrix: &Matrix, places: &[Place]) -> Vec<String> {
    let found = audit(&claimed(places), &coherence_from_matrix(matrix));
    found.into_iter().map(|one| format!("{}; {}", one.claim, one.figures)).collect()
}

#[test]
fn wrong_claims_are_found() {
    let (mut tried, mut missed) = (0, Vec::new());
    for machine in all().filter(|machine| machine.tells) {
        let matrix = matrix(machine);
        let truth = machine.places(matrix.len() as u32);
        for (name, places) in wrong_claims(&truth) {
            if is_beyond_times(machine, name) {
                continue;
            }
            tried += 1;
            let found = contradicted(&matrix, &places);
            if std::env::var_os("SHOW_CLAIMS").is_some() {
                eprintln!("{}: {name}:\n    {}", machine.matrix, found.join("\n    "));
            }
            if found.is_empty() {
                missed.push(format!("{}: {name}", machine.matrix));
            }
        }
    }
    eprintln!("{} of {tried} wrong claims found; missed: {missed:#?}", tried - missed.len());
    assert!(tried > 100 && 20 * missed.len() <= tried, "{} of {tried}: {missed:#?}", missed.len());
}

#[test]
fn true_claims_are_left_alone() {
    let mut wrong = Vec::new();
    for machine in all() {
        let matrix = matrix(machine);
        let truth = machine.places(matrix.len() as u32);
        wrong.extend(
            contradicted(&matrix, &truth).into_iter().map(|one| format!("{}: {one}", machine.matrix)),
        );
        let measured = measured(&claimed(&truth), &coherence_from_matrix(&matrix)).unwrap();
        wrong.extend(measured.corrections.iter().map(|one| format!("{}: {one:?}", machine.matrix)));
    }
    assert!(wrong.is_empty(), "{} false alarms: {wrong:#?}", wrong.len());
}

/// Also of figures that are a little off, rounded, in one direction only, or of CPUs in another order.
#[test]
fn true_claims_are_left_alone_whatever_disturbs_the_figures() {
    let mut rng = fastrand::Rng::with_seed(31);
    let mut wrong = Vec::new();
    for machine in all() {
        let matrix = matrix(machine);
        let truth = machine.places(matrix.len() as u32);
        let n = matrix.len();
        if n > 64 {
            continue;
        }
        for how in ["noise", "rounded", "one direction", "scaled", "other order"] {
            let mut order: Vec<usize> = (0..n).collect();
            if how == "other order" {
                rng.shuffle(&mut order);
            }
            let mut cell = |at: usize| {
                let (row, column) = (at / n, at % n);
                let ns = matrix.directed(order[row], order[column]).unwrap_or(f64::NAN);
                match how {
                    "noise" => ns * (1.0 + 0.02 * (rng.f64() - 0.5)),
                    "rounded" => ns.round(),
                    "one direction" if row < column => f64::NAN,
                    "scaled" => ns * 3.7,
                    _ => ns,
                }
            };
            let disturbed =
                Matrix::new((0..n as u32).collect(), (0..n * n).map(&mut cell).collect()).unwrap();
            let places: Vec<Place> = order.iter().map(|&cpu| truth[cpu]).collect();
            let found = contradicted(&disturbed, &places);
            wrong.extend(found.into_iter().map(|one| format!("{}, {how}: {one}", machine.matrix)));
        }
    }
    assert!(wrong.is_empty(), "{} false alarms: {wrong:#?}", wrong.len());
}
