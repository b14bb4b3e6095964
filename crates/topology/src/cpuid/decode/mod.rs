//! Turns answers into a topology.

mod amd;
mod descriptors;
mod intel;
mod leaves;
mod place;
mod sizes;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use place::{Kind, PackageCpus, Place, caches, units};
use view::{View, bits};

use super::dump::{CpuAnswers, Dump, Registers};
use crate::{CoreKind, CpuIdentity, CpuSet, Error, Fact, Level, NumaNode, Pu, Source, Topology, Unit};

/// More CPUs than Linux runs on x86 (CONFIG_NR_CPUS reaches 8192): a bound on what a hostile dump can cost.
const MOST_CPUS: usize = 8192;

/// Decodes the topology that a dump's answers describe.
///
/// Intel's leaves 4, 0xB, 0x1F and 0x1A (also for Zhaoxin and VIA), AMD's 0x80000005 to 0x80000008, 0x8000001D,
/// 0x8000001E and 0x80000026 (also for Hygon). If the number of APIC ids that share a cache is not a power of two, it
/// is rounded up to the next one. What CPUID does not report is left empty. Except on AMD, all CPUs form one NUMA node,
/// which a fact marks as assumed.
///
/// ```
/// use coho_topology::cpuid;
/// # let text = "cpu 0 0 0 1 68747541 444d4163 69746e65\ncpu 0 1 0 00800f12 00010800 0 0\n";
/// let topology = cpuid::decode(&cpuid::parse(text)?)?;
/// assert_eq!(topology.cpu.family, Some(0x17));
/// # Ok::<(), coho_topology::Error>(())
/// ```
///
/// # Errors
/// If the dump is empty, names a CPU twice or has more than 8192 CPUs, if a CPU lacks leaf 0, or if two CPUs are of
/// different vendors or claim the same APIC id, as in a dump taken without pinning.
pub fn decode(dump: &Dump) -> Result<Topology, Error> {
    let views = checked_views(dump)?;
    let mut places: Vec<_> = views.iter().map(place).collect();
    let without_ids = places.len() > 1 && views.iter().all(View::is_before_apic_ids);
    if without_ids {
        places.iter_mut().for_each(Place::alone);
    }
    check_apic_ids(&places)?;
    if let [only] = places.as_mut_slice() {
        only.add_unshared_l3();
    }

    let packages = units(&places, |place| Some(place.package));
    let cores = units(&places, |place| Some(place.core));
    let dies = units(&places, |place| place.die);
    let modules = units(&places, |place| place.module);
    let kinds = kinds(&places);
    let mut topology = Topology {
        cpu: identity(&views),
        pus: pus(&places),
        dies: unless_same(dies, &packages),
        // A family 15h unit with only one core left still counts as a unit; elsewhere a module is a group of cores.
        modules: if views[0].is_family_15h() {
            modules
        } else {
            unless_same(unless_same(modules, &cores), &packages)
        },
        packages,
        cores,
        caches: caches(&places),
        numa_nodes: numa_nodes(&places),
        kinds,
        ..Topology::default()
    };
    topology.facts = facts(&places, &topology);
    topology.notes.extend(one_of_many(&places));
    topology.notes.extend(unanswered(dump));
    topology.notes.extend(assumed_cores(&places).or_else(|| no_cores(&views)));
    topology.notes.extend(unshared_l3(&places));
    if without_ids {
        let age =
            "processors of this age report no APIC id and have one core: each CPU is taken as a package";
        topology.notes.push(age.to_owned());
    }
    topology.check_levels();
    topology.finish();
    Ok(topology)
}

fn checked_views(dump: &Dump) -> Result<Vec<View<'_>>, Error> {
    let Some(first) = dump.cpus.first() else {
        return Err(Error::new("the CPUID dump holds no CPU"));
    };
    if dump.cpus.len() > MOST_CPUS {
        let count = dump.cpus.len();
        return Err(Error::new(format!(
            "{count} CPUs are more than the {MOST_CPUS} an x86 machine can have"
        )));
    }
    dump.cpu_set()?;
    let vendor = |view: &View<'_>| {
        let answer = view.get(0, 0);
        (answer.ebx, answer.ecx, answer.edx)
    };
    let first = View::new(first);
    let views: Vec<_> = dump.cpus.iter().map(View::new).collect();
    for view in &views {
        if vendor(view) == (0, 0, 0) {
            return Err(Error::new(format!("CPU {}: no vendor in CPUID leaf 0", view.os())));
        }
        if vendor(view) != vendor(&first) {
            return Err(Error::new(format!(
                "CPUs {} and {} are of different vendors: the dump is not of one machine",
                first.os(),
                view.os()
            )));
        }
    }
    Ok(views)
}

/// Each hardware thread has an APIC id of its own, so equal ones mean that a CPU was asked twice.
fn check_apic_ids(places: &[Place]) -> Result<(), Error> {
    let mut owners = BTreeMap::new();
    for place in places {
        let Some(id) = place.apic_id else { continue };
        if let Some(other) = owners.insert(id, place.os) {
            return Err(Error::new(format!(
                "CPUs {other} and {} both claim APIC id {id:#x}: the answers are not of one thread pinned to each CPU",
                place.os
            )));
        }
    }
    Ok(())
}

