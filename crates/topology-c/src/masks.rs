//! Sets of CPUs as words.

use ::coho_topology::CpuSet;

use crate::coho_topology_status;
use crate::status::coho_topology_status::*;
use crate::status::fail;

/// Writes a set into `count` words, the CPUs from 0 on first, and the number of words that it takes into `*needed`; what is
/// beyond these is 0.
///
/// # Safety
/// `words` is null or `count` words that can be written, and `needed` is null or can be written.
pub(crate) unsafe fn give(
    set: &CpuSet,
    words: *mut u64,
    count: usize,
    needed: *mut usize,
) -> coho_topology_status {
    let own = set.words();
    if !needed.is_null() {
        // SAFETY: as the caller promises.
        unsafe { needed.write(own.len()) };
    }
    if words.is_null() {
        // Only the number was asked for.
        return if needed.is_null() {
            fail(COHO_TOPOLOGY_INVALID, "there is no place for the CPUs")
        } else {
            COHO_TOPOLOGY_OK
        };
    }
    if count < own.len() {
        return fail(COHO_TOPOLOGY_INVALID, &format!("the set takes {} words", own.len()));
    }
    for at in 0..count {
        // SAFETY: within the words that the caller promises.
        unsafe { words.add(at).write(own.get(at).copied().unwrap_or(0)) };
    }
    COHO_TOPOLOGY_OK
}
