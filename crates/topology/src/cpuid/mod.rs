//! Topology from the CPUID instruction: dumps of several dialects, the live machine, and the decoding of both.
//!
//! A [`Dump`] holds what every CPU answered. [`live`] asks this machine; [`parse`] and [`read`] read what
//! hwloc-gather-cpuid, libcpuid, AIDA64, InstLatX64 or `cpuid -r` wrote about another; [`decode`] turns a dump into a
//! [`Topology`](crate::Topology). So a machine can be studied without being at hand:
//!
//! ```
//! use coho_topology::cpuid;
//!
//! // Two CPUs of a family 15h processor, as coho prints them: one unit of two cores.
//! let text = "\
//! cpu 0 0x00000000 0x00000000 0x0000000d 0x68747541 0x444d4163 0x69746e65
//! cpu 0 0x00000001 0x00000000 0x00600f12 0x00020800 0x00000000 0x10000000
//! cpu 0 0x80000000 0x00000000 0x8000001e 0x68747541 0x444d4163 0x69746e65
//! cpu 0 0x80000008 0x00000000 0x00003030 0x00000000 0x00004001 0x00000000
//! cpu 0 0x8000001e 0x00000000 0x00000010 0x00000100 0x00000000 0x00000000
//! cpu 1 0x00000000 0x00000000 0x0000000d 0x68747541 0x444d4163 0x69746e65
//! cpu 1 0x00000001 0x00000000 0x00600f12 0x01020800 0x00000000 0x10000000
//! cpu 1 0x80000000 0x00000000 0x8000001e 0x68747541 0x444d4163 0x69746e65
//! cpu 1 0x80000008 0x00000000 0x00003030 0x00000000 0x00004001 0x00000000
//! cpu 1 0x8000001e 0x00000000 0x00000011 0x00000100 0x00000000 0x00000000";
//! let topology = cpuid::decode(&cpuid::parse(text)?)?;
//! let counts = topology.counts();
//! assert_eq!((counts.package, counts.module, counts.core), (1, 1, 2));
//! assert_eq!(topology.pus[1].apic_id, Some(0x11));
//! for fact in &topology.facts {
//!     println!("{}: {} ({})", fact.level, fact.by, fact.source);
//! }
//! # Ok::<(), coho_topology::Error>(())
//! ```

mod decode;
mod dump;
mod live;
mod parse;

pub use decode::decode;
pub use dump::{CpuAnswers, Dump, Registers};
pub use live::{allowed_cpus, live, live_by_device};
pub use parse::{looks_like, parse, parse_dir, read};
