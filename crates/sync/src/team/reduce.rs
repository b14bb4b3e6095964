//! Values that the members publish for each other.

use std::any::TypeId;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::padded::Padded;

/// The largest value that fits onto a line beside its type, in bytes.
const LARGEST: usize = 96;

/// Two places for each rank, used in turn: while a slow member still reads values of one reduction, a quick one may
/// publish its value for the next.
#[derive(Debug)]
pub(super) struct Values(Box<[[Padded<Value>; 2]]>);

#[derive(Debug)]
struct Value(UnsafeCell<(Option<TypeId>, Bytes)>);

#[derive(Debug)]
#[repr(align(16))]
struct Bytes([MaybeUninit<u8>; LARGEST]);

// SAFETY: the two functions that access a value say when it may be accessed.
unsafe impl Sync for Value {}

impl Values {
    pub(super) fn new(size: usize) -> Self {
        let value = || Padded(Value(UnsafeCell::new((None, Bytes([MaybeUninit::uninit(); LARGEST])))));
        Self((0..size).map(|_| [value(), value()]).collect())
    }

    /// Publishes a value.
    ///
    /// # Safety
    /// Nobody else accesses this rank's value of that turn meanwhile.
    pub(super) unsafe fn lay<T: Copy + 'static>(&self, rank: usize, turn: usize, value: T) {
        const { assert!(size_of::<T>() <= LARGEST && align_of::<T>() <= 16, "too large to be reduced in a line") };
        // SAFETY: as the caller promises.
        let place = unsafe { &mut *self.0[rank][turn % 2].0.0.get() };
        place.0 = Some(TypeId::of::<T>());
        // SAFETY: the bytes are large enough and aligned, which is asserted above.
        unsafe { place.1.0.as_mut_ptr().cast::<T>().write(value) };
    }

    /// The value that a rank has published; `None` if it is of another type.
    ///
    /// # Safety
    /// The rank has published it before, and does not do so again meanwhile.
    pub(super) unsafe fn look<T: Copy + 'static>(&self, rank: usize, turn: usize) -> Option<T> {
        // SAFETY: as the caller promises.
        let place = unsafe { &*self.0[rank][turn % 2].0.0.get() };
        // SAFETY: a value of this type lies there.
        (place.0 == Some(TypeId::of::<T>())).then(|| unsafe { place.1.0.as_ptr().cast::<T>().read() })
    }
}
