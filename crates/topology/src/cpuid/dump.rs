//! The answers of the CPUID instruction on every CPU of a machine.

use std::collections::BTreeMap;
use std::fmt;

use crate::{CpuSet, Error, MAX_CPUS};

/// The four registers of a CPUID answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Registers {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

impl Registers {
    /// The registers in the order in which every dump prints them.
    pub const fn new([eax, ebx, ecx, edx]: [u32; 4]) -> Self {
        Self { eax, ebx, ecx, edx }
    }
}

/// Whether a leaf's answer depends on the sub-leaf in ECX.
pub(crate) fn takes_subleaf(leaf: u32) -> bool {
    matches!(leaf, 0x4 | 0x7 | 0xB | 0xD | 0xF | 0x10 | 0x12 | 0x14 | 0x17..=0x20 | 0x23..=0x29)
        || matches!(leaf, 0x8000_001D | 0x8000_0020 | 0x8000_0026)
}

/// The answers of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuAnswers {
    /// The operating system's number of the CPU.
    pub os: u32,
    /// By leaf and sub-leaf; leaves that ignore ECX have sub-leaf 0.
    pub leaves: BTreeMap<(u32, u32), Registers>,
    /// Leaves whose dump gives one answer for every sub-leaf not in `leaves`; printed with sub-leaf `*`.
    pub any_subleaf: BTreeMap<u32, Registers>,
}

impl CpuAnswers {
    /// A CPU that has not answered anything yet.
    pub fn new(os: u32) -> Self {
        Self { os, ..Self::default() }
    }

    /// The answer to a leaf and sub-leaf; all zero if the dump has none, as CPUs answer above their last leaf.
    pub fn query(&self, leaf: u32, subleaf: u32) -> Registers {
        let subleaf = if takes_subleaf(leaf) { subleaf } else { 0 };
        let exact = self.leaves.get(&(leaf, subleaf));
        exact.or_else(|| self.any_subleaf.get(&leaf)).copied().unwrap_or_default()
    }

    /// Records the answer to a leaf and sub-leaf (`None`: to every sub-leaf) unless an earlier one covers it.
    pub(crate) fn answer(&mut self, leaf: u32, subleaf: Option<u32>, registers: Registers) {
        match subleaf {
            None if takes_subleaf(leaf) => {
                self.any_subleaf.entry(leaf).or_insert(registers);
            }
            // An answer for every sub-leaf already covers this one.
            Some(_) if self.any_subleaf.contains_key(&leaf) => {}
            Some(subleaf) if takes_subleaf(leaf) => {
                self.leaves.entry((leaf, subleaf)).or_insert(registers);
            }
            _ => {
                self.leaves.entry((leaf, 0)).or_insert(registers);
            }
        }
    }
}

/// The answers of every CPU of a machine, ordered by operating-system number.
///
/// Prints as the neutral text `cpu N leaf subleaf eax ebx ecx edx`, which [`parse`](super::parse) reads back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// One entry per CPU.
    pub cpus: Vec<CpuAnswers>,
}

impl Dump {
    /// The operating-system numbers of the CPUs that answered.
    ///
    /// # Errors
    /// If a number is not below [`MAX_CPUS`] or occurs twice.
    pub fn cpu_set(&self) -> Result<CpuSet, Error> {
        let mut set = CpuSet::new();
        for cpu in &self.cpus {
            if !set.try_insert(cpu.os)? {
                return Err(Error::new(format!("CPU {} occurs twice in the dump", cpu.os)));
            }
        }
        Ok(set)
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cpu in &self.cpus {
            let os = cpu.os;
            for ((leaf, subleaf), Registers { eax, ebx, ecx, edx }) in &cpu.leaves {
                writeln!(
                    f,
                    "cpu {os} {leaf:#010x} {subleaf:#010x} {eax:#010x} {ebx:#010x} {ecx:#010x} {edx:#010x}"
                )?;
            }
            for (leaf, Registers { eax, ebx, ecx, edx }) in &cpu.any_subleaf {
                writeln!(f, "cpu {os} {leaf:#010x} * {eax:#010x} {ebx:#010x} {ecx:#010x} {edx:#010x}")?;
            }
        }
        Ok(())
    }
}

/// Collects answers that come in any order of CPUs.
#[derive(Default)]
pub(crate) struct Builder {
    cpus: BTreeMap<u32, CpuAnswers>,
}

impl Builder {
    /// The answers so far of the CPU with this number.
    pub(crate) fn cpu(&mut self, os: u32) -> Result<&mut CpuAnswers, Error> {
        if os >= MAX_CPUS {
            return Err(Error::new(format!(
                "CPU number {os} is beyond the largest supported, {}",
                MAX_CPUS - 1
            )));
        }
        Ok(self.cpus.entry(os).or_insert_with(|| CpuAnswers::new(os)))
    }

    pub(crate) fn contains(&self, os: u32) -> bool {
        self.cpus.contains_key(&os)
    }

    /// The dump, or an error if no CPU answered.
    pub(crate) fn finish(self) -> Result<Dump, Error> {
        if self.cpus.values().all(|cpu| cpu.leaves.is_empty()) {
            return Err(Error::new("the CPUID dump holds no answer of any CPU"));
        }
        Ok(Dump { cpus: self.cpus.into_values().collect() })
    }
}
