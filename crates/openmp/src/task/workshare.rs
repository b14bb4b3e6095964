//! Reductions of loops, sections and scopes in which tasks take part, as gcc compiles them: each member has lists of its
//! own, whose memory all have in common.

use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use super::listed::{BYTES, END, IS_FIRST, List, MEMORY, NEXT, OWNER};
use super::{begin_group, end_group};
use crate::here::{Membership, here};
use crate::sharing::Common;
use crate::truth::Truth;

/// Begins the group of a construct with these lists, if there are any. All members come here before the construct.
///
/// # Safety
/// The compiler's, or null.
pub unsafe fn begin_workshare(membership: &Membership, reductions: *mut usize) {
    let Some(first) = List::of(reductions.expose_provenance()) else { return };
    begin_group(membership);
    let members = membership.size() as usize;
    let chain = || std::iter::successors(Some(first), |list| list.next());
    // Where each one's memory lies, which begins as it wants.
    let mut ends = 0_usize;
    let places: Vec<_> = chain()
        .map(|list| {
            let align = list.get(MEMORY).next_power_of_two();
            let begin = ends.next_multiple_of(align);
            ends = begin + list.get(BYTES).saturating_mul(members);
            (list, align, begin, ends)
        })
        .collect();
    let most = places.iter().map(|place| place.1).max().unwrap_or(1);
    // Common memory begins at a cache line; what wants more begins later.
    let common = membership.meet_common(ends.saturating_add(most));
    // SAFETY: this member leaves it when the group has ended.
    let memory = unsafe { Common::memory(common) }.expose_provenance().next_multiple_of(most);
    let before = membership.task().group().map_or(ptr::null_mut(), |group| group.lists.load(Relaxed));
    let last = places.len() - 1;
    for (at, (list, _, begin, end)) in places.into_iter().enumerate() {
        list.set(MEMORY, memory + begin);
        list.set(END, memory + end);
        list.set(IS_FIRST, (at == 0).into());
        list.set(OWNER, common.expose_provenance());
        if at == last {
            list.set(NEXT, before.expose_provenance());
        }
    }
    if let Some(group) = membership.task().group() {
        group.lists.store(reductions, Relaxed);
        group.is_of_construct.store(true, Relaxed);
    }
}

pub extern "C-unwind" fn workshare_task_reduction_unregister(is_cancelled: Truth) {
    let membership = here();
    let lists = membership.task().group().map(|group| group.lists.load(Relaxed));
    end_group(membership);
    if let Some(list) = lists.and_then(|lists| List::of(lists.expose_provenance())) {
        let common: *mut Common = ptr::with_exposed_provenance_mut(list.get(OWNER));
        // SAFETY: from `begin_workshare`, and this member's tasks are done.
        unsafe { Common::leave(common, membership.size()) };
    }
    if !is_cancelled.holds() {
        membership.barrier();
    }
}

/// A scope; where nothing is reduced, it is only the compiler's.
pub unsafe extern "C-unwind" fn scope_start(reductions: *mut usize) {
    // SAFETY: the compiler's.
    unsafe { begin_workshare(here(), reductions) };
}
