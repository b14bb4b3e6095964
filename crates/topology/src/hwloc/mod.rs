//! hwloc's XML (<https://www.open-mpi.org/projects/hwloc/>): versions 1 and 2 are read, version 2 is written.
//!
//! Modules are Groups of subtype `Module`, with the kinds that hwloc uses for AMD's compute units and Intel's modules.

mod parse;
mod write;

pub use parse::parse;
pub use write::write;

/// hwloc's kinds of Groups that are modules here: Intel's modules and tiles, AMD's compute units, Linux's
/// clusters (include/private/misc.h of hwloc 2).
const MODULE_KINDS: [u32; 4] = [INTEL_MODULE, 103, AMD_COMPUTE_UNIT, 140];
const INTEL_MODULE: u32 = 102;
const AMD_COMPUTE_UNIT: u32 = 120;
/// The subtype that marks a module whatever its kind.
const MODULE: &str = "Module";
