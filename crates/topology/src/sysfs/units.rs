//! Packages, dies, modules (clusters), cores and kinds of cores.

use std::collections::BTreeMap;
use std::path::Path;

use super::files::Dir;
use super::{Reading, identity};
use crate::{Claim, CoreKind, CpuSet, Disagreement, Error, Level, Source, Unit};

/// AMD's family 15h (Bulldozer to Excavator), whose modules Linux calls cores.
const FAMILY_15H: u32 = 0x15;

/// The performance monitoring units of Intel's hybrid processors, whose `cpus` files tell the kinds of cores.
const HYBRID_PMUS: [(&str, &str); 3] =
    [("cpu_core", "IntelCore"), ("cpu_atom", "IntelAtom"), ("cpu_lowpower", "IntelLowPower")];

/// Reads what every CPU's `topology` directory tells.
pub(super) fn read(reading: &mut Reading, cpus: &[(u32, Dir)], online: &CpuSet) -> Result<(), Error> {
    let mut packages = Groups::default();
    let mut dies = Groups::default();
    let mut cores = Lists::default();
    let mut clusters = Lists::default();
    for (cpu, dir) in cpus {
        let dir = dir.sub("topology");
        let package = dir.id("physical_package_id")?;
        packages.add((package, None), *cpu);
        if let Some(die) = dir.id("die_id")? {
            dies.add((package, Some(die)), *cpu);
        }
        let siblings = dir.cpu_list_of(&["core_cpus_list", "thread_siblings_list"])?;
        let core_id = dir.id("core_id")?;
        cores.add(*cpu, core_id, siblings, online);
        if dir.id("cluster_id")?.is_some() {
            clusters.add(*cpu, None, dir.cpu_list("cluster_cpus_list")?, online);
        }
    }
    keep_packages(reading, packages, online)?;
    keep_dies(reading, dies)?;
    keep_cores(reading, cores)?;
    keep_clusters(reading, clusters)
}

fn keep_packages(reading: &mut Reading, packages: Groups, online: &CpuSet) -> Result<(), Error> {
    if packages.told() {
        reading.topology.packages = packages.units(reading)?;
        reading.tell(Level::Package, "topology/physical_package_id");
    } else {
        reading.topology.packages = vec![Unit { id: None, cpus: online.clone() }];
        reading.assume(Level::Package, "one package: no physical_package_id is told");
    }
    Ok(())
}

fn keep_dies(reading: &mut Reading, dies: Groups) -> Result<(), Error> {
    let dies = dies.units(reading)?;
    let topology = &mut reading.topology;
    if !dies.is_empty() && !same_partition(&dies, &topology.packages) {
        topology.dies = dies;
        reading.tell(Level::Die, "topology/die_id");
    }
    Ok(())
}

