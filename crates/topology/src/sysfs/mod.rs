//! Linux's `/sys/devices/system`, live or a copied tree, of any kernel since 2.6.16.
//!
//! The kernel's files are described in Documentation/ABI/stable/sysfs-devices-system-cpu and
//! Documentation/admin-guide/cputopology.rst. What they do not say is left out; an id of -1 is the kernel's "unknown",
//! and so is a mask of the CPU alone beside it. Most facts are told several times: as a list, as a mask, by an id, and
//! by every CPU. Where these contradict each other, one is taken by the rules of `claims` and `packages`, and the
//! disagreement is recorded. A file that cannot be read or believed is noted, and the rest is read.

mod caches;
mod claims;
mod cpuinfo;
mod files;
mod identity;
mod kinds;
mod nodes;
mod packages;
mod units;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::bounds::Budget;
use crate::{CpuSet, Disagreement, Error, Fact, Level, MAX_CPUS, Pu, Source, Topology, Unit};
use claims::Form;
use files::{Dir, Notes, Told};

/// Reads the topology of the tree at `root`: `/sys`, or a directory that holds `sys/devices/system`, `devices/system`,
/// `system`, or `cpu` (and `node`) themselves. CPU identity comes from `proc/cpuinfo` beside it, if present, and so do
/// packages and cores if sysfs has neither.
///
/// # Errors
/// If there is no such tree, none of its CPUs is online, or it describes more than any machine has; the error names the
/// file.
///
/// ```no_run
/// let topology = coho_topology::sysfs::read("/sys".as_ref())?;
/// println!("{} CPUs", topology.counts().pu);
/// # Ok::<(), coho_topology::Error>(())
/// ```
pub fn read(root: &Path) -> Result<Topology, Error> {
    read_tree(&Tree::locate(root)?).map_err(|error| error.in_file(root))
}

