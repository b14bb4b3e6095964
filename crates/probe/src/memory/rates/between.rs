//! Rates of blocks that another CPU has read, or modified in its caches: the components of a message between two CPUs.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

use coho_platform::stolen;
use coho_profile::{BlockState, CacheType, Fence, MemoryRate, Operation};
use serde_json::json;

use super::super::lines;
use super::super::loops::{Code, Loop, VALUE};
use super::super::survey::Survey;
use super::super::{Options, Region};
use super::blocks::PART;
use super::visit::{LONGEST, PREPARED_NS, Window, clock_ticks};
use super::{cells, together_of};
use crate::clock::Clock;
use crate::frame::Passes;
use crate::workers::Job;
use crate::{Error, statistics};

/// The default sizes of a block, in bytes.
const SIZES: [u64; 8] = [64, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// The largest of those that are named.
const LARGEST: u64 = 64 << 20;
/// How long a CPU waits for the other before both give up.
const PATIENCE: Duration = Duration::from_millis(200);

/// Adds the rates of the first CPU for blocks that its nearest neighbour has used.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    let mut cells = all(survey.options);
    if cells.is_empty() || survey.frame.end().has_come() {
        return Ok(());
    }
    let Some(pair) = survey.pair() else {
        survey.lacks("rates of shared and remote blocks", "they need two CPUs, and only one may be used");
        return Ok(());
    };
    let largest = cells.iter().map(|cell| cell.task.bytes).max().unwrap_or(0);
    let Options { paging, node, quick, .. } = *survey.options;
    let region = move || Region::write_back_on(largest, paging, node);
    let (to, from) = survey.on_first(move || Ok::<_, Error>((region()?, region()?)))??;
    let (passes, windows) = if quick { (4, 3) } else { (6, 6) };
    let frame = &mut survey.frame;
    let end = frame.end().clone();
    for step in Passes::new(passes, cells.len(), &mut frame.random, &end) {
        let cell = &mut cells[step.at];
        let (task, steps) = (cell.task, &Steps::default());
        let (to, from) = (&to, &from);
        let jobs: Vec<(u32, Job<'_, Vec<Window>>)> = vec![
            (pair[0], Box::new(move || task.lead(to, from, steps, windows))),
            (pair[1], Box::new(move || task.prepare(to, from, steps))),
        ];
        let mut lead = Vec::new();
        for done in frame.workers.run(jobs) {
            lead.extend(frame.value(done?));
        }
        cell.passes.push(together_of(&[lead], windows).0);
    }
    cells.sort_by_key(|cell| (cell.one.op(), cell.one.instruction(), cell.task.state, cell.task.bytes));
    survey.memory.rates.extend(cells.iter().filter_map(|cell| cell.row(&from)));
    survey.frame.parameter("shared_and_remote_cpus", json!(pair));
    Ok(())
}

/// One thing to measure, and its figures so far.
struct Cell {
    one: &'static Loop,
    task: Task,
    passes: Vec<Vec<f64>>,
}

impl Cell {
    fn row(&self, region: &Region) -> Option<MemoryRate> {
        Some(MemoryRate {
            op: self.one.op(),
            instruction: self.one.instruction().into(),
            bytes: self.task.bytes as u64,
            threads: 1,
            state: Some(self.task.state),
            fence: (self.one.op() != Operation::Read).then_some(Fence::Call),
            page_bytes: region.page_bytes(),
            node: region.node(),
            bytes_per_s: Some(statistics::estimate(&self.passes)?),
            ..MemoryRate::default()
        })
    }
}

/// The loops through the caches that represent their kind, with each state that they can meet; in a quick run only
/// copies, which messages consist of, unless others are named.
fn all(options: &Options) -> Vec<Cell> {
    let asked = |state: BlockState| options.states.is_empty() || options.states.contains(&state);
    let one_thread = options.threads.is_empty() || options.threads.contains(&1);
    let usual = options.types.is_empty() || options.types.contains(&CacheType::WriteBack);
    let once = options.fences.is_empty() || options.fences.contains(&Fence::Call);
    let sizes = if options.sizes.is_empty() { SIZES.to_vec() } else { options.sizes.clone() };
    let loops = cells::loops(options, &mut Default::default());
    let mut all = Vec::new();
    for one in loops.iter().filter(|one| cells::leading(&loops, one) && one.is_plain_way()) {
        for state in [BlockState::Shared, BlockState::Remote] {
            let meets = one.op() != Operation::Read || state == BlockState::Remote;
            let briefly = options.quick && options.operations.is_empty() && one.op() != Operation::Copy;
            let fenced = once || one.op() == Operation::Read;
            if briefly || !(meets && asked(state) && one_thread && usual && fenced) {
                continue;
            }
            for &bytes in sizes.iter().filter(|bytes| **bytes <= LARGEST) {
                let code = one.code().expect("those that are missing are left out");
                let task = Task { op: one.op(), code, state, bytes: bytes as usize };
                all.push(Cell { one, task, passes: Vec::new() });
            }
        }
    }
    all
}

