//! Sizes of the caches that measurements rely on.

use coho_topology::{CacheKind, Topology};

use crate::Error;

/// Bytes of a line.
pub(super) const LINE: usize = 64;

/// What the CPU has according to the topology; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caches {
    pub(super) l1d: usize,
    /// Its number of ways; 8, the most common, if the machine does not report it.
    pub(super) l1d_ways: usize,
    pub(super) l1i: usize,
    pub(super) l2: usize,
    /// The largest cache of the CPU, shared or not, whatever its level.
    pub(super) last: usize,
}

impl Caches {
    /// The caches of this CPU.
    ///
    /// # Errors
    /// If the machine does not report one of them.
    pub(super) fn of(topology: &Topology, cpu: u32) -> Result<Self, Error> {
        let find = |level: u8, kind: CacheKind| {
            topology.caches.iter().find(|cache| {
                cache.level == level
                    && (cache.kind == kind || cache.kind == CacheKind::Unified)
                    && cache.cpus.contains(cpu)
                    && cache.size_bytes > 0
            })
        };
        let size = |level: u8, kind: CacheKind| {
            find(level, kind).map(|cache| cache.size_bytes as usize).ok_or_else(|| {
                Error::not_available(format!(
                    "the machine does not report the size of CPU {cpu}'s level-{level} cache"
                ))
            })
        };
        let caches = Self {
            l1d: size(1, CacheKind::Data)?,
            l1d_ways: find(1, CacheKind::Data)
                .and_then(|cache| cache.ways)
                .filter(|ways| (2..=32).contains(ways))
                .map_or(8, |ways| ways as usize),
            l1i: size(1, CacheKind::Instruction)?,
            l2: size(2, CacheKind::Data)?,
            last: topology
                .caches
                .iter()
                .filter(|cache| cache.cpus.contains(cpu) && cache.kind != CacheKind::Instruction)
                .map(|cache| cache.size_bytes as usize)
                .max()
                .unwrap_or(0),
        };
        // They must be whole pages and less than the next level, as the sizes of primed and swept sets are computed
        // from them.
        if caches.l1d < 4096 || caches.l2 < 2 * caches.l1d || caches.l2 > 256 << 20 {
            let Self { l1d, l2, .. } = caches;
            return Err(Error::not_available(format!(
                "a level-1 data cache of {l1d} bytes below a level-2 cache of {l2} cannot be measured by time"
            )));
        }
        Ok(caches)
    }
}

#[cfg(test)]
mod tests {
    use coho_topology::{Cache, CpuSet};

    use super::*;

    #[test]
    fn finds_the_cpu_s_own() {
        let cache = |level, kind, size_bytes, cpus: &str| Cache {
            level,
            kind,
            size_bytes,
            line_bytes: Some(64),
            ways: (size_bytes == 48 << 10).then_some(12),
            cpus: cpus.parse::<CpuSet>().unwrap(),
        };
        let caches = vec![
            cache(1, CacheKind::Data, 32 << 10, "0"),
            cache(1, CacheKind::Data, 48 << 10, "1"),
            cache(1, CacheKind::Instruction, 64 << 10, "0-1"),
            cache(2, CacheKind::Unified, 1 << 20, "0-1"),
        ];
        let mut topology = Topology { caches, ..Topology::default() };
        let caches = Caches::of(&topology, 1).unwrap();
        let last = 1 << 20;
        assert_eq!(caches, Caches { l1d: 48 << 10, l1d_ways: 12, l1i: 64 << 10, l2: 1 << 20, last });
        assert_eq!(Caches::of(&topology, 0).unwrap().l1d_ways, 8);
        assert!(Caches::of(&topology, 2).unwrap_err().to_string().contains("CPU 2's level-1"));
        topology.caches[3].size_bytes = 32 << 10;
        assert!(Caches::of(&topology, 1).is_err());
    }
}
