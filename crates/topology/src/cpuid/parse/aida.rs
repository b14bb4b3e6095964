//! The CPUID section of AIDA64 and InstLatX64 reports, which most of libcpuid's corpus consists of:
//! `------[ CPUID Registers / Logical CPU #0 ]------` (or `CPU#000 AffMask: ...`) and lines
//! `CPUID 0000000B: 00000001-00000002-00000100-00000000 [SL 00]`. Older versions omit `[SL nn]`: a repeated leaf is
//! then the next sub-leaf.

use std::collections::BTreeMap;

use super::hex;
use crate::Error;
use crate::cpuid::dump::{Builder, Dump, Registers};

/// A line of dashes alone, after which libcpuid's tests hold what their decoder is to say.
pub(super) fn is_rule(line: &str) -> bool {
    line.len() >= 8 && line.bytes().all(|byte| byte == b'-')
}

pub(super) fn parse(text: &str) -> Result<Dump, Error> {
    let mut dump = Builder::default();
    let mut os = 0;
    let mut seen = BTreeMap::<u32, u32>::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let at = |error: Error| error.or_line(index + 1);
        if is_rule(line) {
            break;
        }
        if let Some(number) = heading(line) {
            os = number.parse().map_err(|_| at(Error::new(format!("'{number}' is not a CPU number"))))?;
            if dump.contains(os) {
                return Err(at(Error::new(format!("a second heading for CPU {os}"))));
            }
            dump.cpu(os).map_err(at)?;
            seen.clear();
        } else if let Some((leaf, subleaf, registers)) = parse_line(line).map_err(at)? {
            let next = seen.entry(leaf).or_default();
            let subleaf = subleaf.unwrap_or(*next);
            *next = subleaf.saturating_add(1);
            dump.cpu(os).map_err(at)?.answer(leaf, Some(subleaf), registers);
        }
    }
    dump.finish()
}

/// The CPU number of a heading.
fn heading(line: &str) -> Option<&str> {
    let digits = |rest: &'_ str| rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match line.strip_prefix("CPU#") {
        Some(rest) if rest.contains("AffMask") => rest,
        Some(_) => return None,
        None => line.strip_prefix("---")?.split_once("Logical CPU #")?.1,
    };
    Some(&rest[..digits(rest)])
}

/// `None` for the report's other lines.
fn parse_line(line: &str) -> Result<Option<(u32, Option<u32>, Registers)>, Error> {
    let Some((leaf, answer)) = line.strip_prefix("CPUID ").and_then(|rest| rest.split_once(": ")) else {
        return Ok(None);
    };
    let Some(leaf) = hex(leaf) else {
        // `CPUID Manufacturer: GenuineIntel` and its like.
        return Ok(None);
    };
    let registers = answer.split_ascii_whitespace().next().unwrap_or_default();
    let values: Option<Vec<_>> = registers.split('-').map(hex).collect();
    let Some([eax, ebx, ecx, edx]) = values.as_deref() else {
        return Err(Error::new(format!(
            "expected four hexadecimal registers joined by '-', found '{registers}'"
        )));
    };
    let subleaf = match answer.split_once("[SL ") {
        None => None,
        Some((_, rest)) => {
            let digits = rest.split(']').next().unwrap_or_default();
            Some(hex(digits).ok_or_else(|| Error::new(format!("'[SL {digits}]' is not a sub-leaf")))?)
        }
    };
    Ok(Some((leaf, subleaf, Registers { eax: *eax, ebx: *ebx, ecx: *ecx, edx: *edx })))
}
