//! The lines through which one caller hands requests to one host, and both sides' steps.
//!
//! Requests have positions: 0, 1, 2 and so on. Position p lies in line p modulo the number of lines, in round p divided by
//! it. The word of a line names its round and how far the request is:
//!
//! ```text
//! DONE (of the round before) ──caller: fill, notify──▶ POSTED ──either: compare-and-swap──▶ CLAIMED ──▶ DONE
//! ```
//!
//! Host and caller each claim the oldest request that is not done, and nothing behind it: requests are executed in
//! order. The host skips what the caller has done itself.

use std::ops::Range;

use crate::arch::prefetch;
use crate::request::{Answer, Request};
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicIsize, AtomicU32, AtomicUsize};

/// The number of a request, from 0.
pub(crate) type Position = u64;

const POSTED: u32 = 1;
const CLAIMED: u32 = 2;
const DONE: u32 = 3;
const STAGE_BITS: u32 = 2;

/// A request and its answer: one cache line, in a pair of lines of its own, since Intel's and AMD's prefetchers fetch
/// lines in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
struct Line {
    word: AtomicU32,
    number: AtomicU32,
    arguments: [AtomicUsize; 6],
    answer: AtomicIsize,
}

/// What a host finds where it looks for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// It executed one.
    One,
    /// The caller did that one itself; there may be more behind it.
    Passed,
    /// Nothing to do now.
    None,
}

/// The lines: a power of two.
#[derive(Debug)]
pub(crate) struct Ring(Box<[Line]>);

impl Ring {
    /// At least this many lines.
    pub(crate) fn new(lines: usize) -> Self {
        let line = || Line {
            word: AtomicU32::new(DONE),
            number: AtomicU32::new(0),
            arguments: std::array::from_fn(|_| AtomicUsize::new(0)),
            answer: AtomicIsize::new(0),
        };
        Self((0..lines.next_power_of_two()).map(|_| line()).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A position's line: the index.
    pub(crate) fn index(&self, position: Position) -> usize {
        position as usize & (self.0.len() - 1)
    }

    #[inline(always)]
    fn line(&self, position: Position) -> &Line {
        &self.0[self.index(position)]
    }

    /// The word of a position at a stage; rounds count from 1, and repeat after 2^30.
    #[inline(always)]
    fn word(&self, position: Position, stage: u32) -> u32 {
        let round = (position >> self.0.len().trailing_zeros()) as u32;
        round.wrapping_add(1) << STAGE_BITS | stage
    }

    /// Caller: whether the line that the position needs is free, the request there before it being done.
    #[inline(always)]
    pub(crate) fn is_free(&self, position: Position) -> bool {
        let before = self.word(position, DONE).wrapping_sub(1 << STAGE_BITS);
        self.line(position).word.load(Acquire) == before
    }

    /// Caller: writes a request into a free line. The host does not see it before [`notify`](Self::notify).
    #[inline(always)]
    pub(crate) fn fill(&self, position: Position, request: &Request) {
        let line = self.line(position);
        line.number.store(request.number, Relaxed);
        for (place, &argument) in line.arguments.iter().zip(&request.arguments) {
            place.store(argument, Relaxed);
        }
    }

    /// Caller: posts a request. The host looks at the oldest first, so of several requests, post the oldest last.
    #[inline(always)]
    pub(crate) fn notify(&self, position: Position) {
        self.line(position).word.store(self.word(position, POSTED), Release);
    }

    /// Caller: prefetches a position's line before it is needed.
    #[inline(always)]
    pub(crate) fn fetch(&self, position: Position) {
        if !cfg!(miri) {
            prefetch(std::ptr::from_ref(self.line(position)).cast());
        }
    }

    /// The answer, once there is one.
    #[inline(always)]
    pub(crate) fn answer(&self, position: Position) -> Option<Answer> {
        let line = self.line(position);
        (line.word.load(Acquire) == self.word(position, DONE)).then(|| Answer(line.answer.load(Relaxed)))
    }

    /// Caller: completes all these requests, the oldest first. It executes what the host has not claimed; `wait` must
    /// return once a request that the host has claimed is done. Returns how many it executed. All before them are done.
    pub(crate) fn settle(
        &self,
        positions: Range<Position>,
        execute: impl Fn(&Request) -> Answer,
        wait: impl Fn(Position),
    ) -> u64 {
        let mut executed = 0;
        for position in positions {
            if self.claim(position) {
                self.finish(position, &execute);
                executed += 1;
            } else {
                wait(position);
            }
        }
        executed
    }

    /// Host: executes the request at its position if it is posted. Its position advances past what is done.
    #[inline(always)]
    pub(crate) fn serve(&self, at: &mut Position, execute: impl FnOnce(&Request) -> Answer) -> Served {
        let word = self.line(*at).word.load(Acquire);
        if word == self.word(*at, POSTED) && self.claim(*at) {
            self.finish(*at, execute);
            *at += 1;
            Served::One
        } else if word.wrapping_sub(self.word(*at, DONE)).cast_signed() >= 0 {
            // Or already of a later round, if the caller has been quick.
            *at += 1;
            Served::Passed
        } else {
            Served::None
        }
    }

    /// The host has acquired what was posted when it looked; to the caller it is its own.
    #[inline(always)]
    fn claim(&self, position: Position) -> bool {
        let (posted, claimed) = (self.word(position, POSTED), self.word(position, CLAIMED));
        self.line(position).word.compare_exchange(posted, claimed, Relaxed, Relaxed).is_ok()
    }

    /// What comes after a claim.
    #[inline(always)]
    fn finish(&self, position: Position, execute: impl FnOnce(&Request) -> Answer) {
        let line = self.line(position);
        let request = Request {
            number: line.number.load(Relaxed),
            arguments: std::array::from_fn(|argument| line.arguments[argument].load(Relaxed)),
        };
        line.answer.store(execute(&request).0, Relaxed);
        line.word.store(self.word(position, DONE), Release);
    }
}
