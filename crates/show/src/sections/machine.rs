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

/// Which sections the file's last run did not measure, and when they were: `older than 2026-11-24T22:00:48Z: idle
/// (2026-11-20T10:00:00Z)`. `None` where one run measured all.
pub fn older(subject: &Subject) -> Option<String> {
    let host = subject.profile.host.as_ref().filter(|host| host.coho_version.is_some())?;
    let last = words::short(host.date.as_deref()?, DATE);
    let others = subject.profile.not_of_last_run();
    if others.is_empty() {
        return None;
    }
    if subject.profile.dates().iter().all(|one| one.date.is_none()) {
        return Some(format!(
            "{last} is the date of the last run; the file does not tell when each section was measured"
        ));
    }
    let named = others.iter().map(|one| {
        let part =
            if one.part.is_empty() { String::new() } else { format!(" {}", words::short(&one.part, 60)) };
        let date = one.date.map_or("date not told".into(), |date| words::short(date, DATE));
        format!("{}{part} ({date})", one.section)
    });
    Some(format!("not of the run of {last}: {}", named.collect::<Vec<_>>().join(", ")))
}

/// A date has no more letters.
const DATE: usize = 30;

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

#[cfg(test)]
mod tests {
    use coho_profile::{Host, Idle, Method, Profile, Sync};

    use super::*;

    #[test]
    fn sections_of_other_runs_are_named_with_their_dates() {
        let of = |date: Option<&str>| Method {
            description: "Measured.".into(),
            date: date.map(str::to_owned),
            ..Method::default()
        };
        let told = |idle: Option<&str>, sync: Option<&str>| {
            let host = Host {
                date: Some("2026-11-24T22:00:48Z".into()),
                coho_version: Some("0.1.0".into()),
                ..Host::default()
            };
            older(&Subject::new(
                "mine",
                Profile {
                    host: Some(host),
                    idle: Some(Idle { method: of(idle), ..Idle::default() }),
                    sync: Some(Sync { method: of(sync), ..Sync::default() }),
                    ..Profile::default()
                },
            ))
        };
        let (old, new) = (Some("2026-11-20T10:00:00Z"), Some("2026-11-24T22:00:48Z"));
        assert_eq!(told(new, new), None);
        assert_eq!(
            told(old, new).unwrap(),
            "not of the run of 2026-11-24T22:00:48Z: idle (2026-11-20T10:00:00Z)"
        );
        assert!(told(None, new).unwrap().ends_with("idle (date not told)"));
        assert!(told(None, None).unwrap().contains("does not tell when each section"));
        assert_eq!(older(&Subject::new("empty", Profile::default())), None);
    }
}
