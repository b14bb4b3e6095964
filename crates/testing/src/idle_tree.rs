//! A machine's idle states and governors as plain files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A tree of four CPUs whose states differ in number: the last two have no `C1E`, so that `C6` is `state3` on some and
/// `state2` on others.
#[derive(Debug)]
pub struct Tree(tempfile::TempDir);

impl Default for Tree {
    fn default() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n");
        tree.write("sys/devices/system/cpu/cpuidle/current_governor", "menu\n");
        tree.write("sys/devices/system/cpu/cpufreq/boost", "1\n");
        for cpu in 0..4 {
            let all = [("POLL", 0), ("C1", 2), ("C1E", 10), ("C6", 170)];
            let states = all.iter().filter(|(name, _)| cpu < 2 || *name != "C1E");
            for (number, (name, latency)) in states.enumerate() {
                let file =
                    |what: &str| format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}/{what}");
                tree.write(&file("name"), &format!("{name}\n"));
                tree.write(&file("desc"), &format!("MWAIT {name}\n"));
                tree.write(&file("latency"), &format!("{latency}\n"));
                tree.write(&file("residency"), &format!("{}\n", 3 * latency));
                tree.write(&file("usage"), "7\n");
                tree.write(&file("time"), "7000\n");
                // One is disabled already, and not as coho would write it.
                tree.write(&file("disable"), if (cpu, *name) == (3, "C6") { " 1 \n" } else { "0\n" });
            }
        }
        for (policy, cpus) in [(0, "0 1"), (2, "2 3")] {
            let file = |what: &str| format!("sys/devices/system/cpu/cpufreq/policy{policy}/{what}");
            tree.write(&file("affected_cpus"), &format!("{cpus}\n"));
            tree.write(&file("scaling_governor"), "powersave\n");
            tree.write(&file("scaling_available_governors"), "performance powersave \n");
            tree.write(&file("scaling_driver"), "intel_cpufreq\n");
            tree.write(&file("scaling_min_freq"), "800000\n");
            tree.write(&file("scaling_max_freq"), "3500000\n");
        }
        fs::create_dir(tree.path("run")).unwrap();
        tree
    }
}

impl Tree {
    /// A path of the tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Writes a file, and its folder if need be.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A file's contents.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Every file of `sys`, by path.
    pub fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.path("sys"), &mut files);
        files
    }

    /// Where coho notes what it changes.
    pub fn journal(&self) -> PathBuf {
        self.path("run/coho/idle.json")
    }

    /// Whether a state of a CPU is disabled.
    pub fn disabled(&self, cpu: u32, state: u32) -> bool {
        self.read(&format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable")).trim() == "1"
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.clone(), fs::read(path).unwrap());
        }
    }
}
