//! Bounds on the memory that outside input may make this crate use.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::{Cache, CacheKind, CpuSet, Error, Level, Topology};

/// Sum of the mask words of all objects that one source may describe: 32 MiB. 8192 CPUs, each with a core and
/// three caches of its own, take less.
const MAX_WORDS: usize = 1 << 22;

/// Counts the memory that a source's CPU sets use.
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

    /// Accounts for one set for each of these CPUs, as drawings and other formats hold them: a short list can ask for
    /// many.
    ///
    /// # Errors
    /// As for [`Budget::charge`].
    pub(crate) fn charge_each(&mut self, cpus: &CpuSet) -> Result<(), Error> {
        cpus.iter().try_for_each(|cpu| self.charge_words(cpu as usize / 64 + 1))
    }

    /// Accounts for a set of this many 64-bit words.
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
/// If it cannot be read, is longer, or is not UTF-8; the error names `path`.
pub fn read_text(file: File, path: &Path, limit: u64) -> Result<String, Error> {
    let bytes = read_bytes(file, path, limit)?;
    String::from_utf8(bytes).map_err(|_| Error::new("not a text file (no UTF-8)").in_file(path))
}

/// Reads an opened file of at most `limit` bytes as text in the encodings that tools on Windows also use: UTF-16 with its
/// mark, and Latin-1.
///
/// # Errors
/// If the file cannot be read, is too long or is not text; the error names `path`.
pub(crate) fn read_report(file: File, path: &Path, limit: u64) -> Result<String, Error> {
    let bytes = read_bytes(file, path, limit)?;
    report_text(bytes).ok_or_else(|| Error::new("not a text file").in_file(path))
}

fn read_bytes(file: File, path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| Error::io(path, &error))?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(format!("larger than {limit} bytes")).in_file(path));
    }
    Ok(bytes)
}

fn report_text(bytes: Vec<u8>) -> Option<String> {
    let from_bytes: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        Some([0xFF, 0xFE]) => u16::from_le_bytes,
        Some([0xFE, 0xFF]) => u16::from_be_bytes,
        _ => {
            return match String::from_utf8(bytes) {
                Ok(text) => Some(text),
                // Binary files hold NULs.
                Err(error) if error.as_bytes().contains(&0) => None,
                Err(error) => Some(error.as_bytes().iter().copied().map(char::from).collect()),
            };
        }
    };
    let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| from_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

/// Checks the invariants that the rest of the crate relies on: CPUs that exist, levels whose objects do not overlap,
/// cache levels from 1 to 4, at least one package and node.
///
/// # Errors
/// If the topology breaks one of these; it may come from a file that anybody wrote.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_any_encoding() {
        let utf_16 = |mark: [u8; 2], bytes: fn(u16) -> [u8; 2]| {
            mark.into_iter().chain("CPU ®".encode_utf16().flat_map(bytes)).collect::<Vec<_>>()
        };
        for bytes in [
            "CPU ®".into(),
            b"CPU \xAE".to_vec(),
            utf_16([0xFF, 0xFE], u16::to_le_bytes),
            utf_16([0xFE, 0xFF], u16::to_be_bytes),
        ] {
            assert_eq!(report_text(bytes).as_deref(), Some("CPU ®"));
        }
        for bytes in [&b"\x7fELF\x00\xAE"[..], &[0xFF, 0xFE, 0x00, 0xD8]] {
            assert_eq!(report_text(bytes.into()), None);
        }
    }
}
