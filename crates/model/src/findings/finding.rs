//! One finding.

use coho_profile::Coherence;
use serde::Serialize;

/// Something that a profile means for its reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of finding, the same in every profile. A profile has one of each kind, or one per command that
    /// was tried.
    pub id: &'static str,
    /// The finding itself, with figures. Names from the profile appear unchanged.
    pub text: String,
    /// The same in one sentence, with a short condition; empty if only the full list shows the finding.
    pub brief: String,
    /// What it asks of the reader.
    #[serde(rename = "level")]
    pub urgency: Urgency,
    /// The figures that it rests on, as JSON Pointers (RFC 6901) into the profile: `/sync/barriers/3/ns`.
    pub evidence: Vec<String>,
    /// The condition under which it holds, or how well it is known.
    pub condition: String,
    /// What to do, or which command shows more, with commands in backticks; empty if there is nothing.
    pub next: String,
    /// The one thing to do, as short as `brief`; empty if there is nothing.
    pub act: String,
}

/// What a finding asks of the reader, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Something is not what it seems.
    Warning,
    /// Something can be gained.
    Advice,
    /// Good to know.
    Note,
}

/// Appends a condition to a sentence, in parentheses.
pub(super) fn brief(sentence: &str, clause: &str) -> String {
    match clause {
        "" => sentence.to_owned(),
        clause => format!("{} ({clause}).", sentence.trim_end_matches('.')),
    }
}

/// Where a section's times stand, as evidence of what all of them show together.
pub(super) fn times_of(coherence: &Coherence) -> String {
    if coherence.matrix.is_some() { "/coherence/matrix".into() } else { "/coherence/pairs".into() }
}
