//! Threads: each has a number, and counts of its own once it touches a line that others touch too.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::Errno;
use coho_recording::Access;

use super::lines::{LINE, is_shared};
use super::table::{Table, call};

/// The thread's own, zeros at first.
#[repr(C)]
pub struct This {
    /// 0 before its first access.
    number: Cell<u32>,
    /// Whether its counts are in use, by what a signal may have interrupted.
    is_busy: Cell<bool>,
    /// Whether this library may be copying memory of its own.
    pub is_own: Cell<bool>,
    table: Cell<*mut Table>,
}

coho_preload::thread_storage!("coho_tsan_thread", This);

/// Beyond it, threads share numbers, and are taken for one another.
const MOST: u32 = 0xffff;

static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// An access of so many bytes that lie in one line.
#[inline(always)]
pub fn access(pc: u64, address: usize, bytes: u8, access: Access) {
    let this = this();
    let mut number = this.number.get();
    if number == 0 {
        number = this.begin();
    }
    if is_shared(address, number, access) {
        let table = this.table.get();
        // SAFETY: the thread's own.
        let is_counted =
            !table.is_null() && unsafe { Table::count_again(table, address, call(pc, bytes, access)) };
        if !is_counted {
            this.count(pc, address, bytes, access);
        }
    }
}

/// An access that may lie in several lines.
pub fn access_lines(pc: u64, address: usize, bytes: usize, kind: Access) {
    let (mut at, mut left) = (address, bytes);
    while left > 0 {
        let here = left.min(LINE - at % LINE);
        access(pc, at, here as u8, kind);
        left -= here;
        at = at.wrapping_add(here);
    }
}

impl This {
    #[cold]
    fn begin(&self) -> u32 {
        let number = NUMBERS.fetch_add(1, Relaxed) % MOST + 1;
        self.number.set(number);
        number
    }

    #[cold]
    fn count(&self, pc: u64, address: usize, bytes: u8, access: Access) {
        if self.is_busy.replace(true) {
            return;
        }
        let was_own = self.is_own.replace(true);
        let mut table = self.table.get();
        if table.is_null() {
            let _errno = Errno::kept();
            table = Table::new();
            self.table.set(table);
        }
        // SAFETY: the thread's own, and not in use.
        if let Some(table) = unsafe { table.as_mut() } {
            table.count(pc, address, bytes, access);
        }
        self.is_own.set(was_own);
        self.is_busy.set(false);
    }
}

/// A thread ends, whichever way.
pub unsafe extern "C" fn ended(_: *mut c_void) {
    Table::give_back(this().table.replace(ptr::null_mut()));
}

/// In a forked process: its thread has another name, and counts anew.
pub unsafe extern "C" fn forked() {
    Table::give_back(this().table.replace(ptr::null_mut()));
    this().is_busy.set(false);
    this().is_own.set(false);
}
