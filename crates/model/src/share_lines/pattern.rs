//! Whether a line goes back and forth between threads, and whether they touch the same bytes of it.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::ShareKind;
use coho_recording::Access;

use super::{InFile, LINE};

/// Changes of the thread that touches a line, or one of its bytes, beyond what it takes to set it up, to hand it over and
/// to collect it in the end.
const LEAST_CHANGES: usize = 4;
/// The same of one thread: what sets up and collects takes part in two.
const LEAST_OF_A_THREAD: usize = 3;
/// How many changes there are at least, as a share of those among the same touches in random order. Threads that work on
/// it in turns, each for long, make few.
const LEAST_MIXED: f64 = 0.25;
/// The share of touches up to which the odd one counts as seen wrongly.
const ODD: f64 = 0.05;
/// Beyond which share of its touches a line is no more than what threads share in truth.
const MOSTLY: f64 = 0.9;

/// An access to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) time: u64,
    /// The thread's rank.
    pub(super) thread: u64,
    /// When the memory's life ends.
    pub(super) until: u64,
    /// The first byte within the line.
    pub(super) offset: u64,
    /// At least one, and no more than the line has left.
    pub(super) bytes: u64,
    pub(super) access: Access,
    pub(super) code: InFile,
}

/// What threads do to a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The threads that take part, by their ranks.
    pub threads: BTreeSet<u64>,
    /// How often one was seen to touch what another had.
    pub changes: u64,
    /// Touches of bytes that one thread writes and another touches.
    pub shared: u64,
    /// Other touches that move the line.
    pub apart: u64,
    /// Its bytes, as instructions touch them.
    pub parts: Vec<Part>,
}

/// Bytes of a line that instructions touch together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The first, within the line.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// The threads that write them.
    pub written_by: BTreeSet<u64>,
    /// The threads that read them.
    pub read_by: BTreeSet<u64>,
    /// The instruction that was seen most often.
    pub code: InFile,
}

impl Evidence {
    /// How threads share the line.
    pub fn kind(&self) -> ShareKind {
        let shared = self.shared as f64 / (self.shared + self.apart).max(1) as f64;
        match shared {
            _ if shared > MOSTLY => ShareKind::True,
            _ if shared <= ODD => ShareKind::False,
            _ => ShareKind::Mixed,
        }
    }
}

/// What threads do to a line, by its touches in the order of time; `None` if it does not go back and forth. `instant` is
/// the time within which touches by one thread count once, as steps of one burst do.
pub(super) fn evidence(touches: &[Touch], instant: u64) -> Option<Evidence> {
    let mut takes_part = BTreeMap::<u64, usize>::new();
    for (before, after) in changes(touches) {
        *takes_part.entry(before).or_default() += 1;
        *takes_part.entry(after).or_default() += 1;
    }
    let threads: BTreeSet<u64> =
        takes_part.into_iter().filter(|(_, count)| *count >= LEAST_OF_A_THREAD).map(|(one, _)| one).collect();
    let touches: Vec<Touch> =
        touches.iter().filter(|touch| threads.contains(&touch.thread)).copied().collect();
    let changes = changes(&touches).len();
    if threads.len() < 2
        || changes < LEAST_CHANGES
        || (changes as f64) < LEAST_MIXED * mixed(&touches, instant)
    {
        return None;
    }
    let is_shared = shared_bytes(&touches);
    let hits =
        |touch: &&Touch| (touch.offset..touch.offset + touch.bytes).any(|byte| is_shared[byte as usize]);
    let sharers: BTreeSet<u64> = touches.iter().filter(hits).map(|touch| touch.thread).collect();
    // A thread that only reads what nobody writes loses the line to others, unless it takes part in their sharing anyway.
    let moves = |touch: &&Touch| touch.access.writes() || !sharers.contains(&touch.thread);
    let shared = touches.iter().filter(hits).count() as u64;
    let apart = touches.iter().filter(|touch| !hits(touch) && moves(touch)).count() as u64;
    Some(Evidence { changes: changes as u64, shared, apart, parts: parts(&touches), threads })
}

/// The threads of each two successive touches between which the line may have moved: by different threads, one of which
/// wrote since the other came, while the memory lived.
fn changes(touches: &[Touch]) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    let (mut last, mut wrote): (Option<&Touch>, bool) = (None, false);
    for touch in touches {
        match last {
            Some(before) if before.thread == touch.thread && before.until > touch.time => {
                wrote |= touch.access.writes();
            }
            Some(before) if before.until > touch.time => {
                if wrote || touch.access.writes() {
                    all.push((before.thread, touch.thread));
                }
                wrote = touch.access.writes();
            }
            _ => wrote = touch.access.writes(),
        }
        last = Some(touch);
    }
    all
}

/// How many changes there would be among the same touches in random order. Those of one thread within an instant count as
/// one.
fn mixed(touches: &[Touch], instant: u64) -> f64 {
    let mut counts = BTreeMap::<u64, (u64, f64)>::new();
    for touch in touches {
        let (last, count) = counts.entry(touch.thread).or_insert((touch.time, 1.0));
        if touch.time.saturating_sub(*last) >= instant.max(1) {
            (*last, *count) = (touch.time, *count + 1.0);
        }
    }
    let all: f64 = counts.values().map(|(_, count)| count).sum();
    all * (1.0 - counts.values().map(|(_, count)| (count / all).powi(2)).sum::<f64>())
}

/// Which bytes themselves go back and forth.
fn shared_bytes(touches: &[Touch]) -> Vec<bool> {
    let of = |byte: u64| {
        let mine = |touch: &&Touch| (touch.offset..touch.offset + touch.bytes).contains(&byte);
        let touches: Vec<Touch> = touches.iter().filter(mine).copied().collect();
        changes(&touches).len() >= LEAST_OF_A_THREAD
    };
    (0..LINE).map(of).collect()
}

/// Bytes that are touched together. Those that only a few touches reach over are left apart.
fn parts(touches: &[Touch]) -> Vec<Part> {
    let mut ranges = BTreeMap::<(u64, u64), Vec<&Touch>>::new();
    for touch in touches {
        ranges.entry((touch.offset, touch.bytes)).or_default().push(touch);
    }
    let least = (ODD * touches.len() as f64 / ranges.len().max(1) as f64).ceil() as usize;
    let often = ranges.into_iter().filter(|(_, touches)| touches.len() >= least);
    let mut parts: Vec<(u64, u64, Vec<&Touch>)> = Vec::new();
    for ((offset, bytes), touches) in often {
        match parts.last_mut() {
            Some((start, length, all)) if *start + *length > offset => {
                *length = (*length).max(offset + bytes - *start);
                all.extend(touches);
            }
            _ => parts.push((offset, bytes, touches)),
        }
    }
    let part = |(offset, bytes, touches): (u64, u64, Vec<&Touch>)| {
        let by = |does: fn(Access) -> bool| {
            touches.iter().filter(|touch| does(touch.access)).map(|touch| touch.thread).collect()
        };
        let mut codes = BTreeMap::<InFile, u64>::new();
        touches.iter().for_each(|touch| *codes.entry(touch.code).or_default() += 1);
        let (code, _) = codes.into_iter().max_by_key(|(_, count)| *count)?;
        Some(Part { offset, bytes, written_by: by(Access::writes), read_by: by(Access::reads), code })
    };
    parts.into_iter().filter_map(part).collect()
}
