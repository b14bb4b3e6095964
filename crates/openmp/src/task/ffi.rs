//! Tasks as compiled programs create them.

use std::alloc::Layout;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};

use super::order::{self, Dependence, Order};
use super::run::{begin_group, end_group, wait_for_children};
use super::{Event, Explicit, Tasks, Work, taskgroup_reduction_register};
use crate::here::{Membership, here};
use crate::truth::Truth;

const FINAL: c_uint = 1 << 1;
const DEPENDS: c_uint = 1 << 3;
const DETACH: c_uint = 1 << 13;
const UP: c_uint = 1 << 8;
const GRAIN_SIZE: c_uint = 1 << 9;
const IF: c_uint = 1 << 10;
const NO_GROUP: c_uint = 1 << 11;
const REDUCES: c_uint = 1 << 12;
const STRICT: c_uint = 1 << 14;

/// Copies a task's data.
type Copy = Option<unsafe extern "C-unwind" fn(*mut c_void, *mut c_void)>;

/// How a task's data is copied.
struct Data {
    from: *mut c_void,
    copy: Copy,
    layout: Layout,
    /// Where the task's event is wanted; null if it has none.
    event: *mut *const Event,
}

impl Data {
    fn new(from: *mut c_void, copy: Copy, size: c_long, align: c_long) -> Self {
        let layout = Layout::from_size_align(size.max(1) as usize, align.max(1) as usize);
        let layout = layout.expect("the compiler's sizes and alignments are valid");
        Self { from, copy, layout, event: ptr::null_mut() }
    }

    /// # Safety
    /// There is room at `to`.
    unsafe fn copy_to(&self, to: *mut c_void, size: usize) {
        // SAFETY: as the caller promises; the compiler's data has the size that it says.
        unsafe {
            match self.copy {
                Some(copy) => copy(to, self.from),
                None => ptr::copy_nonoverlapping(self.from.cast::<u8>(), to.cast(), size),
            }
        }
    }

    fn task(
        &self,
        membership: &Membership,
        work: Work,
        size: usize,
        is_final: bool,
        is_left: bool,
        order: Option<Box<Order>>,
    ) -> Arc<Explicit> {
        let how = (is_final, is_left, self.copy.is_some());
        let task = Explicit::new(membership, work, self.layout, how, order);
        if !self.event.is_null() {
            // SAFETY: the compiler's, which also wants it at the beginning of the data.
            unsafe {
                let event = Explicit::add_event(Arc::as_ptr(&task), membership);
                *self.event = event;
                if let Some(first) = self.from.cast::<*const Event>().as_mut() {
                    *first = event;
                }
            }
        }
        // SAFETY: the argument has the layout's size.
        unsafe { self.copy_to(task.argument.pointer(), size) };
        task
    }
}

/// The team's tasks if a task can be left to others; `None` if it is executed at once.
pub fn leaves(membership: &Membership) -> Option<&Tasks> {
    let tasks = membership.tasks()?;
    (!membership.task().is_final && tasks.has_room(membership.rank, membership.size())).then_some(tasks)
}

/// The most children of a task that may wait for others in order, for each member; further ones are executed where they
/// are created.
const MOST_IN_ORDER: usize = 64;

/// Creates a task that depends on others, and executes it after them.
pub fn in_order(
    membership: &Membership,
    tasks: &Tasks,
    dependences: &[Dependence],
    may_wait: bool,
    make: impl FnOnce(Box<Order>) -> Arc<Explicit>,
) {
    let parent = membership.task();
    let mut latest = parent.latest.take().unwrap_or_default();
    let before = latest.before(dependences);
    // Other threads do not see a task until it is among the latest.
    let task = make(Box::new(Order::new()));
    latest.add(&task, dependences);
    parent.latest.replace(Some(latest));
    let most = MOST_IN_ORDER * membership.size() as usize;
    if may_wait && !parent.is_final && parent.children.load(Relaxed) <= most {
        tasks.leave_after(membership, task, &before);
    } else {
        tasks.do_until(membership, || before.iter().all(|earlier| order::is_done(earlier)));
        complete(membership, &task);
    }
}

/// Executes a new task here and now.
pub fn complete(membership: &Membership, task: &Explicit) {
    if !task.has_event() {
        task.complete(membership);
        return;
    }
    // Others may have to wait for it after this.
    if let Some(tasks) = membership.tasks() {
        tasks.has_made(membership);
    }
    if task.complete(membership)
        && let Some(tasks) = membership.tasks()
    {
        tasks.has_finished(membership.rank);
    }
}

/// A task. In a team of one it is executed at once, like those that it may depend on.
pub unsafe extern "C-unwind" fn task(
    work: Work,
    data: *mut c_void,
    copy: Copy,
    size: c_long,
    align: c_long,
    may_wait: Truth,
    flags: c_uint,
    depends: *const *const c_void,
    _priority: c_int,
    event: *mut *const Event,
) {
    let membership = here();
    if membership.discards(membership.task()) {
        return;
    }
    let mut data = Data::new(data, copy, size, align);
    if flags & DETACH != 0 {
        data.event = event;
    }
    let make = |is_left, order| {
        data.task(membership, work, size.max(0) as usize, flags & FINAL != 0, is_left, order)
    };
    if let (true, Some(tasks)) = (flags & DEPENDS != 0, membership.tasks()) {
        // SAFETY: the compiler's.
        let dependences = unsafe { order::dependences(depends) };
        in_order(membership, tasks, &dependences, may_wait.holds(), |order| make(true, Some(order)));
        return;
    }
    match leaves(membership).filter(|_| may_wait.holds()) {
        Some(tasks) => tasks.leave(membership, make(true, None)),
        None => complete(membership, &make(flags & DETACH != 0, None)),
    }
}

