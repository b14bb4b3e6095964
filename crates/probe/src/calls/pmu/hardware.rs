//! The machine's own counters.

use std::collections::BTreeMap;

use coho_counters::tables::Candidate;
use coho_counters::{Column, Counter, Event, Group, Method, Mode, Price, selftest};

use super::{Count, Source};

/// The events that passed their self-test on this CPU, and how they may be read.
pub(in crate::calls) struct Hardware {
    chosen: BTreeMap<Column, Candidate>,
    modes: Vec<Mode>,
    /// Why the kernel's side cannot be counted, where it cannot.
    pub(in crate::calls) no_kernel: Option<String>,
    disturbs: bool,
}

impl Hardware {
    /// Whether this thread may count anything.
    ///
    /// # Errors
    /// Why not.
    pub(in crate::calls) fn possible() -> Result<(), String> {
        Counter::open(&Event::cycles(), Mode::User).map(drop).map_err(|error| error.to_string())
    }

    /// Finds out on the CPU that the caller is pinned to; takes some seconds where there are counters.
    ///
    /// # Errors
    /// Why there are none.
    pub(in crate::calls) fn find() -> Result<Self, String> {
        Self::possible()?;
        let no_kernel = Counter::open(&Event::cycles(), Mode::Kernel).err().map(|error| error.to_string());
        let chosen = selftest::choose(&Column::ALL).map_err(|error| error.to_string())?.chosen;
        if chosen.is_empty() {
            return Err("no event passed its self-test on this CPU".into());
        }
        let modes = if no_kernel.is_none() { vec![Mode::User, Mode::Kernel] } else { vec![Mode::User] };
        let disturbs = Price::measure().method() == Some(Method::BracketFree);
        Ok(Self { chosen, modes, no_kernel, disturbs })
    }

    /// Events by column, as the manuals name them.
    pub(in crate::calls) fn names(&self) -> BTreeMap<&'static str, String> {
        self.chosen.iter().map(|(column, candidate)| (column.name(), candidate.to_string())).collect()
    }
}

impl Source for Hardware {
    fn open(&self, column: Column, mode: Mode) -> Result<Box<dyn Count>, String> {
        let candidate = self.chosen.get(&column).ok_or("no event for it passed its self-test")?;
        let group = Group::open(&candidate.events, mode).map_err(|error| error.to_string())?;
        // Where user mode cannot read it, each read enters the kernel; what that counts is the same each time.
        let mut counts = vec![0; group.len()];
        let in_user_mode = group.read(&mut counts).is_ok();
        Ok(Box::new(Open { group, counts, in_user_mode }))
    }

    fn has(&self, column: Column) -> bool {
        self.chosen.contains_key(&column)
    }

    fn modes(&self) -> &[Mode] {
        &self.modes
    }

    fn disturbs(&self) -> bool {
        self.disturbs
    }
}

/// The events of a column, whose sum it is.
struct Open {
    group: Group,
    counts: Vec<u64>,
    in_user_mode: bool,
}

impl Count for Open {
    fn read(&mut self) -> Result<u64, String> {
        if self.in_user_mode {
            self.group.read(&mut self.counts).map_err(|lost| lost.to_string())?;
            return Ok(self.counts.iter().sum());
        }
        Ok(self.group.read_by_kernel().map_err(|error| error.to_string())?.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_or_says_why_not() {
        match Hardware::find() {
            Err(why) => {
                eprintln!("skipped: {why}");
                assert!(!why.is_empty());
            }
            Ok(hardware) => {
                let column = *hardware.chosen.keys().next().unwrap();
                let mut count = hardware.open(column, hardware.modes()[0]).unwrap();
                let before = count.read().unwrap();
                assert!(count.read().unwrap() >= before);
                assert_eq!(hardware.names().len(), hardware.chosen.len());
            }
        }
    }
}
