//! Stage parameters from measured pairs of size and time.

use coho_profile::Ns;
use serde::Serialize;

use super::{Error, Reason};

/// The most pairs that are fitted.
const MAX_PAIRS: usize = 4096;
/// The most straight parts; protocols that change more often are not detected.
const MAX_SEGMENTS: usize = 3;
/// The fewest pairs of a part.
const LEAST_PAIRS: usize = 4;

/// Times that follow one straight line by size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Segment {
    /// Smallest size, in bytes.
    pub from_bytes: f64,
    /// Largest size, in bytes.
    pub to_bytes: f64,
    /// Time at size 0: gaps and fixed costs together.
    pub fixed_ns: Ns,
    /// Bytes per second; `None` where the time does not grow.
    pub bytes_per_s: Option<f64>,
    /// Root of the mean squared relative error.
    pub relative_error: f64,
}

/// Straight lines fitted to sizes and times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// Number of pairs that were fitted.
    pub pairs: usize,
    /// Straight parts by ascending size: several where a protocol changes.
    pub segments: Vec<Segment>,
}

impl Fit {
    /// The parts in the form of a path's file.
    pub fn stages(&self) -> String {
        let mut text = String::from("[rates]\n");
        let mut stages = String::new();
        for (part, number) in self.segments.iter().zip(1..) {
            stages += &format!("\n[[stage]]\nname = \"fitted {number}\"\nkind = \"link\"\n");
            if let Some(rate) = part.bytes_per_s {
                text += &format!("fitted-{number} = {{ bytes_per_s = {rate:.4e} }}\n");
                stages += &format!("rate = \"fitted-{number}\"\n");
            }
            stages += &format!("fixed_ns = {:.1}\n", part.fixed_ns.0);
        }
        text + &stages
    }
}

/// Parses pairs of bytes and ns from CSV: two columns, with or without a header line.
///
/// # Errors
/// With the line, if a cell is not a number above 0; if there are too few pairs, or too many.
pub fn parse_pairs(file: &str, text: &str) -> Result<Vec<(f64, Ns)>, Error> {
    let mut pairs = Vec::new();
    let mut first = true;
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let line = line.trim();
        let wrong = |message: String| Error::at(file, number, Reason::Pairs(message));
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> =
            line.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"')).collect();
        let [bytes, ns] = cells[..] else {
            let message = format!("{} cells; expected two: bytes, ns", cells.len());
            return Err(wrong(message));
        };
        let names = first && bytes.parse::<f64>().is_err() && ns.parse::<f64>().is_err();
        first = false;
        if names {
            continue;
        }
        let value = |cell: &str| match cell.parse::<f64>() {
            Ok(value) if value > 0.0 && value < 1e18 => Ok(value),
            _ => {
                let shown: String = cell.chars().take(24).collect();
                Err(wrong(format!("'{shown}' is not a number above 0; expected bytes, ns")))
            }
        };
        if pairs.len() == MAX_PAIRS {
            return Err(wrong(format!("more than {MAX_PAIRS} pairs")));
        }
        pairs.push((value(bytes)?, Ns(value(ns)?)));
    }
    if pairs.len() < LEAST_PAIRS {
        let message = format!("{} pairs of bytes and ns; a fit needs at least {LEAST_PAIRS}", pairs.len());
        return Err(Error::of_file(file, Reason::Pairs(message)));
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
            fixed_ns: line.fixed,
            bytes_per_s: (line.per_byte > Ns::ZERO).then(|| Ns::of_s(1.0) / line.per_byte),
            relative_error: (line.squares / (to - from) as f64).max(0.0).sqrt(),
        });
        to = from;
    }
    segments.reverse();
    Fit { segments, pairs: n }
}

/// Sums over pairs, each weighted by the square of its time: of 1, w, wx, wxx, wy and wxy.
#[derive(Debug, Clone, Copy, Default)]
struct Sums([f64; 6]);

struct Line {
    fixed: Ns,
    per_byte: Ns,
    squares: f64,
}

impl Sums {
    fn with(self, (x, Ns(y)): (f64, Ns)) -> Self {
        let w = 1.0 / (y * y);
        let more = [1.0, w, w * x, w * x * x, w * y, w * x * y];
        Self(std::array::from_fn(|at| self.0[at] + more[at]))
    }

    fn less(self, other: &Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] - other.0[at]))
    }

    /// The line with the least relative squares whose fixed cost and slope are not negative.
    fn line(self) -> Line {
        let [n, w, wx, wxx, wy, wxy] = self.0;
        let squares = |a: f64, b: f64| {
            let sum = n - 2.0 * a * wy - 2.0 * b * wxy + a * a * w + 2.0 * a * b * wx + b * b * wxx;
            sum.max(0.0)
        };
        let determinant = w * wxx - wx * wx;
        let free = (determinant > 1e-12 * w * wxx).then(|| {
            let fixed = (wy * wxx - wx * wxy) / determinant;
            (fixed, (w * wxy - wx * wy) / determinant)
        });
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let edges = [(ratio(wy, w), 0.0), (0.0, ratio(wxy, wxx))];
        let (fixed, slope) = match free {
            Some((fixed, slope)) if fixed >= 0.0 && slope >= 0.0 => (fixed, slope),
            _ if squares(edges[0].0, 0.0) <= squares(0.0, edges[1].1) => edges[0],
            _ => edges[1],
        };
        Line { fixed: Ns(fixed), per_byte: Ns(slope), squares: squares(fixed, slope) }
    }
}
