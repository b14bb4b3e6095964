//! The output of `cpuid -r`: `CPU 0:` (or `CPU:`, of one CPU) and lines `0x00000004 0x01: eax=0x... ebx=0x...`.

use super::{hex, register};
use crate::Error;
use crate::cpuid::dump::{Builder, Dump, Registers};

pub(super) fn parse(text: &str) -> Result<Dump, Error> {
    let mut dump = Builder::default();
    let mut os = 0;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let at = |error: Error| error.or_line(index + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix("CPU").and_then(|rest| rest.strip_suffix(':')) {
            os = match heading.trim() {
                "" => 0,
                number => {
                    number.parse().map_err(|_| at(Error::new(format!("'{number}' is not a CPU number"))))?
                }
            };
            if dump.contains(os) {
                return Err(at(Error::new(format!("a second heading for CPU {os}"))));
            }
            dump.cpu(os).map_err(at)?;
            continue;
        }
        let (leaf, subleaf, registers) = parse_line(line).map_err(at)?;
        dump.cpu(os).map_err(at)?.answer(leaf, Some(subleaf), registers);
    }
    dump.finish()
}

fn parse_line(line: &str) -> Result<(u32, u32, Registers), Error> {
    let words: Vec<_> = line.split_ascii_whitespace().take(7).collect();
    let [leaf, subleaf, eax, ebx, ecx, edx] = words[..] else {
        return Err(Error::new("expected 'leaf subleaf: eax=... ebx=... ecx=... edx=...'"));
    };
    let subleaf = subleaf.strip_suffix(':').unwrap_or(subleaf);
    let named = |word: &str, name: &str| {
        let value = word.strip_prefix(name).and_then(|rest| rest.strip_prefix("=0x"));
        value.and_then(hex).ok_or_else(|| Error::new(format!("expected '{name}=0x...', found '{word}'")))
    };
    let registers = Registers {
        eax: named(eax, "eax")?,
        ebx: named(ebx, "ebx")?,
        ecx: named(ecx, "ecx")?,
        edx: named(edx, "edx")?,
    };
    Ok((register(leaf, "leaf")?, register(subleaf, "sub-leaf")?, registers))
}
