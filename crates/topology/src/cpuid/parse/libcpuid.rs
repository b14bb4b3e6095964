//! libcpuid's raw files: `basic_cpuid[4]=eax ebx ecx edx`, one array for each leaf that has sub-leaves; in a dump of
//! all CPUs, each begins with `____ Logical CPU #0 ____`. After a line of dashes comes the decoder's output that
//! libcpuid's tests expect.

use super::registers;
use super::report;
use super::sections::Sections;
use crate::Error;
use crate::cpuid::dump::{Dump, Registers};

/// The arrays of leaves with sub-leaves.
const INDEXED: [(&str, u32); 6] = [
    ("intel_fn4", 0x4),
    ("intel_fn11", 0xB),
    ("intel_fn12h", 0x12),
    ("intel_fn14h", 0x14),
    ("amd_fn8000001dh", 0x8000_001D),
    ("amd_fn80000026h", 0x8000_0026),
];

/// The arrays of one answer for each leaf, asked with ECX = 0.
const PLAIN: [(&str, u32); 2] = [("basic_cpuid", 0), ("ext_cpuid", 0x8000_0000)];

pub(super) fn parse(text: &str) -> Result<Dump, Error> {
    let mut sections = Sections::default();
    let mut ended = false;
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, super::trimmed(line));
        ended |= is_rule(line);
        if ended && !line.contains('[') {
            continue;
        }
        if let Some(heading) = report::heading(line) {
            sections.begin(number, heading.map_err(|error| error.or_line(number))?)?;
        } else if let Some((leaf, subleaf, registers)) =
            parse_line(line).map_err(|error| error.or_line(number))?
        {
            // Leaf 4's first answer is in `basic_cpuid` already, like others.
            if subleaf > 0 || !is_indexed(line) || !sections.knows(leaf, 0) {
                sections.answer(number, leaf, Some(subleaf), registers)?;
            }
        }
    }
    sections.finish()
}

/// A line of dashes alone.
fn is_rule(line: &str) -> bool {
    line.len() >= 8 && line.bytes().all(|byte| byte == b'-')
}

fn is_indexed(line: &str) -> bool {
    INDEXED.iter().any(|(array, _)| line.starts_with(array))
}

/// `None` for blank lines, `version=...` and arrays that are not CPUID's.
fn parse_line(line: &str) -> Result<Option<(u32, u32, Registers)>, Error> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let Some((name, value)) = line.split_once('=') else {
        return Err(Error::new(format!("expected 'array[index]=eax ebx ecx edx', found '{line}'")));
    };
    let Some((array, index)) = name.split_once('[') else {
        return Ok(None);
    };
    let indexed = INDEXED.iter().find(|(name, _)| *name == array);
    let plain = PLAIN.iter().find(|(name, _)| *name == array);
    if indexed.or(plain).is_none() {
        return Ok(None);
    }
    let index: u32 = index
        .strip_suffix(']')
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| Error::new(format!("'{name}' has no index in brackets")))?;
    let words: Vec<_> = value.split_ascii_whitespace().take(5).collect();
    let [eax, ebx, ecx, edx] = words[..] else {
        return Err(Error::new(format!("expected four registers after '{name}='")));
    };
    let answer = registers([eax, ebx, ecx, edx])?;
    Ok(match (indexed, plain) {
        (Some(&(_, leaf)), _) => Some((leaf, index, answer)),
        (_, Some(&(_, first))) => Some((first.wrapping_add(index), 0, answer)),
        _ => None,
    })
}
