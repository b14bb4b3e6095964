//! The tests by name.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// What is run: UnixBench's twelve index tests by its definitions, and a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// Dhrystone 2: integers, strings, records.
    Dhrystone2,
    /// Whetstone in double precision: eight kinds of loops.
    WhetstoneDouble,
    /// A program that becomes itself again by `execl`.
    Execl,
    /// A file of 2000 KiB copied by 1024 bytes.
    FileCopy1024,
    /// A file of 500 KiB copied by 256 bytes.
    FileCopy256,
    /// A file of 8000 KiB copied by 4096 bytes.
    FileCopy4096,
    /// One process writes 512 bytes to a pipe and reads them.
    PipeThroughput,
    /// Two processes hand a number to and fro by two pipes.
    PipeContextSwitching,
    /// `fork`, `exit`, `wait`.
    ProcessCreation,
    /// A script of sorting and filtering, once.
    Shell1,
    /// The same script, eight at a time.
    Shell8,
    /// Five cheap system calls.
    SyscallOverhead,
    /// A fixed graph of compilations, as many at a time as there are copies; stands beside the article's kernel build.
    Build,
}

/// Name on the command line (UnixBench's own), name in profiles, unit.
const NAMES: [(Test, &str, &str, Unit); 13] = [
    (Test::Dhrystone2, "dhry2reg", "dhrystone2", Unit::Lps),
    (Test::WhetstoneDouble, "whetstone-double", "whetstone_double", Unit::Mwips),
    (Test::Execl, "execl", "execl", Unit::Lps),
    (Test::FileCopy1024, "fstime", "file_copy_1024", Unit::KBps),
    (Test::FileCopy256, "fsbuffer", "file_copy_256", Unit::KBps),
    (Test::FileCopy4096, "fsdisk", "file_copy_4096", Unit::KBps),
    (Test::PipeThroughput, "pipe", "pipe_throughput", Unit::Lps),
    (Test::PipeContextSwitching, "context1", "pipe_context_switching", Unit::Lps),
    (Test::ProcessCreation, "spawn", "process_creation", Unit::Lps),
    (Test::Shell1, "shell1", "shell_1", Unit::Lpm),
    (Test::Shell8, "shell8", "shell_8", Unit::Lpm),
    (Test::SyscallOverhead, "syscall", "syscall_overhead", Unit::Lps),
    (Test::Build, "build", "build", Unit::Seconds),
];

/// What a result is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Loops a second.
    Lps,
    /// Loops a minute.
    Lpm,
    /// 1024 bytes a second.
    KBps,
    /// Millions of Whetstone instructions a second.
    Mwips,
    /// Seconds for the whole: less is better.
    Seconds,
}

impl Unit {
    /// As UnixBench writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lps => "lps",
            Self::Lpm => "lpm",
            Self::KBps => "KBps",
            Self::Mwips => "MWIPS",
            Self::Seconds => "s",
        }
    }
}

impl Test {
    /// All, in the order of UnixBench's tables, the build last.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(test, ..)| *test)
    }

    /// The program's name in UnixBench: `context1`.
    pub fn program(self) -> &'static str {
        self.row().1
    }

    /// The name in profiles: `pipe_context_switching`.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// What its result is counted in.
    pub fn unit(self) -> Unit {
        self.row().3
    }

    /// Whether a copy of it is two processes that work in turn.
    pub fn is_pair(self) -> bool {
        self == Self::PipeContextSwitching
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, Unit) {
        NAMES.iter().find(|(test, ..)| *test == self).expect("every test has a row")
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program())
    }
}

impl FromStr for Test {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let named = |(_, program, name, _): &&(Self, &str, &str, Unit)| [*program, *name].contains(&text);
        NAMES.iter().find(named).map(|(test, ..)| *test).ok_or_else(|| {
            let both = |(_, program, name, _): &(Self, &str, &str, Unit)| match program == name {
                true => (*name).to_owned(),
                false => format!("{program} or {name}"),
            };
            Error::Argument(format!(
                "the tests are {}",
                NAMES.iter().map(both).collect::<Vec<_>>().join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_are_read() {
        for test in Test::all() {
            assert_eq!(test.program().parse(), Ok(test));
            assert_eq!(test.name().parse(), Ok(test));
        }
        assert!(
            "linpack".parse::<Test>().unwrap_err().to_string().contains("context1 or pipe_context_switching")
        );
    }
}
