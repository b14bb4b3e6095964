//! Reports of several tools that print a leaf and its four registers on a line:
//!
//! | tool | heading | line |
//! |---|---|---|
//! | AIDA64 | `------[ CPUID Registers / Logical CPU #0 ]------` | `CPUID 0000000B: 00000001-00000002-00000100-00000000 [SL 00]` |
//! | InstLatX64 | `CPU#000 AffMask: 0x0000000000000001` | the same |
//! | EVEREST | `CPUID Registers (CPU #1):`, `(CPU #2 Virtual):` | `CPUID 00000000  0000000A-756E6547-6C65746E-49656E69` |
//! | etallen's `cpuid -r` | `CPU 0:`, `CPU:` | `0x00000004 0x01: eax=0x... ebx=0x... ecx=0x... edx=0x...` |
//! | CPU-Z | `CPU Thread 0` | `0x00000004 0x1C004121 0x01C0003F 0x0000003F 0x00000000` |
//! | x86info | `CPU #1` | `eax in: 0x00000000, eax = 00000005 ebx = ... ecx = ... edx = ...` |
//!
//! They share one grammar: a line is a heading, an answer or something else. In an answer, numbers are hexadecimal,
//! with `0x`, a closing `h` or neither; blanks, tabs and `: = -, | /` separate them; the registers come in the order
//! EAX, EBX, ECX, EDX, named or not; a fifth number before them is the sub-leaf, as is `[SL nn]` behind them; words
//! after them are remarks.

use super::sections::{Heading, Sections};
use crate::Error;
use crate::cpuid::dump::{Dump, Registers};

/// How the answers of a report begin. A report uses one style; lines that begin differently are not answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `CPUID 00000000: ...`, `eax in: 0x00000000, ...`.
    Named,
    /// `0x00000000 ...`.
    Bare,
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    leaf: u32,
    subleaf: Option<u32>,
    registers: Registers,
}

/// Reads a report whose answers begin in this way.
pub(super) fn parse(text: &str, style: Style) -> Result<Dump, Error> {
    let mut sections = Sections::default();
    let mut begun = false;
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, super::trimmed(line));
        match answer(line, style) {
            Some(Ok(Answer { leaf, subleaf, registers })) => {
                sections.answer(number, leaf, subleaf, registers)?;
                begun = true;
            }
            // Before the first answer a report may mention CPUID in many ways.
            Some(Err(error)) if begun => return Err(error.or_line(number)),
            _ => {
                if let Some(heading) = heading(line) {
                    sections.begin(number, heading.map_err(|error| error.or_line(number))?)?;
                }
            }
        }
    }
    sections.finish()
}

/// The style of a report in which this line is the first answer; `None` if it is not an answer.
pub(super) fn style_of(line: &str) -> Option<Style> {
    let answered = |style| answer(line, style).and_then(Result::ok);
    if answered(Style::Named).is_some() {
        return Some(Style::Named);
    }
    // Any memory dump has such lines; a CPUID dump begins with leaf 0.
    answered(Style::Bare).filter(|answer| answer.leaf == 0).map(|_| Style::Bare)
}

const SEPARATORS: [char; 7] = [':', '=', '-', ',', '|', '/', '\t'];

/// Words that may come before the leaf, and before a sub-leaf.
const LEAF_NAMES: [&str; 8] = ["cpuid", "level", "leaf", "function", "fn", "eax", "in", "register"];
const SUBLEAF_NAMES: [&str; 6] = ["ecx", "in", "subleaf", "sub", "leaf", "sl"];
const REGISTERS: [&str; 4] = ["eax", "ebx", "ecx", "edx"];

/// An answer, or the error in a line that begins like one; `None` for other lines.
fn answer(line: &str, style: Style) -> Option<Result<Answer, Error>> {
    let (body, remark) = line.split_at(line.find(['[', '(', ';', '"']).unwrap_or(line.len()));
    let words: Vec<&str> = body
        .split(|letter: char| letter.is_whitespace() || SEPARATORS.contains(&letter))
        .filter(|word| !word.is_empty())
        .collect();
    let names = words.iter().take_while(|word| is_one_of(word, &LEAF_NAMES)).count();
    let begins = match style {
        Style::Named => names > 0 && !words[0].eq_ignore_ascii_case("in"),
        Style::Bare => names == 0,
    };
    let (leaf, rest) = words[names..].split_first()?;
    if !begins || !is_wide(leaf) && style == Style::Bare {
        return None;
    }
    let leaf = number(leaf)?;
    Some(registers(rest, style).and_then(|(subleaf, registers)| {
        let subleaf = subleaf.or(remarked_subleaf(remark)?);
        Ok(Answer { leaf, subleaf, registers })
    }))
    .map(|answer| answer.map_err(|error| Error::new(format!("{error} in '{}'", body.trim()))))
}

