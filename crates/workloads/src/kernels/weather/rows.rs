//! Rows that the members of one parallel region share.

use std::marker::PhantomData;

/// A field of rows in which members read each other's rows and write their own.
pub(super) struct Rows<'a> {
    start: *mut f64,
    rows: usize,
    width: usize,
    field: PhantomData<&'a mut [f64]>,
}

// SAFETY: it stands for an exclusively borrowed slice of numbers; both accesses ask their callers to keep apart.
unsafe impl Sync for Rows<'_> {}

impl<'a> Rows<'a> {
    /// `field` as rows of `width` numbers.
    pub(super) fn new(field: &'a mut [f64], width: usize) -> Self {
        Self { start: field.as_mut_ptr(), rows: field.len() / width, width, field: PhantomData }
    }

    /// A row.
    ///
    /// # Safety
    /// Nobody writes it before all members have met again.
    pub(super) unsafe fn read(&self, row: usize) -> &[f64] {
        assert!(row < self.rows);
        // SAFETY: within the field; nobody writes the row meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.add(row * self.width), self.width) }
    }

    /// A row, for writing.
    ///
    /// # Safety
    /// Nobody else reads or writes it before all members have met again, and the caller has no other use of it while
    /// this one lasts.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn write(&self, row: usize) -> &mut [f64] {
        assert!(row < self.rows);
        // SAFETY: within the field; nobody else uses the row meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.width), self.width) }
    }
}
