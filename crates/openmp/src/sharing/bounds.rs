//! Loops as counts of iterations, and how these are distributed.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// A loop. Signed and unsigned loops differ only in how many iterations they have: the rest is arithmetic modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    start: u64,
    end: u64,
    step: u64,
    /// Iterations.
    pub count: u64,
}

impl Bounds {
    pub const NONE: Self = Self { start: 0, end: 0, step: 1, count: 0 };

    /// From `start` to before `end`; the step's sign is the direction.
    #[inline]
    pub fn signed(start: i64, end: i64, step: i64) -> Self {
        let up = step > 0;
        let some = if up { start < end } else { start > end };
        Self::new(start as u64, end as u64, step as u64, up, some)
    }

    /// In the form in which the compiler passes unsigned loops: down means that `step` is negative.
    #[inline]
    pub fn unsigned(up: bool, start: u64, end: u64, step: u64) -> Self {
        let some = if up { start < end } else { start > end };
        Self::new(start, end, step, up, some)
    }

    fn new(start: u64, end: u64, step: u64, up: bool, some: bool) -> Self {
        let (distance, stride) =
            if up { (end.wrapping_sub(start), step) } else { (start.wrapping_sub(end), step.wrapping_neg()) };
        let count = if !some || stride == 0 { 0 } else { (distance - 1) / stride + 1 };
        Self { start, end, step, count }
    }

    /// From `lower` to `upper`, which it includes; the step's sign is the direction.
    #[inline]
    pub fn through(lower: u64, upper: u64, step: i64, is_signed: bool) -> Self {
        let (from, to) = if step > 0 { (lower, upper) } else { (upper, lower) };
        let some = if is_signed { from as i64 <= to as i64 } else { from <= to };
        let stride = step.unsigned_abs();
        let count = if some && stride > 0 { (to.wrapping_sub(from) / stride).wrapping_add(1) } else { 0 };
        let end = lower.wrapping_add(count.wrapping_mul(step as u64));
        Self { start: lower, end, step: step as u64, count }
    }

    /// The loop's variable after so many iterations.
    #[inline]
    pub fn at(&self, iteration: u64) -> u64 {
        self.start.wrapping_add(iteration.wrapping_mul(self.step))
    }

    /// The loop's variable in the first and in the last of some iterations; if there are none, the last comes before the
    /// first.
    #[inline]
    pub fn ends(&self, range: &Range<u64>) -> (u64, u64) {
        (self.at(range.start), self.at(range.end).wrapping_sub(self.step))
    }

    pub fn step(&self) -> u64 {
        self.step
    }

    /// The loop's variable after the last iteration.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Chunks of this many iterations.
    #[inline]
    pub fn in_chunks(&self, length: u64) -> Chunks {
        let count = if length == 1 { self.count } else { self.count.div_ceil(length) };
        Chunks {
            start: self.start,
            end: self.end,
            stride: self.step.wrapping_mul(length),
            count: count as usize,
        }
    }

    /// The loop's variable from and to, for a range of iterations.
    #[inline]
    pub fn values(&self, chunk: &Range<u64>) -> (u64, u64) {
        (self.at(chunk.start), if chunk.end == self.count { self.end } else { self.at(chunk.end) })
    }
}

/// A loop in chunks of the same length; the last may be shorter.
#[derive(Debug, Clone, Copy)]
pub struct Chunks {
    start: u64,
    end: u64,
    /// Of the variable, from chunk to chunk.
    stride: u64,
    /// Chunks.
    pub count: usize,
}

impl Chunks {
    pub const NONE: Self = Self { start: 0, end: 0, stride: 0, count: 0 };

    /// The loop's variable from and to, for a chunk.
    #[inline(always)]
    pub fn values(&self, chunk: usize) -> (u64, u64) {
        let from = self.start.wrapping_add((chunk as u64).wrapping_mul(self.stride));
        (from, if chunk + 1 == self.count { self.end } else { from.wrapping_add(self.stride) })
    }
}

/// The chunk that a member has at its `turn`th turn of a static schedule; a chunk of 0 is the member's whole share.
pub fn dealt(count: u64, chunk: u64, (rank, size): (u64, u64), turn: u64) -> Option<Range<u64>> {
    let range = if chunk == 0 {
        let (each, rest) = (count / size, count % size);
        let start = rank * each + rank.min(rest);
        if turn > 0 {
            return None;
        }
        start..start + each + u64::from(rank < rest)
    } else {
        let start = turn.checked_mul(size)?.checked_add(rank)?.checked_mul(chunk)?;
        start..start.saturating_add(chunk).min(count)
    };
    (range.start < range.end).then_some(range)
}

/// Takes the next chunk of this many iterations.
#[inline]
pub fn take(taken: &AtomicUsize, count: u64, chunk: u64, size: u64) -> Option<Range<u64>> {
    // Each member takes one chunk beyond the end.
    if chunk.checked_mul(size + 1).is_none_or(|beyond| count.checked_add(beyond).is_none()) {
        return take_by(taken, count, |_| chunk);
    }
    let start = taken.fetch_add(chunk as usize, Relaxed) as u64;
    (start < count).then(|| start..(start + chunk).min(count))
}

