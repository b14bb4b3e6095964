//! The machine's own counters.

use std::collections::BTreeMap;

use coho_counters::tables::Candidate;
use coho_counters::{Column, Counter, Event, Group, Method, Mode, Price, selftest};

use super::{Count, Source};

/// The events that passed their self-test on this CPU, and how they may be read.
pub(in crate::calls) struct Hardware {
    chosen: BTreeMap<Column, Candidate>,
    modes: Vec<Mode>,
    no_kernel: Option<String>,
    disturbs: bool,
}

impl Hardware {
    /// Whether this thread may count anything.
    ///
    /// # Errors
    /// If it may not, with the reason.
    pub(in crate::calls) fn possible() -> Result<(), String> {
        Counter::open(&Event::cycles(), Mode::User).map(drop).map_err(|error| error.to_string())
    }

    /// Finds the events for the CPU that the caller is pinned to; takes some seconds if there are counters.
    ///
    /// # Errors
    /// If there are none, with the reason.
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
}

impl Source for Hardware {
    fn open(&self, column: Column, mode: Mode) -> Result<Box<dyn Count>, String> {
        let candidate = self.chosen.get(&column).ok_or("no event for it passed its self-test")?;
        let group = Group::open(&candidate.events, mode).map_err(|error| error.to_string())?;
        // If user mode cannot read it, each read enters the kernel; that adds the same count each time.
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

    fn no_kernel(&self) -> Option<&str> {
        self.no_kernel.as_deref()
    }

    fn names(&self) -> BTreeMap<&'static str, String> {
        self.chosen.iter().map(|(column, candidate)| (column.name(), candidate.to_string())).collect()
    }

    fn disturbs(&self) -> bool {
        self.disturbs
    }
}

/// The events of a column, which is their sum.
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
    use coho_testing::{Capability, needs};

    use super::super::difference;
    use super::*;

    #[test]
    fn an_event_that_passed_its_self_test_counts() {
        needs!(Capability::HardwareCounters);
        let hardware = Hardware::find().unwrap();
        let column = *hardware.chosen.keys().next().unwrap();
        let mut count = hardware.open(column, hardware.modes()[0]).unwrap();
        let before = count.read().unwrap();
        assert!(count.read().unwrap() >= before);
        assert_eq!(hardware.names().len(), hardware.chosen.len());
    }

    /// Events that the kernel counts in software stand in for columns; opening, reading and summing are real.
    #[test]
    fn a_column_is_the_sum_of_its_events() {
        needs!(Capability::PerfEvents);
        let faults = Event::page_faults();
        let events = |events: &[&Event]| Candidate { events: events.iter().copied().cloned().collect() };
        let chosen = [
            (Column::L1dMisses, events(&[&faults])),
            (Column::L2Misses, events(&[&faults, &faults])),
            (Column::L3Misses, events(&[&Event::dummy()])),
        ];
        let hardware =
            Hardware { chosen: chosen.into(), modes: vec![Mode::User], no_kernel: None, disturbs: true };
        let touched = |column| {
            let mut count = hardware.open(column, Mode::User).unwrap();
            // Pages without contents, each of which faults once; a first time for what the counting itself touches.
            let [before, pages] = [1, 64].map(Region::new);
            difference(&mut *count, || before.touch()).unwrap();
            difference(&mut *count, || pages.touch()).unwrap()
        };
        // The kernel may take a page back meanwhile, for example to move it to another node.
        assert!((64.0..80.0).contains(&touched(Column::L1dMisses)));
        assert!((128.0..160.0).contains(&touched(Column::L2Misses)));
        assert_eq!(touched(Column::L3Misses), 0.0);
        assert!(hardware.open(Column::Cycles, Mode::User).err().unwrap().contains("self-test"));
        assert!(hardware.has(Column::L2Misses) && !hardware.has(Column::Cycles));
        assert_eq!(hardware.names()["L3M"], "dummy");
    }

    /// New pages of the smallest size.
    struct Region(*mut libc::c_void, usize);

    impl Region {
        fn new(pages: usize) -> Self {
            let bytes = pages * coho_platform::pages::PAGE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: a new mapping at an address of the kernel's choice, advised against large pages.
            unsafe {
                let start =
                    libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
                assert_ne!(start, libc::MAP_FAILED);
                libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
                Self(start, bytes)
            }
        }

        fn touch(&self) {
            for offset in (0..self.1).step_by(coho_platform::pages::PAGE) {
                // SAFETY: within the mapping, which nobody else knows.
                unsafe { self.0.cast::<u8>().add(offset).write_volatile(1) };
            }
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            // SAFETY: the mapping is this value's own.
            unsafe { libc::munmap(self.0, self.1) };
        }
    }
}