/// The sub-leaf, if a number before the registers gives it, and the registers.
fn registers(words: &[&str], style: Style) -> Result<(Option<u32>, Registers), Error> {
    let mut words = words.iter().copied().peekable();
    let mut subleaf = None;
    // `ecx in: 0x01`, but not `ecx = 0x01`.
    let mut ahead = words.clone();
    if ahead.next_if(|word| is_one_of(word, &SUBLEAF_NAMES)).is_some()
        && ahead.next_if(|word| is_one_of(word, &SUBLEAF_NAMES)).is_some()
    {
        subleaf = ahead.next().and_then(number);
        words = ahead;
    }
    let mut numbers = Vec::new();
    let mut named = 0;
    for word in words {
        if is_one_of(word, &REGISTERS) {
            let expected = REGISTERS.get(named).copied().unwrap_or("nothing more");
            if !word.eq_ignore_ascii_case(expected) {
                return Err(Error::new(format!("expected '{expected}', found '{word}'")));
            }
            named += 1;
        } else if let Some(value) = number(word) {
            numbers.push((word, value));
        } else {
            break;
        }
    }
    // A remark may look like a number (`FACE`): registers are printed in one width.
    let width = |at: usize| numbers.get(at).map(|(word, _)| word.len());
    if numbers.len() == 5 && subleaf.is_none() && width(0) == width(1) && width(3) != width(4) {
        numbers.pop();
    }
    if numbers.len() == 5 && subleaf.is_none() {
        subleaf = Some(numbers.remove(0).1);
    }
    let narrow = style == Style::Bare && named == 0 && numbers.iter().any(|(word, _)| !is_wide(word));
    match numbers[..] {
        [(_, eax), (_, ebx), (_, ecx), (_, edx)] if !narrow && matches!(named, 0 | 4) => {
            Ok((subleaf, Registers { eax, ebx, ecx, edx }))
        }
        _ => Err(Error::new(format!("expected four hexadecimal registers, found {}", numbers.len()))),
    }
}

/// The sub-leaf of `[SL 0A]`.
fn remarked_subleaf(remark: &str) -> Result<Option<u32>, Error> {
    let upper = remark.to_ascii_uppercase();
    let Some((_, rest)) = upper.split_once("[SL") else { return Ok(None) };
    let digits = rest.split([']', '[']).next().unwrap_or_default().trim_matches([' ', '=', ':']);
    match number(digits) {
        Some(subleaf) => Ok(Some(subleaf)),
        None => Err(Error::new(format!("'[SL {}]' is not a sub-leaf", digits.to_ascii_lowercase()))),
    }
}

fn is_one_of(word: &str, names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// A hexadecimal number of 32 bits, with `0x`, a closing `h` or neither.
fn number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")).unwrap_or(word);
    super::hex(digits.strip_suffix(['h', 'H']).unwrap_or(digits))
}

/// Whether a number is written out as a register is.
fn is_wide(word: &str) -> bool {
    word.starts_with("0x") || word.starts_with("0X") || word.trim_end_matches(['h', 'H']).len() == 8
}

/// Words that headings consist of, besides the number.
const HEADING_WORDS: [&str; 8] =
    ["cpuid", "registers", "dump", "logical", "cpu", "processor", "thread", "virtual"];

