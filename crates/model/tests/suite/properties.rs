//! What holds of any matrix.

use coho_model::Verdict;
use coho_model::{Classification, MAX_CPUS, Matrix, audit, classify, coherence_from_matrix};
use coho_topology::Topology;
use proptest::prelude::*;

/// Any cells: times, zeros, and what is no time.
fn cell() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => 1.0..500.0f64,
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(1e300), (1u32..500).prop_map(f64::from)],
        1 => Just(f64::NAN),
        1 => prop_oneof![Just(f64::INFINITY), Just(-3.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), any::<f64>()],
    ]
}

fn any_matrix() -> impl Strategy<Value = Matrix> {
    (0usize..12).prop_flat_map(|n| {
        prop::collection::vec(cell(), n * n)
            .prop_map(move |ns| Matrix::new((0..n as u32).collect(), ns).unwrap())
    })
}

/// Two levels, with a little noise that makes every time another.
fn two_levels() -> impl Strategy<Value = Matrix> {
    (2usize..4, 2usize..4, 2usize..4, prop::collection::vec(0.0..0.05f64, 27 * 27)).prop_map(
        |(a, b, c, noise)| {
            let n = a * b * c;
            let near = |i: usize, j: usize| {
                if i / c == j / c {
                    8.0
                } else if i / (b * c) == j / (b * c) {
                    21.0
                } else {
                    90.0
                }
            };
            let ns = (0..n * n).map(|at| near(at / n, at % n) * (1.0 + noise[at])).collect();
            Matrix::new((0..n as u32).collect(), ns).unwrap()
        },
    )
}

fn groups(found: &Classification) -> Vec<Vec<Vec<u32>>> {
    found.levels.iter().map(|level| level.groups.clone()).collect()
}

/// The matrix with rows and columns in another order, and each cell changed.
fn changed(matrix: &Matrix, order: &[usize], cell: impl Fn(f64) -> f64) -> Matrix {
    let n = matrix.len();
    let cells = (0..n * n).map(|at| matrix.directed(order[at / n], order[at % n]).map_or(f64::NAN, &cell));
    Matrix::new(order.iter().map(|&cpu| matrix.cpus()[cpu]).collect(), cells.collect()).unwrap()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(matrix in any_matrix()) {
        let pairs: Vec<_> = matrix.pairs().collect();
        prop_assume!(!pairs.is_empty());
        let mut written = Vec::new();
        matrix.write_csv(&mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        prop_assert!(text.split([',', '\n']).all(|cell| cell.len() < 32 && !cell.starts_with('-')), "{}", text);
        let read = Matrix::parse(&text).unwrap();
        prop_assert_eq!(read.pairs().collect::<Vec<_>>(), pairs);
        prop_assert_eq!(read.cpus(), matrix.cpus());
    }

    #[test]
    fn any_matrix_has_an_answer(matrix in any_matrix()) {
        let found = classify(&matrix);
        let n = matrix.len();
        for level in &found.levels {
            let mut cpus: Vec<u32> = level.groups.iter().flatten().copied().collect();
            cpus.sort_unstable();
            prop_assert_eq!(&cpus, matrix.cpus());
            prop_assert!(level.groups.len() > 1 && level.groups.len() < n);
        }
        prop_assert!(found.levels.windows(2).all(|pair| pair[0].groups.len() > pair[1].groups.len()));
        prop_assert_eq!(found.verdict == Verdict::Flat, found.levels.is_empty() && found.verdict != Verdict::HomeBiased);
        let _ = audit(&Topology::default(), &coherence_from_matrix(&matrix));
    }

    #[test]
    fn the_order_of_cpus_does_not_matter(
        matrix in two_levels(),
        keys in prop::collection::vec(any::<u32>(), 27),
    ) {
        let mut order: Vec<usize> = (0..matrix.len()).collect();
        order.sort_by_key(|&cpu| keys[cpu]);
        let found = classify(&matrix);
        prop_assert_eq!(found.levels.len(), 2);
        prop_assert_eq!(groups(&classify(&changed(&matrix, &order, |ns| ns))), groups(&found));
    }

    #[test]
    fn the_unit_does_not_matter(matrix in any_matrix(), power in -20i32..20) {
        // A power of two keeps every digit, as long as no cell leaves the range of numbers.
        prop_assume!(matrix.pairs().all(|(_, _, ns)| ns == 0.0 || (1e-200..1e200).contains(&ns)));
        let order: Vec<usize> = (0..matrix.len()).collect();
        let scaled = classify(&changed(&matrix, &order, |ns| ns * f64::from(power).exp2()));
        let found = classify(&matrix);
        prop_assert_eq!(groups(&scaled), groups(&found));
        prop_assert_eq!(scaled.verdict, found.verdict);
    }
}

#[test]
fn the_smallest_matrices_are_flat() {
    for (n, classes) in [(0, 0), (1, 0), (2, 1)] {
        let found = classify(&Matrix::new((0..n).collect(), vec![25.0; (n * n) as usize]).unwrap());
        assert_eq!(
            (found.verdict, found.levels.len(), found.classes.len()),
            (Verdict::Flat, 0, classes),
            "{n}"
        );
    }
    let found = classify(&Matrix::new(vec![0, 1, 2, 3], vec![0.0; 16]).unwrap());
    assert_eq!((found.verdict, found.classes.len()), (Verdict::Flat, 0));
    assert!(found.notes[0].contains("every time is 0"), "{:?}", found.notes);
}

/// Sockets of 16 cores of 8 threads. `make soak` tries the largest matrix.
#[test]
fn many_cpus() {
    let unit = |cpu: usize, size: usize| cpu / size;
    let near = |a: usize, b: usize| match (unit(a, 8) == unit(b, 8), unit(a, 128) == unit(b, 128)) {
        (true, _) => 9.0,
        (_, true) => 40.0,
        _ => 160.0,
    };
    let largest = if coho_testing::soak_seconds().is_some() { MAX_CPUS } else { 1024 };
    for n in [512, largest] {
        let mut rng = fastrand::Rng::with_seed(3);
        let ns = (0..n * n).map(|at| near(at / n, at % n) * (1.0 + 0.1 * rng.f64())).collect();
        let matrix = Matrix::new((0..n as u32).collect(), ns).unwrap();
        let start = std::time::Instant::now();
        let found = classify(&matrix);
        eprintln!("{n} CPUs: {:.2?}", start.elapsed());
        let sizes: Vec<usize> = found.levels.iter().map(|level| level.groups.len()).collect();
        assert_eq!(sizes, [n / 8, n / 128]);
    }
}
