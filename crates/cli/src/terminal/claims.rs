//! The papers' conclusions and what a profile says of them, for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use coho_model::claims::{Judgement, Verdict};
use coho_profile::Profile;

use super::table::{table, wrapped};
use crate::report::text;

/// Writes a row for each claim, paper by paper, by what the verdicts go, and what would tell of the others.
pub fn write(out: &mut impl Write, judged: &[Judgement], profile: &Profile) -> io::Result<()> {
    let mut rows = Vec::new();
    for of_paper in judged.chunk_by(|a, b| a.paper == b.paper) {
        rows.push([format!("{}:", of_paper[0].paper), String::new(), String::new()]);
        rows.extend(of_paper.iter().map(|one| {
            let here = one.here.as_deref().map_or_else(|| "–".to_owned(), text::tame);
            [format!("{} [{}]", one.claim, one.source), here, one.verdict.words().to_owned()]
        }));
    }
    writeln!(out, "{}", table(["conclusion [source]", "here", "verdict"], 3, rows))?;
    for verdict in [Verdict::Holds, Verdict::DoesNotHold, Verdict::CannotBeTold] {
        let n = judged.iter().filter(|one| one.verdict == verdict).count();
        writeln!(out, "{n:3} {}", verdict.words())?;
    }
    if profile.host.as_ref().is_some_and(|host| host.coho_version.is_some()) {
        let told = "Each verdict goes as far as the run that measured its figures; a host that moves CPUs may give others in \
                    the next.";
        writeln!(out, "\n{}", wrapped("", told))?;
    }
    let mut commands: BTreeMap<&str, usize> = BTreeMap::new();
    for command in judged.iter().filter_map(|one| one.measure.as_deref()) {
        *commands.entry(command).or_default() += 1;
    }
    if !commands.is_empty() {
        writeln!(out, "\nWhat would tell of those that cannot be told; --json says why of each:")?;
    }
    for (command, n) in &commands {
        writeln!(out, "{}", wrapped(&format!("{n:3} "), command))?;
    }
    let is_open = |one: &&Judgement| one.verdict == Verdict::CannotBeTold && one.measure.is_none();
    match judged.iter().filter(is_open).count() {
        0 => Ok(()),
        n => writeln!(out, "\nNo command is known to settle {n} of them; --json says why."),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use coho_model::claims::judge;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_that_is_named_is_one() {
        let judged = judge(&Profile::default());
        let all = judged.iter().filter_map(|one| one.measure.as_deref());
        for command in all.flat_map(|commands| commands.split("; ")) {
            let parsed = Cli::try_parse_from(command.split_whitespace());
            assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
        }
    }
}
