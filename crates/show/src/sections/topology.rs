//! The machine: what its topology claims, and the facts of the host.

use std::collections::BTreeMap;

use coho_model::listings::Listing;
use coho_model::shape;
use coho_profile::Host;
use coho_topology::freebsd::{Flag, Group};
use coho_topology::{Cache, CacheKind, Topology};

use crate::boxes;
use crate::sections::prelude::*;

/// Boxes of the finest level in a drawing, at most.
const MAX_BOXES: usize = 768;
/// Notes and disagreements that are shown, at most.
const MOST: usize = 20;

pub(super) const ENTRY: Entry = Entry { id: "topology", title: "The machine", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let (host, topology) = (subject.profile.host.as_ref(), subject.profile.topology.as_ref());
    if host.is_none() && topology.is_none() {
        return None;
    }
    let headline = topology.map(|section| shape::counted(section.counts)).unwrap_or_default();
    let mut section = ENTRY.section(headline);
    if let Some(claimed) = topology {
        let title = "The topology that the machine claims".into();
        let mut caption = String::from(
            "Innermost boxes are CPUs by the operating system's number; hover over a box for its name.",
        );
        caption.extend(own_caches(&claimed.topology));
        let nodes = boxes::of(&claimed.topology, MAX_BOXES);
        section.summary(Drawing { id: "topology".into(), title, caption, nodes });
        let counts = shape::objects(claimed.counts).map(|(count, kind, _)| (kind, count.to_string()));
        section.detail(Facts::new("topology", "Objects claimed").facts(counts).compared());
        let notes = claimed.topology.notes.iter().take(MOST);
        section.summary(notes.map(|note| Text::labelled("note:", words::short(note, 500))));
        section.summary(claimed.topology.disagreements.iter().take(MOST).map(|one| {
            let sentence = one.to_string();
            let (label, rest) = sentence.split_once(' ').unwrap_or_default();
            Text::labelled(label, words::short(rest, 500))
        }));
    }
    section.detail(subject.answers.listings.iter().map(listing));
    if let Some(host) = host {
        section.detail([facts(host), circumstances(host)]);
        section.summary(Missing::all(&host.not_available));
    }
    Some(section)
}

/// The caches that are not drawn, as no two cores share them: ` Not drawn: each core's own L1 of 32 KiB and L2 of 256
/// KiB.`
fn own_caches(topology: &Topology) -> Option<String> {
    let size = |level: u8| {
        let caches = || {
            let of_level = topology.caches.iter().filter(move |cache| cache.level == level);
            of_level.filter(|cache| cache.kind != CacheKind::Instruction)
        };
        let is_own = |cache: &Cache| topology.cores.iter().any(|core| core.cpus == cache.cpus);
        let first = caches().next().filter(|first| first.size_bytes > 0)?;
        let alike = caches().all(|cache| is_own(cache) && cache.size_bytes == first.size_bytes);
        alike.then(|| format!("L{level} of {}", words::bytes(first.size_bytes)))
    };
    let sizes: Vec<String> = [1, 2].into_iter().filter_map(size).collect();
    (!sizes.is_empty()).then(|| format!(" Not drawn: each core's own {}.", sizes.join(" and ")))
}

/// FreeBSD's groups of CPUs, by its numbers.
fn listing(listing: &Listing) -> TableOf<&(usize, Group)> {
    let cache = |group: &Group| match group.cache_level {
        0 => "none".to_owned(),
        level => format!("L{level}"),
    };
    let flags = |group: &Group| words::joined(group.flags.iter().map(Flag::name), ", ");
    let title = format!("FreeBSD's groups of CPUs, by the rules of its {} kernel", listing.kernel);
    Table::of(format!("freebsd-{}", listing.kernel), title, &listing.groups)
        .figures("level", "", |(level, _)| *level)
        .text("cache", move |(_, group)| cache(group))
        .text("CPUs", |(_, group)| group.cpus.to_string())
        .text("flags", move |(_, group)| flags(group))
        .note("Computed from CPUID's answers; FreeBSD numbers CPUs by APIC id.")
}

/// What distinguishes one machine and system from another.
fn facts(host: &Host) -> Facts {
    let known = [
        ("CPU", host.cpu.clone()),
        ("architecture", host.architecture.clone()),
        ("kernel", host.kernel.clone()),
        ("distribution", host.os.clone()),
        ("hypervisor", host.hypervisor.clone()),
        ("microcode", host.microcode.clone()),
        ("firmware", host.firmware.clone()),
        ("governor", host.governor.clone()),
        ("boost", host.boost.map(|on| words::on_off(on).to_owned())),
        // Two decimals: the measured clock's noise does not make it another clock.
        ("clock", host.clock_ghz.map(|ghz| format!("{ghz:.2} GHz"))),
        ("clock source", host.clock_source.clone()),
        ("transparent huge pages", host.huge_pages.clone()),
        ("allowed CPUs", (!host.allowed_cpus.is_empty()).then(|| words::cpus(&host.allowed_cpus))),
        ("coho", host.coho_version.clone()),
    ];
    let known = known.map(|(name, value)| (name, value.map(|value| words::short(&value, 300))));
    let named = |kind: &str, map: &BTreeMap<String, String>| -> Vec<_> {
        let named = map.iter().map(|(name, value)| (format!("{kind} {}", words::short(name, 80)), value));
        named.map(|(name, value)| (name, words::short(value, 300))).collect()
    };
    Facts::new("host", "Host")
        .facts(known)
        .facts(named("mitigation", &host.mitigations))
        .facts(named("limit", &host.limits))
        .compared()
}

/// What changes from run to run.
fn circumstances(host: &Host) -> Facts {
    Facts::new("circumstances", "").facts([
        ("date", host.date.clone()),
        ("time-stamp counter", host.tsc_ghz.map(|ghz| format!("{ghz:.3} GHz"))),
        ("timer step", host.timer_step_ns.map(|ns| format!("{} ns", words::number(ns)))),
        ("load when begun", host.load_average.map(|load| format!("{load:.2}"))),
    ])
}
