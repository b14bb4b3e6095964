//! Executing tasks: at once, at a barrier, and while a task waits for others.

use std::hint::spin_loop;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use coho_sync::{IdleWork, Member, SpareWork};

use super::bell::Bell;
use super::nap::{Wait, wait_until};
use super::{Explicit, Group, Tasks, order};
use crate::frame::{Frame, Parent};
use crate::here::Membership;
use crate::settings::settings;

/// Looks for work before a waiting thread yields or sleeps.
const LOOKS: u32 = 12;
/// The pause between two looks doubles with each, at most this many times.
const DOUBLINGS: u32 = 5;

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
        self.tasks.tell_if_all_are_finished();
    }
}

/// For members that are outside the region's body: at the end, or not yet there.
impl SpareWork for Tasks {
    fn is_there(&self) -> bool {
        self.any_waits()
    }

    fn do_some(&self, rank: usize) {
        let Some(task) = self.take(rank as u32, None) else { return };
        let is_over;
        // SAFETY: who left the task to others has written these before, and waits in the region's body until the task is
        // finished.
        unsafe {
            let member = Member::within(self.run.load(Relaxed), rank);
            let mut membership =
                ManuallyDrop::new(Membership::new(Some(&member), self.region.load(Relaxed), rank as u32));
            if settings().places.is_some() {
                membership.bind();
            }
            let before = membership.enter();
            is_over = task.complete(&membership);
            Membership::leave(&mut membership, before);
        }
        drop(task);
        if is_over {
            self.has_finished(rank as u32);
        }
        self.tell_if_all_are_finished();
    }
}

impl Tasks {
    /// Executes tasks until there is none left. At the end of its part of a region, a member that has left tasks to others
    /// waits here: they know its implicit task.
    #[cold]
    pub fn finish(&self, membership: &Membership) {
        self.look_until(membership, None, &self.offered, || self.all_are_finished());
        // Others may sleep for the task that this member has done last.
        self.offered.ring();
    }

    /// The members' barrier, by which all tasks are done. A member arrives when there is none left: others execute what
    /// they create later themselves, or leave it to members that wait here.
    pub fn barrier(&self, membership: &Membership, member: &Member<'_>) {
        self.finish(membership);
        member.barrier_with(&Meanwhile { tasks: self, membership });
        // All tasks that this task has created are done.
        membership.task().latest.take();
    }

    fn tell_if_all_are_finished(&self) {
        if self.offered.is_awaited() && self.all_are_finished() {
            self.offered.ring();
        }
    }

    /// Leaves a new task to the first member that is free.
    pub fn leave(&self, membership: &Membership, task: Arc<Explicit>) {
        self.has_made(membership);
        self.hand_over(membership, task);
    }

    /// Leaves a new task to the first member that is free, once the tasks that it depends on are done.
    pub fn leave_after(&self, membership: &Membership, task: Arc<Explicit>, before: &[Arc<Explicit>]) {
        self.has_made(membership);
        if order::follow(&task, before) {
            self.hand_over(membership, task);
        }
    }

    fn hand_over(&self, membership: &Membership, task: Arc<Explicit>) {
        self.add(membership.rank, task);
        if let Some(member) = membership.member() {
            member.offer_work();
        }
        self.offered.ring();
    }

    /// Executes a task, if there is one that may be executed here; returns whether there was.
    pub fn do_one(&self, membership: &Membership, waiting: Option<&Frame>) -> bool {
        let Some(task) = self.take(membership.rank, waiting) else { return false };
        if task.complete(membership) {
            self.has_finished(membership.rank);
        }
        true
    }

    /// Executes tasks until a condition holds, which others' tasks may make true.
    pub fn do_until(&self, membership: &Membership, done: impl Fn() -> bool) {
        self.look_until(membership, Some(membership.task()), &self.ended, done);
    }

    /// Executes any tasks until a condition holds, for which others ring the bell for all.
    pub fn do_any_until(&self, membership: &Membership, done: impl Fn() -> bool) {
        self.look_until(membership, None, &self.offered, done);
    }

    /// Executes tasks (those that may interrupt a waiting task, or any) until a condition holds, for which others ring.
    fn look_until(
        &self,
        membership: &Membership,
        waiting: Option<&Frame>,
        bell: &Bell,
        done: impl Fn() -> bool,
    ) {
        let (mut looks, mut wait) = (0, Wait::default());
        while !done() {
            if self.do_one(membership, waiting) {
                (looks, wait) = (0, Wait::default());
            } else if looks < LOOKS {
                looks += 1;
                // Each look takes a line from a member that creates tasks.
                (0..1 << looks.min(DOUBLINGS)).for_each(|_| spin_loop());
            } else {
                // A member that waits only for certain tasks is not woken for others, but looks again after its nap.
                wait.go_on(bell, || done() || waiting.is_none() && self.any_waits());
            }
        }
    }
}

