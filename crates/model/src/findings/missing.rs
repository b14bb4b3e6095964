//! What could not be measured, and the one command or right that would change it.

use coho_profile::{CacheType, Counters, Memory, Profile};

use super::{Finding, Urgency, listed, openmp};

/// Of a profile that coho measured: what a paper does not report, nobody can measure now.
pub fn findings(profile: &Profile) -> Vec<Finding> {
    if profile.host.as_ref().is_none_or(|host| host.coho_version.is_none()) {
        return Vec::new();
    }
    let counters = profile.counters.as_ref().and_then(counters);
    let types = profile.memory.as_ref().and_then(types);
    [counters, types, not_tried(profile)].into_iter().flatten().collect()
}

/// How to get counters, by the reason why there are none; `None` where neither the machine nor a missing right is the reason.
fn remedy(why: &str) -> Option<&'static str> {
    if why.contains("has no performance counters") {
        Some("Have the host give the virtual machine a virtual PMU (QEMU: `-cpu host,pmu=on`).")
    } else if why.contains("seccomp") {
        Some(
            "Let the container call perf_event_open (its seccomp profile), then run `coho counters -o PROFILE`.",
        )
    } else if why.contains("perf_event_paranoid") {
        Some("`sysctl kernel.perf_event_paranoid=1` as root, then `coho counters -o PROFILE`.")
    } else {
        None
    }
}

fn counters(counters: &Counters) -> Option<Finding> {
    // Instructions and lines may also come from single steps.
    let counted = counters.rdpmc.available || counters.events.iter().any(|event| event.passed);
    if counted {
        return None;
    }
    let mut reasons =
        counters.tools.iter().enumerate().filter_map(|(at, tool)| Some((at, tool.not_available.as_deref()?)));
    let (at, why, next) = reasons.find_map(|(at, why)| Some((at, why, remedy(why)?)))?;
    // What was to be told, and of several reasons the first.
    let why = why.split_once(": ").filter(|(what, _)| *what == "time").map_or(why, |(_, why)| why);
    let why = why.split("; ").next().unwrap_or(why);
    Some(Finding {
        id: "no-counters",
        text: format!(
            "Performance counters could not be read: {why}. What calls evict is known by time alone."
        ),
        urgency: Urgency::Note,
        evidence: vec![format!("/counters/tools/{at}/not_available")],
        condition: "as this user, on this machine, when it was measured".into(),
        next: next.into(),
    })
}

fn types(memory: &Memory) -> Option<Finding> {
    let of = |name: CacheType| memory.types.iter().filter(move |one| one.name == name);
    let lacks =
        |name: &CacheType| of(*name).next().is_some() && !of(*name).any(|one| one.available && one.proven);
    let missing: Vec<CacheType> =
        [CacheType::WriteCombining, CacheType::Uncached].into_iter().filter(lacks).collect();
    if missing.is_empty() {
        return None;
    }
    let words: Vec<String> = missing
        .iter()
        .map(|name| if *name == CacheType::Uncached { "uncached" } else { "write-combining" }.to_owned())
        .collect();
    let evidence = memory.types.iter().enumerate().filter(|(_, one)| missing.contains(&one.name));
    let providers = evidence.clone().count();
    Some(Finding {
        id: "no-memory-types",
        text: format!("No {} memory could be measured: none of {providers} providers here has any that its self-test proves.", words.join(" or ")),
        urgency: Urgency::Note,
        evidence: evidence.map(|(at, _)| format!("/memory/types/{at}/why")).collect(),
        condition: "as this user, with the devices and modules that were there".into(),
        next: "Root can load the module coho_mem (kernel/README.md); then `coho memory --type wb,wc,uc -o PROFILE`.".into(),
    })
}

/// What takes a command of its own, where the like was measured.
fn not_tried(profile: &Profile) -> Option<Finding> {
    let calls = profile.calls.as_ref().filter(|calls| !calls.calls.is_empty() && calls.footprint.is_empty());
    let sync = profile
        .sync
        .as_ref()
        .filter(|sync| sync.barriers.iter().any(|row| row.ns.is_some()) && !openmp::is_measured(sync));
    let all = [
        calls.map(|_| {
            ("which calls another core should execute", "/calls/calls", "`coho calls --footprint -o PROFILE`")
        }),
        sync.map(|_| {
            ("what an OpenMP program would gain", "/sync/barriers", "`coho barrier --peers -o PROFILE`")
        }),
    ];
    let all: Vec<_> = all.into_iter().flatten().collect();
    let column = |of: fn(&(&'static str, &'static str, &'static str)) -> &'static str| {
        all.iter().map(|one| of(one).to_owned()).collect::<Vec<_>>()
    };
    (!all.is_empty()).then(|| Finding {
        id: "not-tried",
        text: format!("Not measured yet: {}.", listed(&column(|one| one.0))),
        urgency: Urgency::Note,
        evidence: column(|one| one.1),
        condition: "a survey leaves it out, as it takes longer".into(),
        next: format!(
            "{} {} it.",
            listed(&column(|one| one.2)),
            if all.len() == 1 { "measures" } else { "measure" }
        ),
    })
}
