//! What a person wants to know first: the machine, what its figures mean, a line for each section.

use std::io;

use coho_profile::Profile;

use crate::part::Section;
use crate::render::terminal::{self as written, Options, columns, wrapped};
use crate::sections::{self, machine};
use crate::visible::{Paint, on_one_line};
use crate::{Subject, letters, words};

/// The most lines for what the figures mean, so that the whole fits a terminal.
const FINDINGS: usize = 20;

/// Writes the summary, in at most 40 lines of 80 columns; in full, everything. `needs_two` names what was not measured
/// on a machine of one CPU.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write(out: &mut impl Paint, subject: &Subject, full: bool, needs_two: &[&str]) -> io::Result<()> {
    let depth = Options::stdout(full).depth;
    writeln!(out, "{}", wrapped("", &on_one_line(&machine::name(subject))))?;
    let circumstances = if full { machine::circumstances(subject) } else { machine::in_brief(subject) };
    writeln!(out, "{}", wrapped("", &circumstances.join(" · ")))?;
    if let Some(older) = machine::older(subject) {
        writeln!(out, "{}", wrapped("", &format!("{}.", words::sentence(&older))))?;
    }
    if let Some(verdict) = &subject.answers.on_claims {
        writeln!(out, "{}", wrapped("topology: ", verdict))?;
    }
    writeln!(out)?;
    let most = if full { usize::MAX } else { FINDINGS };
    written::findings(out, &subject.answers.findings, depth, most)?;
    writeln!(out)?;
    let sections = sections::of(subject);
    for section in &sections {
        if full { written::headline(out, section)? } else { written::short_headline(out, section)? }
    }
    if subject.coherence().is_some_and(|coherence| coherence.cpus.len() == 1) {
        writeln!(out, "{}", wrapped("needs two CPUs: ", &needs_two.join("; ")))?;
    }
    let absent: Vec<String> = sections::missing(&sections).into_iter().map(words::mid_sentence).collect();
    if !absent.is_empty() {
        const LABEL: &str = "not measured: ";
        let absent = absent.join("; ");
        let shown = if full { absent } else { fitting(&absent, beside(LABEL.len())) };
        writeln!(out, "{}", wrapped(LABEL, &shown))?;
    }
    if full { whole(out, &sections) } else { Ok(()) }
}

/// The most urgent finding of a survey that is still measuring, if there is one.
pub fn first_finding(profile: &Profile) -> Option<String> {
    let first = coho_model::findings(profile).into_iter().find(|one| !one.brief.is_empty())?;
    Some(format!("so far: {}", words::joined([first.brief, first.act], " ")))
}

fn whole(out: &mut impl Paint, sections: &[Section]) -> io::Result<()> {
    for section in sections {
        writeln!(out, "\n{}\n", section.title)?;
        written::parts(out, &section.parts, Options::stdout(true))?;
    }
    Ok(())
}

/// As much of a headline as fits a line of `width` columns: without asides if it has to be, then without its last
/// clauses, which three dots stand for.
pub(crate) fn fitting(headline: &str, width: usize) -> String {
    fitting_by(headline, width, |text| letters::of_locale(text).chars().count())
}

/// The same where text is as long as `length` says.
fn fitting_by(headline: &str, width: usize, length: impl Fn(&str) -> usize) -> String {
    let more = length(" …");
    let line = words::legible(&on_one_line(headline)).into_owned();
    if length(&line) <= width {
        return line;
    }
    let line = without_asides(&line);
    let mut kept = String::new();
    for clause in clauses(&line) {
        if length(&kept) + length(clause.trim_end()) + more > width {
            break;
        }
        kept += clause;
    }
    match kept.trim_end().trim_end_matches([',', ';']) {
        "" => {
            // Within a clause between words, and within a word only if it alone is too long.
            let start: String = line.chars().take((width + 1).saturating_sub(more)).collect();
            start
                .rsplit_once(' ')
                .map_or_else(|| words::short(&line, width), |(words, _)| format!("{words} …"))
        }
        kept => format!("{kept} …"),
    }
}

/// Text without what stands in parentheses, unless it says that a figure rests on few samples.
fn without_asides(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, (aside, after))) =
        rest.split_once(" (").and_then(|(before, from)| Some((before, from.split_once(')')?)))
    {
        left += before;
        if aside.contains("sample") {
            left += &format!(" ({aside})");
        }
        rest = after;
    }
    left + rest
}

/// Parts that end with a comma or a semicolon.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive("; ").flat_map(|part| part.split_inclusive(", "))
}

/// How wide the text behind a label may be.
pub(crate) fn beside(label: usize) -> usize {
    columns().saturating_sub(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_first_is_the_most_urgent_finding_or_nothing() {
        let paper = Subject::only("published:kawabe-furuya/e5620").unwrap();
        let first = paper.clone().answered().answers.findings.swap_remove(0);
        let said = first_finding(&paper.profile).unwrap();
        let start: String = first.brief.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        assert!(said.starts_with(&format!("so far: {start}")), "{said}: {first:?}");
        assert_eq!(first_finding(&Profile::default()), None);
    }

    #[test]
    fn a_headline_is_cut_between_its_clauses_and_says_so() {
        let line = "write 33.8 (28.8–38.7) GB/s (by avx512); read 33.4 (22.9–43.8) GB/s; copy 22.9 GB/s";
        assert_eq!(fitting(line, 200), line);
        assert_eq!(fitting(line, 40), "write 33.8 GB/s; read 33.4 GB/s …");
        assert_eq!(fitting("112 (one sample) ns, far; 113 ns, near", 28), "112 (one sample) ns, far …");
        assert_eq!(fitting("one clause of many words", 15), "one clause of …");
        // As in ASCII, which has three letters for the dots.
        let long = |text: &str| text.chars().count() + 2 * text.matches('…').count();
        assert_eq!(fitting_by("one clause of many words", 15, long), "one clause …");
        assert_eq!(fitting_by("a; b, not; c", 8, long), "a …");
        assert_eq!(fitting("oneverylongwordofmany letters", 12), "oneverylong…");
    }
}
