//! Reductions in which tasks take part.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use libc::{c_int, c_void};

use crate::here::{Membership, here};
use crate::task::{Begin, Combine, Copies, End, Group, Item, Reduction, begin_group, end_group};

/// What is reduced, as compilers describe it; those before OpenMP 5 leave out the result before.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Described {
    shared: *mut c_void,
    original: *mut c_void,
    bytes: usize,
    begin: Begin,
    end: End,
    combine: Combine,
    flags: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DescribedBefore {
    shared: *mut c_void,
    bytes: usize,
    begin: Begin,
    end: End,
    combine: Combine,
    flags: c_int,
}

impl From<Described> for Item {
    fn from(of: Described) -> Self {
        // Without another, the result before is where the result will be.
        let original = if of.original.is_null() { of.shared } else { of.original };
        Self {
            shared: of.shared,
            original,
            bytes: of.bytes,
            begin: of.begin,
            end: of.end,
            combine: of.combine,
        }
    }
}

impl From<DescribedBefore> for Item {
    fn from(of: DescribedBefore) -> Self {
        let DescribedBefore { shared, bytes, begin, end, combine, .. } = of;
        Self { shared, original: shared, bytes, begin, end, combine }
    }
}

/// # Safety
/// There are so many.
unsafe fn items<T: Copy + Into<Item>>(count: c_int, data: *const T) -> Box<[Item]> {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(data, count.max(0) as usize) }.iter().map(|&one| one.into()).collect()
}

/// The group that the running task has begun.
fn group(membership: &Membership) -> Option<&Group> {
    // SAFETY: it is alive until the task ends it.
    unsafe { membership.task().group.get().as_ref() }
}

/// Has the innermost group reduce these.
fn begin(items: Box<[Item]>) -> *const Group {
    let membership = here();
    let Some(group) = group(membership) else { return ptr::null() };
    // A team of one has no copies.
    let size = membership.size() as usize;
    if size > 1 {
        let _ = group.reduction.set(Box::new(Reduction::new(items, size)));
    }
    group
}

pub unsafe extern "C-unwind" fn taskred_init(
    _number: c_int,
    count: c_int,
    data: *const Described,
) -> *const Group {
    // SAFETY: the compiler's.
    begin(unsafe { items(count, data) })
}

pub unsafe extern "C-unwind" fn task_reduction_init(
    _number: c_int,
    count: c_int,
    data: *const DescribedBefore,
) -> *const Group {
    // SAFETY: the compiler's.
    begin(unsafe { items(count, data) })
}

/// The calling thread's copy of what is reduced in this group, or in one around it.
pub unsafe extern "C-unwind" fn task_reduction_get_th_data(
    _number: c_int,
    given: *const Group,
    data: *mut c_void,
) -> *mut c_void {
    let membership = here();
    if membership.size() == 1 {
        return data;
    }
    let mut group = if given.is_null() { membership.task().group.get() } else { given };
    // SAFETY: groups are alive until their tasks, of which one asks, are finished.
    while let Some(one) = unsafe { group.as_ref() } {
        let reduction = one.reduction.get();
        if let Some(copy) = reduction.and_then(|one| one.copy(data, membership.rank as usize)) {
            return copy;
        }
        group = one.outer;
    }
    data
}

/// Begins a group of each member, whose tasks reduce what all members' tasks do.
fn begin_shared(items: Box<[Item]>) -> *const Group {
    let membership = here();
    begin_group(membership);
    let Some(group) = group(membership) else { return ptr::null() };
    let size = membership.size() as usize;
    if let Some(member) = membership.member() {
        let meeting = member.enter();
        let copies = meet(meeting.taken(), || Copies::new(items.len(), size));
        member.leave(meeting);
        let _ = group.reduction.set(Box::new(Reduction::shared(items, copies, size)));
    }
    group
}

/// The copies that the first member has made, of which each member counts a reference.
fn meet(address: &std::sync::atomic::AtomicUsize, make: impl FnOnce() -> Copies) -> Arc<Copies> {
    // SAFETY: a reference is counted for each member before any of them sees the address.
    let found = |address: usize| unsafe { Arc::from_raw(ptr::with_exposed_provenance::<Copies>(address)) };
    let there = address.load(Acquire);
    if there != 0 {
        return found(there);
    }
    let own = Arc::new(make());
    let size = own.size();
    let raw = Arc::into_raw(own);
    // SAFETY: as above; one of them is the caller's.
    unsafe { (1..size).for_each(|_| Arc::increment_strong_count(raw)) };
    match address.compare_exchange(0, raw.expose_provenance(), AcqRel, Acquire) {
        Ok(there) => found(if there == 0 { raw.addr() } else { there }),
        Err(others) => {
            // SAFETY: nobody has seen it.
            unsafe { (0..size).for_each(|_| Arc::decrement_strong_count(raw)) };
            found(others)
        }
    }
}

pub unsafe extern "C-unwind" fn taskred_modifier_init(
    _place: *const c_void,
    _number: c_int,
    _is_loop: c_int,
    count: c_int,
    data: *const Described,
) -> *const Group {
    // SAFETY: the compiler's.
    begin_shared(unsafe { items(count, data) })
}

pub unsafe extern "C-unwind" fn task_reduction_modifier_init(
    _place: *const c_void,
    _number: c_int,
    _is_loop: c_int,
    count: c_int,
    data: *const DescribedBefore,
) -> *const Group {
    // SAFETY: the compiler's.
    begin_shared(unsafe { items(count, data) })
}

pub extern "C-unwind" fn task_reduction_modifier_fini() {
    end_group(here());
}