pub extern "C-unwind" fn taskwait() {
    wait_for_children(here());
}

/// Waits for the children that a task with these dependences would wait for.
pub unsafe extern "C-unwind" fn taskwait_depend(depends: *const *const c_void) {
    // SAFETY: the compiler's.
    wait_in_order(here(), &unsafe { order::dependences(depends) });
}

/// Waits for the children that a task with these dependences would wait for.
pub fn wait_in_order(membership: &Membership, dependences: &[Dependence]) {
    let Some(tasks) = membership.tasks() else { return };
    let Some(latest) = membership.task().latest.take() else { return };
    let before = latest.before(dependences);
    membership.task().latest.replace(Some(latest));
    tasks.do_until(membership, || before.iter().all(|earlier| order::is_done(earlier)));
}

pub extern "C-unwind" fn taskyield() {
    let membership = here();
    if let Some(tasks) = membership.tasks() {
        tasks.do_one(membership, Some(membership.task()));
    }
}

pub extern "C" fn taskgroup_start() {
    begin_group(here());
}

pub extern "C-unwind" fn taskgroup_end() {
    end_group(here());
}

/// How a loop is cut into tasks: their number, and the iterations `each` has; the first `longer` tasks have one more.
/// What is asked is a number of tasks, 0 for the usual one, or of iterations in each.
pub fn cut(count: u64, asked: u64, (by_grain, is_strict): (bool, bool), usual: u64) -> (u64, u64, u64) {
    if by_grain {
        let grain = asked.max(1);
        if is_strict {
            return (count.div_ceil(grain), grain, 0);
        }
        let tasks = (count / grain).max(1);
        return (tasks, count / tasks, count % tasks);
    }
    let tasks = if asked == 0 { usual } else { asked }.clamp(1, count.max(1));
    (tasks, count / tasks, count % tasks)
}

/// A loop whose iterations are shared out as tasks.
struct Loop {
    start: u64,
    step: u64,
    end: u64,
    count: u64,
}

impl Loop {
    unsafe fn run(&self, work: Work, data: &Data, size: usize, flags: c_uint, asked: u64) {
        let membership = here();
        let begin = || {
            begin_group(membership);
            if flags & REDUCES != 0 {
                // SAFETY: a loop's data begins with the bounds of a task, and then what is reduced, if there is any.
                unsafe { taskgroup_reduction_register(*data.from.cast::<*mut usize>().add(2)) };
            }
        };
        let grouped = flags & NO_GROUP == 0;
        // The compiled body checks the bounds only at the end, so an empty loop must not run it.
        if self.count == 0 || membership.discards(membership.task()) {
            if grouped {
                begin();
                end_group(membership);
            }
            return;
        }
        let how = (flags & GRAIN_SIZE != 0, flags & STRICT != 0);
        let (tasks, each, longer) = cut(self.count, asked, how, u64::from(membership.size()));
        if grouped {
            begin();
        }
        let mut from = 0;
        for part in 0..tasks {
            let to = (from + each + u64::from(part < longer)).min(self.count);
            let at = |iteration: u64| {
                if iteration == self.count {
                    self.end
                } else {
                    self.start.wrapping_add(iteration.wrapping_mul(self.step))
                }
            };
            let tasks = leaves(membership).filter(|_| flags & IF != 0);
            let task = data.task(membership, work, size, flags & FINAL != 0, tasks.is_some(), None);
            // SAFETY: a loop's data begins with the bounds of the task.
            unsafe { task.argument.pointer().cast::<[u64; 2]>().write_unaligned([at(from), at(to)]) };
            match tasks {
                Some(tasks) => tasks.leave(membership, task),
                None => complete(membership, &task),
            }
            from = to;
        }
        if grouped {
            end_group(membership);
        }
    }
}

pub unsafe extern "C-unwind" fn taskloop(
    work: Work,
    data: *mut c_void,
    copy: Copy,
    size: c_long,
    align: c_long,
    flags: c_uint,
    asked: c_ulong,
    _priority: c_int,
    start: c_long,
    end: c_long,
    step: c_long,
) {
    let bounds = crate::sharing::Bounds::signed(start, end, step);
    let all = Loop { start: start as u64, step: step as u64, end: end as u64, count: bounds.count };
    // SAFETY: the compiler's.
    unsafe { all.run(work, &Data::new(data, copy, size, align), size.max(0) as usize, flags, asked) };
}

pub unsafe extern "C-unwind" fn taskloop_ull(
    work: Work,
    data: *mut c_void,
    copy: Copy,
    size: c_long,
    align: c_long,
    flags: c_uint,
    asked: c_ulong,
    _priority: c_int,
    start: c_ulonglong,
    end: c_ulonglong,
    step: c_ulonglong,
) {
    let bounds = crate::sharing::Bounds::unsigned(flags & UP != 0, start, end, step);
    let all = Loop { start, step, end, count: bounds.count };
    // SAFETY: the compiler's.
    unsafe { all.run(work, &Data::new(data, copy, size, align), size.max(0) as usize, flags, asked) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_cut_into_tasks_as_asked() {
        let (tasks, grain, strict) = ((false, false), (true, false), (true, true));
        for (count, asked, how, cut_into) in [
            (10, 0, tasks, (2, 5, 0)),
            (10, 3, tasks, (3, 3, 1)),
            (2, 8, tasks, (2, 1, 0)),
            (0, 8, tasks, (1, 0, 0)),
            (10, 4, grain, (2, 5, 0)),
            (3, 4, grain, (1, 3, 0)),
            (10, 4, strict, (3, 4, 0)),
        ] {
            assert_eq!(cut(count, asked, how, 2), cut_into, "{count} {asked} {how:?}");
        }
    }
}