/// A note for the case that a tool asked only one CPU of several.
fn one_of_many(places: &[Place]) -> Option<String> {
    let [only] = places else { return None };
    match only.package_cpus {
        PackageCpus::Exactly(cpus) if cpus > 1 => {
            Some(format!("one of the package's {cpus} CPUs was recorded; the others are unknown"))
        }
        PackageCpus::UpTo(cpus) if cpus > 1 => Some(format!(
            "one CPU was recorded of a package with room for {cpus}; whether there are others is unknown"
        )),
        _ => None,
    }
}

/// A note on CPUs with fewer recorded leaves than the others, as in a truncated report.
fn unanswered(dump: &Dump) -> Option<String> {
    let leaves = |cpu: &CpuAnswers| -> BTreeSet<u32> {
        cpu.leaves.keys().map(|(leaf, _)| *leaf).chain(cpu.any_subleaf.keys().copied()).collect()
    };
    let recorded: Vec<_> = dump.cpus.iter().map(|cpu| (cpu.os, leaves(cpu))).collect();
    let most = recorded.iter().map(|(_, leaves)| leaves).max_by_key(|leaves| leaves.len())?;
    let lack = |(os, leaves): &(u32, BTreeSet<u32>)| Some((*os, *most.difference(leaves).next()?));
    let lacking: Vec<(u32, u32)> = recorded.iter().filter_map(lack).collect();
    let (os, leaf) = *lacking.first()?;
    let others = match lacking.len() - 1 {
        0 => String::new(),
        n => format!(" ({n} more CPUs lack leaves, too)"),
    };
    Some(format!(
        "CPU {os} lacks leaf {leaf:#x}, which other CPUs answered{others}: what it says may be wrong"
    ))
}

/// A note on missing leaves about cores: leaf 1 counts ids, which may be of cores or of threads.
fn assumed_cores(places: &[Place]) -> Option<String> {
    let assumed: CpuSet = places.iter().filter(|place| place.core_is_assumed).map(|place| place.os).collect();
    (!assumed.is_empty()).then(|| {
        format!(
            "CPUs {assumed}: no leaf that tells cores was recorded, so cores and shared caches are not known; each CPU \
             is assumed to be a core with caches of its own"
        )
    })
}

/// A note on missing leaves about cores of a CPU that has them.
fn no_cores(views: &[View<'_>]) -> Option<String> {
    let view = views.first()?;
    let lacks = |leaf| view.get(leaf, 0) == Registers::default();
    (&view.vendor() == b"GenuineIntel" && view.has(4) && lacks(4) && lacks(0xB))
        .then(|| "leaves 4 and 0xb were not recorded: cores and shared caches are not known".to_owned())
}

/// A note on a level 3 whose sharing is unknown. Of a single CPU it is shown, as that claims no sharing.
fn unshared_l3(places: &[Place]) -> Option<String> {
    let size = crate::size(places.iter().find_map(|place| place.unshared_l3)?.size_bytes);
    let what = if places.len() > 1 { ", so it is left out" } else { "" };
    Some(format!(
        "L3: {size} is the sum of the package, which may have several; which CPUs share one was not recorded (leaf \
         0x8000001d){what}"
    ))
}

impl View<'_> {
    /// The text in leaf 0.
    fn vendor(&self) -> [u8; 12] {
        let answer = self.get(0, 0);
        let mut text = [0; 12];
        for (part, register) in text.chunks_exact_mut(4).zip([answer.ebx, answer.edx, answer.ecx]) {
            part.copy_from_slice(&register.to_le_bytes());
        }
        text
    }

    fn is_amd(&self) -> bool {
        matches!(&self.vendor(), b"AuthenticAMD" | b"HygonGenuine")
    }

    fn stepping(&self) -> u32 {
        bits(self.get(1, 0).eax, 3, 0)
    }

    /// Family, extended family added.
    fn family(&self) -> u32 {
        let eax = self.get(1, 0).eax;
        match bits(eax, 11, 8) {
            0xF => 0xF + bits(eax, 27, 20),
            base => base,
        }
    }

    /// Model, with the extended model added if the vendor uses it.
    fn model(&self) -> u32 {
        let eax = self.get(1, 0).eax;
        match bits(eax, 11, 8) {
            6 | 7 | 0xF => bits(eax, 19, 16) << 4 | bits(eax, 7, 4),
            _ => bits(eax, 7, 4),
        }
    }

    /// Whether the processor is older than the Pentium 4 or the Opteron, which brought the APIC id to leaf 1.
    fn is_before_apic_ids(&self) -> bool {
        let leaf1 = self.get(1, 0);
        let old = match (&self.vendor(), self.family()) {
            (b"GenuineIntel", 5) | (b"AuthenticAMD", 5 | 6) => true,
            (b"GenuineIntel", 6) => self.model() <= 0xD,
            _ => false,
        };
        old && !self.has(4) && leaf1.edx & 1 << 28 == 0 && bits(leaf1.ebx, 31, 24) == 0
    }

    fn is_family_15h(&self) -> bool {
        self.is_amd() && self.family() == 0x15
    }
}

