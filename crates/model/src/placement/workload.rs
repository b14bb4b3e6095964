//! The article's workloads, by their structure.

use super::engine::Course;
use super::program::{Op, Program, Programs};
use coho_profile::Ns;
use coho_profile::unixbench::{self, Test};

/// A program, or several that work together.
///
/// The lengths of what they compute between steps follow from those of the article's rows that no placement can
/// change, or from the row itself as a whole (stock kernel, C6 off). Predictions are ratios of the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Two processes that pass a token back and forth through two pipes.
    PipePair,
    /// A process creates another, which ends at once, and waits for it.
    ProcessCreation,
    /// This many concurrent shell scripts, each of three pipelines.
    Shell(u32),
    /// A process copies a file block by block; now and then another takes over what is to be written to disk.
    FileCopy,
    /// `make -j6`: six compilers at once.
    KernelBuild,
    /// This many tasks that only compute.
    Compute(u32),
    /// The same, in floating point.
    Float(u32),
}

/// How long programs compute between two waits, on a core of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lengths {
    /// A write or a read of a pipe.
    pub(super) pipe_call: Ns,
    pub(super) fork: Ns,
    pub(super) exit: Ns,
    /// A program that executes itself again.
    pub(super) exec: Ns,
    /// A program of a shell script.
    pub(super) tool: Ns,
}

impl Default for Lengths {
    /// The article's: half of a loop of Pipe Throughput, 1.298 million per second; fork, exit and wait, 6344 per
    /// second; execl, 1937 per second; a script, about 8 ms.
    fn default() -> Self {
        Self {
            pipe_call: Ns(385.0),
            fork: Ns::of_us(70.0),
            exit: Ns::of_us(60.0),
            exec: Ns::of_us(516.0),
            tool: Ns::of_ms(1.2),
        }
    }
}

/// 64 KiB of File Copy 1024, at 182 MB per second.
const BLOCKS: Ns = Ns::of_us(360.0);
/// A compiler; the article's run longer, in the same proportion to what else they do.
const COMPILER: Ns = Ns::of_ms(40.0);
/// Daemons and timers of an idle system: their mean interval and their duration.
const BACKGROUND: (Ns, Ns) = (Ns::of_ms(10.0), Ns::of_us(50.0));

/// Lines that a task fetches again after a move: a stack and a few structures, what a fork leaves, a program's data.
const FEW: f64 = 16.0;
const FORKED: f64 = 200.0;
const MANY: f64 = 4000.0;

impl Workload {
    /// The article's workloads, and those that its patch was made for.
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

    /// `pipe_context_switching`, `compute_2`, …; the article's are named as in profiles.
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

    /// The workload that represents a test of the article; a test run by one process only computes.
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
            // An idle CPU begins to spin once it has switched for a while.
            Self::PipePair => (passes("pipe_context_switching"), Ns::of_ms(0.8), Ns::of_ms(0.4)),
            Self::ProcessCreation => (passes("process_creation"), Ns::of_ms(8.0), Ns::of_ms(32.0)),
            Self::Shell(_) => (passes("shell_1"), Ns::of_ms(30.0), Ns::of_ms(300.0)),
            Self::FileCopy => (passes("file_copy_1024"), Ns::of_ms(8.0), Ns::of_ms(40.0)),
            Self::KernelBuild => (1, Ns::of_ms(200.0), Ns::of_ms(4000.0)),
            Self::Compute(_) | Self::Float(_) => (passes("dhrystone2"), Ns::of_ms(10.0), Ns::of_ms(100.0)),
        };
        (passes, Course { warm_up_ns: warm_up.0 as u64, counted_ns: counted.0 as u64 })
    }

    /// Its programs, beside those of an idle system.
    pub(super) fn programs(self) -> Programs {
        self.of_lengths(&Lengths::default())
    }

    fn of_lengths(self, lengths: &Lengths) -> Programs {
        let Lengths { pipe_call, fork, exit, .. } = *lengths;
        let program = |lines, ops: Vec<Op>| Program { ops, lines, held: None };
        let (programs, channels) = match self {
            Self::PipePair => {
                let call = Op::Run(pipe_call);
                let ping = vec![Op::Fork(1), call, Op::Send(0), Op::Receive(1), call, Op::Count, Op::Jump(1)];
                let pong = vec![Op::Receive(0), call, call, Op::Send(1), Op::Jump(0)];
                (vec![program(FEW, ping), program(FEW, pong)], vec![0, 0])
            }
            Self::ProcessCreation => {
                let parent = vec![Op::Run(fork), Op::Fork(1), Op::AwaitChild, Op::Count, Op::Jump(0)];
                (vec![program(FORKED, parent), program(FORKED, vec![Op::Run(exit)])], vec![])
            }
            Self::Shell(scripts) => (shell(scripts, lengths), vec![]),
            Self::FileCopy => {
                let copy = vec![Op::Fork(1), Op::Run(BLOCKS), Op::Send(0), Op::Count, Op::Jump(1)];
                let write = vec![Op::Receive(0), Op::Run(Ns::of_us(20.0)), Op::Jump(0)];
                (vec![program(MANY, copy), program(FEW, write)], vec![0])
            }
            Self::KernelBuild => {
                // A job takes a token before it begins.
                let make = vec![Op::Receive(0), Op::Run(Ns::of_ms(1.0)), Op::Fork(1), Op::Jump(0)];
                let job = vec![Op::Run(fork), Op::Fork(2), Op::AwaitChild, Op::Send(0), Op::Count];
                let compiler = vec![Op::RunAbout(COMPILER), Op::Run(exit)];
                (vec![program(MANY, make), program(FORKED, job), program(MANY, compiler)], vec![6])
            }
            Self::Compute(tasks) => (computing(tasks, Op::Run(Ns::of_ms(1.0)), fork), vec![]),
            Self::Float(tasks) => (computing(tasks, Op::Float(Ns::of_ms(1.0)), fork), vec![]),
        };
        beside_daemons(programs, channels)
    }
}

