//! What a profile means for its reader. Each finding comes with the figures that it rests on, the condition under
//! which it holds, and what to do or to measure next. What the evidence does not support is not said.
//!
//! A comparison takes an interval of both figures. Findings advise no placement where times between CPUs jumped, or
//! where there are too few samples to tell whether they did.

mod barriers;
mod calls;
mod dates;
mod disturbed;
mod finding;
mod idle;
mod memory;
mod missing;
mod moves;
mod openmp;
mod pinning;
mod places;
mod published;
mod share;
mod sharing;
pub(crate) mod topology;

use coho_profile::Profile;
pub(crate) use disturbed::{DISTURBED, disturbed};
pub use finding::{Finding, Urgency};

use crate::delegation;
use crate::judge::{self, Judgement};

/// Everything that a profile means, the most urgent first.
///
/// ```
/// use coho_profile::{Profile, published};
/// assert!(coho_model::findings(&Profile::default()).is_empty(), "nothing was measured");
///
/// // A paper gives single values: the costs from the nearest to the farthest pair, but nothing to act on.
/// let paper = published::read("kawabe-furuya/x7560")?;
/// let found = coho_model::findings(&paper.machines[0].1);
/// assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), ["sharing-cost"]);
/// # Ok::<(), coho_profile::Error>(())
/// ```
pub fn findings(profile: &Profile) -> Vec<Finding> {
    findings_by(profile, &judge::coherence(profile), &judge::calls(profile))
}

/// As [`findings`], for a profile that is already judged.
pub(crate) fn findings_by(
    profile: &Profile,
    coherence: &Judgement,
    calls: &delegation::Judgement,
) -> Vec<Finding> {
    let kinds = [
        moves::findings(profile),
        topology::findings(profile, coherence),
        pinning::findings(profile, coherence),
        sharing::findings(profile, coherence),
        share::findings(profile),
        published::findings(profile),
        barriers::findings(profile),
        openmp::findings(profile),
        calls::findings(profile, &calls.verdicts),
        memory::findings(profile),
        idle::findings(profile),
        missing::findings(profile),
    ];
    let mut findings: Vec<Finding> = kinds.into_iter().flatten().collect();
    dates::add(&mut findings, profile);
    disturbed::leave_out(&mut findings, profile);
    findings.sort_by_key(|finding| (finding.brief.is_empty(), finding.urgency));
    findings
}