impl Explicit {
    /// Executes it here and now. Returns whether it is over, and releases those that wait for it in that case: a task with
    /// an event is over when that is fulfilled, too.
    pub fn complete(&self, membership: &Membership) -> bool {
        self.run(membership);
        self.conclude(membership)
    }

    /// Its body has ended.
    fn conclude(&self, membership: &Membership) -> bool {
        // Its children know it, and it knows them.
        self.frame.latest.take();
        let is_over = self.event.as_ref().is_none_or(|event| event.body_has_ended());
        if is_over {
            self.release(membership);
        }
        is_over
    }

    /// Releases those that wait for it.
    pub(super) fn release(&self, membership: &Membership) {
        if self.order.is_some() {
            self.hand_over_followers(membership);
        }
        if self.frame.finish()
            && let Some(tasks) = membership.tasks()
        {
            tasks.ended.ring();
        }
    }

    #[cold]
    fn hand_over_followers(&self, membership: &Membership) {
        let followers = order::finish(self);
        let Some(tasks) = membership.tasks() else { return };
        for follower in followers {
            tasks.hand_over(membership, follower);
        }
        tasks.ended.ring();
    }

    fn run(&self, membership: &Membership) {
        let before = self.begin(membership);
        if self.runs_anyway || !membership.discards(&self.frame) {
            // SAFETY: the argument is as the compiler wants it, and it is run once.
            unsafe { (self.work)(self.argument.pointer()) };
        }
        self.end(membership, before);
    }

    /// Makes it the task that runs; returns the one that did.
    pub fn begin(&self, membership: &Membership) -> *const Frame {
        self.frame.leave_out_finished();
        membership.task.replace(&raw const self.frame)
    }

    /// Ends it if it was [begun](Self::begin) here, and executed by the code that made it.
    pub fn end_here(&self, membership: &Membership, before: *const Frame) {
        self.end(membership, before);
        if self.conclude(membership)
            && self.has_event()
            && let Some(tasks) = membership.tasks()
        {
            tasks.has_finished(membership.rank);
        }
    }

    /// Frees its data, and lets the task before it go on.
    fn end(&self, membership: &Membership, before: *const Frame) {
        // Now, as its descendants may keep the task for long.
        self.argument.free();
        membership.task.set(before);
    }
}

impl Frame {
    /// A task that another creates and leaves to others. Its parent and its group count it as unfinished.
    #[inline(always)]
    pub fn child(parent: &Self, link: Parent, is_final: bool) -> Self {
        let mut child = Self::below(parent, link, is_final);
        child.count(parent);
        child
    }

    /// Tells parent and group that the task is done; returns whether it was the last for one of them. Members that nap
    /// for that must be woken: the steps are sequentially consistent, so that either sees the other.
    pub fn finish(&self) -> bool {
        let mut is_last = false;
        if !self.is_counted {
            self.is_over();
            return is_last;
        }
        // The task has ended all groups that it began.
        let group = self.group.get();
        // Nobody waits for the children of a finished task.
        if let Some(parent) = self.parent() {
            is_last = parent.children.fetch_sub(1, SeqCst) == 1;
        }
        if !group.is_null() {
            // SAFETY: whoever ends the group waits for this.
            is_last |= unsafe { (*group).unfinished.fetch_sub(1, SeqCst) } == 1;
        }
        self.is_over();
        is_last
    }
}

/// Waits for the children of the task that runs.
pub fn wait_for_children(membership: &Membership) {
    let task = membership.task();
    let are_done = || task.children.load(Acquire) == 0;
    match membership.tasks() {
        Some(tasks) => {
            tasks.do_until(membership, are_done);
            task.latest.take();
        }
        // Without others, only events are waited for.
        None => wait_until(are_done),
    }
}

/// Begins a group in the task that runs.
pub fn begin_group(membership: &Membership) {
    let group = &membership.task().group;
    // SAFETY: groups end before those around them.
    group.set(Box::into_raw(Box::new(unsafe { Group::within(group.get()) })));
}

/// Ends it, when all its tasks are done.
pub fn end_group(membership: &Membership) {
    let task = membership.task();
    let group = task.group.get();
    if group.is_null() {
        return;
    }
    // SAFETY: it is freed below.
    let are_done = || unsafe { (*group).unfinished.load(Acquire) } == 0;
    match membership.tasks() {
        Some(tasks) => tasks.do_until(membership, are_done),
        None => wait_until(are_done),
    }
    // SAFETY: made by `begin_group`; its tasks were the only others who knew it.
    let mut group = unsafe { Box::from_raw(group.cast_mut()) };
    task.group.set(group.outer);
    if let Some(reduction) = group.reduction.take() {
        reduction.end();
    }
}
