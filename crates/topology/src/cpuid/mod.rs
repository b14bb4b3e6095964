//! Topology from the CPUID instruction: dumps of several dialects, the live machine, and the decoding of both.

mod dump;

pub use dump::{CpuAnswers, Dump, Registers};
