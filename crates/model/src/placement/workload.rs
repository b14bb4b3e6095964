//! The article's workloads by their structure.

use super::engine::Course;
use super::program::{Op, Program, Programs};
use crate::unixbench::{self, Test};

/// A program, or several that work together.
///
/// What they compute between steps takes as long as the article's rows tell that no placement can change, or as the
/// row itself tells on the whole (stock kernel, C6 off); predictions are ratios of the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Two processes that hand a token to and fro through two pipes.
    PipePair,
    /// A process makes another, which ends at once, and waits for it.
    ProcessCreation,
    /// As many shell scripts at once, each of three pipelines.
    Shell(u32),
    /// A process copies a file block by block; now and then another takes what is to be written to disk.
    FileCopy,
    /// `make -j6`: six compilers at once.
    KernelBuild,
    /// As many tasks that only compute.
    Compute(u32),
    /// The same in floating point.
    Float(u32),
}

const US: f64 = 1e3;
const MS: f64 = 1e6;

/// A write or a read of a pipe: half of a loop of Pipe Throughput, 1.298 million a second.
const PIPE_CALL: f64 = 385.0;
/// Fork, exit and wait: 6344 a second.
const FORK: f64 = 70.0 * US;
const EXIT: f64 = 60.0 * US;
/// A program of a shell script, so that a script takes some 8 ms.
const TOOL: f64 = 1.2 * MS;
/// 64 KiB of File Copy 1024, 182 MB a second.
const BLOCKS: f64 = 360.0 * US;
/// A compiler; the article's are longer, in the same proportion to what else they do.
const COMPILER: f64 = 40.0 * MS;
/// Daemons and timers of an idle system: at this mean distance, for so long.
const BACKGROUND: (f64, f64) = (10.0 * MS, 50.0 * US);

/// Lines that a task fetches again after a move: a stack and a few structures, what a fork leaves, a program's data.
const FEW: f64 = 16.0;
const FORKED: f64 = 200.0;
const MANY: f64 = 4000.0;

impl Workload {
    /// Those of the article, and what its patch was made for.
    pub const ALL: [Self; 10] = [
        Self::PipePair,
        Self::ProcessCreation,
        Self::Shell(1),
        Self::Shell(8),
        Self::FileCopy,
        Self::KernelBuild,
        Self::Compute(1),
        Self::Compute(2),
        Self::Compute(4),
        Self::Float(2),
    ];

    /// `pipe_context_switching`, `compute_2`, …; the article's as in profiles.
    pub fn name(self) -> String {
        match self {
            Self::PipePair => "pipe_context_switching".into(),
            Self::ProcessCreation => "process_creation".into(),
            Self::Shell(scripts) => format!("shell_{scripts}"),
            Self::FileCopy => "file_copy".into(),
            Self::KernelBuild => "kernel_build".into(),
            Self::Compute(tasks) => format!("compute_{tasks}"),
            Self::Float(tasks) => format!("float_{tasks}"),
        }
    }

    /// The workload that stands for a test of the article: one that only one process runs is one that computes.
    ///
    /// ```
    /// use coho_model::placement::Workload;
    /// assert_eq!(Workload::of_test("file_copy_256"), Workload::FileCopy);
    /// assert_eq!(Workload::of_test("dhrystone2"), Workload::Compute(1));
    /// ```
    pub fn of_test(test: &str) -> Self {
        match test {
            "pipe_context_switching" => Self::PipePair,
            "process_creation" => Self::ProcessCreation,
            "shell_1" => Self::Shell(1),
            "shell_8" => Self::Shell(8),
            "kernel_build" => Self::KernelBuild,
            test if test.starts_with("file_copy") => Self::FileCopy,
            _ => Self::Compute(1),
        }
    }

    /// How many passes make a result, by UnixBench's rule, and how long each is simulated.
    pub(super) fn course(self) -> (usize, Course) {
        let passes = |name: &str| unixbench::by_name(name).map_or(3, |Test { passes, .. }| *passes);
        let (passes, warm_up, counted) = match self {
            // An idle CPU begins to spin when it has switched a while.
            Self::PipePair => (passes("pipe_context_switching"), 0.8 * MS, 0.4 * MS),
            Self::ProcessCreation => (passes("process_creation"), 8.0 * MS, 32.0 * MS),
            Self::Shell(_) => (passes("shell_1"), 30.0 * MS, 300.0 * MS),
            Self::FileCopy => (passes("file_copy_1024"), 8.0 * MS, 40.0 * MS),
            Self::KernelBuild => (1, 200.0 * MS, 4000.0 * MS),
            Self::Compute(_) | Self::Float(_) => (passes("dhrystone2"), 10.0 * MS, 100.0 * MS),
        };
        (passes, Course { warm_up_ns: warm_up as u64, counted_ns: counted as u64 })
    }

