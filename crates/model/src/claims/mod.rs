//! The papers' own conclusions, judged by a profile's figures: what a machine can test of them holds here, does not, or
//! cannot be told.
//!
//! No verdict goes beyond its evidence. A claim is held against the whole interval in which a figure lies, widened to
//! every value that an unstable figure jumped between: if the interval holds the claim's bound, the claim cannot be
//! told. Neither can it from fewer samples than give an interval of 95 %, nor from a quantity that only resembles the
//! paper's; the reason then names the command that would measure it.
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

mod evidence;
mod hamada_dimmnet;
mod kawabe_furuya;
mod kimoto_bulldozer;
mod nakamura_fbs;
mod shimosawa_hori_ishikawa;
#[cfg(test)]
mod tests;

use coho_profile::Profile;
use serde::Serialize;

use evidence::{Bound, Context, Evidence, Part, Unit};

/// A conclusion of a paper, and what this machine's figures say of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// Its authors and year.
    pub paper: &'static str,
    /// What it concludes.
    pub claim: &'static str,
    /// Section, table or figure.
    pub source: &'static str,
    /// This machine's figure with its interval; `None` where there is none.
    pub here: Option<String>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What the verdict rests on, or why there is none and which command would tell.
    pub why: String,
    /// The command that measures what it takes; `None` where the claim could be told.
    #[serde(skip)]
    pub measure: Option<&'static str>,
}

/// What can be said of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The whole interval is on the claim's side of its bound.
    #[serde(rename = "holds")]
    Holds,
    /// The whole interval is on the other side.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// The interval holds the bound, or there is no figure.
    #[serde(rename = "cannot be told")]
    CannotBeTold,
}

impl Verdict {
    /// As in JSON.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::CannotBeTold => "cannot be told",
        }
    }
}

/// One claim of a paper: a figure against a bound.
struct Claim {
    claim: &'static str,
    source: &'static str,
    bound: Bound,
    unit: Unit,
    /// What measures the figure.
    measure: &'static str,
    evidence: fn(&Context<'_>) -> Result<Evidence, String>,
}

/// The papers with their claims, in the order of the publications.
const PAPERS: [(&str, &[Claim]); 5] = [
    ("Kawabe & Furuya, 2014", kawabe_furuya::CLAIMS),
    ("Shimosawa, Hori & Ishikawa, 2011", shimosawa_hori_ishikawa::CLAIMS),
    ("Nakamura et al., 2003", nakamura_fbs::CLAIMS),
    ("Hamada et al., 2002", hamada_dimmnet::CLAIMS),
    ("Kimoto, 2015", kimoto_bulldozer::CLAIMS),
];

/// Judges every claim of the five papers by a measured profile, in the papers' order.
pub fn judge(profile: &Profile) -> Vec<Judgement> {
    judge_by(&Context { profile, published: false })
}

/// The same by printed figures, which tell no interval and are taken as they stand.
pub fn judge_published(profile: &Profile) -> Vec<Judgement> {
    judge_by(&Context { profile, published: true })
}

fn judge_by(context: &Context<'_>) -> Vec<Judgement> {
    let all = PAPERS.iter().flat_map(|(paper, claims)| claims.iter().map(move |claim| (*paper, claim)));
    all.map(|(paper, claim)| claim.judge(paper, context)).collect()
}

/// Most parts of the evidence that are named one by one.
const NAMED: usize = 3;

impl Claim {
    fn judge(&self, paper: &'static str, context: &Context<'_>) -> Judgement {
        let untold = |here, why: &str| Judgement {
            paper,
            claim: self.claim,
            source: self.source,
            here,
            verdict: Verdict::CannotBeTold,
            why: format!("{why}; `{}` would tell", self.measure),
            measure: Some(self.measure),
        };
        let Evidence { parts, how } = match (self.evidence)(context) {
            Ok(evidence) if !evidence.parts.is_empty() => evidence,
            Ok(_) => return untold(None, "nothing of it was measured"),
            Err(why) => return untold(None, &why),
        };
        let here = Some(self.here(&parts));
        let verdicts: Vec<Verdict> = parts.iter().map(|part| self.bound.holds(part.range)).collect();
        let of = |verdict| parts.iter().zip(&verdicts).filter(move |(_, own)| **own == verdict);
        let name = |part: &Part| match part.what.as_str() {
            "" => String::new(),
            what => format!(" of {what}"),
        };
        if let Some((part, _)) = of(Verdict::DoesNotHold).next() {
            let why =
                format!("the figure{} is {}; {how}", name(part), self.bound.missed(part.range, self.unit));
            let verdict = Verdict::DoesNotHold;
            return Judgement { verdict, why, measure: None, ..untold(here, "") };
        }
        if let Some((part, _)) = of(Verdict::CannotBeTold).next() {
            let figure = self.unit.show(part.range);
            let why =
                format!("{figure}{} lies on both sides of {}; {how}", name(part), self.bound.told(self.unit));
            return untold(here, &why);
        }
        let why = format!("{}; {how}", self.bound.met(self.unit));
        Judgement { verdict: Verdict::Holds, why, measure: None, ..untold(here, "") }
    }

    /// The figures in words.
    fn here(&self, parts: &[Part]) -> String {
        let one = |part: &Part| {
            let figure = self.unit.show(part.range);
            if part.what.is_empty() { figure } else { format!("{}: {figure}", part.what) }
        };
        let named: Vec<String> = parts.iter().take(NAMED).map(one).collect();
        let more = parts.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        named.join(", ") + &more
    }
}
