//! What a machine says it is: packages, dies, memory nodes, caches, modules, cores and CPUs, read from CPUID,
//! Linux's sysfs, hwloc's XML or FreeBSD's `kern.sched.topology_spec` into one [`Topology`].
#![warn(missing_docs)]

mod bounds;
pub mod cpuid;
mod detect;
mod error;
pub mod freebsd;
pub mod hwloc;
#[cfg(feature = "serde")]
mod json;
mod mask;
mod nest;
mod plain;
mod recognise;
mod reconcile;
mod size;
pub mod sysfs;
mod topology;
pub mod tree;
mod xml;

pub use bounds::read_text;
pub use coho_platform::{CpuSet, MAX_CPUS};
pub use detect::{detect, detect_with_dump};
pub use error::Error;
pub use recognise::{Loaded, load, load_text};
pub use reconcile::reconcile;
pub use size::size;
pub use topology::{
    Cache, CacheKind, Claim, CoreKind, Counts, CpuIdentity, Disagreement, Fact, Level, NumaNode, Pu, Source,
    Topology, Unit,
};
