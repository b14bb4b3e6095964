//! The papers' conclusions, judged by a profile's figures: each conclusion that a machine can test holds here, does
//! not hold, or cannot be told.
//!
//! No verdict goes beyond its evidence. A claim is held against the whole interval of a figure, widened to every
//! value between which an unstable figure jumped, at a confidence at which all conclusions together are judged wrongly in
//! one case of twenty at most. If that range contains the claim's bound, the claim cannot be told.
//! Nor can it be told from fewer samples than such an interval takes, or from a quantity that only resembles the
//! paper's or was measured another way: such a figure is shown, with its method, and judges nothing. A claim on
//! several figures holds if all of them support it, and does not hold if any contradicts it. The reason names the
//! command that would measure what is missing, unless the machine lacks what that takes.
//!
//! ```
//! use coho_model::claims::{Verdict, judge_published};
//!
//! let paper = coho_profile::published::read("hamada-dimmnet")?;
//! let judged = judge_published(&paper.machines[0].1);
//! let reads = judged.iter().find(|one| one.claim.starts_with("Plain reads of WC")).unwrap();
//! assert_eq!(reads.verdict, Verdict::Holds);
//! # Ok::<(), coho_profile::Error>(())
//! ```

mod delegation;
mod evidence;
mod hamada_dimmnet;
pub(crate) mod kawabe_furuya;
mod kimoto_bulldozer;
mod nakamura_fbs;
mod shimosawa_hori_ishikawa;
#[cfg(test)]
mod tests;

use coho_profile::Profile;
use coho_profile::published::{self, Paper};
use serde::Serialize;

use evidence::{Bound, Context, Evidence, Lack, Part, Unit};

/// A conclusion of a paper, and what this machine's figures say about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The paper's authors and year.
    pub paper: String,
    /// The conclusion.
    pub claim: &'static str,
    /// Section, table or figure of the paper.
    pub source: &'static str,
    /// This machine's figure with its interval; `None` where there is none.
    pub here: Option<String>,
    /// Whether the conclusion holds.
    pub verdict: Verdict,
    /// What the verdict rests on, or why there is none and which command measures what is missing, if any does.
    pub why: String,
    /// The command that measures what is missing; `None` where the claim could be told, or no command would help.
    #[serde(skip)]
    pub measure: Option<String>,
}

/// What can be said about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The whole interval is on the claim's side of its bound.
    #[serde(rename = "holds")]
    Holds,
    /// The whole interval is on the other side.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// The interval contains the bound, or there is no figure.
    #[serde(rename = "cannot be told")]
    CannotBeTold,
}

impl Verdict {
    /// The verdict as in JSON.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::CannotBeTold => "cannot be told",
        }
    }
}

/// The confidence of each figure's interval, at which chance misjudges any of all claims in one case of twenty at most.
pub fn confidence() -> f64 {
    evidence::family().confidence()
}

