//! Combines what sysfs and CPUID say about the same machine into one topology, and records where they contradict each
//! other.
//!
//! Which source is believed, level by level:
//!
//! | level | believed | why |
//! |---|---|---|
//! | CPUs, memory nodes | sysfs | only the operating system numbers them; CPUID sees only allowed CPUs |
//! | packages, dies | sysfs | it covers every online CPU; the kernel repairs known errors of firmware |
//! | cores | sysfs, but CPUID on AMD's family 15h | there Linux calls a module of two cores a core |
//! | modules | CPUID, else sysfs | on x86, Linux forms its clusters from the sharing of the L2 |
//! | caches | sysfs, a level it lacks CPUID | the kernel reads the same leaves, for every CPU |
//! | kinds, identity, hypervisor, APIC ids | CPUID, else sysfs | the processor names itself |
//!
//! CPUID's units and caches are used only if it answers for exactly the online CPUs: under a cpuset it sees only the
//! allowed ones, and its partition of these would drop the others' cores and cut their caches.
//!
//! A level is compared on the CPUs that both sources cover. CPUID numbers the nodes of the hardware, and firmware may
//! join or divide them (interleaving, nodes per socket). That alone is not a contradiction; nodes that cross are.

use std::collections::HashMap;

use crate::disagreement::listed;
use crate::{Cache, CpuSet, Disagreement, Level, Topology};

/// AMD's Bulldozer to Excavator.
const FAMILY_15H: u32 = 0x15;

/// The topology to believe, given what sysfs and CPUID report.
pub fn reconcile(sysfs: Topology, cpuid: &Topology) -> Topology {
    let mut believed = sysfs;
    let common = believed.cpus().intersection(&cpuid.cpus());
    let bulldozer =
        cpuid.cpu.vendor.as_deref() == Some("AuthenticAMD") && cpuid.cpu.family == Some(FAMILY_15H);

    for level in [Level::Package, Level::Die, Level::Numa, Level::L4, Level::L3, Level::L2, Level::L1] {
        compare(&mut believed, cpuid, level, &common);
    }
    if !bulldozer {
        compare(&mut believed, cpuid, Level::Core, &common);
    }
    take_identity(&mut believed, cpuid);
    describe_caches(&mut believed, cpuid);
    if believed.cpus() == cpuid.cpus() {
        take_units(&mut believed, cpuid, bulldozer);
        take_caches(&mut believed, cpuid);
    }
    // Both may contradict themselves alike.
    let is_new = |new: &&Disagreement| !believed.disagreements.contains(new);
    let new: Vec<Disagreement> = cpuid.disagreements.iter().filter(is_new).cloned().collect();
    believed.disagreements.extend(new);
    believed.check_levels();
    believed.finish();
    believed
}

fn told(topology: &Topology, level: Level) -> bool {
    !topology.partition(level).is_empty()
}

/// Takes the units that CPUID knows better than sysfs, or that sysfs lacks; both cover the same CPUs.
fn take_units(believed: &mut Topology, cpuid: &Topology, bulldozer: bool) {
    if told(cpuid, Level::Core) && (bulldozer || !told(believed, Level::Core)) {
        believed.cores = cpuid.cores.clone();
        take_facts(believed, cpuid, Level::Core);
    }
    if told(cpuid, Level::Module) {
        believed.modules = cpuid.modules.clone();
        take_facts(believed, cpuid, Level::Module);
    }
    if told(cpuid, Level::Kind) {
        believed.kinds = cpuid.kinds.clone();
        take_facts(believed, cpuid, Level::Kind);
    }
    if believed.assumes(Level::Package) && !cpuid.assumes(Level::Package) {
        believed.packages = cpuid.packages.clone();
        take_facts(believed, cpuid, Level::Package);
    }
    if believed.dies.is_empty() && told(cpuid, Level::Die) {
        believed.dies = cpuid.dies.clone();
        take_facts(believed, cpuid, Level::Die);
    }
}

fn take_facts(into: &mut Topology, from: &Topology, level: Level) {
    into.facts.retain(|fact| fact.level != level);
    into.facts.extend(from.facts.iter().filter(|fact| fact.level == level).cloned());
}

fn take_identity(believed: &mut Topology, cpuid: &Topology) {
    let (own, other) = (&mut believed.cpu, &cpuid.cpu);
    own.vendor = other.vendor.clone().or(own.vendor.take());
    own.brand = other.brand.clone().or(own.brand.take());
    own.family = other.family.or(own.family);
    own.model = other.model.or(own.model);
    own.stepping = other.stepping.or(own.stepping);
    own.hypervisor = other.hypervisor.clone().or(own.hypervisor.take());
    let ids: HashMap<u32, Option<u32>> = cpuid.pus.iter().map(|pu| (pu.os, pu.apic_id)).collect();
    for pu in &mut believed.pus {
        pu.apic_id = ids.get(&pu.os).copied().flatten();
    }
}

/// Takes the levels of caches that sysfs lacks; both cover the same CPUs.
fn take_caches(believed: &mut Topology, cpuid: &Topology) {
    for (number, level) in [(1, Level::L1), (2, Level::L2), (3, Level::L3), (4, Level::L4)] {
        if !told(believed, level) && told(cpuid, level) {
            believed.caches.extend(cpuid.caches.iter().filter(|cache| cache.level == number).cloned());
            take_facts(believed, cpuid, level);
        }
    }
}

