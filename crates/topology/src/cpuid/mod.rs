//! Topology from the CPUID instruction: dumps of several dialects, the live machine, and the decoding of both.

mod decode;
mod dump;
mod parse;

pub use decode::decode;
pub use dump::{CpuAnswers, Dump, Registers};
pub use parse::{looks_like, parse, parse_dir, read};
