//! Stage parameters from measured pairs of size and time.

use coho_profile::Ns;

use super::Error;
use super::error::Place;

/// The most pairs that are fitted.
const MAX_PAIRS: usize = 4096;
/// The most straight parts; protocols that change more often are not detected.
const MAX_SEGMENTS: usize = 3;
/// The fewest pairs of a part.
const LEAST_PAIRS: usize = 4;

/// Times that follow one straight line by size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Smallest size, in bytes.
    pub from_bytes: f64,
    /// Largest size, in bytes.
    pub to_bytes: f64,
    /// Time at size 0: gaps and fixed costs together.
    pub fixed: Ns,
    /// Bytes per second; `None` where the time does not grow.
    pub bytes_per_s: Option<f64>,
    /// Root of the mean squared relative error.
    pub error: f64,
}

/// Straight lines fitted to sizes and times.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Straight parts by ascending size: several where a protocol changes.
    pub segments: Vec<Segment>,
    /// Number of pairs that were fitted.
    pub pairs: usize,
}

/// Parses pairs of bytes and ns from CSV: two columns, with or without a header line.
///
/// # Errors
/// With the line, if a cell is not a number above 0; if there are too few pairs, or too many.
pub fn parse_pairs(file: &str, text: &str) -> Result<Vec<(f64, Ns)>, Error> {
    let place = |line: usize| Place { file: file.into(), line };
    let mut pairs = Vec::new();
    let mut first = true;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> =
            line.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"')).collect();
        let [bytes, ns] = cells[..] else {
            let message = format!("{} cells; expected two: bytes, ns", cells.len());
            return Err(place(index + 1).error(message));
        };
        let names = first && bytes.parse::<f64>().is_err() && ns.parse::<f64>().is_err();
        first = false;
        if names {
            continue;
        }
        let number = |cell: &str| match cell.parse::<f64>() {
            Ok(value) if value > 0.0 && value < 1e18 => Ok(value),
            _ => {
                let shown: String = cell.chars().take(24).collect();
                Err(place(index + 1).error(format!("'{shown}' is not a number above 0; expected bytes, ns")))
            }
        };
        if pairs.len() == MAX_PAIRS {
            return Err(place(index + 1).error(format!("more than {MAX_PAIRS} pairs")));
        }
        pairs.push((number(bytes)?, Ns(number(ns)?)));
    }
    if pairs.len() < LEAST_PAIRS {
        let message = format!("{} pairs of bytes and ns; a fit needs at least {LEAST_PAIRS}", pairs.len());
        return Err(Error::of_file(file, message));
    }
    Ok(pairs)
}

/// Fits up to three straight lines, time = fixed + bytes / rate, to pairs of bytes and time. It minimises the squares of
/// the relative errors, and takes more than one line only where the Bayesian information criterion favours that.
///
/// Parts begin at measured sizes; several pairs of one size stay in one part. Needs at least one pair.
pub fn fit(pairs: &[(f64, Ns)]) -> Fit {
    let mut pairs = pairs.to_vec();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sums = vec![Sums::default()];
    for &pair in &pairs {
        let next = sums[sums.len() - 1].with(pair);
        sums.push(next);
    }
    let n = pairs.len();
    let cost = |from: usize, to: usize| sums[to].less(&sums[from]).line().squares;
    // What a part needs: enough pairs, and no size on both sides of a cut.
    let may_cut = |at: usize| at == 0 || at == n || pairs[at - 1].0 < pairs[at].0;
    // best[k][to]: least squares of the first `to` pairs in k + 1 parts, and where the last part begins.
    let mut best: Vec<Vec<(f64, usize)>> = vec![(0..=n).map(|to| (cost(0, to), 0)).collect()];
    for parts in 1..MAX_SEGMENTS.min(n / LEAST_PAIRS) {
        let best_cut = |to: usize| {
            let cuts = (parts * LEAST_PAIRS..=to.saturating_sub(LEAST_PAIRS)).filter(|&cut| may_cut(cut));
            let sums = cuts.map(|cut| (best[parts - 1][cut].0 + cost(cut, to), cut));
            sums.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
        };
        let row = (0..=n).map(best_cut).collect();
        best.push(row);
    }
    // An error below one part in ten thousand counts as none, or exact data would be cut endlessly.
    let criterion = |parts: usize| {
        let mean = (best[parts][n].0 / n as f64).max(1e-8);
        n as f64 * mean.ln() + (3 * (parts + 1) - 1) as f64 * (n as f64).ln()
    };
    let parts = (0..best.len())
        .filter(|&parts| best[parts][n].0.is_finite())
        .min_by(|&a, &b| criterion(a).total_cmp(&criterion(b)))
        .unwrap_or(0);
    let mut segments = Vec::new();
    let mut to = n;
    for parts in (0..=parts).rev() {
        let from = best[parts][to].1;
        let line = sums[to].less(&sums[from]).line();
        segments.push(Segment {
            from_bytes: pairs[from].0,
            to_bytes: pairs[to - 1].0,
            fixed: line.fixed,
            bytes_per_s: (line.per_byte > Ns::ZERO).then(|| Ns::of_s(1.0) / line.per_byte),
            error: (line.squares / (to - from) as f64).max(0.0).sqrt(),
        });
        to = from;
    }
    segments.reverse();
    Fit { segments, pairs: n }
}

/// Sums over pairs, each weighted by the square of its time.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n: f64,
    w: f64,
    wx: f64,
    wxx: f64,
    wy: f64,
    wxy: f64,
}

