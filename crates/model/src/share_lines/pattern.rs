//! Whether a line goes back and forth between threads, and whether they touch the same bytes of it.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::ShareKind;
use coho_recording::Access;

use super::{InFile, LINE};

/// Changes of the thread that touches a line, or one of its bytes, beyond what it takes to set it up, to hand it over
/// and to collect it in the end.
const LEAST_CHANGES: usize = 4;
/// The same of one thread: what sets up and collects takes part in two.
const LEAST_OF_A_THREAD: usize = 3;
/// Changes between threads each of which takes part in fewer, as they end too soon.
const LEAST_OF_BRIEF_THREADS: usize = 16;
/// How many changes there are at least, as a share of those among the same touches in random order. Threads that work
/// on it in turns, each for long, make few.
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
    /// When it began and ended.
    pub(super) lived: (u64, u64),
    /// When the memory's life ends.
    pub(super) until: u64,
    /// The first byte within the line.
    pub(super) offset: u64,
    /// At least one, and no more than the line has left.
    pub(super) bytes: u64,
    pub(super) access: Access,
    pub(super) code: InFile,
}

/// How often a thread accesses bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How often it reads them, an increment included.
    pub reads: u64,
    /// How often it writes them, an increment included.
    pub writes: u64,
}

/// Accesses to a line that were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// The thread's rank.
    pub(super) thread: u64,
    /// The first byte within the line.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) access: Access,
    pub(super) times: u64,
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
    /// How often each thread reads and writes them; empty if that was not counted.
    pub counts: BTreeMap<u64, Count>,
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

/// What threads do to a line, by its touches in the order of time; `None` if it does not go back and forth. `instant`
/// is the time within which touches by one thread count once, as steps of one burst do. Where accesses were counted,
/// what is told of bytes rests on the counts.
pub(super) fn evidence(touches: &[Touch], instant: u64, counted: &[Counted]) -> Option<Evidence> {
    let threads = participants(&changes(touches));
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
    let seen = |touch: &Touch| Counted {
        thread: touch.thread,
        offset: touch.offset,
        bytes: touch.bytes,
        access: touch.access,
        times: 1,
        code: touch.code,
    };
    let accesses: Vec<Counted> = match counted {
        [] => touches.iter().map(seen).collect(),
        counted => counted.iter().filter(|one| threads.contains(&one.thread)).copied().collect(),
    };
    let hits = |one: &&Counted| (one.offset..one.offset + one.bytes).any(|byte| is_shared[byte as usize]);
    let sharers: BTreeSet<u64> = accesses.iter().filter(hits).map(|one| one.thread).collect();
    // A thread that only reads what nobody writes loses the line to others, unless it takes part in their sharing
    // anyway.
    let moves = |one: &&Counted| one.access.writes() || !sharers.contains(&one.thread);
    let times = |accesses: &mut dyn Iterator<Item = &Counted>| accesses.map(|one| one.times).sum();
    let shared = times(&mut accesses.iter().filter(hits));
    let apart = times(&mut accesses.iter().filter(|one| !hits(one) && moves(one)));
    let mut parts = parts(&touches);
    counted.iter().for_each(|one| add(&mut parts, one));
    Some(Evidence { changes: changes as u64, shared, apart, parts, threads })
}

/// The threads between which the line goes back and forth.
fn participants(changes: &[(u64, u64)]) -> BTreeSet<u64> {
    let mut counts = BTreeMap::<u64, usize>::new();
    for (before, after) in changes {
        *counts.entry(*before).or_default() += 1;
        *counts.entry(*after).or_default() += 1;
    }
    let often = |thread: &u64| counts[thread] >= LEAST_OF_A_THREAD;
    let brief = |(before, after): &&(u64, u64)| !often(before) && !often(after);
    let between_brief = changes.iter().filter(brief).count();
    counts.keys().filter(|thread| often(thread) || between_brief >= LEAST_OF_BRIEF_THREADS).copied().collect()
}

/// Adds what was counted to the part that it is of.
fn add(parts: &mut [Part], counted: &Counted) {
    let is_of = |part: &&mut Part| {
        counted.offset < part.offset + part.bytes && part.offset < counted.offset + counted.bytes
    };
    if let Some(part) = parts.iter_mut().find(is_of) {
        let count = part.counts.entry(counted.thread).or_default();
        count.reads += if counted.access.reads() { counted.times } else { 0 };
        count.writes += if counted.access.writes() { counted.times } else { 0 };
    }
}

/// The threads of each two successive touches between which the line may have moved: by different threads, one of which
/// wrote since the other came, while the memory and both threads lived. What a thread leaves to one that begins later
/// it hands over.
fn changes(touches: &[Touch]) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    let (mut last, mut wrote): (Option<&Touch>, bool) = (None, false);
    for touch in touches {
        match last {
            Some(before) if before.thread == touch.thread && before.until > touch.time => {
                wrote |= touch.access.writes();
            }
            Some(before) if before.until > touch.time && lived_together(before, touch) => {
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

fn lived_together(before: &Touch, after: &Touch) -> bool {
    before.lived.1 >= after.time && after.lived.0 <= before.time
}

/// How many changes there would be among the same touches in random order. Those of one thread within an instant count
/// as one.
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
        let counts = BTreeMap::new();
        Some(Part { offset, bytes, written_by: by(Access::writes), read_by: by(Access::reads), counts, code })
    };
    parts.into_iter().filter_map(part).collect()
}
