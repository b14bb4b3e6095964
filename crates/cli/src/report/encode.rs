//! Matrices as text short enough for a page: a logarithmic code for each time, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::matrix::View;
use super::scale;

/// What the matrices of one page may take together, in bytes; with the drawing library the page stays below 6 MB.
pub const PAGE_BUDGET: usize = 800_000;

/// How finely a matrix is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 16 bits a time: rounding below 0.01 %.
    Fine,
    /// 8 bits a time: rounding of a percent or so, see [`Encoded::rounding`].
    Coarse,
}

impl Precision {
    fn codes(self) -> f64 {
        match self {
            Self::Fine => 65_535.0,
            Self::Coarse => 255.0,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Fine => 2,
            Self::Coarse => 1,
        }
    }
}

/// A coded matrix: code 0 is "not measured", code `c` the time `low * exp((c - 1) * step)`.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// Bytes a code, little-endian.
    pub width: usize,
    /// The smallest time, in ns.
    pub low: f64,
    /// The logarithm of the ratio between neighbouring codes.
    pub step: f64,
    /// The codes.
    pub base64: String,
}

impl Encoded {
    /// Codes a view's times.
    pub fn of(view: &View, precision: Precision) -> Self {
        let finite = || view.ns.iter().copied().filter(|ns| scale::is_time(*ns));
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(low, f64::max);
        let step = ((high / low).ln() / (precision.codes() - 1.0)).max(1e-9);
        let width = precision.bytes();
        let mut bytes = Vec::with_capacity(view.ns.len() * width);
        for ns in &view.ns {
            let code = if scale::is_time(*ns) { 1 + ((ns / low).ln() / step).round() as u16 } else { 0 };
            bytes.extend_from_slice(&code.to_le_bytes()[..width]);
        }
        Self { width, low, step, base64: STANDARD.encode(bytes) }
    }

    /// The largest relative error of a time that coding makes.
    pub fn rounding(&self) -> f64 {
        (self.step / 2.0).exp_m1()
    }
}

/// The precision at which every view fits the page, or `None` for those that do not fit at any; in order.
pub fn plan(sizes: &[usize]) -> Vec<Option<Precision>> {
    let cost = |cells: usize, precision: Precision| (cells * precision.bytes()).div_ceil(3) * 4;
    let all = |precision| sizes.iter().map(|&cells| cost(cells, precision)).sum::<usize>();
    if all(Precision::Fine) <= PAGE_BUDGET {
        return vec![Some(Precision::Fine); sizes.len()];
    }
    let mut left = PAGE_BUDGET;
    let fit = |&cells: &usize| {
        let cost = cost(cells, Precision::Coarse);
        let fits = cost <= left;
        left -= if fits { cost } else { 0 };
        fits.then_some(Precision::Coarse)
    };
    sizes.iter().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{Home, PairMethod};

    use super::*;

    fn decode(encoded: &Encoded) -> Vec<f64> {
        let bytes = STANDARD.decode(&encoded.base64).unwrap();
        let code = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |code, byte| code << 8 | u32::from(*byte));
        let time = |code: u32| match code {
            0 => f64::NAN,
            code => encoded.low * (f64::from(code - 1) * encoded.step).exp(),
        };
        bytes.chunks(encoded.width).map(|bytes| time(code(bytes))).collect()
    }

    #[test]
    fn times_come_back_within_the_stated_rounding() {
        let ns: Vec<f64> = (0..500).map(|i| 7.0 * 1.01f64.powi(i)).chain([f64::NAN]).collect();
        let view = View { method: PairMethod::Turn, home: Home::Unknown, ns };
        for precision in [Precision::Fine, Precision::Coarse] {
            let encoded = Encoded::of(&view, precision);
            let back = decode(&encoded);
            assert!(back[500].is_nan());
            for (before, after) in view.ns.iter().zip(&back).take(500) {
                assert!((after / before - 1.0).abs() <= encoded.rounding() * 1.001, "{before} {after}");
            }
        }
        assert!(Encoded::of(&view, Precision::Fine).rounding() < 1e-4);
    }

    #[test]
    fn equal_times_are_coded_too() {
        let view = View { method: PairMethod::Turn, home: Home::Unknown, ns: vec![113.0] };
        assert_eq!(decode(&Encoded::of(&view, Precision::Coarse)), [113.0]);
    }

    #[test]
    fn what_does_not_fit_is_coded_shorter_and_then_left_out() {
        let large = 512 * 511 / 2;
        assert_eq!(plan(&[large]), [Some(Precision::Fine)]);
        assert_eq!(plan(&[large; 4]), [Some(Precision::Coarse); 4]);
        assert_eq!(plan(&[large; 5])[4], None);
    }
}