/// Fills in what sysfs does not report about a cache that both know.
fn describe_caches(believed: &mut Topology, cpuid: &Topology) {
    let known: HashMap<_, &Cache> =
        cpuid.caches.iter().map(|cache| ((cache.level, cache.kind, &cache.cpus), cache)).collect();
    for cache in &mut believed.caches {
        if let Some(other) = known.get(&(cache.level, cache.kind, &cache.cpus)) {
            cache.line_bytes = cache.line_bytes.or(other.line_bytes);
            cache.ways = cache.ways.or(other.ways);
            if cache.size_bytes == 0 {
                cache.size_bytes = other.size_bytes;
            }
        }
    }
}

/// Reports a level on which the sources differ, for the CPUs that both cover; if they agree, both are named.
fn compare(believed: &mut Topology, cpuid: &Topology, level: Level, common: &CpuSet) {
    if believed.assumes(level) || cpuid.assumes(level) {
        return;
    }
    let (first, second) = (restricted(believed, level, common), restricted(cpuid, level, common));
    if first.is_empty() || second.is_empty() {
        return;
    }
    let same = match level {
        Level::Numa => !cross(&first, &second),
        _ => first == second,
    };
    if same {
        believed.facts.extend(cpuid.facts.iter().filter(|fact| fact.level == level).cloned());
    } else {
        let said =
            [("sysfs", &first), ("CPUID", &second)].map(|(name, sets)| format!("{name}: {}", listed(sets)));
        believed.disagreements.push(Disagreement::new(level.to_string(), said, "sysfs", why(level)));
    }
}

fn restricted(topology: &Topology, level: Level, common: &CpuSet) -> Vec<CpuSet> {
    let mut sets: Vec<CpuSet> =
        topology.partition(level).iter().map(|set| set.intersection(common)).collect();
    sets.retain(|set| !set.is_empty());
    sets.sort();
    sets
}

/// Whether a set of one partition overlaps one of the other without either holding the other.
fn cross(first: &[CpuSet], second: &[CpuSet]) -> bool {
    first.iter().any(|a| second.iter().any(|b| a.crosses(b)))
}

/// Why sysfs is believed on a level.
fn why(level: Level) -> &'static str {
    match level {
        Level::Numa => "only the operating system numbers its nodes",
        Level::Package | Level::Die => "it covers every CPU, and the kernel mends known errors of firmware",
        _ => "the kernel has read CPUID on every CPU",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fact, Pu, Source, Unit};

    fn machine(level_sets: &[(Level, &[&str])], source: Source) -> Topology {
        let mut topology = Topology::default();
        for (level, sets) in level_sets {
            let units: Vec<Unit> =
                sets.iter().map(|set| Unit { id: None, cpus: set.parse().unwrap() }).collect();
            topology.facts.push(Fact { level: *level, source, by: String::new() });
            match level {
                Level::Package => {
                    let cpus = units.iter().flat_map(|unit| unit.cpus.iter());
                    topology.pus = cpus.map(|os| Pu { os, ..Pu::default() }).collect();
                    topology.packages = units;
                }
                Level::Core => topology.cores = units,
                Level::Module => topology.modules = units,
                _ => panic!("no such level in these tests"),
            }
        }
        topology
    }

    #[test]
    fn only_common_cpus_are_compared() {
        let sysfs = machine(&[(Level::Package, &["0-3"]), (Level::Core, &["0-1", "2-3"])], Source::Sysfs);
        let cpuid = machine(&[(Level::Package, &["0-1"]), (Level::Core, &["0-1"])], Source::Cpuid);
        let believed = reconcile(sysfs.clone(), &cpuid);
        assert_eq!(believed.disagreements, []);
        assert_eq!(believed.cores, sysfs.cores);
    }

    #[test]
    fn a_contradiction_names_both_claims_and_sysfs_is_believed() {
        let sysfs = machine(&[(Level::Package, &["0-3"]), (Level::Core, &["0-1", "2-3"])], Source::Sysfs);
        let cpuid =
            machine(&[(Level::Package, &["0-3"]), (Level::Core, &["0", "1", "2", "3"])], Source::Cpuid);
        let believed = reconcile(sysfs, &cpuid);
        let [disagreement] = believed.disagreements.as_slice() else {
            panic!("{:?}", believed.disagreements)
        };
        assert_eq!((disagreement.what.as_str(), disagreement.taken.as_str()), ("core", "sysfs"));
        assert_eq!(disagreement.sources, ["sysfs: 0-1 | 2-3", "CPUID: 0 | 1 | 2 | 3"]);
        assert_eq!(believed.cores.len(), 2);
    }

    #[test]
    fn on_family_15h_cpuid_tells_cores_and_modules() {
        let sysfs = machine(&[(Level::Package, &["0-3"]), (Level::Core, &["0-1", "2-3"])], Source::Sysfs);
        let levels: [(Level, &[&str]); 3] = [
            (Level::Package, &["0-3"]),
            (Level::Core, &["0", "1", "2", "3"]),
            (Level::Module, &["0-1", "2-3"]),
        ];
        let mut cpuid = machine(&levels, Source::Cpuid);
        cpuid.cpu.vendor = Some("AuthenticAMD".to_owned());
        cpuid.cpu.family = Some(FAMILY_15H);
        let believed = reconcile(sysfs, &cpuid);
        assert_eq!((believed.cores.len(), believed.modules.len()), (4, 2));
        assert_eq!(believed.disagreements, []);
    }
}
