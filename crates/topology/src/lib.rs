//! What a machine says it is: packages, dies, memory nodes, caches, modules, cores and CPUs, read from CPUID,
//! Linux's sysfs, hwloc's XML or FreeBSD's `kern.sched.topology_spec` into one [`Topology`].
//!
//! [`detect`] reads this machine, and [`load`] any file or folder that describes one.
//!
//! ```
//! use coho_topology::{Level, load_text};
//!
//! // Two packages of two cores, in FreeBSD's words.
//! let machine = load_text(
//!     r#"<groups>
//!          <group level="1" cache-level="0"><cpu count="4" mask="f">0, 1, 2, 3</cpu><children>
//!            <group level="2" cache-level="3"><cpu count="2" mask="3">0, 1</cpu></group>
//!            <group level="2" cache-level="3"><cpu count="2" mask="c">2, 3</cpu></group>
//!          </children></group>
//!        </groups>"#,
//! )?;
//! assert_eq!(machine.topology.counts().l3, 2);
//! assert_eq!(machine.topology.closest_shared(0, 1), Some(Level::L3));
//! # Ok::<(), coho_topology::Error>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

mod bounds;
mod consistency;
pub mod cpuid;
mod detect;
mod disagreement;
mod error;
pub mod freebsd;
pub mod hwloc;
#[cfg(feature = "serde")]
mod json;
mod mask;
mod nest;
mod numa;
mod plain;
mod recognise;
mod reconcile;
mod sharing;
mod size;
pub mod sysfs;
mod topology;
pub mod tree;
mod xml;

pub use bounds::read_text;
pub use coho_platform::{CpuSet, MAX_CPUS};
pub use detect::{detect, detect_with_dump};
pub use disagreement::Disagreement;
pub use error::Error;
pub use recognise::{Loaded, load, load_text};
pub use reconcile::reconcile;
pub use sharing::Sharing;
pub use size::size;
pub use topology::{
    Cache, CacheKind, CoreKind, Counts, CpuIdentity, Fact, Level, NumaNode, Pu, Source, Topology, Unit,
};
