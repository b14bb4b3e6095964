//! Doing tasks: at once, at a barrier, and where a task waits for others.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use coho_sync::{IdleWork, Member};

use super::{Explicit, Group, Tasks, order};
use crate::frame::{Frame, Parent};
use crate::here::Membership;

/// Looks for work before a waiting thread gives way.
const LOOKS: u32 = 200;

/// What a member does while it waits at a barrier.
struct Meanwhile<'a> {
    tasks: &'a Tasks,
    membership: &'a Membership,
}

impl IdleWork for Meanwhile<'_> {
    fn is_there(&self) -> bool {
        self.tasks.any_waits()
    }

    fn do_some(&self) {
        self.tasks.do_one(self.membership, None);
    }
}

impl Tasks {
    /// The members' barrier, by which all tasks are done. A member arrives when there is none left: what others make later,
    /// they do themselves or leave to those who wait here.
    pub fn barrier(&self, membership: &Membership, member: &Member<'_>) {
        let mut looks = 0;
        while !self.all_are_finished() {
            self.look(membership, None, &mut looks);
        }
        member.barrier_with(&Meanwhile { tasks: self, membership });
        // All that this task has made are done.
        membership.task().latest.take();
    }

    /// Leaves a new task to whoever comes first.
    pub fn leave(&self, membership: &Membership, task: Arc<Explicit>) {
        self.has_made(membership.rank);
        self.hand_over(membership, task);
    }

    /// Leaves a new task to whoever comes first once those are done that it depends on.
    pub fn leave_after(&self, membership: &Membership, task: Arc<Explicit>, before: &[Arc<Explicit>]) {
        self.has_made(membership.rank);
        if order::follow(&task, before) {
            self.hand_over(membership, task);
        }
    }

    fn hand_over(&self, membership: &Membership, task: Arc<Explicit>) {
        self.add(membership.rank, task);
        if let Some(member) = membership.member() {
            member.offer_work();
        }
    }

    /// Does a task, if there is one that may be done here; returns whether there was.
    pub fn do_one(&self, membership: &Membership, waiting: Option<&Frame>) -> bool {
        let Some(task) = self.take(membership.rank, waiting) else { return false };
        task.complete(membership);
        self.has_finished(membership.rank);
        true
    }

    /// Does tasks until something holds, which others' tasks may make true.
    pub fn do_until(&self, membership: &Membership, done: impl Fn() -> bool) {
        let waiting = membership.task();
        let mut looks = 0;
        while !done() {
            self.look(membership, Some(waiting), &mut looks);
        }
    }

    fn look(&self, membership: &Membership, waiting: Option<&Frame>, looks: &mut u32) {
        if self.do_one(membership, waiting) {
            *looks = 0;
        } else if *looks < LOOKS {
            *looks += 1;
            spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

impl Explicit {
    /// Does it here and now. Those that wait for it may be done then.
    pub fn complete(&self, membership: &Membership) {
        self.run(membership);
        // Its children know it, and it knows them.
        self.frame.latest.take();
        for follower in order::finish(self) {
            if let Some(tasks) = membership.region().tasks {
                tasks.hand_over(membership, follower);
            }
        }
        self.frame.finish();
    }

    fn run(&self, membership: &Membership) {
        self.frame.leave_out_finished();
        let before = membership.task.replace(&raw const self.frame);
        // SAFETY: the argument is as the compiler wants it, and it is run once.
        unsafe { (self.work)(self.argument.pointer()) };
        // Its descendants may know the task for long.
        self.argument.free();
        membership.task.set(before);
    }
}

impl Frame {
    /// A task that another makes. It counts as unfinished there and in its group.
    pub fn child(parent: &Self, link: Parent, is_final: bool) -> Self {
        parent.children.fetch_add(1, Relaxed);
        let group = parent.group.get();
        if !group.is_null() {
            // SAFETY: the group is alive until its tasks are finished, and one of them makes this one.
            unsafe { (*group).unfinished.fetch_add(1, Relaxed) };
        }
        Self::below(parent, link, is_final)
    }

    /// Tells parent and group that the task is done.
    pub fn finish(&self) {
        // Groups that the task began, it has ended.
        let group = self.group.get();
        // Nobody waits for the children of a finished task.
        if let Some(parent) = self.parent() {
            parent.children.fetch_sub(1, Release);
        }
        if !group.is_null() {
            // SAFETY: whoever ends the group waits for this.
            unsafe { (*group).unfinished.fetch_sub(1, AcqRel) };
        }
        self.is_over();
    }
}

/// Waits for the children of the task that runs.
pub fn wait_for_children(membership: &Membership) {
    let task = membership.task();
    if let Some(tasks) = membership.region().tasks {
        tasks.do_until(membership, || task.children.load(Acquire) == 0);
        task.latest.take();
    }
}

/// Begins a group in the task that runs.
pub fn begin_group(membership: &Membership) {
    let group = &membership.task().group;
    group.set(Box::into_raw(Box::new(Group::within(group.get()))));
}

/// Ends it, when all its tasks are done.
pub fn end_group(membership: &Membership) {
    let task = membership.task();
    let group = task.group.get();
    if group.is_null() {
        return;
    }
    if let Some(tasks) = membership.region().tasks {
        // SAFETY: it is freed below.
        tasks.do_until(membership, || unsafe { (*group).unfinished.load(Acquire) } == 0);
    }
    // SAFETY: made by `begin_group`; its tasks were the only others who knew it.
    let group = unsafe { Box::from_raw(group.cast_mut()) };
    task.group.set(group.outer);
}