    /// Its programs, beside those of an idle system.
    pub(super) fn programs(self) -> Programs {
        let program = |lines, ops: Vec<Op>| Program { ops, lines };
        let (mut programs, channels) = match self {
            Self::PipePair => {
                let call = Op::Run(PIPE_CALL);
                let ping = vec![Op::Fork(1), call, Op::Send(0), Op::Receive(1), call, Op::Count, Op::Jump(1)];
                let pong = vec![Op::Receive(0), call, call, Op::Send(1), Op::Jump(0)];
                (vec![program(FEW, ping), program(FEW, pong)], vec![0, 0])
            }
            Self::ProcessCreation => {
                let parent = vec![Op::Run(FORK), Op::Fork(1), Op::AwaitChild, Op::Count, Op::Jump(0)];
                (vec![program(FORKED, parent), program(FORKED, vec![Op::Run(EXIT)])], vec![])
            }
            Self::Shell(scripts) => (shell(scripts), vec![]),
            Self::FileCopy => {
                let copy = vec![Op::Fork(1), Op::Run(BLOCKS), Op::Send(0), Op::Count, Op::Jump(1)];
                let write = vec![Op::Receive(0), Op::Run(20.0 * US), Op::Jump(0)];
                (vec![program(MANY, copy), program(FEW, write)], vec![0])
            }
            Self::KernelBuild => {
                // A job takes a token before it begins.
                let make = vec![Op::Receive(0), Op::Run(MS), Op::Fork(1), Op::Jump(0)];
                let job = vec![Op::Run(FORK), Op::Fork(2), Op::AwaitChild, Op::Send(0), Op::Count];
                let compiler = vec![Op::RunAbout(COMPILER), Op::Run(EXIT)];
                (vec![program(MANY, make), program(FORKED, job), program(MANY, compiler)], vec![6])
            }
            Self::Compute(tasks) => (computing(tasks, Op::Run(MS)), vec![]),
            Self::Float(tasks) => (computing(tasks, Op::Float(MS)), vec![]),
        };
        let (pause, run) = BACKGROUND;
        programs.push(program(FEW, vec![Op::Sleep(pause), Op::Run(run), Op::Jump(0)]));
        let background = programs.len() - 1;
        Programs { programs, channels, begun: vec![0, background] }
    }
}

/// A process that runs scripts at once, again and again; a script runs a program, and two pipelines of two.
fn shell(scripts: u32) -> Vec<Program> {
    let scripts = scripts as usize;
    let begin = std::iter::repeat_n([Op::Run(FORK), Op::Fork(1)], scripts).flatten();
    let end = std::iter::repeat_n(Op::AwaitChild, scripts);
    let shell = begin.chain(end).chain([Op::Count, Op::Jump(0)]).collect();
    let one = [Op::Run(FORK), Op::Fork(2)];
    let pipeline = [&one[..], &one, &[Op::AwaitChild; 2]].concat();
    let script = [&[Op::Run(TOOL)], &one[..], &[Op::AwaitChild], &pipeline, &pipeline].concat();
    vec![
        Program { ops: shell, lines: FORKED },
        Program { ops: script, lines: FORKED },
        Program { ops: vec![Op::Run(TOOL), Op::Run(EXIT)], lines: FORKED },
    ]
}

/// A process that makes tasks and waits; they compute for ever.
fn computing(tasks: u32, op: Op) -> Vec<Program> {
    let begin = std::iter::repeat_n([Op::Run(FORK), Op::Fork(1)], tasks as usize).flatten();
    let parent = begin.chain([Op::AwaitChild]).collect();
    let task = vec![op, Op::Count, Op::Jump(0)];
    vec![Program { ops: parent, lines: FEW }, Program { ops: task, lines: MANY }]
}
