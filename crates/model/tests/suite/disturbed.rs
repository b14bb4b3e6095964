//! What the published matrices show holds if the figures are a little off, rounded, or the CPUs numbered otherwise; and it
//! is no accident: the same figures in any other order show nothing.

use coho_model::{Classification, Matrix, Verdict, classify};
use fastrand::Rng;

fn matrices() -> Vec<(String, Matrix)> {
    let mut names = coho_testing::file_names(&coho_testing::data("matrices"));
    names.retain(|name| name.ends_with(".csv"));
    let read = |name: String| {
        let text = std::fs::read_to_string(coho_testing::data("matrices").join(&name)).unwrap();
        let matrix = Matrix::parse(&text).unwrap();
        (name, matrix)
    };
    // Larger ones take long.
    names.into_iter().map(read).filter(|(_, matrix)| matrix.len() <= 64).collect()
}

fn shown(found: &Classification) -> (Verdict, Vec<Vec<Vec<u32>>>) {
    (found.verdict, found.levels.iter().map(|level| level.groups.clone()).collect())
}

/// The matrix with rows and columns in another order, each CPU with its number, and each cell changed.
fn changed(matrix: &Matrix, order: &[usize], mut cell: impl FnMut(usize, usize, f64) -> f64) -> Matrix {
    let n = matrix.len();
    let cells = (0..n * n).map(|at| {
        let ns = matrix.directed(order[at / n], order[at % n]);
        ns.map_or(f64::NAN, |ns| cell(at / n, at % n, ns))
    });
    Matrix::new(order.iter().map(|&cpu| matrix.cpus()[cpu]).collect(), cells.collect()).unwrap()
}

#[test]
fn what_a_matrix_shows_holds_however_it_is_disturbed() {
    let mut rng = Rng::with_seed(41);
    let mut wrong = Vec::new();
    for (name, matrix) in matrices() {
        let whole = shown(&classify(&matrix));
        let as_is: Vec<usize> = (0..matrix.len()).collect();
        let mut shuffled = as_is.clone();
        rng.shuffle(&mut shuffled);
        let disturbed = [
            ("other order", changed(&matrix, &shuffled, |_, _, ns| ns)),
            ("scaled", changed(&matrix, &as_is, |_, _, ns| 3.7 * ns)),
            ("rounded", changed(&matrix, &as_is, |_, _, ns| ns.round())),
            (
                "upper half",
                changed(&matrix, &as_is, |row, column, ns| if row < column { ns } else { f64::NAN }),
            ),
            (
                "lower half",
                changed(&matrix, &as_is, |row, column, ns| if row > column { ns } else { f64::NAN }),
            ),
            ("1 % noise", changed(&matrix, &as_is, |_, _, ns| ns * (0.99 + 0.02 * rng.f64()))),
        ];
        for (how, disturbed) in disturbed {
            // Half of a file that has only the other half; and where threads are one step of a coarse clock nearer than
            // cores, and so are other pairs, noise decides.
            let is_none = disturbed.pairs().next().is_none();
            if is_none || how == "1 % noise" && name.contains("7950X") {
                continue;
            }
            let now = shown(&classify(&disturbed));
            if now != whole {
                let sizes = |levels: &[Vec<Vec<u32>>]| -> Vec<Vec<usize>> {
                    levels.iter().map(|groups| groups.iter().map(Vec::len).collect()).collect()
                };
                let (verdict, levels) = (now.0, sizes(&now.1));
                wrong.push(format!(
                    "{name}, {how}: {verdict:?} {levels:?}, not {:?} {:?}",
                    whole.0,
                    sizes(&whole.1)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same times, each between two other CPUs.
#[test]
fn figures_in_any_other_order_show_nothing() {
    let mut rng = Rng::with_seed(43);
    let (mut tried, mut invented) = (0, Vec::new());
    for (name, matrix) in matrices().into_iter().filter(|(_, matrix)| matrix.len() > 4) {
        for _ in 0..5 {
            let n = matrix.len();
            let mut ns: Vec<f64> = matrix.pairs().map(|(.., ns)| ns).collect();
            rng.shuffle(&mut ns);
            let mut cells = vec![f64::NAN; n * n];
            for ((a, b, _), ns) in matrix.pairs().zip(ns) {
                cells[a * n + b] = ns;
            }
            let found = classify(&Matrix::new(matrix.cpus().to_vec(), cells).unwrap());
            tried += 1;
            if !found.levels.is_empty() {
                invented.push(format!("{name}: {:?}", found.levels[0].groups));
            }
        }
    }
    eprintln!("groups in {} of {tried} shuffled matrices", invented.len());
    assert!(tried > 50 && 20 * invented.len() <= tried, "{} of {tried}: {invented:#?}", invented.len());
}
