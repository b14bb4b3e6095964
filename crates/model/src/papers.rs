//! What the papers hold, and which of it a profile has measured: each table, figure and system was measured, was not,
//! or cannot be on this machine.

use std::collections::BTreeSet;

use coho_profile::Profile;
use coho_profile::published::{Entry, Kind, Need, PAPERS, Paper};
use serde::Serialize;

/// A table, a figure or a system, and its state on a machine.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// The paper's name: `kawabe-furuya`.
    pub paper: &'static str,
    /// What it is.
    pub kind: Kind,
    /// As the paper numbers it, or a system's short name.
    pub number: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// The command that repeats it.
    pub command: &'static str,
    /// Whether the profile has it.
    pub state: State,
    /// When it was measured, or why it was not.
    pub why: String,
    /// The paper's entry.
    #[serde(skip)]
    pub entry: &'static Entry,
}

/// Whether a profile has what a paper's table or figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum State {
    /// It has figures of it.
    #[serde(rename = "measured")]
    Measured,
    /// It has none; the command measures them.
    #[serde(rename = "not measured")]
    NotMeasured,
    /// The machine lacks what that takes.
    #[serde(rename = "not possible")]
    NotPossible,
}

impl State {
    /// The state as in JSON.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::NotMeasured => "not measured",
            Self::NotPossible => "not possible",
        }
    }
}

/// Lists every table, figure and system of every paper, in the papers' order, with its state.
///
/// ```
/// use coho_model::papers::{State, list};
///
/// let listed = list(&coho_profile::Profile::default());
/// assert!(listed.iter().all(|one| one.state != State::Measured && !one.command.is_empty()));
/// ```
pub fn list(profile: &Profile) -> Vec<Listed> {
    let all = PAPERS.iter().flat_map(|paper| paper.contents.entries.iter().map(move |entry| (paper, entry)));
    let figures = profile.figures();
    let sections: BTreeSet<&str> = profile.sections().map(|(name, _)| name).collect();
    all.map(|(paper, entry)| {
        let machine_lacks = entry.needs.iter().find_map(|&need| machine_lacks(need, profile));
        let found = entry.measured.iter().find_map(|which| {
            let section = *sections.get(which.key.split('.').next()?)?;
            (which.key == section || figures.iter().any(|figure| which.is(figure))).then_some(section)
        });
        let (state, why) = match (machine_lacks, found) {
            (Some(why), _) => (State::NotPossible, why),
            (None, Some(section)) => (State::Measured, when(profile, section, entry)),
            (None, None) => match entry.needs.iter().find_map(|&need| run_lacked(need, profile)) {
                Some(why) => (State::NotPossible, why),
                None => (State::NotMeasured, "the profile has no figure of it".to_owned()),
            },
        };
        listed(paper, entry, state, why)
    })
    .collect()
}

fn listed(paper: &Paper, entry: &'static Entry, state: State, why: String) -> Listed {
    let Entry { kind, number, caption, command, .. } = entry;
    Listed { paper: paper.name, kind: *kind, number, caption, command, state, why, entry }
}

/// When a section was measured, and what of the entry the machine lacks.
fn when(profile: &Profile, section: &str, entry: &Entry) -> String {
    let of_section: BTreeSet<&str> = profile
        .dates()
        .iter()
        .filter(|dated| dated.section == section)
        .filter_map(|dated| dated.date)
        .collect();
    let of_run = profile.host.as_ref().and_then(|host| host.date.as_deref());
    let date = match (of_section.first(), of_section.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(date), _) => (*date).to_owned(),
        _ => of_run.unwrap_or("on an unknown date").to_owned(),
    };
    let lacks = |need: &Need| machine_lacks(*need, profile).or_else(|| run_lacked(*need, profile));
    match entry.in_full.iter().find_map(lacks) {
        Some(why) => format!("{date}; in part: {why}"),
        None => date,
    }
}

/// Why the machine cannot have what is needed, whatever was run; `None` if it may have it.
fn machine_lacks(need: Need, profile: &Profile) -> Option<String> {
    let counts = profile.topology.as_ref().map(|section| section.counts);
    let kernel = profile.host.as_ref().and_then(|host| host.kernel.as_deref());
    let has = match need {
        Need::Nics => "coho drives no network interface".to_owned(),
        Need::TwoCpus if counts?.pu == 1 => "this machine has one CPU".to_owned(),
        Need::Mappings if counts?.pu <= 2 => "this machine has two CPUs at most".to_owned(),
        Need::Packages if counts?.package == 1 => "this machine has one".to_owned(),
        Need::FreeBsd if !kernel?.starts_with("FreeBSD") => "this is another system".to_owned(),
        _ => return None,
    };
    Some(format!("needs {}; {has}", need.words()))
}