/// A program that was run restricted to one CPU and to two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forced {
    PipePair,
    PipeThroughput,
    Execl,
    ProcessCreation,
    Shell8,
}

impl Forced {
    pub(super) const ALL: [Self; 5] =
        [Self::PipePair, Self::PipeThroughput, Self::Execl, Self::ProcessCreation, Self::Shell8];

    /// The test's name in profiles.
    pub(super) fn test(self) -> &'static str {
        match self {
            Self::PipePair => "pipe_context_switching",
            Self::PipeThroughput => "pipe_throughput",
            Self::Execl => "execl",
            Self::ProcessCreation => "process_creation",
            Self::Shell8 => "shell_8",
        }
    }

    /// The unit of time of its rate, in seconds.
    pub(super) fn unit_s(self) -> f64 {
        if self == Self::Shell8 { 60.0 } else { 1.0 }
    }

    /// Its programs on `cpus` CPUs; those of a pair are restricted to one each.
    pub(super) fn programs(self, lengths: &Lengths, cpus: usize) -> Programs {
        let loops = |op| vec![Program { ops: vec![op, Op::Count, Op::Jump(0)], lines: MANY, held: None }];
        match self {
            Self::PipePair => {
                let mut programs = Workload::PipePair.of_lengths(lengths);
                for (cpu, program) in programs.programs.iter_mut().take(2).enumerate() {
                    program.held = Some(cpu % cpus);
                }
                programs
            }
            Self::PipeThroughput => beside_daemons(loops(Op::Run(2.0 * lengths.pipe_call)), vec![]),
            Self::Execl => beside_daemons(loops(Op::Run(lengths.exec)), vec![]),
            Self::ProcessCreation => Workload::ProcessCreation.of_lengths(lengths),
            Self::Shell8 => Workload::Shell(8).of_lengths(lengths),
        }
    }
}

/// A workload beside what an idle system does.
fn beside_daemons(mut programs: Vec<Program>, channels: Vec<u32>) -> Programs {
    let (pause, run) = BACKGROUND;
    let ops = vec![Op::Sleep(pause), Op::Run(run), Op::Jump(0)];
    programs.push(Program { ops, lines: FEW, held: None });
    let background = programs.len() - 1;
    Programs { programs, channels, begun: vec![0, background] }
}

/// A process that repeatedly runs scripts concurrently; a script runs a program, and two pipelines of two.
fn shell(scripts: u32, lengths: &Lengths) -> Vec<Program> {
    let Lengths { fork, exit, tool, .. } = *lengths;
    let scripts = scripts as usize;
    let begin = std::iter::repeat_n([Op::Run(fork), Op::Fork(1)], scripts).flatten();
    let end = std::iter::repeat_n(Op::AwaitChild, scripts);
    let shell = begin.chain(end).chain([Op::Count, Op::Jump(0)]).collect();
    let one = [Op::Run(fork), Op::Fork(2)];
    let pipeline = [&one[..], &one, &[Op::AwaitChild; 2]].concat();
    let script = [&[Op::Run(tool)], &one[..], &[Op::AwaitChild], &pipeline, &pipeline].concat();
    vec![
        Program { ops: shell, lines: FORKED, held: None },
        Program { ops: script, lines: FORKED, held: None },
        Program { ops: vec![Op::Run(tool), Op::Run(exit)], lines: FORKED, held: None },
    ]
}

/// A process that creates tasks and waits; the tasks compute for ever.
fn computing(tasks: u32, op: Op, fork: Ns) -> Vec<Program> {
    let begin = std::iter::repeat_n([Op::Run(fork), Op::Fork(1)], tasks as usize).flatten();
    let parent = begin.chain([Op::AwaitChild]).collect();
    let task = vec![op, Op::Count, Op::Jump(0)];
    vec![Program { ops: parent, lines: FEW, held: None }, Program { ops: task, lines: MANY, held: None }]
}
