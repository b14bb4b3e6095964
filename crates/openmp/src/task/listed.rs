//! Reductions in which tasks take part, as gcc compiles them: its code begins and adds up the members' copies, which lie in
//! memory that it asks for by lists.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use coho_sync::Member;
use libc::{c_uint, c_void};

use super::Group;
use crate::here::{Membership, here};
use crate::pool::Line;
use crate::region::{Begin, Body, Part, Work, open_for, serve, unless_libgomp};

/// A list's words: how many variables, the bytes of a member's copies, their alignment, in place of which their memory
/// comes; then the next list, whether it is the first of those that were registered together, and the memory's end.
const COUNT: usize = 0;
pub(super) const BYTES: usize = 1;
pub(super) const MEMORY: usize = 2;
/// The compiler's allocator, which is not used; what has the memory, if members have it in common.
pub(super) const OWNER: usize = 3;
pub(super) const NEXT: usize = 4;
pub(super) const IS_FIRST: usize = 5;
pub(super) const END: usize = 6;
/// Three words a variable follow, of which the first two are its address and where its copy lies among a member's.
const VARIABLES: usize = 7;
const VARIABLE: usize = 3;

/// A list of the compiler's, which stays as long as a group has it.
#[derive(Clone, Copy)]
pub(super) struct List(*mut usize);

impl List {
    pub(super) fn of(address: usize) -> Option<Self> {
        let words: *mut usize = ptr::with_exposed_provenance_mut(address);
        (!words.is_null()).then_some(Self(words))
    }

    pub(super) fn get(self, at: usize) -> usize {
        // SAFETY: the compiler's list has so many words.
        unsafe { *self.0.add(at) }
    }

    pub(super) fn set(self, at: usize, word: usize) {
        // SAFETY: as above, and nobody reads it meanwhile.
        unsafe { *self.0.add(at) = word };
    }

    pub(super) fn next(self) -> Option<Self> {
        Self::of(self.get(NEXT))
    }

    /// The address of a variable, and where its copy lies.
    fn variable(self, at: usize) -> (usize, usize) {
        let first = VARIABLES + VARIABLE * at;
        (self.get(first), self.get(first + 1))
    }

    /// Gives it, and those that it leads to, memory of zeros for so many members; they lead on to those that were there.
    fn register(self, members: usize, before: *mut usize) {
        let mut list = self;
        loop {
            let bytes = list.get(BYTES).saturating_mul(members).max(1);
            let align = list.get(MEMORY).next_power_of_two().max(align_of::<usize>());
            let mut memory = ptr::null_mut();
            // SAFETY: a place for the address, and a power of two.
            if unsafe { libc::posix_memalign(&raw mut memory, align, bytes) } != 0 {
                std::alloc::handle_alloc_error(std::alloc::Layout::new::<usize>());
            }
            // SAFETY: it has so many bytes.
            unsafe { memory.write_bytes(0, bytes) };
            list.set(MEMORY, memory.expose_provenance());
            list.set(END, memory.addr() + bytes);
            list.set(IS_FIRST, (list.0 == self.0).into());
            match list.next() {
                Some(next) => list = next,
                None => return list.set(NEXT, before.expose_provenance()),
            }
        }
    }

    /// Frees the memory of those that were registered together.
    fn unregister(self) {
        let mut list = Some(self);
        while let Some(one) = list {
            // SAFETY: allocated by `register`.
            unsafe { libc::free(ptr::with_exposed_provenance_mut(one.get(MEMORY))) };
            list = one.next().filter(|next| next.get(IS_FIRST) == 0);
        }
    }

    /// A member's copy of a variable, given by its address or by that of any member's copy, and the variable's address.
    fn copy(self, given: usize, rank: usize) -> Option<(usize, usize)> {
        let mut list = Some(self);
        while let Some(one) = list {
            let mut variables = (0..one.get(COUNT)).map(|at| one.variable(at));
            let within = (one.get(MEMORY)..one.get(END)).contains(&given);
            let place = given.wrapping_sub(one.get(MEMORY)) % one.get(BYTES).max(1);
            let is_it = |&(address, offset): &(usize, usize)| {
                if within { offset == place } else { address == given }
            };
            if let Some((address, offset)) = variables.find(is_it) {
                return Some((one.get(MEMORY) + rank * one.get(BYTES) + offset, address));
            }
            list = one.next();
        }
        None
    }
}

pub unsafe extern "C-unwind" fn taskgroup_reduction_register(data: *mut usize) {
    let membership = here();
    if let (Some(group), Some(list)) = (membership.task().group(), List::of(data.expose_provenance())) {
        list.register(membership.size() as usize, group.lists.load(Relaxed));
        group.lists.store(data, Relaxed);
    }
}

pub unsafe extern "C-unwind" fn taskgroup_reduction_unregister(data: *mut usize) {
    if let Some(list) = List::of(data.expose_provenance()) {
        list.unregister();
    }
}

