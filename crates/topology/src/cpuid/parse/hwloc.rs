//! The folders of hwloc-gather-cpuid: `hwloc-cpuid-info`, and a file `puN` for each CPU with lines
//! `inmask eax ebx ecx edx => eax ebx ecx edx`, hexadecimal without prefix.

use std::path::Path;

use super::{read_text, register, registers};
use crate::Error;
use crate::cpuid::dump::{Builder, CpuAnswers, Dump};

/// More than any real `puN` needs (10 KiB), so that a hostile folder cannot fill the memory.
const FILE_LIMIT: u64 = 16 << 20;

/// Bits of `inmask`: which registers the question was asked in.
const EAX_ASKED: u32 = 1 << 0;
const ECX_ASKED: u32 = 1 << 2;

/// Reads a folder written by hwloc-gather-cpuid: `hwloc-cpuid-info`, and a file `puN` for each CPU.
///
/// # Errors
/// If it is not such a folder or not from an x86 machine, or a file cannot be read or has a line that does not parse;
/// the error names file and line.
pub fn parse_dir(path: &Path) -> Result<Dump, Error> {
    let info_path = path.join("hwloc-cpuid-info");
    let info = read_text(&info_path, FILE_LIMIT)?;
    if !info.lines().any(|line| line.trim() == "Architecture: x86") {
        return Err(
            Error::new("no line 'Architecture: x86': not a folder of hwloc-gather-cpuid").in_file(&info_path)
        );
    }
    let mut dump = Builder::default();
    for entry in std::fs::read_dir(path).map_err(|error| Error::io(path, &error))? {
        let entry = entry.map_err(|error| Error::io(path, &error))?;
        let name = entry.file_name();
        let Some(os) = name.to_str().and_then(|name| name.strip_prefix("pu")?.parse().ok()) else {
            continue;
        };
        let file = entry.path();
        if dump.contains(os) {
            return Err(Error::new(format!("a second file for CPU {os}")).in_file(&file));
        }
        let text = read_text(&file, FILE_LIMIT)?;
        dump.cpu(os).and_then(|cpu| parse_cpu(&text, cpu)).map_err(|error| error.in_file(&file))?;
    }
    dump.finish().map_err(|error| error.in_file(path))
}

/// Reads a single `puN` as CPU 0.
pub(super) fn parse_one(text: &str) -> Result<Dump, Error> {
    let mut dump = Builder::default();
    parse_cpu(text, dump.cpu(0)?)?;
    dump.finish()
}

fn parse_cpu(text: &str, cpu: &mut CpuAnswers) -> Result<(), Error> {
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            parse_line(line, cpu).map_err(|error| error.or_line(index + 1))?;
        }
    }
    Ok(())
}

fn parse_line(line: &str, cpu: &mut CpuAnswers) -> Result<(), Error> {
    let words: Vec<_> = line.split_ascii_whitespace().take(11).collect();
    let [inmask, leaf, _, subleaf, _, "=>", ref answer @ ..] = words[..] else {
        return Err(Error::new("expected 'inmask eax ebx ecx edx => eax ebx ecx edx'"));
    };
    let [eax, ebx, ecx, edx] = answer[..] else {
        return Err(Error::new("expected four registers after '=>'"));
    };
    let inmask = register(inmask, "inmask")?;
    if inmask & EAX_ASKED == 0 {
        return Err(Error::new("inmask does not name eax, so the line answers no leaf"));
    }
    let subleaf = if inmask & ECX_ASKED != 0 { Some(register(subleaf, "ecx asked")?) } else { None };
    cpu.answer(register(leaf, "eax asked")?, subleaf, registers([eax, ebx, ecx, edx])?);
    Ok(())
}
