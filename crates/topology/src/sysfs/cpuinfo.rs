//! Packages and cores from `proc/cpuinfo`, for kernels and copies whose sysfs has no `topology` directories.

use std::path::PathBuf;

use super::files::{Notes, bounded};
use super::units::by_id;
use super::{Reading, identity};
use crate::{CpuSet, Error, Level};

/// More than 8192 CPUs need.
const MAX_BYTES: usize = 32 << 20;

/// Takes `physical id` and `core id` of each online CPU.
pub(super) fn read(
    reading: &mut Reading,
    candidates: &[PathBuf],
    online: &CpuSet,
    notes: &Notes,
) -> Result<(), Error> {
    let text = candidates.iter().find_map(|path| match bounded(path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) => {
            notes.add(error);
            None
        }
    });
    let mut packages = Vec::new();
    let mut cores = Vec::new();
    for entry in text.iter().flat_map(|text| text.split("\n\n")) {
        let number = |name| identity::field(entry, name)?.parse::<u32>().ok();
        let Some(cpu) = number("processor").filter(|cpu| online.contains(*cpu)) else { continue };
        let Some(package) = number("physical id") else { continue };
        packages.push((cpu, package));
        // If there is one core, all threads of the package belong to it.
        let only = number("cpu cores").filter(|cores| *cores == 1).map(|_| 0);
        cores.extend(number("core id").or(only).map(|core| (cpu, (package, core))));
    }
    if packages.len() == online.len() {
        reading.topology.packages = by_id(reading, packages, |package| *package)?;
        reading.topology.facts.retain(|fact| fact.level != Level::Package);
        reading.tell(Level::Package, "proc/cpuinfo: physical id");
    }
    if cores.len() == online.len() {
        reading.topology.cores = by_id(reading, cores, |(_, core)| *core)?;
        reading.tell(Level::Core, "proc/cpuinfo: physical id, core id");
    }
    Ok(())
}
