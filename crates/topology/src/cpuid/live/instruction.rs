//! The instruction itself, if the architecture has it.

#[cfg(target_arch = "x86")]
use std::arch::x86::__cpuid_count;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__cpuid_count;

use crate::Error;
use crate::cpuid::dump::Registers;

/// Whether this architecture has CPUID.
pub(super) fn available() -> Result<(), Error> {
    match cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
        true => Ok(()),
        false => Err(Error::new("CPUID: not available on this architecture")),
    }
}

/// The answer of the CPU that the thread runs on.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[allow(unused_unsafe, reason = "newer toolchains declare the intrinsic safe")]
pub(super) fn cpuid(leaf: u32, subleaf: u32) -> Registers {
    // SAFETY: every processor that the supported Rust targets of this architecture run on has CPUID.
    let answer = unsafe { __cpuid_count(leaf, subleaf) };
    Registers { eax: answer.eax, ebx: answer.ebx, ecx: answer.ecx, edx: answer.edx }
}

/// All zero, as from a CPU without the leaf. Never reached: [`available`] has refused before.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
pub(super) fn cpuid(_: u32, _: u32) -> Registers {
    Registers::default()
}