struct Line {
    fixed: Ns,
    per_byte: Ns,
    squares: f64,
}

impl Sums {
    fn with(self, (x, Ns(y)): (f64, Ns)) -> Self {
        let w = 1.0 / (y * y);
        Self {
            n: self.n + 1.0,
            w: self.w + w,
            wx: self.wx + w * x,
            wxx: self.wxx + w * x * x,
            wy: self.wy + w * y,
            wxy: self.wxy + w * x * y,
        }
    }

    fn less(self, other: &Self) -> Self {
        Self {
            n: self.n - other.n,
            w: self.w - other.w,
            wx: self.wx - other.wx,
            wxx: self.wxx - other.wxx,
            wy: self.wy - other.wy,
            wxy: self.wxy - other.wxy,
        }
    }

    /// The line with the least relative squares whose fixed cost and slope are not negative.
    fn line(self) -> Line {
        let squares = |a: f64, b: f64| {
            let sum = self.n - 2.0 * a * self.wy - 2.0 * b * self.wxy
                + a * a * self.w
                + 2.0 * a * b * self.wx
                + b * b * self.wxx;
            sum.max(0.0)
        };
        let determinant = self.w * self.wxx - self.wx * self.wx;
        let free = (determinant > 1e-12 * self.w * self.wxx).then(|| {
            let fixed = (self.wy * self.wxx - self.wx * self.wxy) / determinant;
            (fixed, (self.w * self.wxy - self.wx * self.wy) / determinant)
        });
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let edges = [(ratio(self.wy, self.w), 0.0), (0.0, ratio(self.wxy, self.wxx))];
        let (fixed, slope) = match free {
            Some((fixed, slope)) if fixed >= 0.0 && slope >= 0.0 => (fixed, slope),
            _ if squares(edges[0].0, 0.0) <= squares(0.0, edges[1].1) => edges[0],
            _ => edges[1],
        };
        Line { fixed: Ns(fixed), per_byte: Ns(slope), squares: squares(fixed, slope) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sizes() -> impl Iterator<Item = f64> {
        (0..25).map(|step| 64.0 * 1.8f64.powi(step))
    }

    #[test]
    fn one_line_is_found_again_through_noise() {
        let mut rng = fastrand::Rng::with_seed(7);
        let noisy = |bytes: f64| (bytes, Ns((500.0 + bytes / 10.0) * (1.0 + 0.02 * (rng.f64() - 0.5))));
        let found = fit(&sizes().map(noisy).collect::<Vec<_>>());
        assert_eq!(found.segments.len(), 1, "{found:?}");
        let line = found.segments[0];
        assert!((line.fixed / Ns(500.0) - 1.0).abs() < 0.03, "{line:?}");
        assert!((line.bytes_per_s.unwrap() / 1e10 - 1.0).abs() < 0.03, "{line:?}");
        assert!(line.error < 0.02);
    }

    #[test]
    fn a_change_of_protocol_parts_the_line() {
        let time = |bytes: f64| if bytes < 10_000.0 { 300.0 + bytes / 4.0 } else { 2500.0 + bytes / 20.0 };
        let found = fit(&sizes().map(|bytes| (bytes, Ns(time(bytes)))).collect::<Vec<_>>());
        assert_eq!(found.segments.len(), 2, "{found:?}");
        let [small, large] = found.segments[..] else { unreachable!() };
        assert!((small.fixed.0 - 300.0).abs() < 1.0 && (large.fixed.0 - 2500.0).abs() < 5.0, "{found:?}");
        assert!(small.to_bytes < 10_000.0 && large.from_bytes >= 10_000.0);
        assert!((large.bytes_per_s.unwrap() / 2e10 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn pairs_are_read_with_or_without_names() {
        let pairs = parse_pairs("t.csv", "bytes,ns\n# run 1\n8;100\n16,120\n32\t130\n64, 150\n").unwrap();
        assert_eq!(pairs, [(8.0, Ns(100.0)), (16.0, Ns(120.0)), (32.0, Ns(130.0)), (64.0, Ns(150.0))]);
        let error = parse_pairs("t.csv", "8,1\n16,-3\n").unwrap_err();
        assert_eq!(error.to_string(), "t.csv, line 2: '-3' is not a number above 0; expected bytes, ns");
        assert!(parse_pairs("t.csv", "8,1\n").unwrap_err().to_string().contains("at least 4"));
        assert_eq!(parse_pairs("t.csv", "8,1,2\n").unwrap_err().line(), Some(1));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_fitted(text in "[0-9.,\n#a-z-]{0,200}") {
            if let Ok(pairs) = parse_pairs("t.csv", &text) {
                let found = fit(&pairs);
                prop_assert!(found.segments.iter().all(|part| part.fixed >= Ns::ZERO && part.error.is_finite()));
            }
        }

        #[test]
        fn exact_lines_come_back(fixed in 0.0f64..1e5, rate in 1e7f64..1e11) {
            let pairs: Vec<_> = sizes().map(|bytes| (bytes, Ns(fixed) + Ns::of_bytes(bytes, rate))).collect();
            let found = fit(&pairs);
            for (bytes, time) in pairs {
                let part = found.segments.iter().rev().find(|part| part.from_bytes <= bytes).unwrap();
                let back = part.fixed + part.bytes_per_s.map_or(Ns::ZERO, |rate| Ns::of_bytes(bytes, rate));
                prop_assert!((back / time - 1.0).abs() < 1e-3, "{bytes} {time:?} {back:?} {found:?}");
            }
        }
    }
}
