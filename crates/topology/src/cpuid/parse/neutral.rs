//! The neutral text: `cpu N leaf subleaf eax ebx ecx edx`, one answer a line, `#` before comments.

use super::{register, registers};
use crate::Error;
use crate::cpuid::dump::{Builder, Dump};

pub(super) fn parse(text: &str) -> Result<Dump, Error> {
    let mut dump = Builder::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            parse_line(line, &mut dump).map_err(|error| error.or_line(index + 1))?;
        }
    }
    dump.finish()
}

fn parse_line(line: &str, dump: &mut Builder) -> Result<(), Error> {
    let words: Vec<_> = line.split_ascii_whitespace().take(9).collect();
    let ["cpu", os, leaf, subleaf, eax, ebx, ecx, edx] = words[..] else {
        return Err(Error::new("expected 'cpu N leaf subleaf eax ebx ecx edx'"));
    };
    let os = os.parse().map_err(|_| Error::new(format!("'{os}' is not a CPU number")))?;
    let subleaf = if subleaf == "*" { None } else { Some(register(subleaf, "sub-leaf")?) };
    let answer = registers([eax, ebx, ecx, edx])?;
    let leaf = register(leaf, "leaf")?;
    let cpu = dump.cpu(os)?;
    // Otherwise two machines' dumps in one file would look like one.
    if let Some(earlier) = subleaf.and_then(|subleaf| cpu.leaves.get(&(leaf, subleaf)))
        && *earlier != answer
    {
        return Err(Error::new(format!("CPU {os} has answered leaf {leaf:#x} otherwise before")));
    }
    cpu.answer(leaf, subleaf, answer);
    Ok(())
}
