//! Findings, the most urgent first: what is so, its condition, and what to do.

use std::io::{self, Write};

use coho_model::{Finding, Urgency};

use super::table::wrapped;
use crate::report::findings::NONE;
use crate::report::text;

/// Writes each finding with a mark that shows how urgent it is.
pub fn write(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    if findings.is_empty() {
        return writeln!(out, "{NONE}");
    }
    for finding in findings {
        let mark = match finding.urgency {
            Urgency::Warning => " ! ",
            Urgency::Advice => " > ",
            Urgency::Note => " - ",
        };
        writeln!(out, "{}", wrapped(mark, &text::tame(&finding.text)))?;
        writeln!(out, "{}", wrapped("   ", &format!("({})", text::tame(&finding.condition))))?;
        if !finding.next.is_empty() {
            writeln!(out, "{}", wrapped("   ", &text::tame(&finding.next)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn finding(urgency: Urgency, text: &str, next: &str) -> Finding {
        let condition = "for a while ".repeat(12).trim().to_owned();
        Finding { id: "kind", text: text.into(), urgency, evidence: Vec::new(), condition, next: next.into() }
    }

    #[test]
    fn marks_tell_how_urgent_and_lines_keep_to_the_page() {
        let findings = [
            finding(Urgency::Warning, &"word ".repeat(40), "Do `this`."),
            finding(Urgency::Advice, "a\u{1b}[31mb", ""),
            finding(Urgency::Note, "c", ""),
        ];
        let mut out = Vec::new();
        write(&mut out, &findings).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let marked: Vec<_> = text.lines().filter(|line| !line.starts_with("   ")).collect();
        assert!(marked[0].starts_with(" ! word") && marked[1].starts_with(" > a\\u{1b}"), "{text}");
        assert_eq!((marked[2], marked.len()), (" - c", 3));
        assert!(text.contains("\n   (for a while") && text.contains("\n   Do `this`.\n"), "{text}");
    }

    /// Commands of which the findings speak, with values for the names that stand in them.
    #[test]
    fn every_command_that_is_named_is_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../model/src/findings");
        let mut commands = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let said = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            let source = said.collect::<Vec<_>>().join("\n");
            // Lines of a string that goes on.
            let source = source
                .replace("\\\n", "")
                .replace("{nearest}", "0-3")
                .replace("{threads}", "4")
                .replace("{short}", "e5620");
            for command in source.split('`').filter(|part| part.starts_with("coho ")) {
                let words: Vec<_> = command.split_whitespace().collect();
                let parsed = Cli::try_parse_from(&words);
                assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
                commands += 1;
            }
        }
        assert!(commands > 5, "{commands} commands");
    }
}