/// The work of two CPUs: one moves a block each time that the other has prepared it.
#[derive(Debug, Clone, Copy)]
struct Task {
    op: Operation,
    code: Code,
    state: BlockState,
    bytes: usize,
}

impl Task {
    /// This many windows of rounds; fewer if the other is away.
    fn lead(self, to: &Region, from: &Region, steps: &Steps, windows: usize) -> Vec<Window> {
        let clock = Clock::get();
        let none = clock_ticks(&clock);
        let mut all = Vec::new();
        // A block that the other will share must be written first.
        self.move_block(to, from);
        'windows: for _ in 0..windows {
            let before = stolen::involuntary_switches();
            let started = Instant::now();
            let (mut ticks, mut rounds) = (0, 0u64);
            while clock.ns(ticks) < PREPARED_NS && started.elapsed() < LONGEST {
                if !steps.ask() {
                    break 'windows;
                }
                let start = clock.now();
                self.move_block(to, from);
                ticks += (clock.now() - start).saturating_sub(none);
                rounds += 1;
            }
            let bytes_per_s = (rounds * self.bytes as u64) as f64 / clock.ns(ticks.max(1)) * 1e9;
            all.push(Window { bytes_per_s, disturbed: stolen::involuntary_switches() != before });
        }
        steps.leave();
        all
    }

    /// Prepares the block each time that it is asked to; returns no window, as it times none.
    fn prepare(self, to: &Region, from: &Region, steps: &Steps) -> Vec<Window> {
        let region = if self.op == Operation::Write || self.state == BlockState::Shared { to } else { from };
        steps.answer(|| match self.state {
            BlockState::Shared => region.load(0, self.bytes),
            _ => region.dirty(0, self.bytes),
        });
        Vec::new()
    }

    #[inline(always)]
    fn move_block(self, to: &Region, from: &Region) {
        for offset in (0..self.bytes).step_by(PART) {
            let (to, from) = (to.start().as_ptr(), from.start().as_ptr());
            // SAFETY: the parts lie within both regions and begin with a line; the other CPU waits meanwhile.
            unsafe { (self.code)(to.add(offset), from.add(offset), PART.min(self.bytes - offset), VALUE) };
        }
        if self.op != Operation::Read {
            // A store fence alone would not wait for stores that are still on their way to the cache.
            lines::wait();
        }
    }
}

/// Asks and answers, in turn.
#[derive(Debug)]
struct Steps {
    asked: AtomicU64,
    answered: AtomicU64,
    patience: Duration,
}

impl Default for Steps {
    fn default() -> Self {
        Self { asked: AtomicU64::new(0), answered: AtomicU64::new(0), patience: PATIENCE }
    }
}

impl Steps {
    const OVER: u64 = u64::MAX;

    /// Asks for the block and waits for it; `false` if it is not prepared.
    fn ask(&self) -> bool {
        let step = self.answered.load(Acquire) + 1;
        self.asked.store(step, Release);
        let there = self.wait(|| self.answered.load(Acquire) == step);
        if !there {
            self.leave();
        }
        there
    }

    fn leave(&self) {
        self.asked.store(Self::OVER, Release);
    }

    /// Answers until the other leaves or stays away.
    fn answer(&self, mut prepare: impl FnMut()) {
        let mut step = 1;
        while self.wait(|| self.asked.load(Acquire) >= step) && self.asked.load(Acquire) != Self::OVER {
            prepare();
            self.answered.store(step, Release);
            step += 1;
        }
    }

    /// Spins until something is so; `false` if it took too long.
    fn wait(&self, is_so: impl Fn() -> bool) -> bool {
        const LOOKS: u32 = 1024;
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if is_so() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() > self.patience {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::loops::Stores;
    use super::*;

    #[test]
    fn each_block_is_prepared_before_it_is_moved() {
        let steps = Steps { patience: Duration::from_secs(3600), ..Steps::default() };
        let prepared = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| steps.answer(|| prepared.store(prepared.load(Acquire) + 1, Release)));
            for round in 1..=1000 {
                assert!(steps.ask());
                assert_eq!(prepared.load(Acquire), round);
            }
            steps.leave();
        });
    }

    #[test]
    fn who_is_alone_does_not_wait_for_ever() {
        assert!(!Steps::default().ask());
        Steps::default().answer(|| unreachable!("nobody asks"));
    }

    #[test]
    fn a_read_meets_no_shared_block_and_names_are_kept_to() {
        let cells = all(&Options::default());
        let has = |op, state| cells.iter().any(|cell| cell.task.op == op && cell.task.state == state);
        assert!(has(Operation::Copy, BlockState::Shared) && has(Operation::Copy, BlockState::Remote));
        assert!(has(Operation::Read, BlockState::Remote) && !has(Operation::Read, BlockState::Shared));
        assert!(cells.iter().all(|cell| cell.one.stores() != Stores::NonTemporal));
        let warm = Options { states: vec![BlockState::Warm], ..Options::default() };
        assert!(all(&warm).is_empty());
        assert!(all(&Options::quick()).iter().all(|cell| cell.task.op == Operation::Copy));
        let two = Options { threads: vec![2], ..Options::default() };
        assert!(all(&two).is_empty());
    }
}
