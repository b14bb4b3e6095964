//! How fast a CPU moves data: by instruction, memory type, size, and where the data was (Hamada et al.).

mod costs;
mod counts;
mod cuda;
mod device;
mod dma;
mod latency;
mod leavings;
mod lines;
pub mod loaded;
mod loops;
pub mod provider;
mod rates;
mod region;
mod survey;
mod together;
mod transfers;
mod wbinvd;

use std::path::PathBuf;

use coho_platform::pages::Paging;
use coho_profile::{BlockState, CacheType, Fence, Memory, Method, Operation};
use coho_sync::Mapping;

pub use loops::Loop;
pub use region::Region;

use crate::experiment::{Surveyed, Times};
use crate::{Around, Course, Error, Experiment};

/// The parts of the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Rates (Hamada et al., Tables 2 to 6 and 8).
    Rates,
    /// Latency by size.
    Latency,
    /// Lines written back explicitly (Fig. 7).
    Coherence,
    /// What PREFETCHNTA leaves behind (Table 7).
    Prefetchnta,
    /// Transfers by engines other than the CPU (Figs. 1 and 2).
    Dma,
    /// Messages between two processes.
    Transfers,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Rates, Self::Latency, Self::Coherence, Self::Prefetchnta, Self::Dma, Self::Transfers];

    /// The part's field in the section.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Rates => "rates",
            Self::Latency => "latency",
            Self::Coherence => "coherence_cost",
            Self::Prefetchnta => "prefetchnta",
            Self::Dma => "dma",
            Self::Transfers => "transfers",
        }
    }
}

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The parts.
    pub parts: Vec<Part>,
    /// Numbers of threads; powers of two and all CPUs if empty.
    pub threads: Vec<u32>,
    /// Which CPUs they take.
    pub mappings: Vec<Mapping>,
    /// Bytes of a block; the paper's and a sweep to four times the largest cache if empty.
    pub sizes: Vec<u64>,
    /// Operations; all if empty.
    pub operations: Vec<Operation>,
    /// Instructions: `avx2` means `avx2-nt` and its other forms too; all that the CPU supports if empty.
    pub instructions: Vec<String>,
    /// States of the block before; all if empty.
    pub states: Vec<BlockState>,
    /// Where the fence is; if empty, all places for stores past the caches at the paper's sizes, otherwise once a run.
    pub fences: Vec<Fence>,
    /// Memory types; if empty, write-back and those that a provider's self-test proves. A type that is named is
    /// measured even if it cannot be proven. Latency is measured only on write-back memory, and left out if only other types
    /// are named.
    pub types: Vec<CacheType>,
    /// Files of PCI devices' memory that may be written ([`provider::Wish::pci_bars`]).
    pub pci_bars: Vec<PathBuf>,
    /// Physical addresses that may be written.
    pub physical: Vec<provider::Physical>,
    /// Pages of write-back memory.
    pub paging: Paging,
    /// Its NUMA node; that of the thread if `None`.
    pub node: Option<u32>,
    /// Fewer of everything.
    pub quick: bool,
    /// Where, and for how long.
    pub course: Course,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            parts: Part::ALL.to_vec(),
            threads: Vec::new(),
            mappings: vec![Mapping::Sequential, Mapping::BinaryTree],
            sizes: Vec::new(),
            operations: Vec::new(),
            instructions: Vec::new(),
            states: Vec::new(),
            fences: Vec::new(),
            types: Vec::new(),
            pci_bars: Vec::new(),
            physical: Vec::new(),
            paging: Paging::Huge,
            node: None,
            quick: false,
            course: Course::default(),
        }
    }
}

impl Options {
    /// Some seconds: the widest instruction of each kind, the paper's sizes and one beyond the caches.
    pub fn quick() -> Self {
        Self { quick: true, mappings: vec![Mapping::Sequential], ..Self::default() }
    }
}

impl Experiment for Options {
    type Section = Memory;

    fn has_figures(section: &Memory) -> bool {
        !section.parts().is_empty()
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Memory, Error> {
        survey::run(self, around)
    }

    fn holds(&self, earlier: &Memory) -> bool {
        let held = earlier.parts();
        // A part without figures says why.
        held.is_empty() || held.iter().any(|part| self.parts.iter().any(|mine| mine.field() == *part))
    }

    fn merge(&self, measured: &mut Memory, earlier: &Memory) -> bool {
        measured.keep_unmeasured(earlier.clone());
        true
    }
}

impl Surveyed for Options {
    const TIMES: Times = Times::seconds(5, 28);
    const NEEDS_TWO: &'static [&'static str] = &["messages between processes", "rates of shared blocks"];

    fn in_survey(_: bool, course: Course) -> Self {
        Self { course, ..Self::quick() }
    }

    fn in_check(keys: &[String], course: Course) -> Self {
        let parts = [(Part::Rates, "memory.rate"), (Part::Latency, "memory.latency")];
        let parts = parts.into_iter().filter(|(_, wanted)| keys.iter().any(|key| key == wanted));
        Self { parts: parts.map(|(part, _)| part).collect(), ..Self::in_survey(true, course) }
    }

    fn method(section: &mut Memory) -> &mut Method {
        &mut section.method
    }
}
