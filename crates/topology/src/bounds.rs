//! Bounds on what a source from outside may make this crate hold in memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::{Cache, CacheKind, CpuSet, Error, Level, Topology};

/// Sum of the mask words of all objects that one source may describe: 32 MiB. 8192 CPUs, each with a core and
/// three caches of its own, take less.
const MAX_WORDS: usize = 1 << 22;

/// Counts the memory that a source's CPU sets take.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    words: usize,
}

impl Budget {
    /// Accounts for a set.
    ///
    /// # Errors
    /// If the sets together are larger than any machine's.
    pub(crate) fn charge(&mut self, set: &CpuSet) -> Result<(), Error> {
        self.charge_words(set.words().len())
    }

    /// Accounts for a set for each of these CPUs, which drawings and other formats hold: a short list can ask for many.
    ///
    /// # Errors
    /// As for [`Budget::charge`].
    pub(crate) fn charge_each(&mut self, cpus: &CpuSet) -> Result<(), Error> {
        cpus.iter().try_for_each(|cpu| self.charge_words(cpu as usize / 64 + 1))
    }

    /// Accounts for a set of so many 64-bit words.
    ///
    /// # Errors
    /// As for [`Budget::charge`].
    pub(crate) fn charge_words(&mut self, words: usize) -> Result<(), Error> {
        self.words += words + 1;
        if self.words > MAX_WORDS {
            return Err(Error::new("more objects and CPUs than any machine has: not read further"));
        }
        Ok(())
    }
}

/// Reads an opened file of at most `limit` bytes as text.
///
/// # Errors
/// If it cannot be read, is longer, or is no UTF-8; the error names `path`.
pub fn read_text(file: File, path: &Path, limit: u64) -> Result<String, Error> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| Error::io(path, &error))?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(format!("larger than {limit} bytes")).in_file(path));
    }
    String::from_utf8(bytes).map_err(|_| Error::new("not a text file (no UTF-8)").in_file(path))
}

/// Checks what the rest of the crate relies on: CPUs that exist, levels whose objects do not overlap, cache
/// levels from 1 to 4, at least one package and node.
///
/// # Errors
/// If the topology, read from a file that anybody may have written, breaks one of these.
pub(crate) fn check(topology: &Topology) -> Result<(), Error> {
    let mut cpus = CpuSet::new();
    for pu in &topology.pus {
        if !cpus.try_insert(pu.os)? {
            return Err(Error::new(format!("describes CPU {} twice", pu.os)));
        }
    }
    if cpus.is_empty() {
        return Err(Error::new("describes no CPU"));
    }
    if topology.packages.is_empty() || topology.numa_nodes.is_empty() {
        return Err(Error::new("describes no package or no memory node"));
    }
    if let Some(cache) = topology.caches.iter().find(|cache| !(1..=4).contains(&cache.level)) {
        return Err(Error::new(format!("describes a cache of level {}", cache.level)));
    }
    for level in [Level::Package, Level::Die, Level::Numa, Level::Module, Level::Core, Level::Kind] {
        disjoint(level, topology.partition(level), &cpus)?;
    }
    for (number, level) in [(1, Level::L1), (2, Level::L2), (3, Level::L3), (4, Level::L4)] {
        disjoint(level, topology.partition(level), &cpus)?;
        let instruction = |cache: &&Cache| cache.level == number && cache.kind == CacheKind::Instruction;
        disjoint(
            level,
            topology.caches.iter().filter(instruction).map(|cache| &cache.cpus).collect(),
            &cpus,
        )?;
    }
    Ok(())
}

fn disjoint(level: Level, sets: Vec<&CpuSet>, cpus: &CpuSet) -> Result<(), Error> {
    let mut seen = CpuSet::new();
    for set in sets {
        if set.intersects(&seen) {
            return Err(Error::new(format!("{level} objects overlap: CPU {}", set.intersection(&seen))));
        }
        if !set.is_subset(cpus) {
            let unknown = set.difference(cpus);
            return Err(Error::new(format!("a {level} holds CPU {unknown}, which is not described")));
        }
        seen = seen.union(set);
    }
    Ok(())
}
