//! The leaves that several vendors share: topology levels (0xB, 0x1F, 0x80000026) and deterministic caches (4,
//! 0x8000001D).

use super::place::{CacheOf, Key};
use super::view::{View, bits};
use crate::CacheKind;

/// No CPU names more levels or caches; a dump whose answers never end is cut off here.
const MOST_SUBLEAVES: u32 = 16;

/// One level that a topology leaf enumerates.
#[derive(Debug, Clone, Copy)]
pub(super) struct TopologyLevel {
    /// The level's type as the leaf numbers it.
    pub(super) kind: u32,
    /// How far to shift the APIC id right to get the id of the next outer unit.
    pub(super) shift: u32,
    /// The CPUs of one unit of the level.
    cpus: u32,
}

/// What a topology leaf says about a CPU.
#[derive(Debug, Clone)]
pub(super) struct TopologyLevels {
    pub(super) leaf: u32,
    pub(super) apic_id: u32,
    /// From the innermost; shifts never decrease.
    levels: Vec<TopologyLevel>,
}

impl TopologyLevels {
    /// Level types of leaves 0xB and 0x1F (Intel SDM, CPUID leaf 1FH).
    pub(super) const SMT: u32 = 1;
    pub(super) const MODULE: u32 = 3;
    pub(super) const DIE: u32 = 5;

    /// Reads leaf 0xB, 0x1F or 0x80000026. `None` if the CPU lacks it or names only threads, as when a dump has only
    /// sub-leaf 0.
    fn read(view: &View<'_>, leaf: u32) -> Option<Self> {
        let first = view.get(leaf, 0);
        if bits(first.ebx, 15, 0) == 0 {
            return None;
        }
        let mut levels = Vec::<TopologyLevel>::new();
        for subleaf in 0..MOST_SUBLEAVES {
            let answer = view.get(leaf, subleaf);
            let kind = bits(answer.ecx, 15, 8);
            if kind == 0 {
                break;
            }
            let inner = levels.last().map_or(0, |level| level.shift);
            let shift = bits(answer.eax, 4, 0).max(inner);
            levels.push(TopologyLevel { kind, shift, cpus: bits(answer.ebx, 15, 0) });
        }
        let beyond_threads = levels.iter().any(|level| level.kind != Self::SMT);
        beyond_threads.then_some(Self { leaf, apic_id: first.edx, levels })
    }

    /// The first of these leaves that the CPU has.
    pub(super) fn read_first(view: &View<'_>, leaves: [u32; 2]) -> Option<Self> {
        leaves.into_iter().find_map(|leaf| Self::read(view, leaf))
    }

    /// The leaf and field, to be named in facts.
    pub(super) fn told_by(&self) -> &'static str {
        match self.leaf {
            0xB => "CPUID 0xB EAX[4:0]",
            0x1F => "CPUID 0x1F EAX[4:0]",
            _ => "CPUID 0x80000026 EAX[4:0]",
        }
    }

    /// The shift of the level with this type, which gives the ids of the units that hold its instances.
    pub(super) fn shift_of(&self, kind: u32) -> Option<u32> {
        self.levels.iter().find(|level| level.kind == kind).map(|level| level.shift)
    }

    /// The shift below the level with this type, which gives the ids of its own instances.
    pub(super) fn shift_to(&self, kind: u32) -> Option<u32> {
        let at = self.levels.iter().position(|level| level.kind == kind)?;
        Some(at.checked_sub(1).map_or(0, |below| self.levels[below].shift))
    }

    /// The number of CPUs of the outermost unit, the package.
    pub(super) fn package_cpus(&self) -> u32 {
        self.levels.last().map_or(0, |level| level.cpus)
    }

    /// The outermost shift, which gives the package's id.
    pub(super) fn package_shift(&self) -> u32 {
        self.levels.last().map_or(0, |level| level.shift)
    }
}

/// A cache as leaf 4 or 0x8000001D describes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheLeaf {
    pub(super) level: u8,
    pub(super) kind: CacheKind,
    pub(super) size_bytes: u64,
    pub(super) line_bytes: u32,
    pub(super) ways: u32,
    /// How many APIC ids share it.
    pub(super) shared_by: u32,
}

impl CacheLeaf {
    /// The same cache, shared by the CPUs of the same key.
    pub(super) fn with_key(self, key: Key) -> CacheOf {
        let Self { level, kind, size_bytes, line_bytes, ways, .. } = self;
        CacheOf { level, kind, size_bytes, line_bytes, ways: Some(ways), key }
    }
}

/// The caches of leaf 4 or 0x8000001D.
pub(super) fn cache_leaves(view: &View<'_>, leaf: u32) -> Vec<CacheLeaf> {
    let answers = (0..MOST_SUBLEAVES).map(|subleaf| view.get(leaf, subleaf));
    let present = answers.take_while(|answer| bits(answer.eax, 4, 0) != 0);
    let caches = present.filter_map(|answer| {
        let kind = match bits(answer.eax, 4, 0) {
            1 => CacheKind::Data,
            2 => CacheKind::Instruction,
            3 => CacheKind::Unified,
            _ => return None,
        };
        let line_bytes = bits(answer.ebx, 11, 0) + 1;
        let partitions = bits(answer.ebx, 21, 12) + 1;
        let ways = bits(answer.ebx, 31, 22) + 1;
        let sets = u64::from(answer.ecx) + 1;
        let set_bytes = u64::from(line_bytes) * u64::from(partitions) * u64::from(ways);
        let fully_associative = answer.eax & 1 << 9 != 0;
        Some(CacheLeaf {
            level: bits(answer.eax, 7, 5) as u8,
            kind,
            size_bytes: set_bytes.saturating_mul(sets),
            line_bytes,
            ways: if fully_associative { 0 } else { ways },
            shared_by: bits(answer.eax, 25, 14) + 1,
        })
    });
    caches.collect()
}
