//! Everything that the model says of a profile, computed once and before anything is shown.

use coho_profile::published::kawabe_furuya;
use coho_profile::{PairMethod, Profile};

use crate::barrier::{self, Mapping};
use crate::claims::{self, Judgement};
use crate::cpi::{self, Line};
use crate::findings::{Finding, findings};

/// What follows from a profile's figures.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// What they mean for the reader, the most urgent first.
    pub findings: Vec<Finding>,
    /// What they say of the papers' conclusions.
    pub claims: Vec<Judgement>,
    /// What coherence costs a program, by free-running increments, with Kawabe & Furuya's base and rates: a line a class.
    pub cpi: Vec<Line>,
    /// The same of the paper's machines, by name; empty where this profile has no such line.
    pub published_cpi: Vec<(String, Vec<Line>)>,
    /// Its barriers as they would be predicted, or why they cannot be; `None` if it has none.
    pub barriers: Option<Result<barrier::Answer, String>>,
    /// The CPUs of a team's ranks by each mapping.
    pub orders: Vec<(Mapping, Vec<u32>)>,
}

impl Answers {
    /// All answers that this profile's figures allow.
    pub fn of(profile: &Profile) -> Self {
        let paper = kawabe_furuya::figures();
        let by_paper = |profile: &Profile| {
            let method = &paper.method;
            let lines = cpi::lines(
                profile,
                method.base_cpi,
                &method.cpi_rates_percent,
                Some(PairMethod::FreeRunning),
            );
            lines.unwrap_or_default()
        };
        let cpi = by_paper(profile);
        let published_cpi = match cpi.is_empty() {
            true => Vec::new(),
            false => {
                let machines = paper.publication().machines.into_iter();
                machines.map(|(machine, profile)| (machine, by_paper(&profile))).collect()
            }
        };
        Self {
            findings: findings(profile),
            claims: claims::judge(profile),
            cpi,
            published_cpi,
            barriers: barrier::answer(profile),
            orders: barrier::orders(profile),
        }
    }
}
