//! One thread's windows of one operation.

use std::time::{Duration, Instant};

use coho_platform::pages::PAGE;
use coho_platform::stolen;
use coho_profile::{BlockState, Fence, Operation};

use super::super::lines;
use super::super::loops::{Code, VALUE, fence};
use super::super::together::Together;
use super::blocks::{Blocks, PART};
use super::ground::Ground;
use crate::clock::{Clock, Ticks};

/// The time of a window, in ns: long compared with the clock's step, short compared with a time slice.
const WINDOW_NS: f64 = 100_000.0;
/// The time of the timed parts of a window if blocks are prepared between them, in ns.
pub(super) const PREPARED_NS: f64 = 20_000.0;
/// The most rounds of such a window, and the longest that they may take with the preparation.
const ROUNDS: u64 = 64;
pub(super) const LONGEST: Duration = Duration::from_micros(900);
/// Bytes that are prepared together: less than any level-2 cache.
const PREPARED: usize = 256 << 10;

/// What is done in a visit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) op: Operation,
    pub(super) code: Code,
    pub(super) bytes: usize,
    pub(super) state: BlockState,
    pub(super) fence: Fence,
    /// Whether the block stays in a cache between calls.
    pub(super) resident: bool,
}

/// One window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub(super) bytes_per_s: f64,
    /// Whether the thread was interrupted.
    pub(super) disturbed: bool,
}

impl Work {
    /// This many windows at the same time as the others; fewer if a thread is away.
    pub(super) fn visit(&self, ground: &mut Ground<'_>, together: &Together, windows: usize) -> Vec<Window> {
        let clock = Clock::get();
        let mut warm = if self.resident {
            // Each visit uses another place: a block's time depends on its lines and pages, which differ from run to run.
            let base = ground.take(self.bytes + PAGE).next_multiple_of(PAGE);
            Blocks::same(base, self.bytes)
        } else {
            Blocks::whole(ground.bytes(), ground.cursor())
        };
        if self.state == BlockState::Warm && self.resident {
            self.calls(ground, &mut warm, self.bytes.div_ceil(PART) as u64);
        }
        let calls = self.enough_calls(ground, &mut warm, &clock);
        let mut all = Vec::with_capacity(windows);
        for window in 0..windows {
            let before = stolen::involuntary_switches();
            if !together.begin(window) {
                break;
            }
            let (ticks, bytes) = self.window(ground, &mut warm, calls, &clock);
            together.end();
            while !together.all_ended(window) {
                // Keeps moving data while others are timed: the last thread would be quicker alone.
                self.window(ground, &mut warm, calls / 8 + 1, &clock);
            }
            if together.is_over() {
                break;
            }
            let disturbed = stolen::involuntary_switches() != before;
            all.push(Window { bytes_per_s: bytes as f64 / clock.ns(ticks) * 1e9, disturbed });
        }
        if self.state == BlockState::Warm && !self.resident {
            ground.go_to(warm.within());
        }
        all
    }

    /// How many calls fill a window.
    fn enough_calls(&self, ground: &mut Ground<'_>, warm: &mut Blocks, clock: &Clock) -> u64 {
        if matches!(self.state, BlockState::Dirty | BlockState::Flushed) {
            // These windows go by rounds.
            return 1;
        }
        let mut calls = 1;
        loop {
            let (ticks, _) = self.window(ground, warm, calls, clock);
            let taken = clock.ns(ticks);
            if taken >= WINDOW_NS / 2.0 || calls >= 1 << 20 {
                return ((calls as f64 * WINDOW_NS / taken) as u64).max(1);
            }
            calls *= 2;
        }
    }

    /// Time and bytes of some calls.
    fn window(&self, ground: &mut Ground<'_>, warm: &mut Blocks, calls: u64, clock: &Clock) -> (Ticks, u64) {
        match self.state {
            BlockState::Warm => self.timed(ground, warm, calls, clock),
            BlockState::Dirty | BlockState::Flushed => self.prepared(ground, clock),
            BlockState::Shared | BlockState::Remote => unreachable!("these take another CPU: see `between`"),
            BlockState::Fresh => {
                let (pitch, parts) = (Blocks::pitch(self.bytes), self.bytes.div_ceil(PART) as u64);
                let count = (calls.div_ceil(parts) as usize).clamp(1, ground.bytes() / pitch);
                let mut blocks = Blocks::scattered(ground.take(count * pitch), self.bytes, count);
                self.timed(ground, &mut blocks, count as u64 * parts, clock)
            }
        }
    }

    /// Blocks that are modified, and flushed if wanted, before each timed round.
    fn prepared(&self, ground: &mut Ground<'_>, clock: &Clock) -> (Ticks, u64) {
        let pitch = Blocks::pitch(self.bytes);
        let count = (PREPARED / pitch).clamp(1, ground.bytes() / pitch);
        let calls = (count * self.bytes.div_ceil(PART)) as u64;
        let (mut ticks, mut bytes) = (0, 0);
        let started = Instant::now();
        for _ in 0..ROUNDS {
            let mut blocks = Blocks::scattered(0, self.bytes, count);
            for _ in 0..calls {
                let part = blocks.next();
                for region in ground.regions(self.op) {
                    region.dirty(part.offset, part.bytes);
                    if self.state == BlockState::Flushed {
                        lines::flush(region, part.offset, part.bytes);
                    }
                }
            }
            lines::wait();
            let round = self.timed(ground, &mut blocks, calls, clock);
            ticks += round.0.saturating_sub(clock_ticks(clock));
            bytes += round.1;
            if clock.ns(ticks) > PREPARED_NS || started.elapsed() > LONGEST {
                break;
            }
        }
        (ticks.max(1), bytes)
    }

    fn timed(&self, ground: &Ground<'_>, blocks: &mut Blocks, calls: u64, clock: &Clock) -> (Ticks, u64) {
        let start = clock.now();
        let bytes = self.calls(ground, blocks, calls);
        let ticks = clock.now() - start;
        fence();
        (ticks, bytes)
    }

    #[inline(always)]
    fn calls(&self, ground: &Ground<'_>, blocks: &mut Blocks, calls: u64) -> u64 {
        let (to, from) = (ground.to().start().as_ptr(), ground.from().start().as_ptr());
        let each = self.fence == Fence::Call;
        let mut bytes = 0;
        for _ in 0..calls {
            let part = blocks.next();
            debug_assert!(part.offset + part.bytes <= ground.bytes());
            // SAFETY: the blocks lie within both regions and begin with a line.
            unsafe { (self.code)(to.add(part.offset), from.add(part.offset), part.bytes, VALUE) };
            bytes += part.bytes as u64;
            if each && part.last {
                fence();
            }
        }
        if self.fence == Fence::Run {
            fence();
        }
        bytes
    }
}

/// The time of reading the clock twice.
pub(in crate::memory) fn clock_ticks(clock: &Clock) -> Ticks {
    use std::sync::OnceLock;
    static TICKS: OnceLock<Ticks> = OnceLock::new();
    *TICKS.get_or_init(|| {
        let pair = || {
            let start = clock.now();
            clock.now() - start
        };
        (0..1000).map(|_| pair()).min().unwrap_or(0)
    })
}
