//! Packages and dies, which the kernel tells twice: by an id and by the CPUs that have the same one.
//!
//! Where the two differ, the one is taken that divides no core and no cache. If both do or neither does, it is the
//! siblings if CPUs of several cores have one package's id and one core's id, which only a core's threads can have;
//! otherwise the id, as some kernels divide a package's siblings by memory nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::settle;
use super::units::Place;
use super::{Reading, identity};
use crate::disagreement::listed;
use crate::{CpuSet, Disagreement, Error, Level};

const PACKAGE_LISTS: [&str; 2] = ["package_cpus_list", "core_siblings_list"];
const PACKAGE_MAPS: [&str; 2] = ["package_cpus", "core_siblings"];
const DIE_LISTS: [&str; 1] = ["die_cpus_list"];
const DIE_MAPS: [&str; 1] = ["die_cpus"];

/// Reads the packages; the caches and `cores` must be known.
pub(super) fn read(
    reading: &mut Reading,
    places: &[Place<'_>],
    cores: &[CpuSet],
    online: &CpuSet,
) -> Result<(), Error> {
    let ids: BTreeMap<u32, u32> =
        places.iter().filter_map(|place| Some((place.cpu, place.package?))).collect();
    let files = Files {
        level: Level::Package,
        id: "physical_package_id",
        lists: &PACKAGE_LISTS,
        maps: &PACKAGE_MAPS,
    };
    let Some(Grouped { mut sets, by }) = grouped(reading, &files, places, &ids, cores, online)? else {
        return assume(reading, places, cores, online);
    };
    let mut homeless = online.difference(&union(&sets));
    if !homeless.is_empty() {
        // A core or a cache lies in one package.
        let inner = cores.iter().chain(reading.topology.caches.iter().map(|cache| &cache.cpus));
        let near: Vec<CpuSet> = inner.filter(|set| set.intersects(&homeless)).cloned().collect();
        join(&mut sets, near, false);
        homeless = online.difference(&union(&sets));
    }
    if !homeless.is_empty() {
        let what = match sets.as_mut_slice() {
            [only] => {
                *only = only.union(&homeless);
                "they are assumed to be in the only package known"
            }
            _ => "they are in no package here",
        };
        reading.note(format!(
            "CPUs {homeless} are online, but no file that can be read tells their package: {what}"
        ));
    }
    sets.sort();
    reading.topology.packages =
        reading.units(sets, |set| set.iter().find_map(|cpu| ids.get(&cpu).copied()))?;
    reading.tell(Level::Package, by);
    Ok(())
}

/// An id that is not less is an offset into ACPI's table of processors, the PPTT, whose header has so many bytes.
const FIRST_OFFSET: u32 = 36;

/// Takes packages on ARM for what most of them are, clusters of the cores of one package: Linux before 6.0 tells a device
/// tree's clusters so, and names no clusters beside them. ACPI knows packages, as do systems of several memory nodes.
/// The memory nodes must be known.
pub(super) fn merge_clusters(
    reading: &mut Reading,
    places: &[Place<'_>],
    has_pptt: bool,
) -> Result<(), Error> {
    let packages = &reading.topology.packages;
    let may_be_clusters = packages.len() > 1
        && !has_pptt
        && identity::is_arm(&reading.topology.cpu)
        && places.iter().all(|place| place.dir.id("cluster_id").is_none());
    if !may_be_clusters {
        return Ok(());
    }
    let clusters: Vec<CpuSet> = packages.iter().map(|package| package.cpus.clone()).collect();
    let by_offset = packages.iter().any(|package| package.id.is_some_and(|id| id >= FIRST_OFFSET));
    let nodes = reading.topology.numa_nodes.iter().filter(|node| !node.cpus.is_empty()).count();
    if by_offset || nodes > 1 {
        reading.note(format!(
            "packages {}: on ARM, Linux before 6.0 may tell a cluster of cores as a package, so these may be one",
            listed(&clusters)
        ));
        return Ok(());
    }
    reading.note(format!(
        "packages {} are taken for clusters of one package, as which Linux before 6.0 tells those of ARM",
        listed(&clusters)
    ));
    let whole = reading.units(vec![union(&clusters)], |_| None)?;
    let modules = std::mem::replace(&mut reading.topology.packages, whole);
    reading.topology.facts.retain(|fact| fact.level != Level::Package);
    reading.assume(Level::Package, "one package: physical_package_id is taken for clusters");
    if reading.topology.modules.is_empty() && modules.iter().any(|module| module.cpus.len() > 1) {
        reading.topology.modules = modules;
        reading.tell(Level::Module, "topology/physical_package_id");
    }
    Ok(())
}

/// What is left where the kernel tells no package: one, as phones have, whose kernels are the commonest of these. On
/// others (s390, sparc64, Itanium), it is one for each core if CPUs of several cores have one core id.
fn assume(
    reading: &mut Reading,
    places: &[Place<'_>],
    cores: &[CpuSet],
    online: &CpuSet,
) -> Result<(), Error> {
    let several = one_core_twice(places, std::slice::from_ref(online), cores) && !may_be_phone(reading);
    let sets = if several { cores.to_vec() } else { vec![online.clone()] };
    reading.topology.packages = reading.units(sets, |_| None)?;
    if !several && places.iter().all(|place| place.dir.told(&PACKAGE_LISTS, &PACKAGE_MAPS).is_unknown()) {
        reading.assume(Level::Package, "one package: the kernel reports no physical_package_id");
        return Ok(());
    }
    let (what, by) = match several {
        true => ("each core is assumed to be a package, as they have one core_id", "a package for each core"),
        false => ("one is assumed", "one package"),
    };
    if online.len() > 1 {
        reading.note(format!(
            "packages are not known, as physical_package_id is -1 and the siblings are the CPU alone: {what}"
        ));
    }
    reading.assume(Level::Package, &format!("{by}: the kernel does not know them"));
    Ok(())
}

/// Whether the processor is of ARM or of no known make, and no outer cache shows that its cores share none.
fn may_be_phone(reading: &Reading) -> bool {
    let cpu = &reading.topology.cpu;
    let mut outer = reading.topology.caches.iter().filter(|cache| cache.level > 1).peekable();
    let shares_none = outer.peek().is_some() && outer.all(|cache| cache.cpus.len() == 1);
    identity::is_arm(cpu) || cpu.vendor.is_none() && cpu.brand.is_none() && !shares_none
}

/// Reads the dies, which are a level only if they divide packages.
pub(super) fn read_dies(
    reading: &mut Reading,
    places: &[Place<'_>],
    cores: &[CpuSet],
    online: &CpuSet,
) -> Result<(), Error> {
    // A die's id is unique within its package.
    let packages = reading.topology.packages.iter().enumerate();
    let package_of: BTreeMap<u32, usize> =
        packages.flat_map(|(index, package)| package.cpus.iter().map(move |cpu| (cpu, index))).collect();
    let own: BTreeMap<u32, u32> =
        places.iter().filter_map(|place| Some((place.cpu, place.dir.id("die_id")?))).collect();
    let ids: BTreeMap<u32, (Option<usize>, u32)> =
        own.iter().map(|(cpu, id)| (*cpu, (package_of.get(cpu).copied(), *id))).collect();
    let files = Files { level: Level::Die, id: "die_id", lists: &DIE_LISTS, maps: &DIE_MAPS };
    let Some(Grouped { mut sets, by }) = grouped(reading, &files, places, &ids, cores, online)? else {
        return Ok(());
    };
    sets.sort();
    let known = union(&sets);
    let mut packages: Vec<CpuSet> =
        reading.topology.packages.iter().map(|package| package.cpus.intersection(&known)).collect();
    packages.retain(|package| !package.is_empty());
    packages.sort();
    if sets != packages {
        reading.topology.dies =
            reading.units(sets, |set| set.iter().find_map(|cpu| own.get(&cpu).copied()))?;
        reading.tell(Level::Die, by);
    }
    Ok(())
}

/// The files that tell a level.
struct Files {
    level: Level,
    id: &'static str,
    lists: &'static [&'static str],
    maps: &'static [&'static str],
}

/// A level's sets and the file that they are from.
struct Grouped {
    sets: Vec<CpuSet>,
    by: &'static str,
}

/// The sets by ids or by siblings; `None` if neither says anything.
fn grouped<K: Ord + Clone>(
    reading: &mut Reading,
    files: &Files,
    places: &[Place<'_>],
    ids: &BTreeMap<u32, K>,
    cores: &[CpuSet],
    online: &CpuSet,
) -> Result<Option<Grouped>, Error> {
    let what = files.level.to_string();
    let siblings =
        places.iter().map(|place| (place.cpu, place.dir.told(files.lists, files.maps).unless_empty()));
    let mut siblings: Vec<_> = siblings.collect();
    // Beside an unknown id, a mask of the CPU alone is what the kernel begins with, unless others show that it knows.
    let has_id = |cpu: &u32| ids.contains_key(cpu);
    if siblings.iter().filter(|(cpu, _)| !has_id(cpu)).all(|(cpu, told)| told.is_alone(*cpu)) {
        siblings.retain(|(cpu, _)| has_id(cpu));
    }
    let first_of = |names: &'static [&'static str]| {
        let here = |name: &&&str| places.first().is_some_and(|place| place.dir.path(name).exists());
        names.iter().find(here).copied().unwrap_or(names[0])
    };
    let names = [first_of(files.lists), first_of(files.maps)];
    let forms = reading.forms(siblings, names, online)?;
    let settled = settle(&what, forms, cores);
    let by_id = sets_of(ids);
    let Some(settled) = settled else {
        return Ok((!by_id.is_empty()).then_some(Grouped { sets: by_id, by: files.id }));
    };
    reading.contradict(settled.disagreement);
    let by_siblings = settled.units;
    let known: CpuSet = ids.keys().copied().collect();
    let told = union(&by_siblings);
    let (ids_there, siblings_there) = (restricted(&by_id, &told), restricted(&by_siblings, &known));
    let mut taken_ids = !by_id.is_empty();
    if ids_there != siblings_there && taken_ids {
        let caches = reading.topology.caches.iter().map(|cache| &cache.cpus);
        let inner: Vec<&CpuSet> = cores.iter().chain(caches).collect();
        let (id_cuts, sibling_cuts) = (cuts(&ids_there, &inner), cuts(&siblings_there, &inner));
        let why;
        (taken_ids, why) = if !settled.fits && id_cuts <= sibling_cuts {
            (true, "the siblings are no partition")
        } else if id_cuts != sibling_cuts {
            (id_cuts < sibling_cuts, "the other divides cores or caches")
        } else if files.level == Level::Package && one_core_twice(places, &ids_there, cores) {
            (
                false,
                "by the ids, CPUs of several cores would be threads of one: package and core id are the same",
            )
        } else {
            (true, "some kernels divide siblings further, by memory nodes or caches")
        };
        let said = [
            format!("{}: {}", files.id, listed(&ids_there)),
            format!("{}: {}", names[0], listed(&siblings_there)),
        ];
        let taken = if taken_ids { files.id } else { names[0] };
        reading.contradict(Some(Disagreement::new(what, said, taken, why)));
    }
    let (mut sets, others, by) = match taken_ids {
        true => (by_id, by_siblings, files.id),
        false => (by_siblings, by_id, names[0]),
    };
    join(&mut sets, others, true);
    Ok(Some(Grouped { sets, by: told_by(by) }))
}

/// The file as facts name it.
fn told_by(file: &'static str) -> &'static str {
    match file {
        "physical_package_id" => "topology/physical_package_id",
        "die_id" => "topology/die_id",
        "die_cpus_list" | "die_cpus" => "topology/die_cpus_list",
        _ => "topology/package_cpus_list",
    }
}

fn sets_of<K: Ord + Clone>(ids: &BTreeMap<u32, K>) -> Vec<CpuSet> {
    let mut groups = BTreeMap::<&K, CpuSet>::new();
    for (cpu, id) in ids {
        groups.entry(id).or_default().insert(*cpu);
    }
    groups.into_values().collect()
}

fn restricted(sets: &[CpuSet], to: &CpuSet) -> Vec<CpuSet> {
    let mut sets: Vec<CpuSet> = sets.iter().map(|set| set.intersection(to)).collect();
    sets.retain(|set| !set.is_empty());
    sets.sort();
    sets
}

/// How many of the inner sets are divided by the parts.
fn cuts(parts: &[CpuSet], inner: &[&CpuSet]) -> usize {
    let part_of: BTreeMap<u32, usize> =
        parts.iter().enumerate().flat_map(|(part, set)| set.iter().map(move |cpu| (cpu, part))).collect();
    let parts_of = |set: &CpuSet| set.iter().filter_map(|cpu| part_of.get(&cpu)).collect::<BTreeSet<_>>();
    inner.iter().filter(|set| parts_of(set).len() > 1).count()
}

/// Whether CPUs of several cores have one core id in one part.
fn one_core_twice(places: &[Place<'_>], parts: &[CpuSet], cores: &[CpuSet]) -> bool {
    let core_of = |cpu: u32| cores.iter().position(|core| core.contains(cpu));
    let id_of: BTreeMap<u32, u32> =
        places.iter().filter_map(|place| Some((place.cpu, place.core?))).collect();
    parts.iter().any(|part| {
        let mut cores = BTreeMap::<u32, Option<usize>>::new();
        part.iter().any(|cpu| {
            let Some(id) = id_of.get(&cpu) else { return false };
            let core = core_of(cpu);
            *cores.entry(*id).or_insert(core) != core
        })
    })
}

/// Adds the CPUs of `others` that no part has to the part of the CPUs beside them; alone, they become a part of their
/// own, if wanted.
fn join(parts: &mut Vec<CpuSet>, others: Vec<CpuSet>, new_parts: bool) {
    let mut held = union(parts);
    for other in others {
        let free = other.difference(&held);
        if free.is_empty() {
            continue;
        }
        match parts.iter_mut().find(|part| part.intersects(&other)) {
            Some(part) => *part = part.union(&free),
            None if new_parts => parts.push(free.clone()),
            None => continue,
        }
        held = held.union(&free);
    }
}

fn union(sets: &[CpuSet]) -> CpuSet {
    sets.iter().flat_map(CpuSet::iter).collect()
}
