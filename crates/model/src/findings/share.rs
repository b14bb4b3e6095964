//! What lines that a program's threads share cost it.

use coho_profile::{Estimate, Profile, ShareKind, ShareLine};

use super::finding::{Finding, Urgency};
use crate::chance::{Family, Order};

/// A line whose cost's interval lies above this is worth a word.
const LEAST: f64 = 0.05;

pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(share) = &profile.share else { return Vec::new() };
    let lines = || share.lines.iter().flatten();
    let family = Family::of(lines().filter(|line| line.cost_share.is_some()).count());
    let program = share.command.first().map_or("the program", |program| program);
    lines().enumerate().filter_map(|(at, line)| dear(program, at, line, family)).take(1).collect()
}

fn dear(program: &str, at: usize, line: &ShareLine, family: Family) -> Option<Finding> {
    let is_dear = |cost: &&Estimate| family.compare_to(cost, LEAST) == Order::More;
    let cost = line.cost_share.as_ref().filter(is_dear)?;
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    let told = format!("{} % ({}–{})", percent(cost.median), percent(cost.low), percent(cost.high));
    let kind = match line.kind {
        ShareKind::False => "false sharing",
        ShareKind::True => "true sharing",
        ShareKind::Mixed | ShareKind::Unknown => "sharing",
    };
    let lines = if line.lines > 1 { "lines" } else { "a line" };
    let brief = format!("{kind} of {lines} ({}) costs {program} {told} of its CPU time.", line.object);
    let brief = brief[..1].to_uppercase() + &brief[1..];
    let mut evidence = vec![format!("/share/lines/{at}/cost_share")];
    let mut next = String::from("`coho report profile.json` draws the line with who touches its bytes.");
    if let Some(fix) = &line.fix {
        let saves = fix.saves.as_ref().map(|saves| {
            let saved = percent(saves.median);
            if fix.proved {
                format!(", which saved {saved} % when coho padded it")
            } else {
                format!(", which is predicted to save {saved} %")
            }
        });
        next = format!("To end it, {}{}.", fix.what, saves.unwrap_or_default());
        evidence.extend(fix.saves.is_some().then(|| format!("/share/lines/{at}/fix/saves")));
    }
    let places =
        if line.at.is_empty() { String::new() } else { format!(" It is touched at {}.", line.at.join(", ")) };
    Some(Finding {
        id: "line-shared",
        text: brief.clone() + &places,
        brief,
        urgency: Urgency::Advice,
        evidence,
        condition: "what the instructions that touch it take more on several CPUs than on one".into(),
        act: line.fix.as_ref().map(|fix| fix.what.clone()).unwrap_or_default(),
        next,
    })
}
