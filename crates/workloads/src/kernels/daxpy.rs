//! A(i) = B(i) + s C(i): a loop of any length (Nakamura et al., Figs. 4-5).

use std::hint::black_box;

use super::crew::Crew;
use super::field::Field;
use super::program::{Program, Size};
use super::vector::daxpy;
use crate::Error;

/// Bytes of an element in the three arrays.
pub const BYTES: u64 = 24;
/// The shortest loop.
const SHORTEST: u64 = 64;
/// Elements of a cache line: shares are whole lines, so that no two threads write the same.
const GRAIN: usize = 8;
const S: f64 = 1.25;

/// The loop, in several lengths.
pub struct Daxpy {
    sizes: Vec<Size>,
}

impl Daxpy {
    /// Powers of two up to the first whose arrays take `bytes` or more.
    pub fn up_to(bytes: u64) -> Self {
        let lengths = std::iter::successors(Some(SHORTEST), |n| (n * BYTES < bytes).then_some(2 * n));
        Self { sizes: lengths.map(|n| Size { n, operations: 2 * n }).collect() }
    }
}

/// The three arrays.
pub struct Arrays {
    a: Field,
    b: Field,
    c: Field,
}

fn b(i: usize) -> f64 {
    i as f64
}

fn c(i: usize) -> f64 {
    1.0 / (1.0 + i as f64)
}

impl Program for Daxpy {
    type Problem = Arrays;
    const REGIONS: u64 = 1;
    const BARRIERS: u64 = 0;
    const WIDE: bool = true;
    const REPEATABLE: bool = true;

    fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    fn set_up(&self, size: usize, crew: &mut impl Crew) -> Result<Arrays, Error> {
        let length = self.sizes[size].n as usize;
        let mut arrays = Arrays { a: Field::map(length)?, b: Field::map(length)?, c: Field::map(length)? };
        let fill = |value: fn(usize) -> f64| {
            move |start: usize, part: &mut [f64]| {
                part.iter_mut().zip(start..).for_each(|(x, i)| *x = value(i))
            }
        };
        crew.split(&mut arrays.a, GRAIN, fill(|_| f64::NAN));
        crew.split(&mut arrays.b, GRAIN, fill(b));
        crew.split(&mut arrays.c, GRAIN, fill(c));
        Ok(arrays)
    }

    fn reset(&self, _: &mut Arrays) {}

    #[inline]
    fn run(&self, arrays: &mut Arrays, crew: &mut impl Crew) {
        let (b, c) = (&arrays.b, &arrays.c);
        crew.split(&mut arrays.a, GRAIN, |start, part| {
            let end = start + part.len();
            daxpy(part, &b[start..end], S, &c[start..end]);
        });
        // Makes the compiler assume that A is read, so that no loop is optimised away.
        black_box(&mut arrays.a);
    }

    fn check(&self, arrays: &Arrays) -> Result<f64, Error> {
        match arrays.a.iter().enumerate().find(|&(i, a)| *a != b(i) + S * c(i)) {
            None => Ok(0.0),
            Some((i, a)) => Err(Error::Broken(format!(
                "element {i} of a loop over {} is {a} and not {}: the barrier or the memory is broken",
                arrays.a.len(),
                b(i) + S * c(i)
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::crew::{Alone, tests::Threads};
    use super::*;

    #[test]
    fn lengths_double_until_the_arrays_reach_far_enough() {
        let lengths = |bytes| Daxpy::up_to(bytes).sizes.iter().map(|size| size.n).collect::<Vec<_>>();
        assert_eq!(lengths(0), [64]);
        assert_eq!(lengths(24 * 256), [64, 128, 256]);
        assert_eq!(lengths(24 * 256 + 1), [64, 128, 256, 512]);
    }

    #[test]
    fn a_loop_is_right_whoever_runs_it_and_an_element_left_out_is_named() {
        let daxpy = Daxpy::up_to(24 * 128);
        for n in [1, 3, 40] {
            let crew = &mut Threads(n);
            let mut arrays = daxpy.set_up(1, crew).unwrap();
            assert!(daxpy.check(&arrays).is_err());
            daxpy.run(&mut arrays, crew);
            assert_eq!(daxpy.check(&arrays), Ok(0.0));
        }
        let mut arrays = daxpy.set_up(1, &mut Alone).unwrap();
        daxpy.run(&mut arrays, &mut Alone);
        arrays.a[77] += 1e-9;
        assert!(daxpy.check(&arrays).unwrap_err().to_string().contains("element 77"));
    }
}
