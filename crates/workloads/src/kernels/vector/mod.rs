//! Inner loops, compiled for the vectors that the CPU has.
//!
//! Wider vectors change no result: each element is computed by the same operations in the same order, and the compiler
//! contracts none of them.

#[cfg(not(target_arch = "x86_64"))]
#[path = "baseline.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

pub use arch::name;
use arch::widest;

/// A(i) = B(i) + s C(i).
#[inline]
pub(super) fn daxpy(a: &mut [f64], b: &[f64], s: f64, c: &[f64]) {
    widest(|| {
        for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
            *a = b + s * c;
        }
    });
}

/// A row of a matrix product: the sum of `rows`, each as long as `out`, weighted by `weights`.
#[inline]
pub(super) fn combine(out: &mut [f64], weights: &[f64], rows: &[f64]) {
    widest(|| {
        out.fill(0.0);
        for (weight, row) in weights.iter().zip(rows.chunks_exact(out.len())) {
            for (out, value) in out.iter_mut().zip(row) {
                *out += weight * value;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_what_it_says_to_the_last_bit() {
        let number = |i: usize| (i as f64 * 0.7).sin();
        for length in [0, 1, 7, 64, 1003] {
            let (b, c): (Vec<_>, Vec<_>) = (0..length).map(|i| (number(i), number(i + 3))).unzip();
            let mut a = vec![f64::NAN; length];
            daxpy(&mut a, &b, 1.1, &c);
            assert!((0..length).all(|i| a[i] == number(i) + 1.1 * number(i + 3)));
        }
        let mut out = [f64::NAN; 3];
        combine(&mut out, &[2.0, -1.0], &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
        assert_eq!(out, [-8.0, -16.0, -24.0]);
    }
}
