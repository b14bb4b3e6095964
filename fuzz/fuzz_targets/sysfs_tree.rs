//! Sysfs trees whose files hold what the input says: lines `file text`, the file one of those that are read.
#![no_main]

use coho_topology::{hwloc, sysfs, tree};
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 38] = [
    "../../../proc/cpuinfo",
    "cpu/online",
    "cpu/present",
    "cpu/cpu0/online",
    "cpu/cpu0/topology/physical_package_id",
    "cpu/cpu0/topology/die_id",
    "cpu/cpu0/topology/core_id",
    "cpu/cpu0/topology/core_cpus_list",
    "cpu/cpu0/topology/core_siblings",
    "cpu/cpu0/topology/thread_siblings",
    "cpu/cpu0/topology/die_cpus",
    "cpu/cpu0/topology/cluster_id",
    "cpu/cpu0/topology/cluster_cpus_list",
    "cpu/cpu0/cache/index0/level",
    "cpu/cpu0/cache/index0/type",
    "cpu/cpu0/cache/index0/size",
    "cpu/cpu0/cache/index0/shared_cpu_list",
    "cpu/cpu0/cache/index0/shared_cpu_map",
    "cpu/cpu0/cache/index0/ways_of_associativity",
    "cpu/cpu1/online",
    "cpu/cpu1/topology/core_id",
    "cpu/cpu1/topology/physical_package_id",
    "cpu/cpu1/topology/thread_siblings_list",
    "cpu/cpu1/topology/cluster_id",
    "cpu/cpu1/topology/cluster_cpus_list",
    "cpu/cpu1/cache/index0/level",
    "cpu/cpu1/cache/index0/shared_cpu_list",
    "cpu/cpu1/cpu_capacity",
    "node/online",
    "node/node0/cpulist",
    "node/node0/meminfo",
    "node/node1/cpumap",
    "node/node1/distance",
    "node/node1/cpulist",
    "cpu/cpu0/topology/die_cpus_list",
    "cpu/cpu1/topology/core_siblings_list",
    "cpu/cpu1/topology/die_id",
    "cpu/cpu1/cache/index0/shared_cpu_map",
];

fuzz_target!(|data: &[u8]| {
    let dir = tempfile::tempdir_in("/dev/shm").expect("a temporary directory");
    let system = dir.path().join("sys/devices/system");
    std::fs::create_dir_all(system.join("cpu")).expect("a directory");
    for line in data.split(|&byte| byte == b'\n').take(FILES.len()) {
        let [file, text @ ..] = line else { continue };
        let path = system.join(FILES[usize::from(*file) % FILES.len()]);
        std::fs::create_dir_all(path.parent().expect("below the directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let Ok(topology) = sysfs::read(dir.path()) else { return };
    let _ = hwloc::write(&topology);
    let _ = tree::render(&topology, 80);
});