/// How a claim's figure follows from a profile, given what the claim names in it.
type Gather = fn(&Context<'_>, &[String]) -> Result<Evidence, Lack>;
/// A figure by the name that claims give it.
type Figure = (&'static str, Gather);

/// The figures that claims can be about.
const FIGURES: [&[Figure]; 6] = [
    kawabe_furuya::FIGURES,
    shimosawa_hori_ishikawa::FIGURES,
    delegation::FIGURES,
    nakamura_fbs::FIGURES,
    hamada_dimmnet::FIGURES,
    kimoto_bulldozer::FIGURES,
];

/// One claim of a paper: a figure and its bound.
struct Claim {
    row: &'static published::Claim,
    bound: Bound,
    unit: Unit,
    gather: Gather,
}

/// Judges every claim of the papers by a measured profile, in the papers' order.
pub fn judge(profile: &Profile) -> Vec<Judgement> {
    judge_by(&Context::new(profile, false))
}

/// As [`judge`], by printed figures, which have no interval and are taken as they are.
pub fn judge_published(profile: &Profile) -> Vec<Judgement> {
    judge_by(&Context::new(profile, true))
}

fn judge_by(context: &Context<'_>) -> Vec<Judgement> {
    let all = published::PAPERS.iter().flat_map(|paper| paper.claims.iter().map(move |row| (paper, row)));
    all.map(|(paper, row)| Claim::of(row).judge(paper, context)).collect()
}

/// The most parts of the evidence that are named one by one.
const NAMED: usize = 3;

impl Claim {
    /// # Panics
    /// Never: the claims are part of the program, and a test judges them all.
    fn of(row: &'static published::Claim) -> Self {
        let bound = match (row.at_least, row.at_most) {
            (Some(least), Some(most)) => Bound::Within(least, most),
            (Some(least), None) => Bound::AtLeast(least),
            (None, most) => Bound::AtMost(most.expect("a claim has a bound")),
        };
        let known = FIGURES.iter().copied().flatten().find(|(name, _)| *name == row.figure);
        let (_, gather) = known.expect("a claim names a known figure");
        Self { row, bound, unit: Unit::named(&row.unit), gather: *gather }
    }

    fn judge(&self, paper: &Paper, context: &Context<'_>) -> Judgement {
        let judgement = |here, verdict, why| Judgement {
            paper: paper.cited(),
            claim: &self.row.claim,
            source: &self.row.source,
            here,
            verdict,
            why,
            measure: None,
        };
        let Evidence { parts, lacks, how } = match (self.gather)(context, &self.row.of) {
            Ok(evidence) => evidence,
            Err(lack) => Evidence { parts: Vec::new(), lacks: vec![lack], how: String::new() },
        };
        let untold = |here, why: String, command: Option<String>| {
            let remedy = command
                .as_ref()
                .map_or(String::new(), |command| format!("; `{command}` measures what is missing"));
            Judgement { measure: command, ..judgement(here, Verdict::CannotBeTold, why + &remedy) }
        };
        if parts.is_empty() {
            let why =
                if lacks.is_empty() { "nothing of it was measured".to_owned() } else { missing(&lacks) };
            let Some((nearest, method)) = self.nearest(&lacks) else {
                return untold(None, why, self.command(context, &lacks));
            };
            let why = format!("{why}; the figure shown is by another method than the paper's: {method}");
            return untold(Some(nearest), why, self.command(context, &lacks));
        }
        let here = Some(self.here(&parts));
        let name = |part: &Part| match part.what.as_str() {
            "" => String::new(),
            what => format!(" of {what}"),
        };
        let first = |verdict| parts.iter().find(|part| self.bound.holds(part.range) == verdict);
        if let Some(part) = first(Verdict::DoesNotHold) {
            let missed = self.bound.missed(part.range, self.unit);
            let without = if lacks.is_empty() { String::new() } else { format!("; {}", missing(&lacks)) };
            let why = format!("the figure{} is {missed}; {how}{without}", name(part));
            return judgement(here, Verdict::DoesNotHold, why);
        }
        if !lacks.is_empty() {
            let why = format!("{}, and the claim needs it; {how}", missing(&lacks));
            return untold(here, why, self.command(context, &lacks));
        }
        if let Some(part) = first(Verdict::CannotBeTold) {
            let figure = self.unit.show(part.range, part.inexact);
            let bound = self.bound.words(self.unit);
            let why = format!("{figure}{} lies on both sides of {bound}; {how}", name(part));
            return judgement(here, Verdict::CannotBeTold, why);
        }
        judgement(here, Verdict::Holds, format!("{}; {how}", self.bound.met(self.unit)))
    }

    /// The commands that would measure what is missing; `None` for a paper's machine, which no command can
    /// measure.
    fn command(&self, context: &Context<'_>, lacks: &[Lack]) -> Option<String> {
        if context.published || lacks.iter().any(Lack::is_final) {
            return None;
        }
        let mut commands: Vec<&str> = Vec::new();
        for lack in lacks {
            let command = lack.command().unwrap_or(&self.row.measure);
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
        Some(if commands.is_empty() { self.row.measure.clone() } else { commands.join("; ") })
    }

    /// The figures by another method than the paper's, and that method.
    fn nearest(&self, lacks: &[Lack]) -> Option<(String, &'static str)> {
        lacks.iter().find_map(|lack| match lack {
            Lack::Beside(_, parts, method) => {
                Some((format!("{} by another method", self.here(parts)), *method))
            }
            _ => None,
        })
    }

    /// The figures in words.
    fn here(&self, parts: &[Part]) -> String {
        let one = |part: &Part| {
            let figure = self.unit.show(part.range, part.inexact);
            if part.what.is_empty() { figure } else { format!("{}: {figure}", part.what) }
        };
        listed(parts.iter().map(one))
    }
}

fn missing(lacks: &[Lack]) -> String {
    listed(lacks.iter().map(|lack| lack.why().to_owned()))
}

/// The first few of them, and how many more there are.
fn listed(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    all.take(NAMED).collect::<Vec<_>>().join(", ") + &more
}
