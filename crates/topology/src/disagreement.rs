//! Where sources contradict each other, and which of them the topology follows.

use std::fmt;

use crate::CpuSet;

/// Sets of CPUs that a source's statement spells out; of the others it gives the number.
const MOST_SETS: usize = 8;

/// Sources that contradict each other about one fact, the one that the topology follows, and the rule that chose it.
///
/// Prints as one sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disagreement {
    /// What they disagree on: `L3`, `package`.
    pub what: String,
    /// What each source says, its name first: `shared_cpu_list: 0-1 | 2-3`.
    pub sources: Vec<String>,
    /// The source that the topology follows, or what it holds instead.
    pub taken: String,
    /// Why, as a clause: `its sets form a partition`.
    pub why: String,
}

impl Disagreement {
    pub(crate) fn new(
        what: impl Into<String>,
        sources: impl IntoIterator<Item = String>,
        taken: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        let sources = sources.into_iter().collect();
        Self { what: what.into(), sources, taken: taken.into(), why: why.into() }
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, sources, taken, why } = self;
        write!(f, "sources disagree on {what}: {}; taken: {taken}, as {why}", sources.join("; "))
    }
}

/// A partition as a statement of it: `0-1 | 2-3`, of many sets only the first.
pub(crate) fn listed<'a>(sets: impl IntoIterator<Item = &'a CpuSet>) -> String {
    let sets: Vec<String> = sets.into_iter().map(CpuSet::to_string).collect();
    let shown = sets.len().min(MOST_SETS);
    let more = sets.len() - shown;
    let shown = sets[..shown].join(" | ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
