//! The CPUs of a copy.

use coho_platform::CpuSet;

/// Where the processes of a copy run: all on `first`, but the second process of a pair on `second`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The CPUs of all processes but those of `second`.
    pub first: CpuSet,
    /// The CPUs of the second process of a pair, if they are others.
    pub second: Option<CpuSet>,
}

impl Seat {
    /// All of them.
    pub fn cpus(&self) -> CpuSet {
        self.second.iter().fold(self.first.clone(), |all, second| all.union(second))
    }

    /// Every process on one CPU.
    pub fn one(cpu: u32) -> Self {
        Self { first: CpuSet::from_iter([cpu]), second: None }
    }

    /// The first process on the first CPU, the second on the second.
    pub fn pair([a, b]: [u32; 2]) -> Self {
        Self { first: CpuSet::from_iter([a]), second: Some(CpuSet::from_iter([b])) }
    }
}
