//! `_Bool` as an argument of compiled code.

/// Only the lowest byte counts: gcc leaves what it likes in the rest of the register, while code for a `bool` may look at
/// all of it.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Truth(u32);

impl Truth {
    #[inline(always)]
    pub fn holds(self) -> bool {
        self.0 as u8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_the_lowest_byte_does_not_count() {
        assert!(Truth(1).holds() && Truth(0x7fff_ff01).holds());
        assert!(!Truth(0).holds() && !Truth(0x7fff_ff00).holds());
    }
}
