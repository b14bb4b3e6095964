//! Cores and modules (clusters), from every CPU's `topology` directory, which also tells the packages and dies.

use std::collections::BTreeMap;

use super::claims::settle;
use super::files::Dir;
use super::{Reading, identity, packages};
use crate::{CpuSet, Error, Level, Unit};

/// AMD's family 15h (Bulldozer to Excavator), whose modules Linux calls cores.
const FAMILY_15H: u32 = 0x15;

/// The files' present names, then those before Linux 5.3.
pub(super) const CORE_LISTS: [&str; 2] = ["core_cpus_list", "thread_siblings_list"];
pub(super) const CORE_MAPS: [&str; 2] = ["core_cpus", "thread_siblings"];
const CLUSTER_LISTS: [&str; 1] = ["cluster_cpus_list"];
const CLUSTER_MAPS: [&str; 1] = ["cluster_cpus"];
/// Levels that s390's mainframes have above packages.
const BOOKS: [&str; 2] = ["book_id", "drawer_id"];

/// Where one CPU's directory says that it is.
pub(super) struct Place<'a> {
    pub(super) cpu: u32,
    pub(super) dir: Dir<'a>,
    pub(super) package: Option<u32>,
    pub(super) core: Option<u32>,
}

impl<'a> Place<'a> {
    fn read(cpu: u32, dir: &Dir<'a>) -> Self {
        let dir = dir.sub("topology");
        Self { cpu, package: dir.id("physical_package_id"), core: dir.id("core_id"), dir }
    }
}

/// The places of all CPUs.
pub(super) fn places<'a>(cpus: &[(u32, Dir<'a>)]) -> Vec<Place<'a>> {
    cpus.iter().map(|(cpu, dir)| Place::read(*cpu, dir)).collect()
}

/// Reads the packages, dies, cores and modules; the caches and the cores' sets must be known.
pub(super) fn read(
    reading: &mut Reading,
    places: &[Place<'_>],
    cores: Option<Vec<CpuSet>>,
    online: &CpuSet,
) -> Result<(), Error> {
    packages::read(reading, places, cores.as_deref().unwrap_or_default(), online)?;
    packages::read_dies(reading, places, cores.as_deref().unwrap_or_default(), online)?;
    match cores {
        Some(cores) => take_cores(reading, places, cores)?,
        None => cores_by_id(reading, places)?,
    }
    read_clusters(reading, places, online)?;
    if let Some(first) = places.first()
        && let Some(book) = BOOKS.into_iter().find(|book| first.dir.id(book).is_some())
    {
        first.dir.note(book, "books and drawers are not part of coho's topology");
    }
    Ok(())
}

/// The sets of each core's CPUs; `None` if the kernel does not tell them.
pub(super) fn core_sets(
    reading: &mut Reading,
    places: &[Place<'_>],
    online: &CpuSet,
) -> Result<Option<Vec<CpuSet>>, Error> {
    let told = places.iter().map(|place| (place.cpu, place.dir.told(&CORE_LISTS, &CORE_MAPS).unless_empty()));
    let told: Vec<_> = told.collect();
    let forms = reading.forms(told, ["core_cpus_list", "core_cpus"], online)?;
    let Some(settled) = settle("core", forms, &[]) else { return Ok(None) };
    reading.contradict(settled.disagreement);
    let mut cores = settled.units;
    let known: CpuSet = cores.iter().flat_map(CpuSet::iter).collect();
    let unknown = online.difference(&known);
    if !unknown.is_empty() {
        let threads = cores.iter().any(|core| core.len() > 1);
        let what = if threads { "they are in no core here" } else { "they are assumed to be a core each" };
        reading.note(format!(
            "CPUs {unknown} are online, but no file that can be read tells their core: {what}"
        ));
        if !threads {
            cores.extend(unknown.iter().map(|cpu| CpuSet::from_iter([cpu])));
            cores.sort();
        }
    }
    Ok(Some(cores))
}

fn take_cores(reading: &mut Reading, places: &[Place<'_>], cores: Vec<CpuSet>) -> Result<(), Error> {
    let id_of: BTreeMap<u32, u32> =
        places.iter().filter_map(|place| Some((place.cpu, place.core?))).collect();
    let units = reading.units(cores, |set| set.first().and_then(|cpu| id_of.get(&cpu).copied()))?;
    let cpu = &reading.topology.cpu;
    let modules_as_cores = cpu.vendor.as_deref() == Some("AuthenticAMD") && cpu.family == Some(FAMILY_15H);
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

/// Cores of a kernel that tells only their ids; the same one occurs in other packages.
fn cores_by_id(reading: &mut Reading, places: &[Place<'_>]) -> Result<(), Error> {
    let packages = reading.topology.packages.iter().enumerate();
    let package_of: BTreeMap<u32, usize> =
        packages.flat_map(|(index, package)| package.cpus.iter().map(move |cpu| (cpu, index))).collect();
    let ids = places
        .iter()
        .filter_map(|place| Some((place.cpu, (package_of.get(&place.cpu).copied(), place.core?))));
    let ids: Vec<_> = ids.collect();
    if !ids.is_empty() {
        reading.topology.cores = by_id(reading, ids, |(_, core)| *core)?;
        reading.tell(Level::Core, "topology/core_id");
    }
    Ok(())
}

/// Clusters are modules, unless they only repeat another level: on x86 Linux forms them from the sharing of
/// the L2.
fn read_clusters(reading: &mut Reading, places: &[Place<'_>], online: &CpuSet) -> Result<(), Error> {
    let known = places.iter().filter(|place| place.dir.id("cluster_id").is_some());
    let told: Vec<_> = known
        .map(|place| (place.cpu, place.dir.told(&CLUSTER_LISTS, &CLUSTER_MAPS).unless_empty()))
        .collect();
    let forms = reading.forms(told, ["cluster_cpus_list", "cluster_cpus"], online)?;
    let Some(settled) = settle("module", forms, &[]) else { return Ok(()) };
    let units = reading.units(settled.units, |_| None)?;
    let topology = &reading.topology;
    let repeats = |level| {
        let sets = topology.partition(level);
        sets.len() == units.len() && units.iter().zip(sets).all(|(unit, set)| unit.cpus == *set)
    };
    let x86 = identity::is_x86(&topology.cpu);
    if topology.modules.is_empty()
        && (topology.cores.is_empty() || units.len() < topology.cores.len())
        && !repeats(Level::Package)
        && !(x86 && repeats(Level::L2))
    {
        reading.topology.modules = units;
        reading.tell(Level::Module, "topology/cluster_cpus_list");
        reading.contradict(settled.disagreement);
    }
    Ok(())
}

/// Units found by ids: CPUs with equal keys, whose last part is the unit's own id.
pub(super) fn by_id<K: Ord>(
    reading: &mut Reading,
    ids: impl IntoIterator<Item = (u32, K)>,
    own: fn(&K) -> u32,
) -> Result<Vec<Unit>, Error> {
    let mut groups = BTreeMap::<K, CpuSet>::new();
    for (cpu, key) in ids {
        groups.entry(key).or_default().insert(cpu);
    }
    let mut units = Vec::new();
    for (key, cpus) in groups {
        reading.budget.charge(&cpus)?;
        units.push(Unit { id: Some(own(&key)), cpus });
    }
    units.sort_by(|a, b| a.cpus.cmp(&b.cpus));
    Ok(units)
}
