//! Times between CPUs, all against all.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{Coherence, Home, Pair, PairMethod};

use crate::Error;

/// The most CPUs that a matrix may have.
pub const MAX_CPUS: usize = 4096;

/// Directions that differ by no more than this ratio count as one time.
const UNEVEN: f64 = 1.1;

/// A pair whose directions differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Uneven {
    /// The CPUs of the pair.
    pub cpus: [u32; 2],
    /// The cell in the first one's row and the cell in the second one's, in ns.
    pub ns: [f64; 2],
    ratio: f64,
}

/// The time that each CPU needs to take a line over from each other CPU, in ns. Cells may be missing, and the two
/// directions of a pair may differ.
///
/// ```
/// let matrix = coho_model::Matrix::parse(",25.0,90.1\n25.2,,\n90.3,91.0,\n")?;
/// assert_eq!(matrix.cpus(), [0, 1, 2]);
/// assert_eq!(matrix.between(0, 1), Some(25.1));
/// assert_eq!(matrix.directed(1, 2), None);
/// assert_eq!(matrix.between(1, 2), Some(91.0));
/// # Ok::<(), coho_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    cpus: Vec<u32>,
    /// Row by row; anything that is not a time (NaN, infinite, negative) is a missing cell.
    ns: Vec<f64>,
}

impl Matrix {
    /// A matrix from its rows, one after the other, in ns. Cells that are not a time (NaN, infinite, negative)
    /// count as missing, and so does the diagonal.
    ///
    /// # Errors
    /// If there are more than [`MAX_CPUS`] CPUs, one is named twice, or `ns` does not hold their number squared.
    pub fn new(cpus: Vec<u32>, ns: Vec<f64>) -> Result<Self, Error> {
        let n = cpus.len();
        if n > MAX_CPUS {
            return Err(Error::new(format!("{n} CPUs; a matrix may have {MAX_CPUS}")));
        }
        if ns.len() != n * n {
            return Err(Error::new(format!("{} times for {n} CPUs, expected {}", ns.len(), n * n)));
        }
        let mut seen = BTreeSet::new();
        match cpus.iter().find(|&&cpu| !seen.insert(cpu)) {
            Some(cpu) => Err(Error::new(format!("CPU {cpu} is named twice"))),
            None => Ok(Self { cpus, ns }),
        }
    }

    /// The pairs measured in one way, as a matrix over the CPUs that they name; `None` if there are none. A pair
    /// measured several times gets the median of the last measurement.
    pub fn from_pairs(pairs: &[Pair], method: PairMethod, home: Home) -> Option<Self> {
        let chosen = || pairs.iter().filter(|pair| pair.method == method && pair.home == home);
        let names: BTreeSet<u32> = chosen().flat_map(|pair| [pair.a, pair.b]).collect();
        if names.is_empty() || names.len() > MAX_CPUS {
            return None;
        }
        let index: BTreeMap<u32, usize> = names.iter().enumerate().map(|(at, &cpu)| (cpu, at)).collect();
        let n = names.len();
        let mut ns = vec![f64::NAN; n * n];
        for pair in chosen() {
            let (a, b) = (index[&pair.a], index[&pair.b]);
            ns[a * n + b] = pair.ns.median;
            ns[b * n + a] = pair.ns.median;
        }
        Self::new(names.into_iter().collect(), ns).ok()
    }

    /// The times of a section's pairs as a matrix; `None` if it has none. Prefers strict alternation, and lines
    /// at home with the first CPU.
    pub fn of(coherence: &Coherence) -> Option<Self> {
        if let Some(times) = &coherence.matrix {
            let n = times.cpus();
            let mut ns = vec![f64::NAN; n * n];
            for (a, b, time) in times.pairs() {
                ns[a * n + b] = time;
                ns[b * n + a] = time;
            }
            return Self::new(coherence.cpus.clone(), ns).ok();
        }
        let (method, home) = Self::best_method(&coherence.pairs)?;
        Self::from_pairs(&coherence.pairs, method, home)
    }

    /// How the pairs that show distances best were measured: preferably by strict alternation, and on lines at
    /// home with the first CPU.
    pub fn best_method(pairs: &[Pair]) -> Option<(PairMethod, Home)> {
        let methods = [PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning, PairMethod::Unknown];
        let homes = [Home::A, Home::B, Home::Third, Home::Unknown];
        let there: BTreeSet<_> = pairs.iter().map(|pair| (pair.method, pair.home)).collect();
        methods
            .into_iter()
            .flat_map(|method| homes.map(|home| (method, home)))
            .find(|how| there.contains(how))
    }

