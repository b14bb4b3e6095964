//! One CPU's answers, limited to the leaves that it says it has.

use raw_cpuid::{CpuId, CpuIdReader, CpuIdResult};

use crate::cpuid::dump::{CpuAnswers, Registers};

/// The first leaf of the extended range.
const EXTENDED: u32 = 0x8000_0000;
/// The hypervisors' range, which leaf 0's maximum does not cover.
const HYPERVISOR: std::ops::Range<u32> = 0x4000_0000..0x4001_0000;

/// Answers up to the CPU's highest leaves: beyond them, Intel's CPUs answer with another leaf's data, and some dumps
/// contain that.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    cpu: &'a CpuAnswers,
    last_basic: u32,
    last_extended: u32,
}

impl<'a> View<'a> {
    pub(super) fn new(cpu: &'a CpuAnswers) -> Self {
        let last_extended = cpu.query(EXTENDED, 0).eax;
        // CPUs without the extended range answer with the data of their last basic leaf.
        let extended_range = EXTENDED..EXTENDED + 0x1_0000;
        let last_extended = if extended_range.contains(&last_extended) { last_extended } else { 0 };
        Self { cpu, last_basic: cpu.query(0, 0).eax, last_extended }
    }

    pub(super) fn os(&self) -> u32 {
        self.cpu.os
    }

    pub(super) fn has(&self, leaf: u32) -> bool {
        match leaf {
            leaf if leaf >= EXTENDED => leaf <= self.last_extended,
            leaf if HYPERVISOR.contains(&leaf) => true,
            leaf => leaf <= self.last_basic,
        }
    }

    pub(super) fn get(&self, leaf: u32, subleaf: u32) -> Registers {
        if self.has(leaf) { self.cpu.query(leaf, subleaf) } else { Registers::default() }
    }

    /// The decoder of the leaves that identify the processor and its features.
    pub(super) fn features(self) -> CpuId<Self> {
        CpuId::with_cpuid_reader(self)
    }
}

impl CpuIdReader for View<'_> {
    fn cpuid2(&self, leaf: u32, subleaf: u32) -> CpuIdResult {
        let Registers { eax, ebx, ecx, edx } = self.get(leaf, subleaf);
        CpuIdResult { eax, ebx, ecx, edx }
    }
}

/// Bits `low..=high` of a register.
pub(super) fn bits(register: u32, high: u32, low: u32) -> u32 {
    register >> low & (u32::MAX >> (31 - (high - low)))
}

/// The number of low APIC id bits that tell `count` units apart: `count` rounded up to a power of two by its highest
/// bit, so that 10 and 14 take 4 bits. 0 takes none, as 1 does.
pub(super) fn id_bits(count: u32) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields_reach_both_ends() {
        assert_eq!(bits(0xFFFF_FFFF, 31, 0), 0xFFFF_FFFF);
        assert_eq!(bits(0x8000_0001, 31, 31), 1);
        assert_eq!(bits(0x0000_C140, 15, 12), 0xC);
    }

    #[test]
    fn counts_round_up_by_their_highest_bit() {
        let bits: Vec<_> = [0, 1, 2, 5, 6, 7, 8, 10, 12, 14, 20, 28, 4096].map(id_bits).into();
        assert_eq!(bits, [0, 0, 1, 3, 3, 3, 3, 4, 4, 4, 5, 5, 12]);
    }
}