/// Replaces addresses of variables, or of copies, by those of the member's copies; behind them come the variables' own, of
/// the first so many.
pub unsafe extern "C-unwind" fn task_reduction_remap(count: usize, own: usize, addresses: *mut usize) {
    let membership = here();
    let lists = membership.task().group().map(|group| group.lists.load(Relaxed));
    let lists = lists.and_then(|lists| List::of(lists.expose_provenance()));
    for at in 0..count {
        // SAFETY: the compiler's.
        let place = unsafe { &mut *addresses.add(at) };
        let Some((copy, variable)) = lists.and_then(|lists| lists.copy(*place, membership.rank as usize))
        else {
            coho_preload::line("openmp", "a task takes part in a reduction that there is not");
            std::process::abort();
        };
        *place = copy;
        if at < own {
            // SAFETY: as above.
            unsafe { *addresses.add(count + at) = variable };
        }
    }
}

/// A region in whose reduction tasks take part.
struct Reducing {
    body: Body,
    data: *mut c_void,
    group: Group,
    members: Cell<usize>,
}

impl Reducing {
    /// Registers what is reduced, whose list's address the data begins with.
    fn register(&self, members: usize) {
        self.members.set(members);
        // SAFETY: the compiler's.
        let data = unsafe { *self.data.cast::<usize>() };
        if let Some(list) = List::of(data) {
            list.register(members, ptr::null_mut());
            self.group.lists.store(list.0, Relaxed);
        }
    }

    /// # Safety
    /// The compiler's function and data.
    unsafe fn run(&self, membership: &Membership) {
        membership.implicit.group.set(&raw const self.group);
        // SAFETY: as the caller promises.
        unsafe { (self.body)(self.data) };
    }
}

impl Work for Reducing {
    unsafe fn alone(&self, membership: &Membership) {
        self.register(1);
        // SAFETY: as the caller promises.
        unsafe { self.run(membership) };
    }

    fn function(&self) -> usize {
        self.body as usize
    }

    fn order(&mut self, _: &Line, size: u32) -> (Part, [*mut (); 2]) {
        self.register(size as usize);
        (serve_reducing, [ptr::from_mut(self).cast(), ptr::null_mut()])
    }
}

/// A member's part of it: the words are the region and the work.
///
/// # Safety
/// [`Reducing`] has put them together, and outlasts the region.
unsafe fn serve_reducing(member: &Member<'_>, [region, work, _]: [*mut (); 3]) {
    // SAFETY: as the caller promises.
    unsafe {
        let work = &*work.cast_const().cast::<Reducing>();
        serve(Some(member), region.cast_const().cast(), false, |membership| work.run(membership));
    }
}

/// Returns how many members there were, whose copies the caller adds up.
pub unsafe extern "C-unwind" fn parallel_reductions(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
) -> c_uint {
    unless_libgomp!(
        "GOMP_parallel_reductions", body: Body, data: *mut c_void, threads: c_uint, flags: c_uint => c_uint
    );
    // SAFETY: there is none around it.
    let group = unsafe { Group::within(ptr::null()) };
    let mut work = Reducing { body, data, group, members: Cell::new(0) };
    // SAFETY: the compiler's.
    unsafe { open_for(&mut work, threads, flags, Begin::Nothing) };
    work.members.get() as c_uint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_found_by_the_variable_and_by_any_copy() {
        // Two lists of two variables each, and one that was there before.
        let mut outer = [1, 64, 64, usize::MAX, 0, 0, 0, 5000, 8, 0];
        let mut second = [2, 128, 64, usize::MAX, 0, 0, 0, 3000, 0, 0, 4000, 64, 0];
        let mut first = [2, 64, 16, usize::MAX, 0, 0, 0, 1000, 0, 0, 2000, 32, 0];
        let [outer, second, first] = [outer.as_mut_ptr(), second.as_mut_ptr(), first.as_mut_ptr()].map(List);
        first.set(NEXT, second.0.expose_provenance());
        outer.register(3, ptr::null_mut());
        first.register(3, outer.0);
        let at = |list: List, rank: usize, offset: usize| list.get(MEMORY) + rank * list.get(BYTES) + offset;
        assert_eq!(first.copy(2000, 2), Some((at(first, 2, 32), 2000)));
        assert_eq!(first.copy(4000, 1), Some((at(second, 1, 64), 4000)));
        assert_eq!(first.copy(5000, 0), Some((at(outer, 0, 8), 5000)));
        assert_eq!(first.copy(at(second, 2, 64), 0), Some((at(second, 0, 64), 4000)));
        assert_eq!(first.copy(1234, 0), None);
        first.unregister();
        // What was there before still is.
        assert_eq!(outer.copy(5000, 2), Some((at(outer, 2, 8), 5000)));
        outer.unregister();
    }
}
