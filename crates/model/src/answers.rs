//! Everything that the model concludes from a profile, computed once before anything is shown.

use coho_profile::{PairMethod, Profile, published};

use crate::barrier::{self, Mapping};
use crate::claims::{self, Judgement};
use crate::cpi::{self, Line};
use crate::delegation::{self, CallCost};
use crate::findings::{Finding, findings_by, topology};
use crate::judge;
use crate::listings::Listing;
use crate::network;
use crate::papers::{self, Listed};
use crate::path::Own;
use crate::placement::{self, Checked, Costs, RUNS, SEED};
use crate::ratios::{Ratio, Teams};

/// What follows from a profile's figures.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// What its times between CPUs show; empty for a profile without them.
    pub judgement: judge::Judgement,
    /// What its calls cost, and which of them another core should execute.
    pub calls: delegation::Judgement,
    /// What its barriers and programs say of teams.
    pub teams: Teams,
    /// What the figures mean for the reader, the most urgent first.
    pub findings: Vec<Finding>,
    /// Whether the times agree with the claimed topology; `None` if the profile has no claims of a machine.
    pub on_claims: Option<String>,
    /// What they show about the papers' conclusions.
    pub claims: Vec<Judgement>,
    /// Which of the papers' tables and figures it has.
    pub papers: Vec<Listed>,
    /// What coherence costs a program, by free-running increments, with Kawabe & Furuya's base and rates: one
    /// line per class.
    pub cpi: Vec<Line>,
    /// Predictions for its barriers, or why there are none; `None` if it has no barriers.
    pub barriers: Option<Result<barrier::Answer, barrier::Unanswered>>,
    /// The CPUs of a team's ranks, by mapping.
    pub orders: Vec<(Mapping, Vec<u32>)>,
    /// What messages between two processes cost here; `None` where none was timed.
    pub paths: Option<Own>,
    /// What FreeBSD would list of its CPUs, where its CPUID is known.
    pub listings: Vec<Listing>,
    /// What ULE's rules say about Kimoto's tests, if this profile has such tests.
    pub ule: Vec<placement::Finding>,
    /// The simulator's results beside this machine's programs on one CPU and on two, where they were measured.
    pub placement: Option<Checked>,
    /// What messages between the nodes of a job show; `None` where none was measured.
    pub network: Option<network::Judgement>,
    /// What follows from the papers' figures, of which the like was measured here.
    pub published: Published,
}

/// Answers of published profiles, to stand beside those of a measured one. Each but the
/// first is empty where this profile has none.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// Kawabe & Furuya: as [`Answers::cpi`], by machine.
    pub cpi: Vec<(String, Vec<Line>)>,
    /// Nakamura et al.: as [`Teams::ratios`].
    pub ratios: Vec<Ratio>,
    /// The same: as [`Answers::orders`].
    pub orders: Vec<(Mapping, Vec<u32>)>,
    /// Shimosawa, Hori & Ishikawa: what their calls cost.
    pub costs: Vec<CallCost>,
}

impl Published {
    fn beside(profile: &Profile) -> Self {
        let mut beside = Self { cpi: published_lines(), ..Self::default() };
        if profile.sync.is_some() {
            let paper = published::paper("nakamura-fbs").machine();
            beside.orders = barrier::orders(&paper);
            beside.ratios = paper.sync.as_ref().map(Teams::of).unwrap_or_default().ratios;
        }
        if profile.calls.is_some() {
            beside.costs = judge::calls(&published::paper("shimosawa-hori-ishikawa").machine()).costs;
        }
        beside
    }
}

impl Answers {
    /// All answers that this profile's figures allow.
    pub fn of(profile: &Profile) -> Self {
        Self::judged(profile).completed(profile)
    }

    /// Only the judgements of this profile's times between CPUs, of its calls and of its teams, which everything shown
    /// about them rests on.
    pub fn judged(profile: &Profile) -> Self {
        Self {
            judgement: judge::coherence(profile),
            calls: judge::calls(profile),
            teams: profile.sync.as_ref().map(Teams::of).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// What the figures mean for the reader, of a profile that is judged.
    pub fn findings_of(&self, profile: &Profile) -> Vec<Finding> {
        findings_by(profile, &self.judgement, &self.calls)
    }

    /// Adds all other answers that this profile's figures allow.
    #[must_use]
    pub fn completed(self, profile: &Profile) -> Self {
        let costs = Costs::default();
        Self {
            findings: self.findings_of(profile),
            on_claims: topology::verdict(profile, &self.judgement),
            claims: claims::judge(profile),
            papers: papers::list(profile),
            published: Published::beside(profile),
            cpi: lines(profile),
            barriers: barrier::answer(profile),
            orders: barrier::orders(profile),
            paths: Own::of(profile),
            network: profile.network.as_ref().and_then(network::judge),
            listings: Listing::all(profile),
            ule: match &profile.workloads {
                Some(_) => placement::Finding::all(&costs, RUNS, SEED),
                None => Vec::new(),
            },
            placement: placement::check(profile, &costs, RUNS, SEED).ok(),
            judgement: self.judgement,
            calls: self.calls,
            teams: self.teams,
        }
    }
}

/// The lines of a profile by free-running increments, as the paper's are; empty where it has no such pairs.
fn lines(profile: &Profile) -> Vec<Line> {
    let row = |row| published::paper("kawabe-furuya").row("cpi", row);
    let lines = cpi::lines(profile, row("base")[0], row("rates_percent"), Some(PairMethod::FreeRunning));
    lines.unwrap_or_default()
}

fn published_lines() -> Vec<(String, Vec<Line>)> {
    let machines = published::paper("kawabe-furuya").publication().machines.into_iter();
    machines.map(|(machine, profile)| (machine, lines(&profile))).collect()
}
