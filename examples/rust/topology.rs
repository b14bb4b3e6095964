//! What a machine claims that its CPUs share: this machine, or the one that a file describes.
//!
//!     topology [FILE]
//!
//! The file may be a CPUID dump, hwloc's XML, a copy of `/sys`, or what `coho topology --json` prints.

use std::path::Path;

use coho_topology::{Level, Topology, detect, load, size};

fn read() -> Result<Topology, coho_topology::Error> {
    match std::env::args_os().nth(1) {
        Some(file) => Ok(load(Path::new(&file))?.topology),
        None => detect(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let topology = read()?;
    println!("{}", topology.cpu.brand.as_deref().unwrap_or("unknown processor"));
    // From the inside outwards; a level that the machine does not report has no objects.
    for level in Level::OUTWARD {
        let cpus: Vec<_> = topology.partition(level).iter().map(ToString::to_string).collect();
        if !cpus.is_empty() {
            println!("{:10}{}", level.to_string(), cpus.join(" | "));
        }
    }
    for cache in &topology.caches {
        println!("L{} of CPUs {}: {}", cache.level, cache.cpus, size(cache.size_bytes));
    }
    let cpus = topology.cpus();
    for (a, b) in cpus.iter().zip(cpus.iter().skip(1)) {
        println!("CPUs {a} and {b} share: {}", topology.claimed(a, b));
    }
    Ok(())
}
