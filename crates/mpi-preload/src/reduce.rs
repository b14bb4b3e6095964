//! Reductions of a few values: each rank writes its own where all can read, and after the barrier all combine them in the
//! order of ranks, so that all have the same to the last bit.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use crate::abi::{Number, Operation};
use crate::group::Group;
use crate::mpi::SUCCESS;

/// The most bytes that a rank may bring.
pub(crate) const MOST_BYTES: usize = 64;

/// Types that are reduced.
trait Value: Copy {
    fn combine(self, other: Self, operation: Operation) -> Self;
}

macro_rules! integers {
    ($($kind:ty),*) => {
        $(impl Value for $kind {
            #[inline(always)]
            fn combine(self, other: Self, operation: Operation) -> Self {
                match operation {
                    Operation::Max => self.max(other),
                    Operation::Min => self.min(other),
                    Operation::Sum => self.wrapping_add(other),
                    Operation::Prod => self.wrapping_mul(other),
                    Operation::Land => <$kind>::from(self != 0 && other != 0),
                    Operation::Band => self & other,
                    Operation::Lor => <$kind>::from(self != 0 || other != 0),
                    Operation::Bor => self | other,
                    Operation::Lxor => <$kind>::from((self != 0) != (other != 0)),
                    Operation::Bxor => self ^ other,
                }
            }
        })*
    };
}

integers!(i32, u32, i64, u64);

macro_rules! floats {
    ($($kind:ty),*) => {
        $(impl Value for $kind {
            #[inline(always)]
            fn combine(self, other: Self, operation: Operation) -> Self {
                match operation {
                    Operation::Max => if self < other { other } else { self },
                    Operation::Min => if other < self { other } else { self },
                    Operation::Prod => self * other,
                    _ => self + other,
                }
            }
        })*
    };
}

floats!(f32, f64);

/// Whether an operation is for numbers of this kind.
#[inline(always)]
pub(crate) fn suits(number: Number, operation: Operation) -> bool {
    let is_float = matches!(number, Number::F32 | Number::F64);
    !is_float || matches!(operation, Operation::Max | Operation::Min | Operation::Sum | Operation::Prod)
}

impl Group {
    /// Reduces so many numbers of `own` from each rank to `result`, which may be the same.
    ///
    /// # Safety
    /// Both have so many numbers, of [`MOST_BYTES`] together at most.
    #[inline(always)]
    pub(crate) unsafe fn reduce(
        &self,
        own: *const c_void,
        result: *mut c_void,
        count: usize,
        number: Number,
        operation: Operation,
    ) -> c_int {
        let turn = self.turn();
        let bytes = count * number.bytes();
        // SAFETY: this rank's place, where others read only after the barrier, and not again before the next.
        unsafe { ptr::copy_nonoverlapping(own.cast(), self.values(turn, self.rank()).as_ptr(), bytes) };
        // The next reduction's place is in others' caches, and comes here while this rank waits.
        claim(self.values(turn.wrapping_add(1), self.rank()));
        if let Err(error) = self.meet_all() {
            return error;
        }
        // SAFETY: as the caller promises; the types are as wide as they say.
        unsafe {
            match number {
                Number::F64 => self.combine::<f64>(turn, result.cast(), count, operation),
                Number::I32 => self.combine::<i32>(turn, result.cast(), count, operation),
                Number::I64 => self.combine::<i64>(turn, result.cast(), count, operation),
                Number::F32 => self.combine::<f32>(turn, result.cast(), count, operation),
                Number::U32 => self.combine::<u32>(turn, result.cast(), count, operation),
                Number::U64 => self.combine::<u64>(turn, result.cast(), count, operation),
            }
        }
        SUCCESS
    }

    /// # Safety
    /// All ranks have written so many values for this turn, and there is room for them at `result`.
    #[inline(always)]
    unsafe fn combine<T: Value>(&self, turn: u32, result: *mut T, count: usize, operation: Operation) {
        for at in 0..count {
            // SAFETY: as the caller promises; places are aligned for all types, and the result need not be.
            unsafe {
                let value = |rank| self.values(turn, rank).cast::<T>().add(at).read();
                let all = (1..self.ranks).fold(value(0), |all, rank| all.combine(value(rank), operation));
                result.add(at).write_unaligned(all);
            }
        }
    }
}

/// Fetches a line for writing.
#[inline(always)]
fn claim(place: NonNull<u8>) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which changes no memory. The compiler's own becomes one for reading on most processors.
    unsafe {
        std::arch::asm!("prefetchw [{0}]", in(reg) place.as_ptr(), options(nostack, preserves_flags));
    }
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_say_true_as_one() {
        assert_eq!(i32::MAX.combine(1, Operation::Sum), i32::MIN);
        assert_eq!(7_u64.combine(2, Operation::Land), 1);
        assert_eq!(7_i64.combine(2, Operation::Lxor), 0);
        assert_eq!(4_u32.combine(2, Operation::Bor), 6);
    }

    #[test]
    fn operations_on_bits_and_truth_are_for_integers() {
        assert!(suits(Number::F64, Operation::Prod) && !suits(Number::F64, Operation::Bor));
        assert!(!suits(Number::F32, Operation::Land) && suits(Number::U32, Operation::Land));
    }
}