/// A heading, or why a line that looks like one has no usable number; `None` for other lines.
pub(super) fn heading(line: &str) -> Option<Result<Heading, Error>> {
    if line.eq_ignore_ascii_case("cpu:") {
        return Some(Ok(Heading {
            form: "cpu".into(),
            number: None,
            from_one: false,
            mask: None,
            is_virtual: false,
        }));
    }
    let lower = line.to_ascii_lowercase();
    let (named, mask) = match lower.split_once("affmask") {
        Some((named, mask)) => (named, Some(mask.trim_matches([':', '=', ' ', '\t']).to_owned())),
        None => (lower.as_str(), None),
    };
    let mut form = Vec::new();
    let mut digits = None;
    for word in named.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let letters = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if !letters.is_empty() {
            form.push(*HEADING_WORDS.iter().find(|known| **known == letters)?);
        }
        match &word[letters.len()..] {
            "" => {}
            found if digits.is_none() => digits = Some(found),
            _ => return None,
        }
    }
    let digits = digits.filter(|_| form.iter().any(|word| ["cpu", "processor", "thread"].contains(word)))?;
    let is_virtual = form.contains(&"virtual");
    form.retain(|word| *word != "virtual");
    let from_one = form == ["cpuid", "registers", "cpu"];
    Some(match digits.parse() {
        Ok(number) => Ok(Heading { form: form.join(" "), number: Some(number), from_one, mask, is_virtual }),
        Err(_) => Err(Error::new(format!("'{digits}' is not a CPU number"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_every_tool() {
        for (line, number) in [
            ("------[ CPUID Registers / Logical CPU #0 ]------", 0),
            ("------[ Logical CPU #12 ]------", 12),
            ("--- Logical CPU #3 ---", 3),
            ("_________________ Logical CPU #1 _________________", 1),
            ("CPU#007 AffMask: 0x0000000000000080", 7),
            ("CPUID Registers (CPU #2 Virtual):", 2),
            ("CPU 4:", 4),
            ("CPU5:", 5),
            ("CPU Thread 6", 6),
            ("[Processor 7]", 7),
        ] {
            assert_eq!(heading(line).unwrap().unwrap().number, Some(number), "{line}");
        }
        for line in [
            "allcpu: Package 0 / Core 0 / Thread 0: Valid",
            "CPU Type: QuadCore",
            "Processor 1   ID = 0",
            "15",
            "x86-64-v2",
            "CPU",
            "",
        ] {
            assert_eq!(heading(line), None, "{line}");
        }
    }

    #[test]
    fn answers_in_every_dress() {
        let expected = |subleaf| {
            let registers = Registers::new([0x1C00_4121, 0x01C0_003F, 0x3F, 0]);
            Some(Ok(Answer { leaf: 4, subleaf, registers }))
        };
        for (line, style, subleaf) in [
            ("CPUID 00000004: 1C004121-01C0003F-0000003F-00000000", Style::Named, None),
            ("CPUID 00000004: 1C004121-01C0003F-0000003F-00000000 [SL 01] [L1I]", Style::Named, Some(1)),
            ("CPUID 00000004: 1C004121-01C0003F-0000003F-00000000 [L1I] [sl 0a]", Style::Named, Some(10)),
            ("CPUID 00000004  \t1C004121-01C0003F-0000003F-00000000", Style::Named, None),
            ("cpuid 0x00000004 = 0x1c004121 0x01c0003f 0x0000003f 0x00000000", Style::Named, None),
            ("CPUID 00000004h: 1C004121h,01C0003Fh,0000003Fh,00000000h", Style::Named, None),
            ("CPUID 00000004 00000002 1C004121 01C0003F 0000003F 00000000", Style::Named, Some(2)),
            ("CPUID 00000004: 1C004121-01C0003F-0000003F-00000000 FACE", Style::Named, None),
            ("cpuid level 0x4: 0x1c004121 0x01c0003f 0x0000003f 0x00000000", Style::Named, None),
            (
                "eax in: 0x00000004, eax = 1c004121 ebx = 01c0003f ecx = 0000003f edx = 00000000",
                Style::Named,
                None,
            ),
            (
                "eax in: 0x00000004, ecx in: 0x00000003, eax = 1c004121 ebx = 01c0003f ecx = 0000003f edx = 00000000",
                Style::Named,
                Some(3),
            ),
            (
                "0x00000004 0x01: eax=0x1c004121 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000",
                Style::Bare,
                Some(1),
            ),
            ("0x00000004\t0x1C004121\t0x01C0003F\t0x0000003F\t0x00000000", Style::Bare, None),
            ("00000004 1c004121 01c0003f 0000003f 00000000", Style::Bare, None),
        ] {
            assert_eq!(answer(line, style), expected(subleaf), "{line}");
        }
    }

    #[test]
    fn other_lines_are_no_answers() {
        for line in [
            "MSR 00000017: 0010-0000-0000-0000",
            "CPUID Manufacturer: GenuineIntel",
            "CPUID  F.7.1",
            "in 00000004: 1-2-3-4",
            "",
        ] {
            assert_eq!(answer(line, Style::Named), None, "{line}");
        }
        for line in ["15", "80 08 07 0D 0A 61", "MSR 0x00000010 0x00000000 0x00000001", "fpu vme de pse"] {
            assert_eq!(answer(line, Style::Bare), None, "{line}");
        }
    }
}
