//! What could not be measured, and the one command or permission that would change it.

use coho_profile::{CacheType, Counters, Memory, Profile};

use super::finding::{Finding, Urgency};
use super::openmp;
use crate::words::listed;

/// Something that was not measured.
struct Gap {
    /// What, with the reason unless nobody asked for it: `performance counters (perf_event_paranoid is 3)`.
    what: String,
    /// What alone.
    brief: String,
    evidence: Vec<String>,
    /// The condition under which it is missing.
    condition: &'static str,
    /// What would change it.
    next: String,
}

/// For profiles that coho measured: what a paper does not report, nobody can measure now.
pub fn findings(profile: &Profile) -> Vec<Finding> {
    if profile.host.as_ref().is_none_or(|host| host.coho_version.is_none()) {
        return Vec::new();
    }
    let counters = profile.counters.as_ref().and_then(counters);
    let types = profile.memory.as_ref().and_then(types);
    let gaps: Vec<Gap> = [counters, types, not_tried(profile)].into_iter().flatten().collect();
    if gaps.is_empty() {
        return Vec::new();
    }
    let column = |of: fn(&Gap) -> &str| gaps.iter().map(of).collect::<Vec<_>>();
    let mut conditions = column(|gap| gap.condition);
    conditions.dedup();
    vec![Finding {
        id: "not-measured",
        text: format!("Not measured: {}.", column(|gap| &gap.what).join("; ")),
        brief: format!("Not measured: {}.", column(|gap| &gap.brief).join("; ")),
        act: String::new(),
        urgency: Urgency::Note,
        condition: conditions.join("; "),
        next: column(|gap| &gap.next).join(" "),
        evidence: gaps.into_iter().flat_map(|gap| gap.evidence).collect(),
    }]
}

/// The condition of gaps that depend on the user's rights.
const HERE: &str = "for this user on this machine, when it was measured";

/// How to get counters, by the reason why there are none; `None` where neither the machine nor a missing permission
/// is the reason.
fn remedy(why: &str) -> Option<&'static str> {
    if why.contains("has no performance counters") {
        Some(
            "a virtual machine gets them from its host: have it provide a virtual PMU (QEMU: `-cpu \
             host,pmu=on`).",
        )
    } else if why.contains("seccomp") {
        Some(
            "let the container call perf_event_open (its seccomp profile), then run `coho counters -o PROFILE`.",
        )
    } else if why.contains("perf_event_paranoid") {
        Some("`sysctl kernel.perf_event_paranoid=1` as root, then `coho counters -o PROFILE`.")
    } else {
        None
    }
}

fn counters(counters: &Counters) -> Option<Gap> {
    // Instructions and lines may also come from single-stepping.
    let counted = counters.rdpmc.available || counters.events.iter().any(|event| event.passed);
    if counted {
        return None;
    }
    let mut reasons =
        counters.tools.iter().enumerate().filter_map(|(at, tool)| Some((at, tool.not_available.as_deref()?)));
    let (at, why, next) = reasons.find_map(|(at, why)| Some((at, why, remedy(why)?)))?;
    // Drops what the reason was for, and keeps the first of several reasons.
    let why = why.split_once(": ").filter(|(what, _)| *what == "time").map_or(why, |(_, why)| why);
    let why = why.split("; ").next().unwrap_or(why);
    Some(Gap {
        what: format!("performance counters ({why})"),
        brief: "counters".into(),
        evidence: vec![format!("/counters/tools/{at}/not_available")],
        condition: HERE,
        next: format!("Counters: {next}"),
    })
}

fn types(memory: &Memory) -> Option<Gap> {
    let of_type = |name: CacheType| memory.types.iter().filter(move |one| one.name == name);
    let lacks = |name: &CacheType| {
        of_type(*name).next().is_some() && !of_type(*name).any(|one| one.available && one.proven)
    };
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
    let providers = match providers {
        1 => "the one provider has none that passes its self-test".to_owned(),
        n => format!("none of {n} providers has any that passes its self-test"),
    };
    Some(Gap {
        what: format!("{} memory ({providers})", words.join(" and ")),
        brief: format!("{} memory", words.join(" and ")),
        evidence: evidence.map(|(at, _)| format!("/memory/types/{at}/why")).collect(),
        condition: HERE,
        next: "Memory types: as root, load the module coho_mem (kernel/README.md), then `coho memory --type wb,wc,uc -o \
               PROFILE`."
            .into(),
    })
}

/// What only a command of its own measures, where nobody ran it though a related experiment was run.
fn not_tried(profile: &Profile) -> Option<Gap> {
    let calls = profile.calls.as_ref().filter(|calls| {
        !calls.calls.is_empty() && calls.footprint_conditions.is_none() && calls.footprint.is_empty()
    });
    let sync = profile
        .sync
        .as_ref()
        .filter(|sync| sync.barriers.iter().any(|row| row.ns.is_some()) && !openmp::was_tried(sync));
    let all = [
        calls.map(|_| {
            (
                "which calls another core should execute",
                "/calls/calls",
                "`coho calls --footprint -o PROFILE`",
                "delegation",
            )
        }),
        sync.map(|_| {
            (
                "what an OpenMP program would gain",
                "/sync/barriers",
                "`coho barrier --peers -o PROFILE`",
                "OpenMP",
            )
        }),
    ];
    let all: Vec<_> = all.into_iter().flatten().collect();
    type Words = (&'static str, &'static str, &'static str, &'static str);
    let column =
        |of: fn(&Words) -> &'static str| all.iter().map(|one| of(one).to_owned()).collect::<Vec<_>>();
    (!all.is_empty()).then(|| Gap {
        what: column(|one| one.0).join("; "),
        brief: column(|one| one.3).join("; "),
        evidence: column(|one| one.1),
        condition: "a survey leaves out what takes longer",
        next: format!(
            "{} {} the rest.",
            listed(&column(|one| one.2)),
            if all.len() == 1 { "measures" } else { "measure" }
        ),
    })
}
