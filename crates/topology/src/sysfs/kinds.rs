//! Kinds of cores: Intel's hybrid PMUs name them; on ARM they differ in `cpu_capacity`.

use std::collections::BTreeMap;

use super::files::Dir;
use super::{Reading, identity};
use crate::{CoreKind, CpuSet, Level};

/// The performance monitoring units of Intel's hybrid processors, whose `cpus` files give the kinds of cores.
const HYBRID_PMUS: [(&str, &str); 3] =
    [("cpu_core", "IntelCore"), ("cpu_atom", "IntelAtom"), ("cpu_lowpower", "IntelLowPower")];

/// Reads the kinds, if there are several; the cores must be known already.
pub(super) fn read(reading: &mut Reading, cpu_dir: &Dir<'_>, cpus: &[(u32, Dir<'_>)], online: &CpuSet) {
    let mut kinds = hybrid(cpu_dir, online);
    let mut by = "devices/cpu_core/cpus, cpu_atom/cpus";
    if kinds.is_empty() && !identity::is_x86(&reading.topology.cpu) {
        kinds = capacities(cpu_dir, cpus);
        by = "cpu_capacity";
    }
    let mut taken = CpuSet::new();
    for kind in &mut kinds {
        if kind.cpus.intersects(&taken) {
            cpu_dir.note("", format!("CPUs {} are of two kinds", kind.cpus.intersection(&taken)));
            kind.cpus = kind.cpus.difference(&taken);
        }
        taken = taken.union(&kind.cpus);
    }
    kinds.retain(|kind| !kind.cpus.is_empty());
    let mixed =
        |core: &&CpuSet| kinds.iter().any(|kind| core.intersects(&kind.cpus) && !core.is_subset(&kind.cpus));
    if let Some(core) = reading.topology.partition(Level::Core).into_iter().find(mixed) {
        cpu_dir.note("", format!("CPUs {core} are one core, but not all of one kind"));
    }
    if kinds.len() > 1 {
        reading.topology.kinds = kinds;
        reading.tell(Level::Kind, by);
    }
}

/// The kinds of Intel's hybrids, whose PMUs are in `devices`, two levels above the CPUs.
fn hybrid(cpu_dir: &Dir<'_>, online: &CpuSet) -> Vec<CoreKind> {
    let cpu = cpu_dir.path("");
    let Some(devices) = cpu.parent().filter(|system| system.ends_with("devices/system")) else {
        return Vec::new();
    };
    let devices = cpu_dir.at(devices.with_file_name(""));
    let kind = |(device, name): (&str, &str)| {
        let cpus = devices.sub(device).cpus(&["cpus"], &[])?.intersection(online);
        Some(CoreKind { name: name.to_owned(), cpus })
    };
    HYBRID_PMUS.into_iter().filter_map(kind).collect()
}

fn capacities(cpu_dir: &Dir<'_>, cpus: &[(u32, Dir<'_>)]) -> Vec<CoreKind> {
    let mut by_capacity: BTreeMap<u32, CpuSet> = BTreeMap::new();
    let mut without = CpuSet::new();
    for (cpu, dir) in cpus {
        match dir.number("cpu_capacity") {
            Some(capacity) => by_capacity.entry(capacity).or_default().extend([*cpu]),
            None => without.extend([*cpu]),
        }
    }
    if !by_capacity.is_empty() && !without.is_empty() {
        cpu_dir.note("cpu_capacity", format!("CPUs {without} have no capacity file, and so no kind"));
    }
    let kind = |(capacity, cpus)| CoreKind { name: format!("capacity {capacity}"), cpus };
    by_capacity.into_iter().map(kind).collect()
}
