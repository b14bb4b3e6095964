//! Packages, dies, modules (clusters) and cores, from every CPU's `topology` directory.

use std::collections::BTreeMap;

use super::files::{Cpus, Dir};
use super::siblings::{Siblings, by_id};
use super::{Reading, identity};
use crate::{CpuSet, Error, Level, Unit};

/// AMD's family 15h (Bulldozer to Excavator), whose modules Linux calls cores.
const FAMILY_15H: u32 = 0x15;

/// The files' present names, then those before Linux 5.3; the maps are the older form of each.
pub(super) const CORE_CPUS: [Cpus; 4] = [
    Cpus::List("core_cpus_list"),
    Cpus::List("thread_siblings_list"),
    Cpus::Map("core_cpus"),
    Cpus::Map("thread_siblings"),
];
const PACKAGE_CPUS: [Cpus; 4] = [
    Cpus::List("package_cpus_list"),
    Cpus::List("core_siblings_list"),
    Cpus::Map("package_cpus"),
    Cpus::Map("core_siblings"),
];
const DIE_CPUS: [Cpus; 2] = [Cpus::List("die_cpus_list"), Cpus::Map("die_cpus")];
const CLUSTER_CPUS: [Cpus; 2] = [Cpus::List("cluster_cpus_list"), Cpus::Map("cluster_cpus")];
/// Levels that s390's mainframes have above packages.
const BOOKS: [&str; 2] = ["book_id", "drawer_id"];

/// What one CPU's directory says.
struct Told<'a> {
    cpu: u32,
    dir: Dir<'a>,
    package: Option<u32>,
    core: Option<u32>,
    core_cpus: Option<CpuSet>,
}