/// How far a member knows the chunks of a guided loop: how many there are so far, and where the next one starts. Their
/// lengths depend only on what is left, so a member can compute each from its number, and taking a chunk only takes
/// counting.
#[derive(Debug, Clone, Copy)]
pub struct Guided {
    chunks: usize,
    next: u64,
}

impl Guided {
    pub const NONE: Self = Self { chunks: 0, next: 0 };

    /// Takes a share of what is left, in whole chunks of `least` iterations, as loops of vectors need it. `taken` counts what
    /// is taken.
    #[inline]
    pub fn take(&mut self, taken: &AtomicUsize, count: u64, least: u64, size: u64) -> Option<Range<u64>> {
        let number = taken.fetch_add(1, Relaxed);
        let after = |start: u64| {
            let left = count - start;
            start + left.div_ceil(size).div_ceil(least).saturating_mul(least).min(left)
        };
        while self.chunks < number && self.next < count {
            *self = Self { chunks: self.chunks + 1, next: after(self.next) };
        }
        (self.next < count).then(|| self.next..after(self.next))
    }
}

fn take_by(taken: &AtomicUsize, count: u64, share: impl Fn(u64) -> u64) -> Option<Range<u64>> {
    let mut start = taken.load(Relaxed) as u64;
    while start < count {
        let end = start + share(count - start).min(count - start);
        match taken.compare_exchange_weak(start as usize, end as usize, Relaxed, Relaxed) {
            Ok(_) => return Some(start..end),
            Err(now) => start = now as u64,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_loop() {
        for (start, end, step, count) in [
            (0, 10, 1, 10),
            (0, 10, 3, 4),
            (10, 0, -3, 4),
            (5, 5, 1, 0),
            (6, 5, 1, 0),
            (5, 6, -1, 0),
            (i64::MIN, i64::MAX, 1, u64::MAX),
            (i64::MAX, i64::MIN, -2, 1 << 63),
            (i64::MAX - 1, i64::MAX, i64::MAX, 1),
        ] {
            assert_eq!(Bounds::signed(start, end, step).count, count, "{start} {end} {step}");
        }
        assert_eq!(Bounds::unsigned(true, 0, u64::MAX, 2).count, 1 << 63);
        assert_eq!(Bounds::unsigned(false, u64::MAX, 0, 5u64.wrapping_neg()).count, u64::MAX / 5);
        assert_eq!(Bounds::unsigned(false, 0, 1, 1u64.wrapping_neg()).count, 0);
    }

    #[test]
    fn every_schedule_deals_each_iteration_once() {
        for count in [0, 1, 7, 100] {
            for size in 1..5 {
                for chunk in [0, 1, 3, 200, u64::MAX] {
                    let mut dealt_to: Vec<_> = (0..size)
                        .flat_map(|rank| (0..).map_while(move |turn| dealt(count, chunk, (rank, size), turn)))
                        .collect();
                    dealt_to.sort_by_key(|range| range.start);
                    check(count, dealt_to);
                    let taken = AtomicUsize::new(0);
                    let chunks = std::iter::from_fn(|| take(&taken, count, chunk.max(1), size));
                    check(count, chunks.collect());
                    let (taken, mut members) = (AtomicUsize::new(0), vec![Guided::NONE; size as usize]);
                    let mut take = |turn: usize| {
                        members[turn * turn % size as usize].take(&taken, count, chunk.max(1), size)
                    };
                    check(count, (0..).map_while(&mut take).collect());
                }
            }
        }
    }

    #[test]
    fn guided_chunks_shrink_to_the_least() {
        let (taken, mut member) = (AtomicUsize::new(0), Guided::NONE);
        let chunks = std::iter::from_fn(|| member.take(&taken, 100, 3, 4));
        let lengths: Vec<_> = chunks.map(|chunk| chunk.end - chunk.start).collect();
        assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
        let (last, whole) = lengths.split_last().unwrap();
        assert_eq!((whole[0], whole[whole.len() - 1]), (27, 3));
        assert!(*last <= 3 && whole.iter().all(|length| length % 3 == 0), "{lengths:?}");
    }

    fn check(count: u64, chunks: Vec<Range<u64>>) {
        let mut next = 0;
        for chunk in chunks {
            assert_eq!(chunk.start, next);
            assert!(chunk.end > chunk.start);
            next = chunk.end;
        }
        assert_eq!(next, count);
    }

    #[test]
    fn chunks_are_those_of_the_ranges_of_iterations() {
        for (start, end, step) in [(0, 100, 1), (7, -90, -3), (i64::MAX - 7, i64::MAX, 2), (3, 3, 1)] {
            let bounds = Bounds::signed(start, end, step);
            for length in [1, 3, 50, 200] {
                let chunks = bounds.in_chunks(length);
                let values: Vec<_> = (0..chunks.count).map(|chunk| chunks.values(chunk)).collect();
                let taken = AtomicUsize::new(0);
                let ranges = std::iter::from_fn(|| take(&taken, bounds.count, length, 1));
                assert_eq!(values, ranges.map(|range| bounds.values(&range)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_last_chunk_ends_where_the_loop_does() {
        let bounds = Bounds::signed(i64::MAX - 5, i64::MAX, 3);
        assert_eq!(bounds.count, 2);
        assert_eq!(bounds.values(&(1..2)), ((i64::MAX - 2) as u64, i64::MAX as u64));
    }
}
