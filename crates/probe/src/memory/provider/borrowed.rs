//! Device memory whose contents are restored.

use coho_profile::CacheType;

use super::super::Region;
use super::super::device::Mapping;

/// The widest access that many devices accept.
type Word = u32;

/// A mapping and its former contents.
struct Borrowed {
    contents: Vec<Word>,
    mapping: Mapping,
}

/// A mapping as a region; its present contents are restored when it is dropped.
///
/// # Safety
/// Nothing else may use the memory, and reading and writing it, 4 to 64 bytes at a time, must be safe.
pub(super) unsafe fn region(mapping: Mapping, cache_type: CacheType) -> Region {
    let (start, bytes) = (mapping.start(), mapping.bytes());
    let words = start.cast::<Word>();
    // SAFETY: within the mapping; else the caller's promise.
    let contents =
        (0..bytes / size_of::<Word>()).map(|at| unsafe { words.add(at).read_volatile() }).collect();
    // SAFETY: mapped until the owner is dropped; else the caller's promise.
    unsafe { Region::from_raw(start, bytes, cache_type, Borrowed { contents, mapping }) }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let words = self.mapping.start().cast::<Word>();
        for (at, &word) in self.contents.iter().enumerate() {
            // SAFETY: as many words as were read from there.
            unsafe { words.add(at).write_volatile(word) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::device::Device;

    #[test]
    fn puts_back_what_stood_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bar");
        let before: Vec<u8> = (0..8192u32).map(|at| at as u8 ^ (at >> 8) as u8).collect();
        std::fs::write(&path, &before).unwrap();
        let mapping = Device::open(&path, 0).unwrap().map(0, 4096).unwrap();
        // SAFETY: the file is this test's own.
        let region = unsafe { region(mapping, CacheType::Uncached) };
        region.touch();
        // SAFETY: within the region.
        unsafe { region.start().write_bytes(0xaa, region.bytes()) };
        assert_eq!(std::fs::read(&path).unwrap()[100], 0xaa);
        drop(region);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
