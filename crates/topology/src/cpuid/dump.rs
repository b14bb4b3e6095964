//! What the CPUID instruction answered, on every CPU of a machine.

use std::collections::BTreeMap;
use std::fmt;

/// The four registers that CPUID answers in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Registers {
    pub eax: u32,
    pub ebx: u32,
    pub ecx: u32,
    pub edx: u32,
}

/// The answers of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuAnswers {
    /// The operating system's number of the CPU.
    pub os: u32,
    /// By leaf and sub-leaf; leaves that ignore ECX stand at sub-leaf 0.
    pub leaves: BTreeMap<(u32, u32), Registers>,
}

impl CpuAnswers {
    /// The answer to a leaf and sub-leaf; all zero where the dump has none, as CPUs answer above their last leaf.
    pub fn query(&self, leaf: u32, subleaf: u32) -> Registers {
        self.leaves.get(&(leaf, subleaf)).copied().unwrap_or_default()
    }
}

/// The answers of every CPU of a machine, ordered by operating-system number.
///
/// Prints as the neutral text `cpu N leaf subleaf eax ebx ecx edx`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// One entry per CPU.
    pub cpus: Vec<CpuAnswers>,
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cpu in &self.cpus {
            for ((leaf, subleaf), Registers { eax, ebx, ecx, edx }) in &cpu.leaves {
                let os = cpu.os;
                writeln!(
                    f,
                    "cpu {os} {leaf:#010x} {subleaf:#010x} {eax:#010x} {ebx:#010x} {ecx:#010x} {edx:#010x}"
                )?;
            }
        }
        Ok(())
    }
}