fn place(view: &View<'_>) -> Place {
    if view.is_amd() { amd::place(view, view.family()) } else { intel::place(view) }
}

fn identity(views: &[View<'_>]) -> CpuIdentity {
    let first = &views[0];
    let brand = views.iter().find_map(|view| {
        let brand = view.features().get_processor_brand_string()?;
        // Vendors pad the string inside as well as around.
        let words: Vec<_> = brand.as_str().split_ascii_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    });
    let hypervisor = views.iter().find_map(|view| {
        view.features().get_feature_info().filter(|info| info.has_hypervisor())?;
        let answer = view.get(0x4000_0000, 0);
        ascii(&[answer.ebx, answer.ecx, answer.edx])
    });
    let answer = first.get(0, 0);
    CpuIdentity {
        vendor: ascii(&[answer.ebx, answer.edx, answer.ecx]),
        brand,
        family: first.has(1).then(|| first.family()),
        model: first.has(1).then(|| first.model()),
        stepping: first.has(1).then(|| first.stepping()),
        hypervisor,
    }
}

/// The text in registers, without surrounding blanks and NULs.
fn ascii(registers: &[u32]) -> Option<String> {
    let bytes: Vec<u8> = registers.iter().flat_map(|register| register.to_le_bytes()).collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace());
    (!text.is_empty()).then(|| text.to_string())
}

fn pus(places: &[Place]) -> Vec<Pu> {
    let pu = |place: &Place| Pu { os: place.os, apic_id: place.apic_id, name: String::new() };
    places.iter().map(pu).collect()
}

/// Empties a level whose units are the same as the other level's, as it adds nothing.
fn unless_same(units: Vec<Unit>, others: &[Unit]) -> Vec<Unit> {
    let sets = |units: &[Unit]| units.iter().map(|unit| unit.cpus.clone()).collect::<BTreeSet<_>>();
    if sets(&units) == sets(others) { Vec::new() } else { units }
}

fn numa_nodes(places: &[Place]) -> Vec<NumaNode> {
    let mut nodes = BTreeMap::<u32, CpuSet>::new();
    for place in places {
        nodes.entry(place.node.unwrap_or(0)).or_default().insert(place.os);
    }
    let node = |(os, cpus)| NumaNode { os, cpus, ..NumaNode::default() };
    nodes.into_iter().map(node).collect()
}

/// The kinds of cores, if there are several.
fn kinds(places: &[Place]) -> Vec<CoreKind> {
    let has_l3 = |place: &Place| place.caches.iter().any(|cache| cache.level == 3);
    let some_l3 = places.iter().any(has_l3);
    let mut kinds = BTreeMap::<String, CpuSet>::new();
    for place in places {
        let name = match place.kind {
            // The efficient cores of the low-power island have the same type but are outside the level 3.
            Some(Kind::Intel(0x20)) if some_l3 && !has_l3(place) => "IntelLowPowerAtom".to_string(),
            Some(Kind::Intel(0x20)) => "IntelAtom".to_string(),
            Some(Kind::Intel(0x40)) => "IntelCore".to_string(),
            Some(Kind::Intel(other)) => format!("IntelCoreType{other:#x}"),
            Some(Kind::Amd(0)) => "AmdPerformance".to_string(),
            Some(Kind::Amd(1)) => "AmdEfficiency".to_string(),
            Some(Kind::Amd(other)) => format!("AmdCoreType{other}"),
            None => continue,
        };
        kinds.entry(name).or_default().insert(place.os);
    }
    if kinds.len() < 2 {
        return Vec::new();
    }
    kinds.into_iter().map(|(name, cpus)| CoreKind { name, cpus }).collect()
}

/// Which leaf each level of the topology comes from.
fn facts(places: &[Place], topology: &Topology) -> Vec<Fact> {
    let reported: BTreeSet<_> = places.iter().flat_map(|place| &place.told_by).collect();
    let assumed = places.iter().any(|place| place.core_is_assumed);
    let is_told = |level| !(assumed && level == Level::Core || topology.partition(level).is_empty());
    let held = reported.into_iter().filter(|(level, _)| is_told(*level));
    let mut facts: Vec<_> =
        held.map(|&(level, by)| Fact { level, source: Source::Cpuid, by: by.to_string() }).collect();
    if assumed {
        let by = "no leaf tells cores; one for each CPU".to_string();
        facts.push(Fact { level: Level::Core, source: Source::Assumed, by });
    }
    if places.iter().all(|place| place.node.is_none()) {
        let by = "CPUID does not report NUMA nodes; one of all CPUs".to_string();
        facts.push(Fact { level: Level::Numa, source: Source::Assumed, by });
    }
    facts
}

fn level_of(cache_level: u8) -> Level {
    match cache_level {
        0 | 1 => Level::L1,
        2 => Level::L2,
        3 => Level::L3,
        _ => Level::L4,
    }
}
