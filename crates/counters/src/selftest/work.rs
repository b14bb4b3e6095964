//! Work whose events are known, sized by the machine's caches.

use std::fmt;

use super::Caches;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// How far the loads of a walk reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Within the level-1 data cache.
    L1,
    /// Within the level-2 cache and beyond level 1.
    L2,
    /// Within the level-3 cache and beyond level 2.
    L3,
    /// In no cache: the lines are flushed from all caches before the walk. So the walk need not be larger than the
    /// last-level cache, whose size a hypervisor may misreport and of which a guest may own only a part.
    Memory,
}

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Loads each of which needs the one before, along one random cycle through all lines.
    Chase(Reach),
    /// Instructions that do nothing, over more memory than the instruction cache holds.
    Nops,
    /// Additions each of which needs the one before.
    Additions,
    /// Stores within the level-1 data cache.
    Stores,
}

/// A piece of work of known size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Work {
    /// What is done.
    pub kind: Kind,
    /// The memory that it uses, in bytes; for [`Kind::Nops`] that of the instructions.
    pub bytes: usize,
    /// How many loads, stores or additions; for [`Kind::Nops`] how many lines of instructions.
    pub operations: u64,
}

/// Loads, stores or additions of a piece of work.
const OPERATIONS: u64 = 1 << 16;
/// The most memory that a walk visits, so that it takes some ms.
const LARGEST: usize = 32 * MIB;
/// The range of line sizes of all CPUs.
const LINE_SIZES: std::ops::RangeInclusive<usize> = 16..=1024;
/// Lines that are flushed and walked.
const FLUSHED_LINES: usize = 1 << 14;
/// Lines from one flushed line to the next: the prefetcher of neighbouring lines fetches nothing useful.
pub(super) const FLUSHED_STRIDE: usize = 4;
/// How often the nops are executed.
pub(super) const NOP_PASSES: u64 = 16;
/// Instructions of a block of additions in `clock`: 64 of them, a decrement and a jump.
const PER_BLOCK: u64 = 66;
/// Additions of such a block.
pub(super) const BLOCK: u64 = 64;
/// Load, decrement, jump.
const PER_STEP: u64 = 3;
/// Store, next index, wrap, decrement, jump.
const PER_STORE: u64 = 5;

impl Work {
    /// The pieces of work that fit a machine with these caches: those of the paper and of its reference points if they
    /// fit (24 KiB, 256 KiB, 8 MiB; 64 KiB of nops), otherwise the nearest ones that do.
    ///
    /// Empty for a line size that no CPU has.
    pub fn that_fits(caches: &Caches) -> Vec<Self> {
        let line = caches.line_bytes;
        let mut all = Vec::new();
        if !LINE_SIZES.contains(&line) || !line.is_power_of_two() {
            return all;
        }
        let mut chase = |reach, bytes: usize, at_least: usize, steps: Option<u64>| {
            let bytes = bytes / line * line;
            if bytes >= at_least.max(2 * line) {
                let operations = steps.unwrap_or((bytes / line) as u64);
                all.push(Self { kind: Kind::Chase(reach), bytes, operations });
            }
        };
        if let Some(l1d) = caches.l1d_bytes {
            chase(Reach::L1, (24 * KIB).min(l1d / 4 * 3), 0, Some(OPERATIONS));
            if let Some(l2) = caches.l2_bytes {
                let bytes = (256 * KIB).max(l1d.saturating_mul(4)).min(l2 / 2).min(LARGEST);
                chase(Reach::L2, bytes, l1d.saturating_mul(2), Some(OPERATIONS));
            }
        }
        if let (Some(l2), Some(l3)) = (caches.l2_bytes, caches.l3_bytes) {
            let bytes = (8 * MIB).max(l2.saturating_mul(4)).min(l3 / 2).min(LARGEST);
            chase(Reach::L3, bytes, l2.saturating_mul(2), None);
        }
        chase(Reach::Memory, FLUSHED_LINES * FLUSHED_STRIDE * line, 0, Some(FLUSHED_LINES as u64));
        let nops = (64 * KIB).max(caches.l1i_bytes.unwrap_or(0).saturating_mul(2)).min(MIB) / line * line;
        all.push(Self { kind: Kind::Nops, bytes: nops, operations: NOP_PASSES * (nops / line) as u64 });
        all.push(Self { kind: Kind::Additions, bytes: 0, operations: OPERATIONS });
        all.push(Self { kind: Kind::Stores, bytes: 16 * KIB, operations: OPERATIONS });
        all
    }

