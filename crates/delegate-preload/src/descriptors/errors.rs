//! Errors of accepted writes, until the program is told.
//!
//! An error is an open file description's: descriptors that have been made of each other share it.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU16};

use coho_preload::line;
use libc::{c_int, c_uint};

use super::MOST;
use crate::state;

/// For each descriptor.
static OWN: [AtomicI32; MOST] = [const { AtomicI32::new(0) }; MOST];
/// Of descriptions that have several descriptors.
static SHARED: [AtomicI32; MOST] = [const { AtomicI32::new(0) }; MOST];
/// How many descriptors have each of these.
static USERS: [AtomicU16; MOST] = [const { AtomicU16::new(0) }; MOST];
/// The number, counted from 1, of the entry that each descriptor uses; 0 if none.
static SHARES: [AtomicU16; MOST] = [const { AtomicU16::new(0) }; MOST];

fn place(descriptor: c_int) -> Option<usize> {
    usize::try_from(descriptor).ok().filter(|&place| place < MOST)
}

/// Where the errors of a descriptor's writes are kept.
#[inline(always)]
fn kept(place: usize) -> &'static AtomicI32 {
    match SHARES[place].load(Acquire) {
        0 => &OWN[place],
        share => &SHARED[usize::from(share) - 1],
    }
}

/// Whether a write to the descriptor has failed, which nobody knows of yet.
#[inline(always)]
pub fn is_set(place: usize) -> bool {
    OWN[place].load(Relaxed) != 0 || kept(place).load(Relaxed) != 0
}

/// A write to the descriptor has failed.
pub fn set(place: usize, number: c_int) {
    kept(place).store(number, Release);
}

/// The error of a write that was accepted, once.
#[inline(always)]
pub fn take_error(descriptor: c_int) -> Option<c_int> {
    let place = place(descriptor)?;
    if OWN[place].load(Acquire) == 0 && kept(place).load(Acquire) == 0 {
        return None;
    }
    take(&OWN[place]).or_else(|| take(kept(place)))
}

fn take(error: &AtomicI32) -> Option<c_int> {
    if error.load(Relaxed) == 0 {
        return None;
    }
    Some(error.swap(0, Relaxed)).filter(|&number| number != 0)
}

/// A descriptor has been made of another one.
pub fn share(from: c_int, to: c_int) {
    let (Some(from), Some(to)) = (place(from), place(to)) else { return };
    if from != to && state::may_write_later() {
        join(from, to);
    }
}

fn join(from: usize, to: usize) {
    leave(to);
    let share = match SHARES[from].load(Acquire) {
        0 => begin(from),
        share => Some(share),
    };
    // Where all are in use, each is told its own.
    if let Some(share) = share {
        USERS[usize::from(share) - 1].fetch_add(1, AcqRel);
        SHARES[to].store(share, Release);
    }
}

/// The first share of a descriptor's.
fn begin(place: usize) -> Option<u16> {
    let free = |users: &AtomicU16| users.compare_exchange(0, 1, AcqRel, Relaxed).is_ok();
    let share = USERS.iter().position(free)? as u16 + 1;
    match SHARES[place].compare_exchange(0, share, AcqRel, Acquire) {
        Ok(_) => Some(share),
        // Another thread has been quicker.
        Err(other) => {
            USERS[usize::from(share) - 1].fetch_sub(1, AcqRel);
            Some(other)
        }
    }
}

/// It is closed: what is wrong with its description the others are told.
pub fn close(descriptor: c_int) {
    if let Some(place) = place(descriptor) {
        leave(place);
    }
}

/// It is replaced: of whatever is wrong with it alone the user learns, as the program cannot.
pub fn replace(descriptor: c_int) {
    if let Some(place) = place(descriptor) {
        if let Some(number) = take(&OWN[place]) {
            tell(place, number);
        }
        leave(place);
    }
}

/// Reports errors of earlier writes to descriptors that were closed by a call which cannot return them.
pub fn abandon(all: RangeInclusive<c_uint>) {
    for place in *all.start() as usize..MOST.min((*all.end() as usize).saturating_add(1)) {
        replace(place as c_int);
    }
}

/// Says what no call has told the program.
pub fn tell(place: usize, number: c_int) {
    let why = std::io::Error::from_raw_os_error(number);
    line("delegate", format_args!("not all was written to descriptor {place}: {why}"));
}

/// They are another process's matter.
pub fn forget_all() {
    OWN.iter().chain(&SHARED).for_each(|error| {
        if error.load(Relaxed) != 0 {
            error.store(0, Relaxed);
        }
    });
}

fn leave(place: usize) {
    // A child in its parent's memory has other descriptors.
    if SHARES[place].load(Relaxed) == 0 || state::is_vforked() {
        return;
    }
    let Some(share) = usize::from(SHARES[place].swap(0, AcqRel)).checked_sub(1) else { return };
    if USERS[share].fetch_sub(1, AcqRel) == 1
        && let Some(number) = take(&SHARED[share])
    {
        tell(place, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_of_one_description_are_told_once() {
        let [first, second, third, other] = [4000, 4001, 4002, 4003];
        share_all(first, &[second, third]);
        set(second as usize, libc::ENOSPC);
        assert!(is_set(first as usize) && is_set(third as usize) && !is_set(other as usize));
        assert_eq!((take_error(other), take_error(third)), (None, Some(libc::ENOSPC)));
        assert_eq!((take_error(first), take_error(second)), (None, None));
        // A number that is used again has nothing to do with the description.
        close(first);
        set(first as usize, libc::EIO);
        assert_eq!((take_error(second), take_error(first)), (None, Some(libc::EIO)));
        set(third as usize, libc::EIO);
        replace(third);
        assert_eq!((take_error(third), take_error(second)), (None, Some(libc::EIO)));
        // An error that nobody was told goes with its last descriptor; a new description starts without one.
        set(second as usize, libc::EIO);
        replace(second);
        share_all(other, &[second]);
        assert_eq!((take_error(second), take_error(other)), (None, None));
        assert_eq!((take_error(-1), take_error(MOST as c_int)), (None, None));
    }

    fn share_all(from: c_int, others: &[c_int]) {
        others.iter().for_each(|&to| join(from as usize, to as usize));
    }
}
