//! What `perf script` prints: a line for each file that is mapped, and for each sample.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use coho_recording::{Access, Item, Record};

use crate::mapped::{Mapping, of_file};

/// Samples that are kept.
const MOST: usize = 2 << 20;
/// More files than processes map.
const MOST_MAPPINGS: usize = 1 << 16;
/// More bytes than a line has.
const LONGEST: u64 = 64 << 10;
/// Addresses from here on are the kernel's.
const KERNEL: u64 = 1 << 63;

/// Bits of a sample's source of data, as the kernel's interface has them.
const LOAD: u64 = 1 << 1;
const STORE: u64 = 1 << 2;
const LOCKED: u64 = 1 << (24 + 1);

/// The samples of a recording.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// For each sample where the thread was, and what it accessed.
    pub(super) items: Vec<Item>,
    /// Samples that do not say whether they load or store.
    pub(super) unknown: u64,
    /// Samples beyond those that are kept.
    pub(super) lost: u64,
    /// By process and path.
    files: BTreeMap<(u32, String), Vec<Mapping>>,
    mappings: usize,
    /// The first file with code that a process mapped.
    program: Option<String>,
}

impl Samples {
    /// Reads all lines; those that are neither are passed over.
    pub(super) fn read(mut text: impl BufRead) -> io::Result<Self> {
        let mut samples = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            if io::Read::take(&mut text, LONGEST).read_until(b'\n', &mut line)? == 0 {
                return Ok(samples);
            }
            if let Ok(line) = str::from_utf8(&line) {
                samples.add(line.trim_end());
            }
        }
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let (whose, rest) = line.trim_start().split_once(' ')?;
        let (process, thread) = whose.split_once('/')?;
        let (process, thread) = (process.parse().ok()?, thread.parse().ok()?);
        let (time, rest) = rest.trim_start().split_once(": ")?;
        match rest.trim_start().strip_prefix("PERF_RECORD_MMAP") {
            Some(mapped) => self.map(mapped),
            None => self.sample(process, thread, nanoseconds(time)?, rest),
        }
    }

    /// `2 416/416: [0x401000(0x1000) @ 0x1000 fe:00 998 421]: r-xp /path`
    fn map(&mut self, mapped: &str) -> Option<()> {
        let (whose, rest) = mapped.trim_start_matches('2').trim_start().split_once(": [")?;
        let process: u32 = whose.split_once('/')?.0.parse().ok()?;
        let (range, rest) = rest.split_once(" @ ")?;
        let (start, length) = range.strip_suffix(')')?.split_once('(')?;
        let (start, length) = (number(start)?, number(length)?);
        let (place, rest) = rest.split_once("]: ")?;
        let (access, path) = rest.split_once(' ')?;
        let offset = number(place.split(' ').next()?)?;
        if !path.starts_with('/') || path.starts_with("//") || self.mappings == MOST_MAPPINGS {
            return None;
        }
        self.mappings += 1;
        let (end, name) = (start.checked_add(length)?, path.as_bytes().to_vec());
        let mapping = Mapping { start, end, is_accessible: true, offset, name };
        self.files.entry((process, path.into())).or_default().push(mapping);
        if self.program.is_none() && access.contains('x') {
            self.program = Some(path.into());
        }
        Some(())
    }

    /// `404080 1e05080021 |OP LOAD|LVL L1 hit|… 4011a3`, in which what stands between bars is for people.
    fn sample(&mut self, process: u32, thread: u32, time: u64, rest: &str) -> Option<()> {
        let pc = hexadecimal(rest.rsplit(' ').next()?)?;
        let mut words = rest.split_once('|')?.0.split_whitespace().rev();
        let (source, address) = (hexadecimal(words.next()?)?, hexadecimal(words.next()?)?);
        if pc >= KERNEL || address >= KERNEL || address == 0 {
            return None;
        }
        let access = match (source & LOAD != 0, source & STORE != 0) {
            // What is locked is read and written, though it counts as a load.
            (true, false) if source & LOCKED == 0 => Access::Read,
            (false, true) => Access::Write,
            (true, _) => Access::Both,
            (false, false) => {
                self.unknown += 1;
                return None;
            }
        };
        if self.items.len() / 2 >= MOST {
            self.lost += 1;
            return None;
        }
        let operand =
            Record::Operand { time, pc, address, bytes: 1, access, length: 1, ahead: 0, is_certain: true };
        for record in [Record::Tick { time, pc }, operand] {
            self.items.push(Item { process, thread, record });
        }
        Some(())
    }

    /// Where the files lie.
    pub(super) fn modules(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for ((process, path), mappings) in &self.files {
            let Some(module) = of_file(path.as_bytes(), &mappings.iter().collect::<Vec<_>>()) else {
                continue;
            };
            let record = Record::Module { base: module.base, start: module.start, end: module.end };
            let records = std::iter::once(record).chain(Record::texts(&module.name));
            items.extend(records.map(|record| Item { process: *process, thread: *process, record }));
        }
        items
    }

    /// The program that was recorded.
    pub(super) fn program(&self) -> Option<String> {
        self.program.clone()
    }
}

/// `26983.661487123` seconds, of any number of digits.
fn nanoseconds(time: &str) -> Option<u64> {
    let (seconds, part) = time.split_once('.')?;
    let digits = u32::try_from(part.len()).ok().filter(|digits| *digits <= 9)?;
    let part: u64 = part.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part * 10_u64.pow(9 - digits))
}

/// `0x1000`, or `0`.
fn number(text: &str) -> Option<u64> {
    hexadecimal(text.strip_prefix("0x").unwrap_or(text))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}
