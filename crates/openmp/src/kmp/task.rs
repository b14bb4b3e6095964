//! Tasks. The compiler asks for a task's memory, writes its data there, and then hands it over.

mod reduction;
mod taskloop;

use std::alloc::Layout;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use libc::{c_int, c_void};

pub use reduction::*;
pub use taskloop::*;

use super::number;
use crate::here::{Membership, here};
use crate::task::{self, Dependence, Event, Explicit, in_order, leaves};

/// A task as its code sees it; variables of its own follow.
#[repr(C)]
pub struct Task {
    /// The variables that it has in common with others.
    shared: *mut c_void,
    entry: Option<Entry>,
    part: c_int,
    /// Ends its own variables, if its flags say so.
    destroy: Option<Entry>,
    others: usize,
}

type Entry = unsafe extern "C-unwind" fn(c_int, *mut Task) -> c_int;

/// What stands before a task's own memory.
#[repr(C, align(16))]
struct Head {
    /// The task; a reference is counted until it is handed over.
    task: *const Explicit,
    flags: c_int,
    /// From the task to the end of its memory.
    bytes: u32,
}

const FINAL: c_int = 1 << 1;
const HAS_DESTRUCTORS: c_int = 1 << 3;

/// The alignment of a task's memory, and of what it has in common with others.
const ALIGN: usize = 16;

impl Head {
    /// # Safety
    /// The task was made by [`task_alloc`].
    unsafe fn of(task: *mut Task) -> *mut Self {
        // SAFETY: as the caller promises.
        unsafe { task.cast::<Self>().sub(1) }
    }

    /// A task that is handed over.
    ///
    /// # Safety
    /// As above, and it has not been.
    unsafe fn take(task: *mut Task) -> Arc<Explicit> {
        // SAFETY: as the caller promises.
        unsafe { Arc::from_raw((*Self::of(task)).task) }
    }
}

/// Executes a task's code, given its memory.
unsafe extern "C-unwind" fn execute(memory: *mut c_void) {
    // SAFETY: the memory begins with the head.
    unsafe {
        let task = memory.cast::<Head>().add(1).cast::<Task>();
        let membership = here();
        if let Some(entry) = (*task).entry
            && !membership.discards(membership.task())
        {
            entry(number(), task);
        }
        destroy(task);
    }
}

/// Ends a task's own variables.
///
/// # Safety
/// Its code has run, or never will.
unsafe fn destroy(task: *mut Task) {
    // SAFETY: as the caller promises.
    unsafe {
        if (*Head::of(task)).flags & HAS_DESTRUCTORS != 0
            && let Some(destroy) = (*task).destroy
        {
            destroy(number(), task);
        }
    }
}

/// Memory for a task: its own, and what it has in common with others behind.
fn allocate(membership: &Membership, flags: c_int, own: usize, shared: usize) -> *mut Task {
    let own = own.max(size_of::<Task>()).next_multiple_of(ALIGN);
    let layout = Layout::from_size_align(size_of::<Head>() + own + shared, ALIGN);
    let layout = layout.expect("the compiler's sizes are valid");
    let explicit = Explicit::prepared(membership, execute, layout, flags & FINAL != 0);
    let head = explicit.argument().cast::<Head>();
    let bytes = (own + shared) as u32;
    // SAFETY: there is room for all of it.
    unsafe {
        head.write(Head { task: Arc::into_raw(explicit), flags, bytes });
        let task = head.add(1).cast::<Task>();
        let behind = if shared > 0 { task.byte_add(own).cast() } else { ptr::null_mut() };
        task.write(Task { shared: behind, entry: None, part: 0, destroy: None, others: 0 });
        task
    }
}

pub unsafe extern "C-unwind" fn task_alloc(
    _place: *const c_void,
    _number: c_int,
    flags: c_int,
    own: usize,
    shared: usize,
    entry: Option<Entry>,
) -> *mut Task {
    let task = allocate(here(), flags, own, shared);
    // SAFETY: it has just been made.
    unsafe { (*task).entry = entry };
    task
}

/// Hands over a task, or executes it here and now.
fn hand_over(membership: &Membership, task: Arc<Explicit>, may_wait: bool) {
    match leaves(membership).filter(|_| may_wait) {
        Some(tasks) => {
            Explicit::count(&task, membership, None);
            tasks.leave(membership, task);
        }
        None => {
            if task.has_event() {
                Explicit::count(&task, membership, None);
            }
            task::complete(membership, &task);
        }
    }
}

