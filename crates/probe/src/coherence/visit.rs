//! One visit of two CPUs to each other: several tasks of a few runs each, without help from other threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

use coho_profile::PairMethod;

use super::arena::LINES;
use super::line::Two;
use super::meeting::{Absent, Meeting, Side};
use super::run::{Effort, Run, Sample};
use super::{alternate, each_line, free_running};
use crate::workers::Job;

/// How long to wait for a CPU at a meeting: many time slices of a busy machine.
pub(crate) const ABSENCE: Duration = Duration::from_millis(400);
/// How long a task may take if preemptions keep breaking its runs.
const TASK: Duration = Duration::from_millis(120);

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A method's time.
    Time(PairMethod),
    /// Ownership changes per increment of `free-running`.
    OwnershipChanges,
    /// The time of `turn` on each line once, in the order of this seed.
    EachLine(u64),
}

/// A measurement that belongs to a visit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) kind: Kind,
    /// The lines that they share.
    pub(crate) lines: [Two<'a>; LINES],
    /// Round trips (or own increments) of a batch: a guess, 0 for none.
    pub(crate) rounds: u64,
}

/// The outcome of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Figures of the batches during which both CPUs ran.
    pub(crate) samples: Vec<Sample>,
    /// Batches, and runs broken off, in which one was away.
    pub(crate) preempted: u64,
    /// The number of round trips that makes a batch.
    pub(crate) rounds: u64,
}

/// A visit: shared by both sides.
pub(crate) struct Visit<'a> {
    tasks: Vec<Task<'a>>,
    effort: Effort,
    meeting: Meeting,
    /// `run:32 | meeting:16 | task:16`, set by the leader before each meeting; task [`FINISHED`] ends the visit.
    order: AtomicU64,
}

/// A run as its leader saw it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LedRun {
    id: u32,
    run: Run,
    rounds: u64,
}

/// What one side of a visit returns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    /// The leader: the runs of each task that was reached.
    Led(Vec<Vec<LedRun>>),
    /// The follower: batches in which it noticed that a CPU was away, by run.
    Followed(Vec<(u32, Vec<usize>)>),
}

const FINISHED: u16 = u16::MAX;

/// Number of the last run: no two runs of a process share a number, so that no word in a line is mistaken for another.
static RUNS: AtomicU32 = AtomicU32::new(0);

impl<'a> Visit<'a> {
    pub(crate) fn new(tasks: Vec<Task<'a>>, effort: Effort) -> Self {
        debug_assert!(tasks.len() < usize::from(FINISHED));
        Self { tasks, effort, meeting: Meeting::new(), order: AtomicU64::new(0) }
    }

    /// The jobs of CPU `a`, which leads, and of CPU `b`, which follows.
    pub(crate) fn jobs(&self) -> [Job<'_, Part>; 2] {
        [Box::new(|| Part::Led(self.lead())), Box::new(|| Part::Followed(self.follow()))]
    }

    fn lead(&self) -> Vec<Vec<LedRun>> {
        let mut outcomes = Vec::with_capacity(self.tasks.len());
        let mut met = 0u16;
        for (index, task) in self.tasks.iter().enumerate() {
            match self.lead_task(index as u16, task, &mut met) {
                Ok(runs) => outcomes.push(runs),
                Err(Absent) => return outcomes,
            }
        }
        self.announce(0, met, FINISHED);
        // The outcomes do not depend on whether the follower still gets this.
        let _ = self.meeting.meet(Side::Leader, ABSENCE);
        outcomes
    }

    fn lead_task(&self, index: u16, task: &Task<'_>, met: &mut u16) -> Result<Vec<LedRun>, Absent> {
        let start = Instant::now();
        let mut rounds = if task.rounds == 0 { 8 } else { task.rounds };
        let mut runs = Vec::new();
        let mut missing = self.effort;
        loop {
            let id = RUNS.fetch_add(1, Relaxed).wrapping_add(1);
            self.announce(id, *met, index);
            self.meeting.meet(Side::Leader, ABSENCE)?;
            *met = met.wrapping_add(1);
            let lines = &task.lines;
            let run = match task.kind {
                Kind::Time(PairMethod::FreeRunning) => {
                    free_running::lead(lines[0], id, false, &missing, &mut rounds)
                }
                Kind::OwnershipChanges => free_running::lead(lines[0], id, true, &missing, &mut rounds),
                Kind::EachLine(seed) => each_line::lead(lines, seed, id, rounds, &missing.patience),
                Kind::Time(method) => alternate::lead(method, lines, id, &missing, &mut rounds),
            };
            let broken = run.broken;
            missing.fewest = missing.fewest.saturating_sub(run.batches.len());
            missing.most = missing.most.saturating_sub(run.batches.len());
            runs.push(LedRun { id, run, rounds });
            if !broken || missing.fewest == 0 || start.elapsed() > TASK {
                return Ok(runs);
            }
        }
    }

    fn follow(&self) -> Vec<(u32, Vec<usize>)> {
        let mut marks = Vec::new();
        let mut met = 0u16;
        while self.meeting.meet(Side::Follower, ABSENCE).is_ok() {
            let order = self.order.load(Acquire);
            let (run, meeting, task) = ((order >> 32) as u32, (order >> 16) as u16, order as u16);
            let this = met;
            met = met.wrapping_add(1);
            if meeting != this {
                // Preempted since the meeting for so long that the leader is at the next one.
                continue;
            }
            if task == FINISHED {
                break;
            }
            let task = &self.tasks[usize::from(task)];
            let lines = &task.lines;
            let patience = &self.effort.patience;
            match task.kind {
                Kind::Time(PairMethod::FreeRunning) => {
                    free_running::follow(lines[0], run, false, patience);
                }
                Kind::OwnershipChanges => {
                    free_running::follow(lines[0], run, true, patience);
                }
                Kind::EachLine(seed) => {
                    marks.push((run, each_line::follow(lines, seed, run, patience)));
                }
                Kind::Time(method) => {
                    marks.push((run, alternate::follow(method, lines, run, patience)));
                }
            }
        }
        marks
    }

