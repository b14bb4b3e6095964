//! The figures of a matrix, prepared for comparison.

use crate::Matrix;

/// The time of each pair of CPUs in ns, all positive; NaN where there is no figure. A 0 is less than a step of the clock:
/// nearer than any other time, but nobody knows how near, so it stands as half of the least.
pub(super) struct Times {
    n: usize,
    /// The triangle above the diagonal, row by row.
    ns: Vec<f64>,
    /// How many pairs have no figure, not even 0.
    pub(super) missing: usize,
    /// How many pairs have the time 0.
    pub(super) zeros: usize,
    /// What stands for 0; NaN if every time is 0, so that none can be compared.
    below_step: f64,
}

impl Times {
    pub(super) fn new(matrix: &Matrix) -> Self {
        let n = matrix.len();
        let ns = vec![f64::NAN; n * n.saturating_sub(1) / 2];
        let mut times = Self { n, ns, missing: 0, zeros: 0, below_step: f64::NAN };
        let mut least = f64::INFINITY;
        for (a, b, ns) in matrix.pairs() {
            let at = times.at(a, b);
            times.ns[at] = ns;
            if ns > 0.0 {
                least = least.min(ns);
            }
        }
        // Not of a time so small that its half is 0.
        let half = least / 2.0;
        times.below_step = if half.is_finite() && half > 0.0 { half } else { f64::NAN };
        for ns in &mut times.ns {
            if ns.is_nan() {
                times.missing += 1;
            } else if *ns == 0.0 {
                times.zeros += 1;
                *ns = times.below_step;
            }
        }
        times
    }

    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// Whether most pairs have no time: some were chosen to stand for all.
    pub(super) fn is_sample(&self) -> bool {
        2 * self.missing > self.ns.len()
    }

    fn at(&self, a: usize, b: usize) -> usize {
        let (a, b) = (a.min(b), a.max(b));
        a * (2 * self.n - a - 1) / 2 + b - a - 1
    }

    /// The time of two different CPUs, if there is a figure.
    pub(super) fn get(&self, a: usize, b: usize) -> Option<f64> {
        let ns = self.ns[self.at(a, b)];
        (!ns.is_nan()).then_some(ns)
    }

    /// The times between the members of two groups.
    pub(super) fn across<'a>(&'a self, g: &'a [usize], h: &'a [usize]) -> impl Iterator<Item = f64> + 'a {
        g.iter().flat_map(move |&a| h.iter().filter_map(move |&b| self.get(a, b)))
    }

    /// The times between the members of a group.
    pub(super) fn inside<'a>(&'a self, g: &'a [usize]) -> impl Iterator<Item = f64> + 'a {
        g.iter().enumerate().flat_map(move |(at, &a)| g[at + 1..].iter().filter_map(move |&b| self.get(a, b)))
    }

    /// Every pair with a figure: indices, the smaller first, and ns.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (0..self.n).flat_map(move |a| (a + 1..self.n).filter_map(move |b| Some((a, b, self.get(a, b)?))))
    }

    /// Every figure, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = f64> + '_ {
        self.ns.iter().copied().filter(|ns| !ns.is_nan())
    }

    /// Whether a time was measured: it does not stand for 0.
    pub(super) fn is_measured(&self, ns: f64) -> bool {
        ns != self.below_step
    }

    /// The triangle above the diagonal as logarithms, in which a ratio is a distance; missing ones infinite.
    pub(super) fn logarithms(&self) -> Vec<f64> {
        self.ns.iter().map(|ns| if ns.is_nan() { f64::INFINITY } else { ns.ln() }).collect()
    }
}