fn read_tree(tree: &Tree) -> Result<Topology, Error> {
    let notes = Notes::default();
    let mut reading = Reading::default();
    reading.topology.cpu = identity::read(&tree.cpuinfo, &notes);

    let cpu_dir = Dir::new(tree.system.join("cpu"), &notes);
    // If there is a note on the files that name the CPUs, it says more than that no CPU is named.
    let (online, offline) = cpus(&cpu_dir).map_err(|error| notes.first().unwrap_or(error))?;
    reading.budget.charge_each(&online).map_err(|error| error.in_file(&cpu_dir.path("online")))?;
    reading.topology.pus = online.iter().map(|os| Pu { os, ..Pu::default() }).collect();
    reading.topology.offline = offline;
    reading.tell(Level::Pu, "cpu/online");

    let per_cpu: Vec<(u32, Dir<'_>)> =
        online.iter().map(|os| (os, cpu_dir.sub(&format!("cpu{os}")))).collect();
    let places = units::places(&per_cpu);
    let cores = units::core_sets(&mut reading, &places, &online)?;
    caches::read(&mut reading, &per_cpu, cores.as_deref().unwrap_or_default(), &online)?;
    units::read(&mut reading, &places, cores, &online)?;
    if reading.topology.assumes(Level::Package) && reading.topology.cores.is_empty() {
        cpuinfo::read(&mut reading, &tree.cpuinfo, &online, &notes)?;
    }
    kinds::read(&mut reading, &cpu_dir, &per_cpu, &online);
    nodes::read(&mut reading, &Dir::new(tree.system.join("node"), &notes), &online)?;
    packages::merge_clusters(&mut reading, &places, tree.has_pptt())?;
    reading.topology.notes.splice(0..0, notes.finish());
    reading.topology.check_levels();
    reading.topology.finish();
    Ok(reading.topology)
}

/// Whether `dir` looks like something that [`read`] reads.
pub fn looks_like(dir: &Path) -> bool {
    Tree::locate(dir).is_ok()
}

/// Where the parts of a tree are.
struct Tree {
    system: PathBuf,
    cpuinfo: Vec<PathBuf>,
}

impl Tree {
    fn locate(root: &Path) -> Result<Self, Error> {
        let system = ["sys/devices/system", "devices/system", "system", ""]
            .map(|below| root.join(below))
            .into_iter()
            .find(|system| system.join("cpu").is_dir())
            .ok_or_else(|| {
                let wanted =
                    "holds no sysfs tree (looked for sys/devices/system/cpu, devices/system/cpu and cpu)";
                Error::new(wanted).in_file(root)
            })?;
        let mut cpuinfo = vec![root.join("proc/cpuinfo")];
        let sys = system.ancestors().find(|above| above.ends_with("sys"));
        cpuinfo.extend(sys.map(|sys| sys.with_file_name("proc").join("cpuinfo")));
        Ok(Self { system, cpuinfo })
    }

    /// Whether ACPI told the kernel the packages.
    fn has_pptt(&self) -> bool {
        let sys = self.system.ancestors().find(|above| above.ends_with("sys"));
        sys.is_some_and(|sys| sys.join("firmware/acpi/tables/PPTT").exists())
    }
}

/// A topology under construction.
#[derive(Default)]
struct Reading {
    topology: Topology,
    budget: Budget,
    sets: HashSet<Rc<CpuSet>>,
}

impl Reading {
    fn tell(&mut self, level: Level, by: &str) {
        self.topology.facts.push(Fact { level, source: Source::Sysfs, by: by.to_owned() });
    }

    fn assume(&mut self, level: Level, by: &str) {
        self.topology.facts.push(Fact { level, source: Source::Assumed, by: by.to_owned() });
    }

    fn note(&mut self, note: impl Into<String>) {
        self.topology.notes.push(note.into());
    }

    /// Records a contradiction, the first of each kind: of a tree that is wrong all over, one says enough.
    fn contradict(&mut self, disagreement: Option<Disagreement>) {
        let new = disagreement.filter(|new| !self.topology.disagrees_on(&new.what));
        self.topology.disagreements.extend(new);
    }

    /// Keeps a set once, however many CPUs tell it.
    fn shared(&mut self, set: CpuSet) -> Result<Rc<CpuSet>, Error> {
        if let Some(known) = self.sets.get(&set) {
            return Ok(Rc::clone(known));
        }
        self.budget.charge(&set)?;
        let set = Rc::new(set);
        self.sets.insert(Rc::clone(&set));
        Ok(set)
    }

    /// What CPUs say of one level in a list and in a mask, as far as it is online.
    fn forms(
        &mut self,
        told: impl IntoIterator<Item = (u32, Told)>,
        [list_name, map_name]: [&'static str; 2],
        online: &CpuSet,
    ) -> Result<Vec<Form>, Error> {
        let (mut lists, mut maps) = (claims::Sets::new(), claims::Sets::new());
        for (cpu, Told { list, map }) in told {
            if let Some(list) = list {
                lists.insert(cpu, self.shared(list.intersection(online))?);
            }
            if let Some(map) = map {
                maps.insert(cpu, self.shared(map.intersection(online))?);
            }
        }
        Ok(vec![Form { name: list_name, sets: lists }, Form { name: map_name, sets: maps }])
    }

    /// Makes units of sets.
    fn units(&mut self, sets: Vec<CpuSet>, id: impl Fn(&CpuSet) -> Option<u32>) -> Result<Vec<Unit>, Error> {
        sets.iter().try_for_each(|set| self.budget.charge(set))?;
        Ok(sets.into_iter().map(|cpus| Unit { id: id(&cpus), cpus }).collect())
    }
}

/// The online CPUs and those that are present but offline.
fn cpus(dir: &Dir<'_>) -> Result<(CpuSet, CpuSet), Error> {
    let list = dir.cpus(&["online"], &[]).filter(|list| !list.is_empty());
    let directories: CpuSet = dir.numbered("cpu", MAX_CPUS).into_iter().collect();
    let online = list.unwrap_or_else(|| online_of(dir, &directories));
    if online.is_empty() {
        return Err(Error::new("names no online CPU").in_file(&dir.path("online")));
    }
    let present = dir.cpus(&["present"], &[]).filter(|list| !list.is_empty());
    Ok((online.clone(), present.unwrap_or(directories).difference(&online)))
}

/// Every `cpuN` whose own `online` file does not say 0 (CPUs that cannot go offline have none) and, if any CPU has a
/// `topology` directory, that has one too: the kernel removes it when the CPU goes offline.
fn online_of(dir: &Dir<'_>, directories: &CpuSet) -> CpuSet {
    let cpu_dir = |cpu| dir.sub(&format!("cpu{cpu}"));
    let on = |cpu: &u32| cpu_dir(*cpu).number::<u32>("online") != Some(0);
    let with_topology = |cpu: &u32| cpu_dir(*cpu).sub("topology").exists();
    let on: CpuSet = directories.iter().filter(on).collect();
    let listed: CpuSet = on.iter().filter(with_topology).collect();
    if listed.is_empty() { on } else { listed }
}
