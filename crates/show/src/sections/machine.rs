//! What machine a profile is of: its name, and the circumstances under which it was measured.

use coho_topology::Counts;

use crate::{Subject, words};

/// The machine by its CPU and their number; the profile's name where it tells neither.
pub fn name(subject: &Subject) -> String {
    let cpu = subject.profile.host.as_ref().and_then(|host| host.cpu.clone());
    let pus = subject.profile.topology.as_ref().map_or(0, |topology| topology.counts.pu);
    match (cpu, pus) {
        (Some(cpu), 0) => cpu,
        (Some(cpu), n) => format!("{cpu}, {}", words::count(n, "CPU")),
        (None, _) => subject.label.clone(),
    }
}

/// What else there is to know at first: hypervisor, what the topology claims, system, date, version.
pub fn circumstances(subject: &Subject) -> Vec<String> {
    let mut circumstances = Vec::new();
    if subject.published {
        circumstances.push(format!("published figures: {}", subject.label));
    }
    let host = subject.profile.host.as_ref();
    circumstances
        .extend(host.and_then(|host| host.hypervisor.as_ref()).map(|name| format!("virtual ({name})")));
    circumstances.extend(subject.profile.topology.as_ref().map(|topology| counted(topology.counts)));
    if let Some(host) = host {
        circumstances.extend(host.kernel.clone());
        circumstances.extend(host.date.as_ref().map(|date| format!("measured {date}")));
        circumstances.extend(host.coho_version.as_ref().map(|version| format!("coho {version}")));
    }
    circumstances.iter().map(|one| words::short(one, 120)).collect()
}

/// `1 package, 1 NUMA node, 1 L3, 2 cores, 2 CPUs`.
pub fn counted(counts: Counts) -> String {
    let objects = [
        (counts.package, "package"),
        (counts.die, "die"),
        (counts.numa, "NUMA node"),
        (counts.l3, "L3"),
        (counts.module, "module"),
        (counts.core, "core"),
        (counts.pu, "CPU"),
    ];
    let objects = objects.into_iter().filter(|(count, _)| *count > 0);
    objects.map(|(n, noun)| words::count(n, noun)).collect::<Vec<_>>().join(", ")
}