fn keep_cores(reading: &mut Reading, cores: Lists) -> Result<(), Error> {
    if !cores.told {
        return Ok(());
    }
    let cpu = &reading.topology.cpu;
    let modules_as_cores = cpu.vendor.as_deref() == Some("AuthenticAMD") && cpu.family == Some(FAMILY_15H);
    let (units, contradiction) = cores.finish(reading, Level::Core)?;
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
fn keep_clusters(reading: &mut Reading, clusters: Lists) -> Result<(), Error> {
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

/// Kinds of cores: Intel's hybrid PMUs name them; on ARM they differ in `cpu_capacity`.
pub(super) fn read_kinds(
    reading: &mut Reading,
    system: &Path,
    cpus: &[(u32, Dir)],
    online: &CpuSet,
) -> Result<(), Error> {
    let mut kinds = Vec::new();
    if system.ends_with("devices/system") {
        let devices = Dir::new(system.with_file_name(""));
        for (device, name) in HYBRID_PMUS {
            if let Some(cpus) = devices.sub(device).cpu_list("cpus")? {
                kinds.push(CoreKind { name: name.to_owned(), cpus: cpus.intersection(online) });
            }
        }
    }
    let mut by = "devices/cpu_core/cpus, cpu_atom/cpus";
    if kinds.is_empty() && !identity::is_x86(&reading.topology.cpu) {
        kinds = capacities(cpus)?;
        by = "cpu_capacity";
    }
    kinds.retain(|kind| !kind.cpus.is_empty());
    if kinds.len() > 1 {
        reading.topology.kinds = kinds;
        reading.tell(Level::Kind, by);
    }
    Ok(())
}

fn capacities(cpus: &[(u32, Dir)]) -> Result<Vec<CoreKind>, Error> {
    let mut by_capacity: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for (cpu, dir) in cpus {
        match dir.number("cpu_capacity")? {
            Some(capacity) => by_capacity.entry(capacity).or_default().extend([*cpu]),
            None => return Ok(Vec::new()),
        }
    }
    let kind = |(capacity, cpus)| CoreKind { name: format!("capacity {capacity}"), cpus };
    Ok(by_capacity.into_iter().map(kind).collect())
}

fn same_partition(a: &[Unit], b: &[Unit]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.cpus == b.cpus)
}

/// Units told by ids: a package's, or a package's and a die's.
#[derive(Default)]
struct Groups {
    by_id: BTreeMap<(Option<u32>, Option<u32>), CpuSet>,
}

impl Groups {
    fn add(&mut self, id: (Option<u32>, Option<u32>), cpu: u32) {
        self.by_id.entry(id).or_default().insert(cpu);
    }

    fn told(&self) -> bool {
        self.by_id.keys().any(|(package, _)| package.is_some())
    }

    fn units(self, reading: &mut Reading) -> Result<Vec<Unit>, Error> {
        let mut units = Vec::new();
        for ((package, die), cpus) in self.by_id {
            reading.budget.charge(&cpus)?;
            units.push(Unit { id: die.or(package), cpus });
        }
        units.sort_by(|a, b| a.cpus.cmp(&b.cpus));
        Ok(units)
    }
}

/// Units told by each CPU's list of siblings.
#[derive(Default)]
struct Lists {
    units: Vec<Unit>,
    /// The unit of each CPU met so far.
    unit_of: BTreeMap<u32, usize>,
    told: bool,
    /// The first contradiction: what was believed, and what a later CPU said instead.
    contradiction: Option<(CpuSet, CpuSet)>,
}

impl Lists {
    fn add(&mut self, cpu: u32, id: Option<u32>, siblings: Option<CpuSet>, online: &CpuSet) {
        self.told |= siblings.is_some();
        let mut siblings = siblings.unwrap_or_default().intersection(online);
        siblings.insert(cpu);
        if let Some(&unit) = self.unit_of.get(&cpu) {
            if self.units[unit].cpus != siblings && self.contradiction.is_none() {
                self.contradiction = Some((self.units[unit].cpus.clone(), siblings));
            }
            return;
        }
        let free: CpuSet = siblings.iter().filter(|sibling| !self.unit_of.contains_key(sibling)).collect();
        if free != siblings && self.contradiction.is_none() {
            self.contradiction = Some((free.clone(), siblings));
        }
        self.unit_of.extend(free.iter().map(|sibling| (sibling, self.units.len())));
        self.units.push(Unit { id, cpus: free });
    }

    fn finish(
        mut self,
        reading: &mut Reading,
        level: Level,
    ) -> Result<(Vec<Unit>, Option<Disagreement>), Error> {
        for unit in &self.units {
            reading.budget.charge(&unit.cpus)?;
        }
        self.units.sort_by(|a, b| a.cpus.cmp(&b.cpus));
        let claim = |cpus: CpuSet| Claim { source: Source::Sysfs, says: cpus.to_string() };
        let disagreement = self
            .contradiction
            .map(|(believed, other)| Disagreement { level, claims: vec![claim(believed), claim(other)] });
        Ok((self.units, disagreement))
    }
}
