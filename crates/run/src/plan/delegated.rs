//! Delegation as a plan has it: which calls, on which CPUs, and whether there is anything to delegate.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use coho_model::delegation::gaining;
use coho_topology::CpuSet;

use super::chosen::{Chosen, Measured};
use super::execute::Execution;
use super::{Error, Notice};
use crate::delegation::{self, Division, HostCpus, List, NAMES, NoHost, Way};
use crate::preload;

/// How long writes stay undone at most, by default.
const FLUSH: Duration = Duration::from_millis(1);

/// What is delegated, and to which CPUs.
#[derive(Debug, Clone)]
pub struct Delegation {
    /// The calls.
    pub calls: List,
    /// The requested hosts, or one for all calls.
    pub hosts: Vec<HostCpus>,
    /// Whether each process takes one CPU of each of these lists, in turn.
    pub per_process: bool,
    /// The program's CPUs, including the hosts' if it leaves them only while it delegates.
    pub program: CpuSet,
    /// When the one-way time of [`Delegation::way`] was measured.
    pub measured: Measured,
    division: Division,
    flush: Option<Duration>,
}

impl Delegation {
    /// How far the hosts are from the program.
    pub fn way(&self) -> Way {
        self.division.way
    }

    /// How long an accepted write may stay undone.
    pub fn flush(&self) -> Duration {
        self.flush.unwrap_or(FLUSH)
    }

    /// The variables that make the library delegate.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let leaves = self.program.difference(&self.division.program);
        delegation::environment(&self.calls, &self.hosts, &leaves, self.flush)
    }
}

impl Execution<'_> {
    /// The delegation of a program on `chosen`; `None`, with a notice, if the program runs without.
    pub(super) fn delegation(&mut self, chosen: &Chosen) -> Result<Option<Delegation>, Error> {
        let Some(wish) = self.wish.delegation.as_ref() else { return Ok(None) };
        if let Some(why) = self.wish.command.first().and_then(preload::objection) {
            return Ok(self.undelegated(why.to_string()));
        }
        let machine = &self.machine;
        let mut hosts = HostCpus::gather(&wish.hosts).map_err(Error::Hosts)?;
        let asked_cpus: CpuSet = hosts.iter().flat_map(|part| part.cpus.iter()).collect();
        let division = delegation::divide(
            &machine.reaching(&asked_cpus).map_err(Error::Topology)?,
            &chosen.choice.cpus,
            (!hosts.is_empty()).then_some(&asked_cpus),
            machine.topology().map_err(Error::Topology)?,
            machine.profile.as_ref().and_then(|profile| profile.coherence.as_ref()),
        );
        let division = match division {
            Ok(division) => division,
            Err(why @ (NoHost::OneCpu(_) | NoHost::Quota(_))) => return Ok(self.undelegated(why.to_string())),
            Err(wrong) => return Err(Error::NoHost(wrong)),
        };
        let Some(mut calls) = self.gaining(&wish.calls) else {
            let why = "by the profile, no call gains on another core at any footprint";
            return Ok(self.undelegated(why.into()));
        };
        calls.verbose |= wants_words();
        if hosts.is_empty() {
            hosts.push(HostCpus::of_all(division.hosts.iter().copied()));
        }
        // A CPU assigned to a single thread or process is never a host's.
        let location = &self.wish.location;
        let is_dealt = location.pinned.is_some() || location.omp_places || self.wish.openmp.is_some();
        let waits = calls.auto && !calls.writes_later && !is_dealt;
        let program = if waits { chosen.choice.cpus.clone() } else { division.program.clone() };
        let measured = self.machine.measured();
        let (per_process, flush) = (wish.per_process, wish.flush);
        Ok(Some(Delegation { calls, hosts, per_process, program, measured, division, flush }))
    }

    fn undelegated(&mut self, why: String) -> Option<Delegation> {
        self.listener.hear(Notice::Undelegated(why));
        None
    }

    /// The named calls. For `auto` alone, the calls that gain at some footprint by the profile, or all if it has no
    /// curves. `None` if it has curves and no call gains.
    fn gaining(&mut self, asked: &List) -> Option<List> {
        if !asked.auto || !asked.calls.is_empty() {
            return Some(asked.clone());
        }
        let curves = self.machine.profile.as_ref().and_then(|profile| profile.calls.as_ref());
        let calls = match curves.and_then(gaining) {
            Some(gaining) => NAMES.into_iter().filter(|name| gaining.contains(name)).collect(),
            None => {
                self.listener.hear(Notice::NoCurves);
                NAMES.to_vec()
            }
        };
        let some = !calls.is_empty() || asked.writes_later;
        some.then(|| List { auto: !calls.is_empty(), calls, ..asked.clone() })
    }
}

/// Whether the environment asks the library to report what it did.
fn wants_words() -> bool {
    env::var("COHO_DELEGATE").is_ok_and(|list| list.split(',').any(|name| name == "verbose"))
}
