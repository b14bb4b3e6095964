//! Made-up machines, written as kernels of all ages write them.

use std::fmt::Write;
use std::ops::Range;

use coho_topology::CpuSet;

use super::Tree;

/// A regular machine: an L3 for each die, an L2 for each core, a memory node for each package.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub packages: u32,
    /// In a package.
    pub dies: u32,
    /// In a die.
    pub cores: u32,
    /// In a core.
    pub threads: u32,
}

/// How a kernel writes what it knows.
#[derive(Clone, Debug)]
pub struct Style {
    /// `shared_cpu_list` and its like, since Linux 2.6.26.
    pub lists: bool,
    /// `shared_cpu_map` and its like, since 2.6.16.
    pub maps: bool,
    /// `thread_siblings`, before 5.3 called them `core_cpus`.
    pub old_names: bool,
    /// NULs behind each file's text, as some copies have them.
    pub nuls: bool,
    /// Words of zeros before each map, of a kernel for more CPUs.
    pub spare_words: usize,
    /// The number of the first cache's index.
    pub first_index: u32,
    /// How far apart the caches' indices are.
    pub index_step: u32,
    /// `cpu/online`, `cpu/present` and `node/online`; before them each CPU's own `online` file.
    pub summaries: bool,
    /// CPUs that are offline, and so without directories of their topology and caches.
    pub offline: CpuSet,
}

impl Default for Style {
    /// A kernel of today, all CPUs online.
    fn default() -> Self {
        Self {
            lists: true,
            maps: false,
            old_names: false,
            nuls: false,
            spare_words: 0,
            first_index: 0,
            index_step: 1,
            summaries: true,
            offline: CpuSet::new(),
        }
    }
}

impl Machine {
    /// The machine under a kernel of today.
    pub fn build(self) -> Tree {
        self.build_as(&Style::default())
    }

    /// The number of CPUs.
    pub fn cpus(self) -> u32 {
        self.all_cores() * self.threads
    }

    fn all_cores(self) -> u32 {
        self.packages * self.dies * self.cores
    }

    /// The CPUs of these cores: CPU n is thread n / all_cores of core n % all_cores, as Linux numbers them on x86.
    fn in_cores(self, cores: Range<u32>) -> CpuSet {
        cores.flat_map(|core| (0..self.threads).map(move |thread| thread * self.all_cores() + core)).collect()
    }

    /// The machine under any kernel.
    pub fn build_as(self, style: &Style) -> Tree {
        let Self { packages, dies, cores, .. } = self;
        let tree = Tree::new();
        let writer = Writer { tree: &tree, style, all: self.in_cores(0..self.all_cores()) };
        if style.summaries {
            writer.file("cpu/online", &writer.all.difference(&style.offline).to_string());
            writer.file("cpu/present", &writer.all.to_string());
            writer.file("node/online", &CpuSet::up_to(packages).to_string());
        }
        tree.write_root(
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Made Up 9000\n\n",
        );
        for cpu in writer.all.iter() {
            let core = cpu % self.all_cores();
            let (die, package) = (core / cores, core / cores / dies);
            let own = self.in_cores(core..core + 1);
            let in_die = self.in_cores(die * cores..(die + 1) * cores);
            let dir = format!("cpu/cpu{cpu}");
            if !style.summaries {
                writer.file(&format!("{dir}/online"), if style.offline.contains(cpu) { "0" } else { "1" });
            }
            tree.write(&format!("{dir}/crash_notes"), "1f000");
            if style.offline.contains(cpu) {
                continue;
            }
            writer.file(&format!("{dir}/topology/physical_package_id"), &package.to_string());
            writer.file(&format!("{dir}/topology/die_id"), &(die % dies).to_string());
            writer.file(&format!("{dir}/topology/core_id"), &(core % (dies * cores)).to_string());
            let siblings = if style.old_names { "thread_siblings" } else { "core_cpus" };
            writer.cpus(&format!("{dir}/topology/{siblings}"), "_list", "", &own);
            for (index, (level, kind, size, sharers)) in (0..).zip([
                (1, "Data", "32K", &own),
                (1, "Instruction", "32K", &own),
                (2, "Unified", "1024K", &own),
                (3, "Unified", "32M", &in_die),
            ]) {
                let index = style.first_index + index * style.index_step;
                let cache = format!("{dir}/cache/index{index}");
                writer.file(&format!("{cache}/level"), &level.to_string());
                writer.file(&format!("{cache}/type"), kind);
                writer.file(&format!("{cache}/size"), size);
                writer.file(&format!("{cache}/coherency_line_size"), "64");
                writer.file(&format!("{cache}/ways_of_associativity"), "8");
                writer.file(&format!("{cache}/physical_line_partition"), "1");
                writer.cpus(&format!("{cache}/shared_cpu"), "_list", "_map", sharers);
            }
        }
        for package in 0..packages {
            let node = format!("node/node{package}");
            let cpus = self.in_cores(package * dies * cores..(package + 1) * dies * cores);
            let mut distances = String::new();
            for other in 0..packages {
                let _ = write!(distances, "{} ", if other == package { 10 } else { 21 });
            }
            writer.cpus(&format!("{node}/cpu"), "list", "map", &cpus);
            writer.file(&format!("{node}/distance"), distances.trim());
            writer.file(&format!("{node}/meminfo"), &format!("Node {package} MemTotal:       1024 kB"));
        }
        tree
    }
}

struct Writer<'a> {
    tree: &'a Tree,
    style: &'a Style,
    all: CpuSet,
}

impl Writer<'_> {
    fn file(&self, name: &str, text: &str) {
        let nuls = if self.style.nuls { "\0\0\0" } else { "" };
        self.tree.write_bytes(name, format!("{text}\n{nuls}").as_bytes());
    }

    /// A set of which the kernel names the online CPUs.
    fn cpus(&self, name: &str, list: &str, map: &str, cpus: &CpuSet) {
        let cpus = cpus.difference(&self.style.offline);
        if self.style.lists {
            self.file(&format!("{name}{list}"), &cpus.to_string());
        }
        if self.style.maps {
            let words = self.all.last().unwrap() as usize / 32 + 1 + self.style.spare_words;
            let word = |at: usize| -> u32 {
                (0..32).filter(|bit| cpus.contains(at as u32 * 32 + bit)).map(|bit| 1 << bit).sum()
            };
            let words: Vec<_> = (0..words).rev().map(|at| format!("{:08x}", word(at))).collect();
            self.file(&format!("{name}{map}"), &words.join(","));
        }
    }
}
