//! Reading dumps of any tool.

mod hwloc;
mod libcpuid;
mod neutral;
mod report;
mod sections;

use std::fs::File;
use std::path::Path;

use super::dump::{Dump, Registers};
use crate::{Error, bounds};

pub use hwloc::parse_dir;

/// The ways in which tools print CPUID answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// `cpu N leaf subleaf eax ebx ecx edx`.
    Neutral,
    /// One CPU of hwloc-gather-cpuid: `inmask eax ebx ecx edx => eax ebx ecx edx`.
    Hwloc,
    /// libcpuid's raw files: `basic_cpuid[0]=...`.
    Libcpuid,
    /// A leaf and its four registers a line, as most tools print them: `CPUID 00000000: 0000000D-...`.
    Report(report::Style),
}

/// More than the dumps of the greatest machines take (32 KiB for each of 4096 CPUs), so that a hostile or endless file
/// cannot fill the memory.
const FILE_LIMIT: u64 = 128 << 20;

impl Dialect {
    fn of(text: &str) -> Option<Self> {
        text.lines().find_map(|line| Self::of_line(trimmed(line)))
    }

    fn of_line(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let first = words.next()?;
        if first.starts_with('#') {
            return None;
        }
        match first {
            "cpu" if line.split_ascii_whitespace().count() == 8 => {
                let number = words.next()?.parse::<u32>().is_ok();
                (number && register(words.next()?, "leaf").is_ok()).then_some(Self::Neutral)
            }
            _ if first.starts_with("basic_cpuid[") => Some(Self::Libcpuid),
            _ if hex(first).is_some() && words.nth(4) == Some("=>") => Some(Self::Hwloc),
            _ => report::style_of(line).map(Self::Report),
        }
    }
}

/// A line without surrounding blanks, and without the NULs and byte-order marks that some tools and editors add.
fn trimmed(line: &str) -> &str {
    line.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '\0' | '\u{feff}'))
}

/// Whether [`parse`] would accept the text as a CPUID dump.
///
/// ```
/// assert!(coho_topology::cpuid::looks_like("CPU 0:\n   0x00000000 0x00: eax=0x0000000d ebx=0 ecx=0 edx=0\n"));
/// assert!(!coho_topology::cpuid::looks_like("<groups></groups>"));
/// ```
pub fn looks_like(text: &str) -> bool {
    Dialect::of(text).is_some()
}

/// Reads a dump of CPUID's answers; the dialect is recognised by content:
///
/// - the neutral text `cpu N leaf subleaf eax ebx ecx edx`, which [`Dump`] prints;
/// - one `puN` file of hwloc-gather-cpuid, taken as CPU 0 ([`parse_dir`] reads the whole folder);
/// - libcpuid's raw files (`basic_cpuid[0]=...`), of one CPU or of all;
/// - reports with a leaf and its four registers on each line: AIDA64's, EVEREST's and InstLatX64's, which libcpuid's
///   corpus holds too (`CPUID 00000000: 0000000D-...`), CPU-Z's, x86info's and those of etallen's `cpuid -r`.
///
/// Headings separate the CPUs of a report. In a report without headings, each leaf 0 begins a CPU, and CPUs are
/// numbered in their order. EVEREST's `CPU #1` is CPU 0. Consecutive lines of one leaf without a sub-leaf number answer
/// sub-leaves 0, 1, 2 and so on.
///
/// A second, different answer to a question that decides the topology is an error, except in hwloc's files, where the
/// first answer counts.
///
/// ```
/// let text = "cpu 0 0x00000000 0x00000000 0x00000001 0x68747541 0x444d4163 0x69746e65";
/// let dump = coho_topology::cpuid::parse(text)?;
/// assert_eq!(dump.cpus[0].query(0, 0).eax, 1);
/// # Ok::<(), coho_topology::Error>(())
/// ```
///
/// # Errors
/// If the text is in none of these dialects, names a CPU twice, or has a line that does not parse; the error names the
/// line.
pub fn parse(text: &str) -> Result<Dump, Error> {
    match Dialect::of(text) {
        Some(Dialect::Neutral) => neutral::parse(text),
        Some(Dialect::Hwloc) => hwloc::parse_one(text),
        Some(Dialect::Libcpuid) => libcpuid::parse(text),
        Some(Dialect::Report(style)) => report::parse(text, style),
        None => Err(Error::new(
            "not a CPUID dump: none of coho's text, hwloc-gather-cpuid, libcpuid, AIDA64, CPU-Z or `cpuid -r` was \
             recognised",
        )),
    }
}

/// Reads a dump from a file as [`parse`] does or, for hwloc's, from a folder as [`parse_dir`] does.
///
/// # Errors
/// As theirs, naming the file.
pub fn read(path: &Path) -> Result<Dump, Error> {
    if path.is_dir() {
        return parse_dir(path);
    }
    let text = read_text(path, FILE_LIMIT)?;
    parse(&text).map_err(|error| error.in_file(path))
}

/// The text of a file that is no longer than `limit` bytes.
fn read_text(path: &Path, limit: u64) -> Result<String, Error> {
    bounds::read_report(File::open(path).map_err(|error| Error::io(path, &error))?, path, limit)
}

/// A hexadecimal number of up to eight digits without prefix.
fn hex(digits: &str) -> Option<u32> {
    let all_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if all_hex { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// The four registers of an answer.
fn registers([eax, ebx, ecx, edx]: [&str; 4]) -> Result<Registers, Error> {
    Ok(Registers {
        eax: register(eax, "eax")?,
        ebx: register(ebx, "ebx")?,
        ecx: register(ecx, "ecx")?,
        edx: register(edx, "edx")?,
    })
}

/// As [`hex`], with or without `0x`; else an error that says what was expected.
fn register(word: &str, what: &str) -> Result<u32, Error> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")).unwrap_or(word);
    hex(digits).ok_or_else(|| Error::new(format!("{what} '{word}' is not a hexadecimal number of 32 bits")))
}
