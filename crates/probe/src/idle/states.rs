//! Idle states of each CPU, from Linux's cpuidle.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::IdleState;
use coho_topology::CpuSet;

use super::files::{CPUS, Root};

/// A state of one CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub cpu: u32,
    pub name: String,
    pub description: Option<String>,
    pub latency_us: u64,
    pub residency_us: u64,
    pub usage: u64,
    pub time_us: u64,
    pub disabled: bool,
    /// Its folder, below the root.
    pub folder: String,
}

/// The states of all CPUs, in the kernel's order; or why there are none.
pub(super) fn read(root: &Root, only: Option<&CpuSet>) -> Result<Vec<State>, String> {
    let mut states = Vec::new();
    for cpu in root.cpus(only) {
        let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
        for number in root.numbered(&folder, "state") {
            states.push(state(root, cpu, format!("{folder}/state{number}"))?);
        }
    }
    if states.is_empty() {
        let driver = root.trimmed(&format!("{CPUS}/cpuidle/current_driver"));
        let driver =
            driver.map_or_else(|_| String::new(), |driver| format!("; the cpuidle driver is '{driver}'"));
        let folder = root.path(format!("{CPUS}/cpu*/cpuidle"));
        return Err(format!("no CPU has idle states in {}{driver}", folder.display()));
    }
    Ok(states)
}

fn state(root: &Root, cpu: u32, folder: String) -> Result<State, String> {
    let file = |name: &str| format!("{folder}/{name}");
    Ok(State {
        cpu,
        name: root.trimmed(&file("name"))?,
        description: root.trimmed(&file("desc")).ok().filter(|text| !text.is_empty()),
        latency_us: root.number(&file("latency"))?,
        // Kernels before 4.9 do not report it; 0 then.
        residency_us: root.number(&file("residency")).unwrap_or(0),
        usage: root.number(&file("usage")).unwrap_or(0),
        time_us: root.number(&file("time")).unwrap_or(0),
        disabled: root.number(&file("disable")).unwrap_or(0) != 0,
        folder,
    })
}

/// Time for which each CPU was asked to be in each state since boot, in us, by the state's name.
pub(crate) type Residency = BTreeMap<(u32, String), u64>;

/// The residency of some CPUs, or why it is not known.
pub(crate) fn residency(cpus: &CpuSet) -> Result<Residency, String> {
    let states = read(&Root::default(), Some(cpus))?;
    Ok(states.into_iter().map(|state| ((state.cpu, state.name), state.time_us)).collect())
}

/// Time for which CPUs were asked to be in the states of these folders since boot, in us, if the kernel counts it.
pub(crate) fn time_us(root: &Root, folders: &BTreeSet<String>) -> Option<u64> {
    folders.iter().map(|folder| root.number(&format!("{folder}/time")).ok()).sum()
}

/// States by name and latency, with the CPUs that have them; shallowest first.
pub(super) fn grouped(states: &[State]) -> Vec<IdleState> {
    let mut rows: Vec<IdleState> = Vec::new();
    for state in states {
        let alike = |row: &IdleState| {
            row.name == state.name
                && row.latency_us == state.latency_us
                && row.residency_us == state.residency_us
        };
        let index = rows.iter().position(alike).unwrap_or_else(|| {
            rows.push(IdleState {
                name: state.name.clone(),
                description: state.description.clone(),
                latency_us: state.latency_us,
                residency_us: state.residency_us,
                ..IdleState::default()
            });
            rows.len() - 1
        });
        let row = &mut rows[index];
        row.cpus.push(state.cpu);
        row.disabled_on.extend(state.disabled.then_some(state.cpu));
        row.usage = row.usage.saturating_add(state.usage);
        row.time_us = row.time_us.saturating_add(state.time_us);
    }
    rows.sort_by_key(|row| (row.latency_us, row.residency_us));
    rows
}