    fn announce(&self, run: u32, meeting: u16, task: u16) {
        self.order.store(u64::from(run) << 32 | u64::from(meeting) << 16 | u64::from(task), Release);
    }
}

/// Combines what both sides saw into an outcome for each task that was reached; none if a CPU was lost, as it may have
/// run elsewhere.
pub(crate) fn settle(parts: &[Option<Part>]) -> Vec<Outcome> {
    let [Some(Part::Led(led)), Some(Part::Followed(marks))] = parts else { return Vec::new() };
    led.iter()
        .map(|runs| {
            let mut outcome = Outcome::default();
            for LedRun { id, run, rounds } in runs {
                let marked = marks.iter().find(|(of, _)| of == id).map_or(&[][..], |(_, marked)| marked);
                for batch in &run.batches {
                    if batch.preempted || marked.contains(&batch.number) {
                        outcome.preempted += 1;
                    } else {
                        outcome.samples.push(batch.sample);
                    }
                }
                outcome.preempted += u64::from(run.broken);
                outcome.rounds = *rounds;
            }
            outcome
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coherence::arena::Arena;
    use coho_platform::pin;

    const METHODS: [Kind; 5] = [
        Kind::Time(PairMethod::Turn),
        Kind::Time(PairMethod::Flags),
        Kind::Time(PairMethod::FreeRunning),
        Kind::OwnershipChanges,
        Kind::EachLine(1),
    ];

    fn visit(arena: &Arena) -> Visit<'_> {
        let tasks = METHODS.map(|kind| Task { kind, lines: arena.lines(), rounds: 0 }).to_vec();
        Visit::new(tasks, Effort::new(8, 32, 0.05))
    }

    /// One visit of two threads on these CPUs.
    fn met(cpus: &[u32]) -> Vec<Outcome> {
        let arena = Arena::map().unwrap();
        let visit = visit(&arena);
        let parts = std::thread::scope(|scope| {
            let follower = scope.spawn(|| {
                pin::to(*cpus.last().unwrap()).unwrap();
                visit.follow()
            });
            pin::to(cpus[0]).unwrap();
            [Some(Part::Led(visit.lead())), Some(Part::Followed(follower.join().unwrap()))]
        });
        settle(&parts)
    }

    /// On one CPU or two, busy or not: whatever is not a figure is counted as preempted.
    #[test]
    fn every_method_gives_figures_or_counts_preemptions() {
        let cpus: Vec<_> = pin::allowed().unwrap().iter().take(2).collect();
        let outcomes = met(&cpus);
        // If the other is away for longer than the meeting waits, the visit ends early.
        assert!(outcomes.len() <= METHODS.len(), "{outcomes:?}");
        for (outcome, kind) in outcomes.iter().zip(METHODS) {
            assert!(!outcome.samples.is_empty() || outcome.preempted > 0, "{kind:?}: {outcome:?}");
            // Both ran meanwhile: no sample holds a time slice.
            let range = if kind == Kind::OwnershipChanges { 0.0..=1.01 } else { 0.1..=1e5 };
            let plausible = outcome.samples.iter().all(|sample| range.contains(&sample.value));
            assert!(plausible, "{kind:?}: {outcome:?}");
        }
    }

    #[test]
    fn a_leader_whose_partner_never_comes_gives_up() {
        let arena = Arena::map().unwrap();
        let start = Instant::now();
        assert!(visit(&arena).lead().is_empty());
        assert!(start.elapsed() < ABSENCE * 300);
    }

    #[test]
    fn a_partner_that_leaves_in_the_middle_is_noticed() {
        let arena = Arena::map().unwrap();
        let visit = visit(&arena);
        let led = std::thread::scope(|scope| {
            scope.spawn(|| visit.meeting.meet(Side::Follower, ABSENCE));
            visit.lead()
        });
        assert!(led.is_empty(), "{led:?}");
        // A follower whose leader is gone gives up as well; all that it may report is that it was away itself.
        let start = Instant::now();
        assert!(visit.follow().len() <= 1);
        assert!(start.elapsed() < ABSENCE * 300);
    }

    #[test]
    fn both_sides_pass_together_many_times() {
        let (meeting, sum) = (Meeting::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for side in [Side::Leader, Side::Follower] {
                let (meeting, sum) = (&meeting, &sum);
                scope.spawn(move || {
                    for round in 0..5000u64 {
                        sum.fetch_add(1, Relaxed);
                        meeting.meet(side, Duration::from_secs(60)).unwrap();
                        assert!(sum.load(Relaxed) >= 2 * (round + 1));
                        meeting.meet(side, Duration::from_secs(60)).unwrap();
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 10_000);
    }

    #[test]
    fn a_meeting_gives_up_alone_and_tells_the_late() {
        let meeting = Meeting::new();
        let start = Instant::now();
        assert_eq!(meeting.meet(Side::Leader, Duration::from_millis(5)), Err(Absent));
        assert!(start.elapsed() >= Duration::from_millis(5));
        // The late side sees the leader's arrival, and at the next meeting that it is gone.
        assert_eq!(meeting.meet(Side::Follower, Duration::from_secs(60)), Ok(()));
        assert_eq!(meeting.meet(Side::Follower, Duration::from_secs(60)), Err(Absent));
    }
}
