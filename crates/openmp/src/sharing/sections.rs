//! Sections: numbered from 1, and taken one at a time.

use std::sync::atomic::Ordering::Relaxed;

use libc::c_uint;

use super::Bounds;
use crate::count;
use crate::here::{Membership, here};

impl Membership {
    pub fn begin_sections(&self, count: c_uint) {
        count::count_loop(self.rank, || self.size());
        self.sharing.bounds.set(Bounds::signed(0, i64::from(count), 1));
        self.enter_construct();
        self.enter_share();
    }

    fn end_sections(&self) {
        self.leave_share();
        self.leave_common();
        self.leave_construct();
    }

    /// 0 if none is left.
    fn next_section(&self) -> c_uint {
        let number = self.taken().fetch_add(1, Relaxed) + 1;
        if number as u64 <= self.sharing.bounds.get().count { number as c_uint } else { 0 }
    }
}

pub extern "C" fn sections_start(count: c_uint) -> c_uint {
    here().begin_sections(count);
    here().next_section()
}

pub extern "C" fn sections_next() -> c_uint {
    here().next_section()
}

pub extern "C" fn sections_end() {
    here().end_sections();
    here().barrier();
}

pub extern "C" fn sections_end_nowait() {
    here().end_sections();
}

/// Whether the region is cancelled.
pub extern "C-unwind" fn sections_end_cancel() -> bool {
    here().end_sections();
    here().barrier()
}
