//! `OMP_DISPLAY_AFFINITY`: a region whose threads are not those of before, or run elsewhere, shows them.

use std::cell::Cell;
use std::hint;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::thread;

use super::{Dialect, dialect, display};
use crate::here::Membership;
use crate::pool::own;

/// What a thread's last region was that was shown: its members, and with LLVM's runtime its level.
#[derive(Debug, Default)]
pub struct Displayed(Cell<(u32, u32)>);

impl Displayed {
    /// The next region is one of other threads.
    pub fn forget(&self) {
        self.0.take();
    }
}

/// Where the members of a region that begins agree on whether it is shown, and take turns.
#[derive(Debug, Default)]
pub struct Meeting {
    come: AtomicU32,
    /// How many of them have seen a change.
    changed: AtomicU32,
    shown: AtomicU32,
}

/// Shows a member of a region that begins, if the runtime would show the region. libgomp's opener decides by its
/// outermost regions' sizes alone, and shows all those within; with LLVM's runtime, each thread decides.
#[cold]
#[inline(never)]
pub fn begin(membership: &Membership, has_moved: bool) {
    let (region, size, dialect) = (membership.region(), membership.size(), dialect());
    let last = &own().displayed.0;
    let changed = match dialect {
        Dialect::Llvm => last.replace((size, region.level)) != (size, region.level) || has_moved,
        Dialect::Libgomp if size == 1 => return,
        Dialect::Libgomp if membership.rank > 0 => has_moved,
        Dialect::Libgomp => region.level > 1 || last.replace((size, 0)) != (size, 0),
    };
    let meeting = &region.meeting;
    meeting.changed.fetch_add(changed.into(), Relaxed);
    meeting.come.fetch_add(1, AcqRel);
    wait(|| meeting.come.load(Acquire) == size);
    if meeting.changed.load(Relaxed) > 0 {
        wait(|| meeting.shown.load(Acquire) == membership.rank);
        display(&[], dialect, membership);
        meeting.shown.store(membership.rank + 1, Release);
    }
}

/// The same for a region of one thread.
pub fn begin_alone(membership: &Membership) {
    if crate::settings::settings().displays_affinity {
        begin(membership, false);
    }
}

/// All members have begun, so each comes.
fn wait(is_over: impl Fn() -> bool) {
    let mut looks = 0u32;
    while !is_over() {
        looks += 1;
        if looks < 100 { hint::spin_loop() } else { thread::yield_now() }
    }
}
