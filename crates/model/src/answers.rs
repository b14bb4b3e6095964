//! Everything that the model says of a profile, computed once and before anything is shown.

use coho_profile::Profile;

use crate::barrier::{self, Mapping};
use crate::claims::{self, Judgement};
use crate::findings::{Finding, findings};

/// What follows from a profile's figures.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// What they mean for the reader, the most urgent first.
    pub findings: Vec<Finding>,
    /// What they say of the papers' conclusions.
    pub claims: Vec<Judgement>,
    /// Its barriers as they would be predicted, or why they cannot be; `None` if it has none.
    pub barriers: Option<Result<barrier::Answer, String>>,
    /// The CPUs of a team's ranks by each mapping.
    pub orders: Vec<(Mapping, Vec<u32>)>,
}

impl Answers {
    /// All answers that this profile's figures allow.
    pub fn of(profile: &Profile) -> Self {
        Self {
            findings: findings(profile),
            claims: claims::judge(profile),
            barriers: barrier::answer(profile),
            orders: barrier::orders(profile),
        }
    }
}