/// Why a run did not find what is needed; `None` if it found it, or no run looked for it.
fn run_lacked(need: Need, profile: &Profile) -> Option<String> {
    let calls = profile.calls.as_ref().map(|calls| &calls.conditions.not_available);
    let memory = profile.memory.as_ref();
    let types = memory.map(|memory| &memory.method.not_available);
    let given = match need {
        Need::Counters => calls
            .and_then(|reasons| reasons.get("pmu"))
            .or_else(|| types?.get("bursts and partials"))?
            .as_str(),
        Need::Mpi => calls?.get("mpi")?,
        Need::MemoryTypes => types?.get("rates of WC").or_else(|| types?.get("rates of UC"))?,
        Need::Dma => types?.iter().find(|(what, _)| what.starts_with("DMA"))?.1,
        Need::KernelModule => {
            let absent = |one: &&coho_profile::MemoryType| one.provider == "coho_mem" && !one.available;
            &memory?.types.iter().find(absent)?.why
        }
        Need::IdleStates => {
            let to_set = |one: &&coho_profile::IdleControl| one.name == "idle states";
            let status = &profile.idle.as_ref()?.controls.iter().find(to_set)?.status;
            status.strip_prefix("not available: ")?
        }
        Need::TwoCpus | Need::Mappings | Need::Packages | Need::Nics | Need::FreeBsd => return None,
    };
    let given = given.strip_prefix("not available: ").unwrap_or(given);
    // What was tried stands in brackets.
    let given = given.split(" (").next().unwrap_or(given);
    Some(format!("needs {}: {given}", need.words()))
}

#[cfg(test)]
mod tests {
    use coho_profile::{Call, Calls, Estimate, Host, Memory, MemoryType, Method, TopologySection};
    use coho_topology::Counts;

    use super::*;

    fn state_of(profile: &Profile, paper: &str, name: &str) -> (State, String) {
        let listed = list(profile);
        let one = listed.iter().find(|one| one.paper == paper && one.entry.name() == name).unwrap();
        (one.state, one.why.clone())
    }

    #[test]
    fn what_is_measured_is_told_by_its_figures_and_dated_by_their_run() {
        let call = |set: &str| Call {
            name: "stat".into(),
            set: set.into(),
            ns: Some(Estimate::exact(400.0)),
            ..Call::default()
        };
        let conditions = Method {
            date: Some("2026-11-20T10:00:00Z".into()),
            not_available: [("pmu".to_owned(), "not available: no PMU here".to_owned())].into(),
            ..Method::default()
        };
        let calls = Calls { calls: vec![call("syscalls")], conditions, ..Calls::default() };
        let host = Host { date: Some("2026-11-24T22:00:48Z".into()), ..Host::default() };
        let profile = Profile { calls: Some(calls), host: Some(host), ..Profile::default() };
        let of = |name| state_of(&profile, "shimosawa-hori-ishikawa", name);
        let in_part = "2026-11-20T10:00:00Z; in part: needs performance counters: no PMU here";
        assert_eq!(of("Table 5"), (State::Measured, in_part.to_owned()));
        assert_eq!(of("Table 6").0, State::NotMeasured);
        assert_eq!(of("Table 3"), (State::NotPossible, "needs performance counters: no PMU here".to_owned()));
    }

    #[test]
    fn what_a_machine_lacks_outweighs_figures_and_what_a_run_lacked_does_not() {
        let one_package = TopologySection {
            counts: Counts { package: 1, pu: 2, ..Counts::default() },
            ..TopologySection::default()
        };
        let profile = Profile { topology: Some(one_package), ..Profile::default() };
        assert_eq!(state_of(&profile, "kawabe-furuya", "Fig. 2").0, State::NotPossible);
        assert_eq!(state_of(&profile, "kawabe-furuya", "Fig. 1").0, State::NotMeasured);
        assert_eq!(state_of(&profile, "kawabe-furuya", "Fig. 3").0, State::Measured);

        let module =
            MemoryType { provider: "coho_mem".into(), why: "not loaded".into(), ..MemoryType::default() };
        let memory = Memory { types: vec![module], ..Memory::default() };
        let mut profile = Profile { memory: Some(memory), ..Profile::default() };
        let fig_7 = |profile: &Profile| state_of(profile, "hamada-dimmnet", "Fig. 7");
        assert_eq!(
            fig_7(&profile),
            (State::NotPossible, "needs coho's kernel module: not loaded".to_owned())
        );
        let published = coho_profile::published::paper("hamada-dimmnet").machine().memory.unwrap();
        profile.memory.as_mut().unwrap().coherence_cost = published.coherence_cost;
        assert_eq!(fig_7(&profile).0, State::Measured);
    }
}
