//! Numbers on pages of their own.

use std::ops::{Deref, DerefMut};

use coho_platform::pages::Pages;

use crate::Error;

/// Initially zeros, aligned to a page. The thread that first writes a page makes its own NUMA node the page's home.
#[derive(Debug)]
pub(super) struct Field {
    pages: Pages,
    length: usize,
}

impl Field {
    /// Room for `length` numbers.
    pub(super) fn map(length: usize) -> Result<Self, Error> {
        let bytes = length.checked_mul(size_of::<f64>());
        let bytes =
            bytes.ok_or_else(|| Error::Memory(format!("{length} numbers are more than fit in memory")))?;
        Ok(Self { pages: Pages::map(bytes)?, length })
    }
}

impl Deref for Field {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        // SAFETY: the pages hold at least `length` numbers, begin as zeros, which are numbers, and belong to `self`.
        unsafe { std::slice::from_raw_parts(self.pages.start().as_ptr().cast(), self.length) }
    }
}

impl DerefMut for Field {
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.pages.start().as_ptr().cast(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_as_zeros_and_keeps_what_is_written() {
        let mut field = Field::map(1000).unwrap();
        assert_eq!((field.len(), field.iter().sum::<f64>()), (1000, 0.0));
        field[999] = 1.5;
        assert_eq!(field[999], 1.5);
        assert!(Field::map(usize::MAX).is_err());
    }
}
