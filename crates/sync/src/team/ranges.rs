//! The chunks of a loop that each member has in hand.
//!
//! A member takes one of as many equal shares as there are members, then takes chunk by chunk from its own line.
//! Another member touches that line only when it has run out: it then takes the share of a member that has not
//! arrived yet, or the later half of what another has left. So chunks are taken one at a time, as dynamic schedules
//! promise, yet the common line is rarely touched.
//!
//! The last chunk is left until there is no other, and the member that takes it takes none after it. Compiled code
//! relies on this: it looks at a member's last chunk to decide whether it had the loop's last one.
//!
//! A member works upwards in what it has in hand. Hence the first unfinished chunk is always being worked on, or is the
//! next one of a member that waits for nothing: iterations that wait for earlier ones do not block each other.

use crate::padded::Padded;
use crate::sync::AtomicUsize;
use crate::sync::Ordering::Relaxed;

/// Places of constructs: as many as a line of 64 bytes has words.
pub(crate) const MOST_PLACES: usize = 8;

const HALF: u32 = usize::BITS / 2;
/// The most chunks that fit: the next one's number and the end share a word.
const MOST: usize = 1 << (HALF - 1);
/// Marks a member that has had the last chunk: it has nothing in hand and must not look further.
const HAD_LAST: usize = usize::MAX;
/// Set in the common counter when the last chunk has been taken.
const LAST_IS_TAKEN: usize = 1 << (usize::BITS - 1);

/// A line for each member, with a word for each place: the next chunk and the end. If the two are equal, nothing is in
/// hand. A non-empty range never recurs in a loop, since its first chunk is not taken twice, so no compare-exchange can
/// mistake a new range for the one that was read.
#[derive(Debug)]
pub(crate) struct Ranges(Box<[Padded<[AtomicUsize; MOST_PLACES]>]>);

impl Ranges {
    pub(crate) fn new(size: usize) -> Self {
        let line = |_| Padded(std::array::from_fn(|_| AtomicUsize::new(0)));
        Self((0..size).map(line).collect())
    }

    /// What the member has in hand.
    #[inline]
    pub(crate) fn of(&self, rank: usize, place: usize) -> &AtomicUsize {
        &self.0[rank][place]
    }

    /// The next chunk for a member that has none in hand; `taken` counts shares.
    pub(crate) fn take_more(
        &self,
        place: usize,
        rank: usize,
        taken: &AtomicUsize,
        chunks: usize,
    ) -> Option<usize> {
        if chunks > MOST {
            return one_by_one(taken, chunks);
        }
        let own = self.of(rank, place);
        if chunks == 0 || own.load(Relaxed) == HAD_LAST {
            own.store(0, Relaxed);
            return None;
        }
        let last = chunks - 1;
        if let Some((next, end)) = self.share(taken, last).or_else(|| self.steal(place, rank)) {
            own.store(packed(next + 1, end), Relaxed);
            return Some(next);
        }
        let is_left = taken.load(Relaxed) & LAST_IS_TAKEN == 0;
        if is_left && taken.fetch_or(LAST_IS_TAKEN, Relaxed) & LAST_IS_TAKEN == 0 {
            own.store(HAD_LAST, Relaxed);
            return Some(last);
        }
        None
    }

    /// A member's share, or that of a member that has not arrived yet.
    fn share(&self, taken: &AtomicUsize, chunks: usize) -> Option<(usize, usize)> {
        let each = chunks.div_ceil(self.0.len());
        let from = each * one_by_one(taken, self.0.len())?;
        (from < chunks).then(|| (from, (from + each).min(chunks)))
    }

    /// The later half of what another has in hand.
    fn steal(&self, place: usize, rank: usize) -> Option<(usize, usize)> {
        let size = self.0.len();
        (rank + 1..rank + size).find_map(|other| {
            let other = self.of(other % size, place);
            let mut held = other.load(Relaxed);
            while let (next, end) = unpacked(held)
                && next < end
            {
                let middle = next + (end - next) / 2;
                match other.compare_exchange_weak(held, packed(next, middle), Relaxed, Relaxed) {
                    Ok(_) => return Some((middle, end)),
                    Err(now) => held = now,
                }
            }
            None
        })
    }
}

/// The member's next chunk of those that it has in hand.
#[inline(always)]
pub(crate) fn next_in_hand(own: &AtomicUsize) -> Option<usize> {
    let mut held = own.load(Relaxed);
    while let (next, end) = unpacked(held)
        && next < end
    {
        match own.compare_exchange_weak(held, packed(next + 1, end), Relaxed, Relaxed) {
            Ok(_) => return Some(next),
            Err(now) => held = now,
        }
    }
    None
}

/// The next chunk by the common counter, which counts chunks, so that members that find none cannot make it overflow.
#[inline]
pub(crate) fn one_by_one(taken: &AtomicUsize, chunks: usize) -> Option<usize> {
    (taken.load(Relaxed) < chunks).then(|| taken.fetch_add(1, Relaxed)).filter(|&chunk| chunk < chunks)
}

fn packed(next: usize, end: usize) -> usize {
    next << HALF | end
}

fn unpacked(range: usize) -> (usize, usize) {
    (range >> HALF, range & ((1 << HALF) - 1))
}
