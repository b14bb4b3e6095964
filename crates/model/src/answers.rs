//! Everything that the model says of a profile, computed once and before anything is shown.

use coho_profile::Profile;

use crate::claims::{self, Judgement};
use crate::findings::{Finding, findings};

/// What follows from a profile's figures.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// What they mean for the reader, the most urgent first.
    pub findings: Vec<Finding>,
    /// What they say of the papers' conclusions.
    pub claims: Vec<Judgement>,
}

impl Answers {
    /// All answers that this profile's figures allow.
    pub fn of(profile: &Profile) -> Self {
        Self { findings: findings(profile), claims: claims::judge(profile) }
    }
}
