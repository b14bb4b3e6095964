//! Which thread has a line, and whether it goes back and forth: a word for each.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::ByAddress;
use coho_recording::Access;

use super::begin::process;

/// Bytes of a line.
pub const LINE: usize = 64;

/// The thread that has it, by its number; 0 if none has.
const OWNER: u32 = 0xffff;
/// Whether that thread has written it.
const WROTE: u32 = 1 << 16;
/// Whether others have read it since.
const READERS: u32 = 1 << 17;
/// Counts how often it went to another thread with something written before or then.
const CHANGE: u32 = 1 << 18;
const CHANGES: u32 = 7 * CHANGE;
/// Setting it up, handing it over and collecting it in the end makes fewer.
const MOST_CHANGES: u32 = 4 * CHANGE;
/// It goes back and forth: what is in the word stays.
const SHARED: u32 = 1 << 31;

static LINES: ByAddress<AtomicU32, LINE> = ByAddress::new();

/// Whether an access by a thread of this number, at least 1, is to a line that threads share.
#[inline(always)]
pub fn is_shared(address: usize, thread: u32, access: Access) -> bool {
    match LINES.get(address) {
        Some(word) => is_shared_by(word, thread, access),
        None => is_first(address, thread, access),
    }
}

#[cold]
fn is_first(address: usize, thread: u32, access: Access) -> bool {
    process().is_some() && LINES.make(address).is_some_and(|word| is_shared_by(word, thread, access))
}

#[inline(always)]
fn is_shared_by(word: &AtomicU32, thread: u32, access: Access) -> bool {
    let state = word.load(Relaxed);
    let is_mine = state & (OWNER | READERS) == thread && (!access.writes() || state & WROTE != 0);
    state & SHARED != 0 || !is_mine && change(word, thread, access)
}

#[cold]
fn change(word: &AtomicU32, thread: u32, access: Access) -> bool {
    let changed = word.fetch_update(Relaxed, Relaxed, |state| next(state, thread, access.writes()));
    changed.map_or_else(|same| same, |before| next(before, thread, access.writes()).unwrap_or(before))
        & SHARED
        != 0
}

/// The word after an access; `None` if it stays.
fn next(state: u32, thread: u32, writes: bool) -> Option<u32> {
    if state & SHARED != 0 {
        return None;
    }
    let mine = thread | if writes { WROTE } else { 0 };
    let is_mine = state & OWNER == thread && state & READERS == 0;
    let goes = match () {
        () if state & OWNER == 0 => return Some(mine),
        () if is_mine => return (writes && state & WROTE == 0).then_some(state | WROTE),
        () if !writes && state & READERS != 0 => return None,
        // Nothing was written that it would have to fetch from its owner alone.
        () if !writes && state & WROTE == 0 => return Some(state | READERS),
        () => mine | ((state & CHANGES) + CHANGE),
    };
    Some(if goes & CHANGES >= MOST_CHANGES { goes | SHARED } else { goes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word after accesses by threads: who, and whether they write.
    fn after(accesses: &[(u32, bool)]) -> u32 {
        accesses.iter().fold(0, |state, &(thread, writes)| next(state, thread, writes).unwrap_or(state))
    }

    #[test]
    fn a_line_that_goes_back_and_forth_is_shared_for_good() {
        let turns =
            |count: usize, writes: bool| (0..count).map(|at| (1 + at as u32 % 2, writes)).collect::<Vec<_>>();
        assert_eq!(after(&turns(4, true)) & SHARED, 0);
        let shared = after(&turns(5, true));
        assert_ne!(shared & SHARED, 0);
        assert_eq!(next(shared, 3, true), None);
        assert_eq!(after(&turns(100, false)) & SHARED, 0, "nobody writes");
    }

    #[test]
    fn a_line_that_is_handed_over_and_read_by_all_is_not() {
        let mut accesses = vec![(1, true), (1, false)];
        accesses.extend((0..100).map(|at| (1 + at % 4, false)));
        assert_eq!(after(&accesses) & SHARED, 0);
        let one_writer: Vec<_> = (0..5).flat_map(|_| [(1, true), (2, false), (3, false)]).collect();
        assert_ne!(after(&one_writer) & SHARED, 0);
    }
}