    /// Writes the times of both directions of all pairs as core-to-core-latency does: one row per CPU, in ns,
    /// with nothing on the diagonal and where there is no figure, and no line of labels. Reading them again gives
    /// the same times.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write_csv(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        for row in 0..self.len() {
            for column in 0..self.len() {
                let separator = if column == 0 { "" } else { "," };
                match self.directed(row, column).or_else(|| self.directed(column, row)) {
                    Some(ns) => write!(out, "{separator}{}", decimal(ns))?,
                    None => write!(out, "{separator}")?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// The cells row by row, as they were given.
    pub(crate) fn into_cells(self) -> Vec<f64> {
        self.ns
    }

    /// The operating system's numbers of the CPUs, in the order of rows and columns.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether there are no CPUs.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// The cell of a row and a column, in ns, if there is a figure.
    ///
    /// # Panics
    /// If an index is not below [`Matrix::len`].
    pub fn directed(&self, row: usize, column: usize) -> Option<f64> {
        let n = self.len();
        assert!(row < n && column < n, "cell ({row}, {column}) of a matrix of {n} CPUs");
        let ns = self.ns[row * n + column];
        // Without the sign that a 0 may have.
        (row != column && ns.is_finite() && ns >= 0.0).then_some(ns.abs())
    }

    /// The time of a pair, in ns: the mean of its two directions, or the only one there is. A 0, which is below the clock's
    /// step, gives way to another time.
    ///
    /// # Panics
    /// If an index is not below [`Matrix::len`].
    pub fn between(&self, a: usize, b: usize) -> Option<f64> {
        match (self.directed(a, b), self.directed(b, a)) {
            (Some(there), Some(back)) if there == 0.0 || back == 0.0 => Some(there + back),
            // Halved before adding, so that two huge cells do not become infinite.
            (Some(there), Some(back)) if there != back => Some(there / 2.0 + back / 2.0),
            (there, back) => there.or(back),
        }
    }

    /// Pairs whose directions differ by more than a tenth, for which [`between`](Self::between) is a mean of two unlike
    /// times: how many, and the one whose directions differ most.
    pub fn uneven(&self) -> Option<(usize, Uneven)> {
        let n = self.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let uneven = pairs.filter_map(|(a, b)| {
            let ns @ [there, back] = [self.directed(a, b)?, self.directed(b, a)?];
            let ratio = (there / back).max(back / there);
            let is_mean = there > 0.0 && back > 0.0;
            (is_mean && ratio > UNEVEN).then(|| Uneven { cpus: [self.cpus[a], self.cpus[b]], ns, ratio })
        });
        let most = |(n, most): (usize, Option<Uneven>), one: Uneven| {
            (n + 1, most.filter(|most| most.ratio >= one.ratio).or(Some(one)))
        };
        let (n, most) = uneven.fold((0, None), most);
        Some((n, most?))
    }

    /// Every pair with a figure: indices, the smaller first, and ns.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let n = self.len();
        (0..n).flat_map(move |a| (a + 1..n).filter_map(move |b| Some((a, b, self.between(a, b)?))))
    }
}

/// A time with three decimals, as core-to-core-latency writes it, if they are exact; otherwise with the fewest digits
/// that are, and an exponent where it is far from any measured time. Never a whole number, which might be a CPU's.
fn decimal(ns: f64) -> String {
    let usual = if ns < 1e9 { format!("{ns:.3}") } else { String::new() };
    if usual.parse() == Ok(ns) { usual } else { format!("{ns:?}") }
}

#[cfg(test)]
mod tests {
    use coho_profile::Estimate;

    use super::*;

    fn pair(a: u32, b: u32, home: Home, ns: f64) -> Pair {
        Pair::new(a, b, PairMethod::Turn, home, Estimate::exact(ns))
    }

    #[test]
    fn pairs_of_one_method_and_home_become_a_matrix() {
        let pairs = [pair(3, 9, Home::A, 25.0), pair(3, 9, Home::B, 80.0), pair(4, 9, Home::A, 30.0)];
        let matrix = Matrix::from_pairs(&pairs, PairMethod::Turn, Home::A).unwrap();
        assert_eq!(matrix.cpus(), [3, 4, 9]);
        assert_eq!((matrix.between(0, 2), matrix.between(2, 0)), (Some(25.0), Some(25.0)));
        assert_eq!(matrix.between(0, 1), None);
        assert_eq!(Matrix::from_pairs(&pairs, PairMethod::Flags, Home::A), None);
    }

    #[test]
    fn a_matrix_is_written_as_core_to_core_latency_does() {
        let ns = vec![5.0, 25.04, f64::NAN, 25.0, 5.0, 91.1239, f64::NAN, f64::NAN, 5.0];
        let matrix = Matrix::new(vec![0, 1, 2], ns).unwrap();
        let mut written = Vec::new();
        matrix.write_csv(&mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert_eq!(text, ",25.040,\n25.000,,91.1239\n,91.1239,\n");
        assert_eq!(Matrix::parse(&text).unwrap().between(0, 1), Some(25.02));
    }

    #[test]
    fn odd_times_are_written_in_short() {
        for (ns, text) in [(-0.0, "0.000"), (1e300, "1e300"), (1e-9, "1e-9"), (1e12, "1000000000000.0")] {
            assert_eq!(decimal(Matrix::new(vec![0, 1], vec![ns; 4]).unwrap().between(0, 1).unwrap()), text);
        }
        assert_eq!(decimal(0.1 + 0.2), "0.30000000000000004");
    }

    #[test]
    fn what_is_no_time_is_missing() {
        let ns = vec![5.0, f64::INFINITY, -1.0, f64::NAN, 5.0, 0.0, f64::MAX, f64::MAX, 5.0];
        let matrix = Matrix::new(vec![0, 1, 2], ns).unwrap();
        assert_eq!(matrix.directed(0, 0), None);
        assert_eq!(matrix.between(0, 1), None);
        assert_eq!(matrix.between(0, 2), Some(f64::MAX));
        assert_eq!(matrix.between(1, 2), Some(f64::MAX), "a 0 gives way");
        let huge = Matrix::new(vec![0, 1], vec![0.0, f64::MAX, f64::MAX / 2.0, 0.0]).unwrap();
        assert_eq!(huge.between(0, 1), Some(f64::MAX / 2.0 + f64::MAX / 4.0));
    }

    #[test]
    fn a_matrix_is_square_and_names_its_cpus_once() {
        assert!(Matrix::new(vec![0, 1], vec![0.0; 3]).is_err());
        assert!(Matrix::new(vec![0, 0], vec![0.0; 4]).is_err());
    }
}
