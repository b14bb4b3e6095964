//! CPUID's answers that kernels take a topology from, as the topology section keeps them.

use std::collections::BTreeMap;

use coho_topology::cpuid::{CpuAnswers, Dump, Registers};
use serde::{Deserialize, Serialize};

/// The leaves of vendor, APIC ids, caches and cores, which FreeBSD's rules ask for.
const LEAVES: [u32; 11] =
    [0, 1, 4, 0xb, 0x8000_0000, 0x8000_0001, 0x8000_0005, 0x8000_0006, 0x8000_0008, 0x8000_001d, 0x8000_001e];

/// What some CPUs answered to a leaf and sub-leaf.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuidAnswer {
    /// What EAX held.
    pub leaf: u32,
    /// What ECX held; 0 where the answer does not depend on it.
    pub subleaf: u32,
    /// EAX, EBX, ECX and EDX of the answer.
    pub registers: [u32; 4],
    /// The CPUs that gave this answer.
    pub cpus: Vec<u32>,
}

impl CpuidAnswer {
    /// What a dump holds of these leaves; equal answers share a row.
    pub fn of(dump: &Dump) -> Vec<Self> {
        let mut rows = BTreeMap::<(u32, u32, [u32; 4]), Vec<u32>>::new();
        for cpu in &dump.cpus {
            for (&(leaf, subleaf), Registers { eax, ebx, ecx, edx }) in &cpu.leaves {
                if LEAVES.contains(&leaf) {
                    rows.entry((leaf, subleaf, [*eax, *ebx, *ecx, *edx])).or_default().push(cpu.os);
                }
            }
        }
        let row = |((leaf, subleaf, registers), cpus)| Self { leaf, subleaf, registers, cpus };
        rows.into_iter().map(row).collect()
    }

    /// The answers as a dump again; empty for no rows.
    pub fn dump(rows: &[Self]) -> Dump {
        let mut cpus = BTreeMap::<u32, CpuAnswers>::new();
        for row in rows {
            for &cpu in &row.cpus {
                let of_cpu = cpus.entry(cpu).or_insert_with(|| CpuAnswers::new(cpu));
                of_cpu.leaves.insert((row.leaf, row.subleaf), Registers::new(row.registers));
            }
        }
        Dump { cpus: cpus.into_values().collect() }
    }
}

#[cfg(test)]
mod tests {
    use coho_topology::freebsd::{Variant, predict};

    use super::*;
    use crate::{TopologySection, published};

    #[test]
    fn the_rows_that_are_kept_say_what_the_dump_says_to_every_kernels_rules() {
        let dump = published::paper("kimoto-bulldozer").cpuid();
        let topology = coho_topology::cpuid::decode(&dump).unwrap();
        let section = TopologySection { cpuid: CpuidAnswer::of(&dump), ..topology.clone().into() };
        let leaf_0: Vec<_> = section.cpuid.iter().filter(|row| row.leaf == 0).collect();
        assert_eq!((leaf_0.len(), &leaf_0[0].cpus), (1, &vec![0, 1, 2, 3]), "equal answers share a row");
        let read: TopologySection = serde_json::from_str(&serde_json::to_string(&section).unwrap()).unwrap();
        assert_eq!(read, section);
        let kept = CpuidAnswer::dump(&read.cpuid);
        for variant in [Variant::Stock, Variant::Patched, Variant::Modern] {
            let of = |dump| predict(variant, &topology, Some(dump)).unwrap();
            assert_eq!(of(&kept), of(&dump), "{variant:?}");
        }
    }
}
