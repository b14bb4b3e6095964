//! What machine a profile is of: its name, and the circumstances under which it was measured.

use coho_model::shape::counted;

use crate::sections::prelude::*;

/// The machine's kind of CPU and how many it has; the profile's name where the kind is not known.
pub fn name(subject: &Subject) -> String {
    let cpu = subject.profile.host.as_ref().and_then(|host| host.cpu.clone());
    let pus = subject.profile.topology.as_ref().map_or(0, |topology| topology.counts.pu);
    match (cpu, pus) {
        (Some(cpu), 0) => cpu,
        (Some(cpu), n) => format!("{cpu}, {}", words::count(n, "CPU")),
        (None, _) => subject.label.clone(),
    }
}

/// What else a reader wants to know first: hypervisor, what the topology claims, system, date, version.
pub fn circumstances(subject: &Subject) -> Vec<String> {
    let host = subject.profile.host.clone().unwrap_or_default();
    let circumstances = [
        subject.published.then(|| format!("published figures: {}", subject.label)),
        host.hypervisor.map(|name| format!("virtual ({name})")),
        subject.profile.topology.as_ref().map(|topology| counted(topology.counts)),
        host.kernel,
        host.date.map(|date| format!("measured {date}")),
        host.coho_version.map(|version| format!("coho {version}")),
    ];
    circumstances.iter().flatten().map(|one| words::short(one, 120)).collect()
}

/// The same in a line, without anything private: what the machine is, and when and by which version it was measured.
pub fn in_brief(subject: &Subject) -> Vec<String> {
    let host = subject.profile.host.clone().unwrap_or_default();
    // Behind the release stands who built the kernel, and where.
    let release = |kernel: String| kernel.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let minute = |date: String| date.chars().take(16).collect::<String>().replace('T', " ");
    let circumstances = [
        subject.published.then(|| format!("published: {}", subject.label)),
        host.hypervisor.map(|name| format!("virtual ({name})")),
        host.kernel.map(release),
        host.date.map(minute),
        host.coho_version.map(|version| format!("coho {version}")),
    ];
    circumstances.iter().flatten().map(|one| words::short(one, 120)).collect()
}

/// Which sections the file's last run did not measure, and when they were measured: `from other runs than
/// that of 2026-11-24T22:00:48Z: idle states (2026-11-20T10:00:00Z)`. `None` if one run measured all.
pub fn older(subject: &Subject) -> Option<String> {
    let host = subject.profile.host.as_ref().filter(|host| host.coho_version.is_some())?;
    let last = words::short(host.date.as_deref()?, DATE);
    let others = subject.profile.not_of_last_run();
    if others.is_empty() {
        return None;
    }
    if subject.profile.dates().iter().all(|one| one.date.is_none()) {
        return Some(format!(
            "{last} is the date of the last run; the file does not say when each section was measured"
        ));
    }
    let named = others.iter().map(|one| {
        let parts = words::joined(one.part.split(", ").map(|part| words::short(called(part), 60)), ", ");
        let what = words::joined([called(one.section), &parts], ": ");
        let date = one.date.map_or("date unknown".into(), |date| words::short(date, DATE));
        format!("{what} ({date})")
    });
    Some(format!("from other runs than that of {last}: {}", words::joined(named, ", ")))
}

/// What a section of the file, or a part of one, is called where its name does not say it.
fn called(name: &str) -> &str {
    match name {
        "coherence" => "sharing a line",
        "coherence_cost" => "costs of coherence",
        "counters" => "performance counters",
        "curves" => "by footprint",
        "dma" => "DMA",
        "idle" => "idle states",
        "loaded" => "under load",
        "prefetchnta" => "PREFETCHNTA",
        "run" => "commands under placements",
        "share" => "shared lines",
        "sync" => "barriers",
        "workloads" => "programs under placements",
        name => name,
    }
}

/// A date has no more letters.
const DATE: usize = 30;

#[cfg(test)]
mod tests {
    use coho_profile::{Host, Idle, Method, Profile, Sync};

    use super::*;

    #[test]
    fn sections_of_other_runs_are_named_with_their_dates() {
        let method = |date: Option<&str>| Method {
            description: "Measured.".into(),
            date: date.map(str::to_owned),
            ..Method::default()
        };
        const LAST: &str = "2026-11-24T22:00:48Z";
        let older_of = |idle, sync| {
            let host =
                Host { date: Some(LAST.into()), coho_version: Some("0.1.0".into()), ..Host::default() };
            let profile = Profile {
                host: Some(host),
                idle: Some(Idle { method: method(idle), ..Idle::default() }),
                sync: Some(Sync { method: method(sync), ..Sync::default() }),
                ..Profile::default()
            };
            older(&Subject::new("mine", profile))
        };
        assert_eq!(older_of(Some(LAST), Some(LAST)), None);
        assert_eq!(
            older_of(Some("2026-11-20T10:00:00Z"), Some(LAST)).unwrap(),
            "from other runs than that of 2026-11-24T22:00:48Z: idle states (2026-11-20T10:00:00Z)"
        );
        assert!(older_of(None, Some(LAST)).unwrap().ends_with("idle states (date unknown)"));
        assert!(older_of(None, None).unwrap().contains("does not say when each section"));
        assert_eq!(older(&Subject::new("empty", Profile::default())), None);
    }
}
