//! Linux's `/sys/devices/system`, live or a copied tree.
//!
//! The kernel's files are described in Documentation/ABI/stable/sysfs-devices-system-cpu and
//! Documentation/admin-guide/cputopology.rst. What they do not tell stays untold: an id of -1 is the
//! kernel's "unknown". Where two CPUs' files contradict each other, the lower-numbered CPU's is believed
//! and the contradiction is reported.

mod caches;
mod files;
mod identity;
mod nodes;
mod units;

use std::path::{Path, PathBuf};

use crate::bounds::Budget;
use crate::{CpuSet, Disagreement, Error, Fact, Level, MAX_CPUS, Pu, Source, Topology};
use files::Dir;

/// Reads the topology of the tree at `root`: `/sys`, or a directory that holds `sys/devices/system`,
/// `devices/system`, or `cpu` (and `node`) themselves. CPU identity comes from `proc/cpuinfo` beside it, if
/// present.
///
/// # Errors
/// If there is no such tree, or one of its files cannot be read or believed; the error names the file.
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
    let mut reading = Reading::default();
    reading.topology.cpu = identity::read(&tree.cpuinfo)?;

    let cpu_dir = Dir::new(tree.system.join("cpu"));
    let (online, offline) = cpus(&cpu_dir)?;
    reading.budget.charge_each(&online).map_err(|error| error.in_file(&cpu_dir.path("online")))?;
    reading.topology.pus = online.iter().map(|os| Pu { os, ..Pu::default() }).collect();
    reading.topology.offline = offline;
    reading.tell(Level::Pu, "cpu/online");

    let per_cpu: Vec<(u32, Dir)> = online.iter().map(|os| (os, cpu_dir.sub(&format!("cpu{os}")))).collect();
    caches::read(&mut reading, &per_cpu, &online)?;
    units::read(&mut reading, &per_cpu, &online)?;
    units::read_kinds(&mut reading, &tree.system, &per_cpu, &online)?;
    nodes::read(&mut reading, &Dir::new(tree.system.join("node")), &online)?;
    reading.topology.finish();
    Ok(reading.topology)
}

/// Whether `dir` looks like something that [`read`] reads.
pub fn looks_like(dir: &Path) -> bool {
    Tree::locate(dir).is_ok()
}

/// Where the parts of a tree lie.
struct Tree {
    system: PathBuf,
    cpuinfo: Vec<PathBuf>,
}

impl Tree {
    fn locate(root: &Path) -> Result<Self, Error> {
        let system = ["sys/devices/system", "devices/system", ""]
            .map(|below| root.join(below))
            .into_iter()
            .find(|system| system.join("cpu").is_dir())
            .ok_or_else(|| {
                let wanted =
                    "holds no sysfs tree (looked for sys/devices/system/cpu, devices/system/cpu and cpu)";
                Error::new(wanted).in_file(root)
            })?;
        let mut cpuinfo = vec![root.join("proc/cpuinfo")];
        if root.file_name().is_some_and(|name| name == "sys") {
            cpuinfo.push(root.with_file_name("proc").join("cpuinfo"));
        }
        Ok(Self { system, cpuinfo })
    }
}

/// A topology in the making.
#[derive(Default)]
struct Reading {
    topology: Topology,
    budget: Budget,
}

impl Reading {
    fn tell(&mut self, level: Level, by: &str) {
        self.topology.facts.push(Fact { level, source: Source::Sysfs, by: by.to_owned() });
    }

    fn assume(&mut self, level: Level, by: &str) {
        self.topology.facts.push(Fact { level, source: Source::Assumed, by: by.to_owned() });
    }

    fn contradict(&mut self, disagreement: Option<Disagreement>) {
        self.topology.disagreements.extend(disagreement);
    }
}

/// The online CPUs and those that are present but offline.
fn cpus(dir: &Dir) -> Result<(CpuSet, CpuSet), Error> {
    let online = match dir.cpu_list("online")? {
        Some(online) => online,
        None => online_of_directories(dir)?,
    };
    if online.is_empty() {
        return Err(Error::new("names no online CPU").in_file(&dir.path("online")));
    }
    let present = match dir.cpu_list("present")? {
        Some(present) => present,
        None => directories(dir)?,
    };
    Ok((online.clone(), present.difference(&online)))
}

/// Every `cpuN` whose own `online` file does not say 0; CPUs that cannot go offline have none.
fn online_of_directories(dir: &Dir) -> Result<CpuSet, Error> {
    let mut online = CpuSet::new();
    for cpu in directories(dir)?.iter() {
        if dir.sub(&format!("cpu{cpu}")).number::<u32>("online")? != Some(0) {
            online.insert(cpu);
        }
    }
    Ok(online)
}

fn directories(dir: &Dir) -> Result<CpuSet, Error> {
    Ok(dir.numbered("cpu", MAX_CPUS)?.into_iter().collect())
}
