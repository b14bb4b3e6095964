//! What a placement means on this machine, and why, in one line.

use coho_model::stability;
use coho_platform::load::{self, Busy};
use coho_probe::placement::{self, Choice, Placement};
use coho_profile::{Coherence, Pair, PairMethod, Profile};
use coho_topology::CpuSet;

use super::Machine;
use coho_show::visible::on_one_line;
use coho_show::words;

/// A placement's CPUs, and how busy all CPUs were when they were chosen.
#[derive(Clone)]
pub struct Chosen {
    placement: Placement,
    pub choice: Choice,
    busy: Busy,
    /// Whether hosts use some of the placement's CPUs.
    is_narrowed: bool,
}

impl Chosen {
    /// Chooses CPUs, by how busy they are where there is a choice.
    pub fn now(
        placement: &Placement,
        threads: Option<u32>,
        machine: &Machine,
        look: impl FnOnce() -> Busy,
    ) -> anyhow::Result<Self> {
        // A placement without a choice needs no look at the load.
        let open = *placement != Placement::None && machine.room.cpus.len() > 1;
        let busy = if open { look() } else { Busy::default() };
        let threads = threads.map(|threads| threads as usize);
        let choice = placement::choose(placement, threads, &machine.topology, &machine.room, &busy)?;
        Ok(Self { placement: placement.clone(), choice, busy, is_narrowed: false })
    }

    /// The same choice, restricted to `cpus`.
    pub fn within(mut self, cpus: &CpuSet) -> Self {
        self.is_narrowed |= !self.choice.cpus.is_subset(cpus);
        self.choice.cpus = self.choice.cpus.intersection(cpus);
        self.choice.order.retain(|cpu| cpus.contains(*cpu));
        self
    }

    /// The CPUs to confine a command to; `None` leaves it as it is.
    pub fn mask(&self) -> Option<CpuSet> {
        (self.is_placed() || self.is_narrowed).then(|| self.choice.cpus.clone())
    }

    /// Whether the placement chooses, rather than the scheduler.
    pub fn is_placed(&self) -> bool {
        self.placement != Placement::None
    }

    /// What was chosen and why; with `threads`, also whether they fit; for several CPUs, how they are `dealt` out.
    pub fn line(&self, machine: &Machine, threads: Option<u32>, dealt: &str) -> String {
        let room = &machine.room;
        let Choice { cpus, refused, .. } = &self.choice;
        let mut line = format!("{}: {} of {}", self.placement, named(cpus), room.cpus);
        line += &match self.placement {
            Placement::None => format!(", left to the scheduler: {}", loaded(cpus)),
            _ => format!(", {}", self.why(machine)),
        };
        if self.placement != Placement::None && cpus.len() > 1 {
            line += &format!("; {dealt}");
        }
        if let Some(threads) = threads.filter(|&threads| threads as usize > cpus.len()) {
            line += &format!("; {threads} threads share {}", words::count(cpus.len(), "CPU"));
        }
        if let Some(quota) = room.quota.filter(|quota| *quota < cpus.len() as f64) {
            line += &format!("; the quota is {} CPUs", words::number(quota));
        }
        if !refused.is_empty() {
            line += &format!("; not {}, which this process may not use", named(refused));
        }
        line
    }

    /// Two figures: the longest one-way time within the choice and across all CPUs, if a profile has them; otherwise
    /// how busy the chosen CPUs and the others were.
    fn why(&self, machine: &Machine) -> String {
        let cpus = &self.choice.cpus;
        let others = machine.room.cpus.difference(cpus);
        let farthest = |cpus: &CpuSet| farthest(machine, cpus);
        if let (Some(within), Some(all)) = (farthest(cpus), farthest(&machine.room.cpus)) {
            let [within, all] = [within, all].map(words::number);
            let measured = machine.profile.as_ref().map(measured).unwrap_or_default();
            return format!("a line's longest one-way time: {within} ns here, {all} ns across all{measured}");
        }
        let percent = |cpus: &CpuSet| words::number(100.0 * self.busy.of(cpus.iter()));
        match others.is_empty() {
            true => format!("{} CPUs, {} % busy", cpus.len(), percent(cpus)),
            false => format!("{} % busy, the others {} %", percent(cpus), percent(&others)),
        }
    }
}

