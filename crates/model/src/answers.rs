//! Everything that the model says of a profile, computed once and before anything is shown.

use coho_profile::{Profile, published::kimoto_bulldozer};

use crate::claims::{self, Judgement};
use crate::findings::{Finding, findings};
use crate::path::Own;
use crate::placement::{self, Checked, Costs, RUNS, SEED};

/// What follows from a profile's figures.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// What they mean for the reader, the most urgent first.
    pub findings: Vec<Finding>,
    /// What they say of the papers' conclusions.
    pub claims: Vec<Judgement>,
    /// What messages between two processes cost here; `None` where none was timed.
    pub paths: Option<Own>,
    /// What ULE's rules say of Kimoto's tests, where this profile has such tests, too.
    pub ule: Vec<placement::Finding>,
    /// The simulator beside this machine's programs on one CPU and on two, where they were measured.
    pub placement: Option<Checked>,
}

impl Answers {
    /// All answers that this profile's figures allow.
    pub fn of(profile: &Profile) -> Self {
        let costs = Costs::default();
        let ule = match &profile.workloads {
            Some(_) => placement::Finding::all(&kimoto_bulldozer::figures(), &costs, RUNS, SEED),
            None => Vec::new(),
        };
        Self {
            findings: findings(profile),
            claims: claims::judge(profile),
            paths: Own::of(profile),
            ule,
            placement: placement::check(profile, &costs, RUNS, SEED).ok(),
        }
    }
}
