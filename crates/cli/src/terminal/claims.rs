//! The papers' conclusions and what a profile says of them, for people.

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
    let measured = profile.host.as_ref().filter(|host| host.coho_version.is_some());
    if let Some(date) = measured.and_then(|host| host.date.as_deref()) {
        let told = format!(
            "Each verdict goes as far as the run that its section is of ({}); a host that moves CPUs may give others in \
             the next.",
            text::tame(date)
        );
        writeln!(out, "\n{}", wrapped("", &told))?;
    }
    let mut commands: Vec<&str> = Vec::new();
    commands.extend(judged.iter().filter_map(|one| one.measure));
    commands.sort_unstable();
    commands.dedup();
    if !commands.is_empty() {
        writeln!(out, "\nWhat would tell of those that cannot be told; --json says why of each:")?;
    }
    for command in commands {
        let n = judged.iter().filter(|one| one.measure == Some(command)).count();
        writeln!(out, "{}", wrapped(&format!("{n:3} "), command))?;
    }
    Ok(())
}