/// Reads every CPU's `topology` directory.
pub(super) fn read(reading: &mut Reading, cpus: &[(u32, Dir<'_>)], online: &CpuSet) -> Result<(), Error> {
    let places: Vec<Told<'_>> = cpus
        .iter()
        .map(|(cpu, dir)| {
            let dir = dir.sub("topology");
            let (package, core) = (dir.id("physical_package_id"), dir.id("core_id"));
            Told { cpu: *cpu, package, core, core_cpus: dir.cpus(&CORE_CPUS), dir }
        })
        .collect();
    read_packages(reading, &places, online)?;
    read_dies(reading, &places, online)?;
    read_cores(reading, &places, online)?;
    read_clusters(reading, &places, online)?;
    if let Some(first) = places.first()
        && let Some(book) = BOOKS.into_iter().find(|book| first.dir.path(book).exists())
    {
        first.dir.note(book, "books and drawers are not part of coho's topology");
    }
    Ok(())
}

/// Packages are found by ids. CPUs without one, as on POWER or if a file is broken, belong with their siblings.
fn read_packages(reading: &mut Reading, told: &[Told<'_>], online: &CpuSet) -> Result<(), Error> {
    let mut ids: BTreeMap<u32, u32> =
        told.iter().filter_map(|told| Some((told.cpu, told.package?))).collect();
    let known: CpuSet = ids.keys().copied().collect();
    let mut others = Siblings::default();
    for told in told.iter().filter(|told| told.package.is_none()) {
        let siblings = told.dir.cpus(&PACKAGE_CPUS).map(|set| set.intersection(online));
        let with_core = siblings.map(|set| set.union(told.core_cpus.as_ref().unwrap_or(&CpuSet::new())));
        let mate = with_core.as_ref().and_then(|set| set.intersection(&known).first());
        match mate.and_then(|mate| ids.get(&mate).copied()) {
            Some(id) => {
                ids.insert(told.cpu, id);
            }
            None => others.add(told.cpu, None, with_core.map(|set| set.difference(&known)), online),
        }
    }
    if ids.is_empty() && !others.told {
        reading.topology.packages = vec![Unit { id: None, cpus: online.clone() }];
        reading.assume(Level::Package, "one package: the kernel reports no physical_package_id");
        return Ok(());
    }
    let by = if ids.is_empty() { "topology/package_cpus_list" } else { "topology/physical_package_id" };
    let mut packages = by_id(reading, ids, |id| *id)?;
    let (units, contradiction) = others.finish(reading, Level::Package)?;
    packages.extend(units);
    packages.sort_by(|a, b| a.cpus.cmp(&b.cpus));
    reading.topology.packages = packages;
    reading.contradict(contradiction);
    reading.tell(Level::Package, by);
    Ok(())
}

fn read_dies(reading: &mut Reading, told: &[Told<'_>], online: &CpuSet) -> Result<(), Error> {
    let packages = package_of(reading);
    let ids: Vec<_> = told
        .iter()
        .filter_map(|told| Some((told.cpu, (packages.get(&told.cpu).copied(), told.dir.id("die_id")?))))
        .collect();
    let (dies, by) = if ids.is_empty() {
        let mut siblings = Siblings::default();
        for told in told {
            siblings.add(told.cpu, None, told.dir.cpus(&DIE_CPUS), online);
        }
        if !siblings.told {
            return Ok(());
        }
        let (units, contradiction) = siblings.finish(reading, Level::Die)?;
        reading.contradict(contradiction);
        (units, "topology/die_cpus_list")
    } else {
        (by_id(reading, ids, |(_, die)| *die)?, "topology/die_id")
    };
    if !same_partition(&dies, &reading.topology.packages) {
        reading.topology.dies = dies;
        reading.tell(Level::Die, by);
    }
    Ok(())
}

/// The package of each CPU, by the package's place in the list.
fn package_of(reading: &Reading) -> BTreeMap<u32, usize> {
    let packages = reading.topology.packages.iter().enumerate();
    packages.flat_map(|(index, package)| package.cpus.iter().map(move |cpu| (cpu, index))).collect()
}

fn read_cores(reading: &mut Reading, told: &[Told<'_>], online: &CpuSet) -> Result<(), Error> {
    let mut siblings = Siblings::default();
    for told in told {
        siblings.add(told.cpu, told.core, told.core_cpus.clone(), online);
    }
    if !siblings.told {
        // The same core id occurs in other packages.
        let packages = package_of(reading);
        let ids: Vec<_> = told
            .iter()
            .filter_map(|told| Some((told.cpu, (packages.get(&told.cpu).copied(), told.core?))))
            .collect();
        if !ids.is_empty() {
            reading.topology.cores = by_id(reading, ids, |(_, core)| *core)?;
            reading.tell(Level::Core, "topology/core_id");
        }
        return Ok(());
    }
    let cpu = &reading.topology.cpu;
    let modules_as_cores = cpu.vendor.as_deref() == Some("AuthenticAMD") && cpu.family == Some(FAMILY_15H);
    let (units, contradiction) = siblings.finish(reading, Level::Core)?;
    reading.contradict(contradiction);
    if modules_as_cores && units.iter().any(|unit| unit.cpus.len() > 1) {
        let single = |cpu| Unit { id: None, cpus: CpuSet::from_iter([cpu]) };
        reading.topology.cores = units.iter().flat_map(|unit| unit.cpus.iter()).map(single).collect();
        reading.topology.modules = units;
        let by = "topology/core_cpus_list: on family 15h Linux calls a module a core";
        reading.tell(Level::Module, by);
        reading.tell(Level::Core, "a core for each CPU of a family 15h module");
    } else {
        reading.topology.cores = units;
        reading.tell(Level::Core, "topology/core_cpus_list");
    }
    Ok(())
}

/// Clusters are modules, unless they only repeat another level: on x86 Linux forms them from the sharing of
/// the L2.
fn read_clusters(reading: &mut Reading, told: &[Told<'_>], online: &CpuSet) -> Result<(), Error> {
    let mut clusters = Siblings::default();
    for told in told.iter().filter(|told| told.dir.id("cluster_id").is_some()) {
        clusters.add(told.cpu, None, told.dir.cpus(&CLUSTER_CPUS), online);
    }
    if !clusters.told {
        return Ok(());
    }
    let (units, contradiction) = clusters.finish(reading, Level::Module)?;
    let topology = &reading.topology;
    let repeats = |level| {
        let sets = topology.partition(level);
        sets.len() == units.len() && units.iter().zip(sets).all(|(unit, set)| unit.cpus == *set)
    };
    let x86 = identity::is_x86(&topology.cpu);
    if topology.modules.is_empty()
        && (topology.cores.is_empty() || units.len() < topology.cores.len())
        && !same_partition(&units, &topology.packages)
        && !(x86 && repeats(Level::L2))
    {
        reading.topology.modules = units;
        reading.tell(Level::Module, "topology/cluster_cpus_list");
        reading.contradict(contradiction);
    }
    Ok(())
}

fn same_partition(a: &[Unit], b: &[Unit]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.cpus == b.cpus)
}
