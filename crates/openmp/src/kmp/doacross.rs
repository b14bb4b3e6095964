//! Loops whose iterations wait for certain earlier ones (`ordered` with `depend`): a bit for each iteration says that it
//! has got so far.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libc::{c_int, c_void};

use crate::here::here;
use crate::pool::own;
use crate::task::wait_until;

/// The bounds of a loop in the nest, of which the upper is the last value.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Dimension {
    lower: i64,
    upper: i64,
    step: i64,
}

/// A nest of loops, as a member sees it.
#[derive(Debug)]
pub struct Nest {
    dimensions: Vec<Dimension>,
    /// The members' bits; null in a team of one, which executes the iterations in order.
    bits: *const AtomicU64,
}

impl Dimension {
    fn count(&self) -> u64 {
        let (distance, stride) = (self.upper.wrapping_sub(self.lower), self.step.unsigned_abs().max(1));
        let distance = if self.step < 0 { distance.wrapping_neg() } else { distance };
        if distance < 0 { 0 } else { distance as u64 / stride + 1 }
    }

    /// The number of the iteration with this value, if there is one.
    fn number(&self, value: i64) -> Option<u64> {
        let distance = value.wrapping_sub(self.lower);
        let distance = if self.step < 0 { distance.wrapping_neg() } else { distance };
        let number = u64::try_from(distance).ok()? / self.step.unsigned_abs().max(1);
        (number < self.count()).then_some(number)
    }
}

impl Nest {
    fn iterations(dimensions: &[Dimension]) -> u64 {
        dimensions.iter().map(Dimension::count).fold(1, u64::saturating_mul)
    }

    /// The bit of an iteration, and the word that has it; `None` if there is no such iteration.
    ///
    /// # Safety
    /// There is a value for each dimension.
    unsafe fn bit(&self, values: *const i64) -> Option<(&AtomicU64, u64)> {
        let mut number = 0;
        for (at, dimension) in self.dimensions.iter().enumerate() {
            // SAFETY: as the caller promises.
            number = number * dimension.count() + dimension.number(unsafe { *values.add(at) })?;
        }
        // SAFETY: there is a bit for each iteration, unless there are none at all.
        let word = unsafe { self.bits.add((number / 64) as usize).as_ref() }?;
        Some((word, 1 << (number % 64)))
    }
}

pub unsafe extern "C-unwind" fn doacross_init(
    _place: *const c_void,
    _number: c_int,
    count: c_int,
    dimensions: *const Dimension,
) {
    // SAFETY: the compiler's.
    let dimensions = unsafe { std::slice::from_raw_parts(dimensions, count.max(0) as usize) }.to_vec();
    let membership = here();
    let bits = if membership.size() > 1 {
        let words = Nest::iterations(&dimensions).div_ceil(64);
        membership.enter_common((words as usize).saturating_mul(size_of::<u64>()))
    } else {
        std::ptr::null_mut()
    };
    own().nests.push(Nest { dimensions, bits: bits.cast() });
}

/// Waits until an iteration has got so far.
pub unsafe extern "C-unwind" fn doacross_wait(_place: *const c_void, _number: c_int, values: *const i64) {
    let Some(nest) = own().nests.last() else { return };
    if nest.bits.is_null() {
        return;
    }
    // SAFETY: the compiler's.
    if let Some((word, bit)) = unsafe { nest.bit(values) } {
        wait_until(|| word.load(Acquire) & bit != 0);
    }
}

/// Says that an iteration has got so far.
pub unsafe extern "C-unwind" fn doacross_post(_place: *const c_void, _number: c_int, values: *const i64) {
    let Some(nest) = own().nests.last() else { return };
    if nest.bits.is_null() {
        return;
    }
    // SAFETY: the compiler's.
    if let Some((word, bit)) = unsafe { nest.bit(values) }
        && word.load(Relaxed) & bit == 0
    {
        word.fetch_or(bit, Release);
    }
}

pub extern "C-unwind" fn doacross_fini() {
    own().nests.pop();
    here().leave_common();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_of_a_nest_has_a_bit_of_its_own() {
        let dimensions =
            vec![Dimension { lower: 3, upper: 11, step: 2 }, Dimension { lower: 4, upper: -4, step: -3 }];
        assert_eq!(Nest::iterations(&dimensions), 15);
        let words: Vec<_> = std::iter::repeat_with(AtomicU64::default).take(1).collect();
        let nest = Nest { dimensions, bits: words.as_ptr() };
        let mut seen = 0;
        for outer in [3, 5, 7, 9, 11] {
            for inner in [4, 1, -2] {
                // SAFETY: two values.
                let (_, bit) = unsafe { nest.bit([outer, inner].as_ptr()) }.unwrap();
                assert_eq!(seen & bit, 0);
                seen |= bit;
            }
        }
        assert_eq!(seen, (1 << 15) - 1);
        for outside in [[1, 4], [13, 4], [3, 7], [3, -5]] {
            // SAFETY: as above.
            assert!(unsafe { nest.bit(outside.as_ptr()) }.is_none(), "{outside:?}");
        }
    }
}
