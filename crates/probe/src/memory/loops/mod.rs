//! Inner loops written by hand, each a row in the description of its kind of register.
//!
//! Each is a function without a prologue that the compiler cannot change: it moves a block: whole steps by the
//! instruction that it is named after, the rest by single bytes. A test disassembles them.

#[macro_use]
mod description;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64/mod.rs"]
mod arch;
#[cfg(all(test, target_arch = "x86_64"))]
mod disassembly;
#[cfg(test)]
mod tests;

use coho_profile::Operation;

use super::Region;

/// Moves `bytes` bytes: writes the byte that `value` holds eight times, reads, or copies.
pub(super) type Code = unsafe extern "C" fn(to: *mut u8, from: *const u8, bytes: usize, value: u64);

/// What a loop's stores do with a line that no cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stores {
    /// There are none.
    None,
    /// They read it first (write-allocate).
    Temporal,
    /// They gather it and write it past the caches.
    NonTemporal,
    /// The CPU chooses.
    Chosen,
}

/// What a CPU may have.
#[derive(Debug, Clone, Copy)]
struct Feature {
    /// As `/proc/cpuinfo` has it; empty for what every CPU has.
    name: &'static str,
    present: fn() -> bool,
}

/// What every CPU has.
const ALWAYS: Feature = Feature { name: "", present: || true };

/// One inner loop.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    op: Operation,
    instruction: &'static str,
    stores: Stores,
    needs: Feature,
    code: Code,
}

const fn write(instruction: &'static str, stores: Stores, needs: Feature, code: Code) -> Loop {
    Loop { op: Operation::Write, instruction, stores, needs, code }
}

const fn read(instruction: &'static str, needs: Feature, code: Code) -> Loop {
    Loop { op: Operation::Read, instruction, stores: Stores::None, needs, code }
}

const fn copy(instruction: &'static str, stores: Stores, needs: Feature, code: Code) -> Loop {
    Loop { op: Operation::Copy, instruction, stores, needs, code }
}

impl Loop {
    /// All loops of this architecture; [`missing`](Self::missing) says whether this CPU lacks one.
    pub fn all() -> &'static [Self] {
        arch::LOOPS
    }

    /// The loop of this operation and instruction.
    pub fn find(op: Operation, instruction: &str) -> Option<&'static Self> {
        Self::all().iter().find(|one| one.op == op && one.instruction == instruction)
    }

    /// What it does with a block.
    pub fn op(&self) -> Operation {
        self.op
    }

    /// The kind of instruction: `plain-8`, `avx2-nt`, …
    pub fn instruction(&self) -> &'static str {
        self.instruction
    }

    /// Whether it has this name or is a form of it: `avx2` also names `avx2-nt`.
    pub fn is_named(&self, name: &str) -> bool {
        self.instruction.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }

    /// Why this CPU cannot execute it; `None` if it can.
    pub fn missing(&self) -> Option<String> {
        (!(self.needs.present)()).then(|| format!("this CPU has no {}", self.needs.name))
    }

    pub(super) fn stores(&self) -> Stores {
        self.stores
    }

    /// Whether it goes through the caches without prefetching lines itself.
    pub(super) fn is_plain_way(&self) -> bool {
        self.stores != Stores::NonTemporal && !self.instruction.contains("prefetchnta")
    }

    /// The function, if this CPU can execute it.
    pub(super) fn code(&self) -> Option<Code> {
        (self.needs.present)().then_some(self.code)
    }

    /// Moves one block: the first `bytes` of the regions, with `value` in each byte written.
    ///
    /// # Panics
    /// If a region is too small, or this CPU cannot execute the loop.
    pub fn run(&self, to: &Region, from: &Region, bytes: usize, value: u8) {
        assert!(bytes <= to.bytes() && bytes <= from.bytes(), "{bytes} bytes exceed a region");
        let code = self.code().expect("the CPU has it");
        // SAFETY: both regions hold this many bytes and begin at a line.
        unsafe { code(to.start().as_ptr(), from.start().as_ptr(), bytes, eightfold(value)) };
        fence();
    }
}

/// What is written where a rate is measured. Not zeros: some CPUs (AMD EPYC 9004) write whole lines of zeros past the
/// caches three times as fast as any other data.
pub(super) const VALUE: u64 = eightfold(0x5A);

/// A byte in all eight of a word.
const fn eightfold(value: u8) -> u64 {
    u64::from_ne_bytes([value; 8])
}

/// Waits until all earlier stores, including those past the caches, are visible to all CPUs.
#[inline(always)]
pub(super) fn fence() {
    arch::fence();
}