/// When a profile's times between CPUs were measured and, if they are not known to stay, the condition.
pub(super) fn measured(profile: &Profile) -> String {
    let date = profile.host.as_ref().and_then(|host| host.date.as_deref());
    let date = date.map_or_else(
        || ", as once measured".to_owned(),
        |date| format!(", as measured {}", on_one_line(date)),
    );
    let moves = |coherence: &&Coherence| {
        let disagree = coherence.history.as_ref().is_some_and(|history| history.disagree > 0);
        disagree || coherence.keeps_to_its_values() != Some(true)
    };
    match profile.coherence.as_ref().filter(moves).and_then(stability::condition) {
        Some(condition) => format!("{date}; {condition}"),
        None => date,
    }
}

/// For a placement left to the scheduler, how many CPUs there are and how busy they have been: `2 CPUs, load 0.35 in
/// the last minute`.
fn loaded(cpus: &CpuSet) -> String {
    let count = words::count(cpus.len(), "CPU");
    match load::average() {
        Ok(load) => format!("{count}, load {load:.2} in the last minute"),
        Err(_) => count,
    }
}

/// `CPU 3`, `CPUs 0-3`.
pub(super) fn named(cpus: &CpuSet) -> String {
    format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" })
}

/// The longest one-way time between two of these CPUs, in ns, if the profile has them all.
fn farthest(machine: &Machine, cpus: &CpuSet) -> Option<f64> {
    let coherence = machine.profile.as_ref()?.coherence.as_ref()?;
    let inside = |pair: &&Pair| {
        pair.method == PairMethod::Turn && cpus.contains(pair.a) && cpus.contains(pair.b) && pair.a != pair.b
    };
    let pairs: Vec<_> = coherence.pairs.iter().filter(inside).collect();
    let seen: std::collections::BTreeSet<_> =
        pairs.iter().map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b))).collect();
    let all = cpus.len() * cpus.len().saturating_sub(1) / 2;
    (all > 0 && seen.len() == all).then(|| pairs.iter().map(|pair| pair.ns.median).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, History, Home, Host};

    use super::*;

    #[test]
    fn a_stored_distance_comes_with_its_date_and_condition() {
        let pair = Pair {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            home: Home::A,
            ns: Estimate { n: 40, stable: Some(true), ..Estimate::exact(27.0) },
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: None,
        };
        let mut coherence = Coherence { cpus: vec![0, 1], pairs: vec![pair], ..Coherence::default() };
        coherence.method.duration_s = 1.0;
        let with = |coherence: &Coherence, date: Option<&str>| {
            measured(&Profile {
                host: Some(Host { date: date.map(str::to_owned), ..Host::default() }),
                coherence: Some(coherence.clone()),
                ..Profile::default()
            })
        };
        let date = Some("2026-11-21T21:30:00Z");
        assert_eq!(with(&coherence, date), ", as measured 2026-11-21T21:30:00Z");
        assert_eq!(with(&coherence, None), ", as once measured");
        coherence.history = Some(History { surveys: 4, modes_ns: vec![27.0, 128.0], disagree: 2 });
        assert!(with(&coherence, date).contains("; holds while the CPUs stay as far apart: 2 of 4"));
        coherence.history = None;
        coherence.pairs[0].ns.stable = Some(false);
        assert!(with(&coherence, date).contains("; holds only for a while"));
        (coherence.pairs[0].ns.stable, coherence.pairs[0].ns.n) = (None, 1);
        assert!(with(&coherence, date).contains("; rests on one sample per pair"));
    }
}
