//! How much progress a running command makes.

use std::fmt;
use std::time::{Duration, Instant};

use coho_counters::{Column, Descendants, Event, Mode};
use regex_lite::Regex;

use super::printed::Printed;
use crate::child::Running;
use crate::events::chosen;

/// What counts as progress. CPU time does not: a thread that waits in a loop uses as much as one that works.
#[derive(Debug, Clone)]
pub enum Measure {
    /// Instructions that the command executes in user mode.
    Instructions,
    /// A number in a line that the command prints: the expression's first group, or all that it matches.
    Printed(Regex),
}

/// Why instructions are not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotCounted {
    /// There is no counter for them; the text says why.
    NoCounter(String),
    /// The counter failed its self-test.
    Failed,
}

impl fmt::Display for NotCounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCounter(why) => f.write_str(why),
            Self::Failed => f.write_str("the counter of instructions did not pass its self-test"),
        }
    }
}

impl std::error::Error for NotCounted {}

impl Measure {
    /// Instructions, if this CPU counts them correctly.
    ///
    /// # Errors
    /// Why it does not.
    pub fn instructions(cpu: u32) -> Result<Self, NotCounted> {
        let chosen = chosen(cpu, &[Column::Instructions]).map_err(NotCounted::NoCounter)?;
        match chosen.contains_key(&Column::Instructions) {
            true => Ok(Self::Instructions),
            false => Err(NotCounted::Failed),
        }
    }

    /// A rate that an expression finds in what the command prints.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn printed(expression: &str) -> Result<Self, regex_lite::Error> {
        Regex::new(expression).map(Self::Printed)
    }

    /// Its name in profiles.
    pub fn name(&self) -> &str {
        match self {
            Self::Instructions => "instructions",
            Self::Printed(expression) => expression.as_str(),
        }
    }
}

/// Reads the progress of one command.
pub(super) enum Meter {
    Counted { counter: Descendants, begun: (Instant, u64) },
    Printed { printed: Printed, begun: bool, rates: Vec<f64> },
}

impl Meter {
    /// Opens the counter that counts the next command.
    pub(super) fn instructions() -> Result<Self, String> {
        Self::counting(&Event::instructions())
    }

    fn counting(event: &Event) -> Result<Self, String> {
        let counter = Descendants::open(event, Mode::User).map_err(|error| error.to_string())?;
        Ok(Self::Counted { counter, begun: (Instant::now(), 0) })
    }

    /// Prepares to read what the next command prints, and to pass it on.
    pub(super) fn printed(expression: &Regex, to_stderr: bool) -> Result<Self, String> {
        let printed = Printed::ready(expression, to_stderr)
            .map_err(|error| format!("no thread to read what the command prints: {error}"))?;
        Ok(Self::Printed { printed, begun: false, rates: Vec::new() })
    }

    /// Follows a command that has just been started.
    pub(super) fn follow(&self, running: &mut Running) {
        if let Self::Printed { printed, .. } = self {
            printed.read(running);
        }
    }

    /// Forgets what came before.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        match self {
            Self::Counted { counter, begun } => {
                *begun = (Instant::now(), counter.read().map_err(|error| error.to_string())?);
            }
            Self::Printed { printed, begun, rates } => {
                printed.take();
                rates.clear();
                *begun = false;
            }
        }
        Ok(())
    }

    /// Progress a second since the beginning; `None` if the command has not printed a figure yet.
    pub(super) fn rate(&mut self) -> Result<Option<f64>, String> {
        match self {
            Self::Counted { counter, begun: (since, before) } => {
                let now = counter.read().map_err(|error| error.to_string())?;
                let seconds = since.elapsed().max(Duration::from_nanos(1)).as_secs_f64();
                Ok(Some(now.saturating_sub(*before) as f64 / seconds))
            }
            Self::Printed { printed, begun, rates } => {
                let mut new = printed.take().into_iter();
                // The first line is about a time that began earlier.
                if !*begun && new.next().is_some() {
                    *begun = true;
                }
                rates.extend(new);
                Ok((!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64))
            }
        }
    }

    /// Waits until all output of the command has been passed on, if it passes through here.
    pub(super) fn end(self) {
        if let Self::Printed { printed, .. } = self {
            printed.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use coho_testing::{Capability, needs};

    use super::*;

    /// An event that the kernel counts in software stands in for a hardware event.
    #[test]
    fn progress_is_what_a_started_program_counts_since_the_beginning() {
        needs!(Capability::PerfEvents);
        let mut meter = Meter::counting(&Event::page_faults()).unwrap();
        assert_eq!(meter.rate(), Ok(Some(0.0)), "nothing was started yet");
        assert!(Command::new("true").status().unwrap().success());
        assert!(meter.rate().unwrap() > Some(0.0));
        meter.begin().unwrap();
        assert_eq!(meter.rate(), Ok(Some(0.0)), "nothing goes on");
    }
}