    /// Instructions of the work itself.
    pub(super) fn instructions(&self) -> u64 {
        const NOP_BYTES: u64 = if cfg!(target_arch = "x86_64") { 1 } else { 4 };
        match self.kind {
            Kind::Chase(_) => PER_STEP * self.operations,
            Kind::Nops => self.bytes as u64 / NOP_BYTES * NOP_PASSES,
            Kind::Additions => self.operations / BLOCK * PER_BLOCK,
            Kind::Stores => PER_STORE * self.operations,
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kib, n) = (self.bytes / KIB, self.operations);
        match self.kind {
            Kind::Chase(Reach::Memory) => write!(f, "{n} loads of flushed lines"),
            Kind::Chase(_) => write!(f, "{n} chained loads over {kib} KiB"),
            Kind::Nops => write!(f, "{n} lines of nops over {kib} KiB"),
            Kind::Additions => write!(f, "{n} additions"),
            Kind::Stores => write!(f, "{n} stores over {kib} KiB"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn work(caches: &Caches, kind: Kind) -> Option<Work> {
        Work::that_fits(caches).into_iter().find(|work| work.kind == kind)
    }

    #[test]
    fn the_papers_sizes_where_they_fit() {
        let zen_3 = Caches {
            line_bytes: 64,
            l1d_bytes: Some(32 * KIB),
            l1i_bytes: Some(32 * KIB),
            l2_bytes: Some(512 * KIB),
            l3_bytes: Some(32 * MIB),
        };
        let bytes = |kind| work(&zen_3, kind).unwrap().bytes;
        assert_eq!(bytes(Kind::Chase(Reach::L1)), 24 * KIB);
        assert_eq!(bytes(Kind::Chase(Reach::L2)), 256 * KIB);
        assert_eq!(bytes(Kind::Chase(Reach::L3)), 8 * MIB);
        assert_eq!(bytes(Kind::Nops), 64 * KIB);
        assert_eq!(work(&zen_3, Kind::Nops).unwrap().operations, NOP_PASSES * 1024);
    }

    #[test]
    fn no_work_for_caches_that_are_not_known() {
        let unknown =
            Caches { line_bytes: 64, l1d_bytes: None, l1i_bytes: None, l2_bytes: None, l3_bytes: None };
        assert!(work(&unknown, Kind::Chase(Reach::L1)).is_none());
        assert!(work(&unknown, Kind::Chase(Reach::L3)).is_none());
        assert!(work(&unknown, Kind::Chase(Reach::Memory)).is_some());
    }

    fn sizes() -> impl Strategy<Value = Option<usize>> {
        prop::option::of(prop_oneof![any::<usize>(), 0..64 * KIB, MIB..1024 * MIB])
    }

    proptest! {
        #[test]
        fn a_chase_fits_its_cache_and_exceeds_the_one_before(
            [l1d, l1i, l2, l3] in [sizes(), sizes(), sizes(), sizes()],
            line in prop_oneof![Just(64usize), 0..2048usize],
        ) {
            let caches = Caches { line_bytes: line, l1d_bytes: l1d, l1i_bytes: l1i, l2_bytes: l2, l3_bytes: l3 };
            for work in Work::that_fits(&caches) {
                prop_assert!(work.operations > 0 && work.bytes <= 64 * MIB);
                let (above, below) = match work.kind {
                    Kind::Chase(Reach::L1) => (0, l1d.unwrap()),
                    Kind::Chase(Reach::L2) => (l1d.unwrap(), l2.unwrap()),
                    Kind::Chase(Reach::L3) => (l2.unwrap(), l3.unwrap()),
                    _ => continue,
                };
                prop_assert!(work.bytes > above && work.bytes < below);
                prop_assert!(work.bytes >= 2 * line && work.bytes.is_multiple_of(line));
            }
        }
    }
}
