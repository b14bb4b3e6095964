//! Sysfs trees in a temporary directory.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use coho_topology::CpuSet;

/// A tree, with `sys/devices/system` and `proc` below its root.
pub struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    pub fn new() -> Self {
        let tree = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(tree.file("cpu")).unwrap();
        tree
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join("sys/devices/system").join(name)
    }

    /// Writes a file below `sys/devices/system`.
    pub fn write(&self, name: &str, text: &str) {
        self.write_bytes(name, format!("{text}\n").as_bytes());
    }

    pub fn write_bytes(&self, name: &str, bytes: &[u8]) {
        put(&self.file(name), bytes);
    }

    /// Writes a file below the root.
    pub fn write_root(&self, name: &str, text: &str) {
        put(&self.path().join(name), text.as_bytes());
    }

    pub fn remove(&self, name: &str) {
        let path = self.file(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }

    /// Puts a symbolic link in a file's place.
    pub fn link(&self, name: &str, target: &str) {
        let path = self.file(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(target, path).unwrap();
    }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

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

impl Machine {
    pub fn build(self) -> Tree {
        let Self { packages, dies, cores, threads } = self;
        let all_cores = packages * dies * cores;
        let tree = Tree::new();
        // CPU n is thread n / all_cores of core n % all_cores.
        let in_cores = |range: std::ops::Range<u32>| -> CpuSet {
            range.flat_map(|core| (0..threads).map(move |thread| thread * all_cores + core)).collect()
        };
        let all = in_cores(0..all_cores).to_string();
        tree.write("cpu/online", &all);
        tree.write("cpu/present", &all);
        tree.write_root(
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Made Up 9000\n\n",
        );
        for core in 0..all_cores {
            let (die, package) = (core / cores, core / cores / dies);
            let own = in_cores(core..core + 1).to_string();
            let in_die = in_cores(die * cores..(die + 1) * cores).to_string();
            for thread in 0..threads {
                let cpu = format!("cpu/cpu{}", thread * all_cores + core);
                tree.write(&format!("{cpu}/topology/physical_package_id"), &package.to_string());
                tree.write(&format!("{cpu}/topology/die_id"), &(die % dies).to_string());
                tree.write(&format!("{cpu}/topology/core_id"), &(core % (dies * cores)).to_string());
                tree.write(&format!("{cpu}/topology/core_cpus_list"), &own);
                for (index, level, kind, size, sharers) in [
                    (0, 1, "Data", "32K", &own),
                    (1, 1, "Instruction", "32K", &own),
                    (2, 2, "Unified", "1024K", &own),
                    (3, 3, "Unified", "32768K", &in_die),
                ] {
                    let cache = format!("{cpu}/cache/index{index}");
                    tree.write(&format!("{cache}/level"), &level.to_string());
                    tree.write(&format!("{cache}/type"), kind);
                    tree.write(&format!("{cache}/size"), size);
                    tree.write(&format!("{cache}/coherency_line_size"), "64");
                    tree.write(&format!("{cache}/ways_of_associativity"), "8");
                    tree.write(&format!("{cache}/shared_cpu_list"), sharers);
                }
            }
        }
        let in_package = dies * cores;
        for package in 0..packages {
            let node = format!("node/node{package}");
            let cpus = in_cores(package * in_package..(package + 1) * in_package);
            let mut distances = String::new();
            for other in 0..packages {
                let _ = write!(distances, "{} ", if other == package { 10 } else { 21 });
            }
            tree.write(&format!("{node}/cpulist"), &cpus.to_string());
            tree.write(&format!("{node}/distance"), distances.trim());
            tree.write(&format!("{node}/meminfo"), &format!("Node {package} MemTotal:       1024 kB"));
        }
        tree.write("node/online", &if packages > 1 { format!("0-{}", packages - 1) } else { "0".to_owned() });
        tree
    }
}