pub unsafe extern "C-unwind" fn omp_task(_place: *const c_void, _number: c_int, task: *mut Task) -> c_int {
    // SAFETY: the compiler's.
    hand_over(here(), unsafe { Head::take(task) }, true);
    0
}

/// A place that a task depends on, as the compiler lists it.
#[repr(C)]
pub struct Depend {
    place: usize,
    bytes: usize,
    kind: u8,
}

const IN: u8 = 1;
/// Compilers write `omp_all_memory` as this, or as the last address.
const ALL_MEMORY: u8 = 0x80;

/// # Safety
/// The compiler's lists; the second may be null.
unsafe fn dependences(lists: [(c_int, *const Depend); 2]) -> Vec<Dependence> {
    let list = |(count, list): (c_int, *const Depend)| {
        let list = ptr::NonNull::new(list.cast_mut()).filter(|_| count > 0);
        // SAFETY: as the caller promises.
        let list = list.map(|list| unsafe { std::slice::from_raw_parts(list.as_ptr(), count as usize) });
        list.unwrap_or_default().iter().map(|one: &Depend| {
            match one.kind & ALL_MEMORY != 0 || one.place == usize::MAX {
                true => Dependence::ALL,
                false => Dependence { place: one.place, reads: one.kind == IN },
            }
        })
    };
    lists.into_iter().flat_map(list).collect()
}

pub unsafe extern "C-unwind" fn omp_task_with_deps(
    _place: *const c_void,
    _number: c_int,
    task: *mut Task,
    count: c_int,
    list: *const Depend,
    more: c_int,
    others: *const Depend,
) -> c_int {
    let membership = here();
    // SAFETY: the compiler's.
    let (task, dependences) = unsafe { (Head::take(task), dependences([(count, list), (more, others)])) };
    match membership.tasks() {
        Some(tasks) if !dependences.is_empty() => {
            in_order(membership, tasks, &dependences, true, |order| {
                Explicit::count(&task, membership, Some(order));
                task
            });
        }
        // In a team of one, those that it depends on are done.
        _ => hand_over(membership, task, true),
    }
    0
}

pub unsafe extern "C-unwind" fn omp_wait_deps(
    _place: *const c_void,
    _number: c_int,
    count: c_int,
    list: *const Depend,
    more: c_int,
    others: *const Depend,
) {
    // SAFETY: the compiler's.
    task::wait_in_order(here(), &unsafe { dependences([(count, list), (more, others)]) });
}

/// Begins a task that the compiled code executes itself.
pub unsafe extern "C-unwind" fn omp_task_begin_if0(_place: *const c_void, _number: c_int, task: *mut Task) {
    let membership = here();
    // SAFETY: the compiler's.
    unsafe {
        let head = Head::of(task);
        let explicit = ManuallyDrop::new(Arc::from_raw((*head).task));
        if explicit.has_event() {
            Explicit::count(&explicit, membership, None);
            if let Some(tasks) = membership.tasks() {
                tasks.has_made(membership);
            }
        }
        // Nothing else uses this before its end.
        (*task).others = explicit.begin(membership).expose_provenance();
    }
}

/// Ends it.
pub unsafe extern "C-unwind" fn omp_task_complete_if0(
    _place: *const c_void,
    _number: c_int,
    task: *mut Task,
) {
    let membership = here();
    // SAFETY: the compiler's.
    unsafe {
        destroy(task);
        let before = ptr::with_exposed_provenance((*task).others);
        let explicit = Head::take(task);
        explicit.end_here(membership, before);
    }
}

pub extern "C-unwind" fn omp_taskwait() -> c_int {
    task::taskwait();
    0
}

pub extern "C-unwind" fn omp_taskyield() -> c_int {
    task::taskyield();
    0
}

/// The event that a task waits for besides its body.
pub unsafe extern "C-unwind" fn task_allow_completion_event(
    _place: *const c_void,
    _number: c_int,
    task: *mut Task,
) -> *const Event {
    // SAFETY: the compiler's, which has not handed it over.
    unsafe { Explicit::add_event((*Head::of(task)).task, here()) }
}

/// The event of a task of any compiler's is fulfilled.
pub unsafe extern "C-unwind" fn fulfill_event(event: *const Event) {
    // SAFETY: the program's.
    unsafe { task::fulfil(event) };
}

/// Affinity is a hint.
pub extern "C" fn omp_reg_task_with_affinity() -> c_int {
    0
}
