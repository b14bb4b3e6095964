//! CPUID.

use std::arch::x86_64::{__cpuid_count, CpuidResult};

use super::{Identity, Vendor};

#[allow(unused_unsafe)]
fn leaf(leaf: u32, subleaf: u32) -> CpuidResult {
    // SAFETY: CPUID exists on every x86-64 CPU and is unprivileged.
    unsafe { __cpuid_count(leaf, subleaf) }
}

pub(super) fn identity() -> Identity {
    let zero = leaf(0, 0);
    let text: Vec<u8> =
        [zero.ebx, zero.edx, zero.ecx].iter().flat_map(|register| register.to_le_bytes()).collect();
    let vendor = match text.as_slice() {
        b"GenuineIntel" => Vendor::Intel,
        b"AuthenticAMD" | b"HygonGenuine" => Vendor::Amd,
        _ => Vendor::Other,
    };
    let mut identity = Identity::from_signature(vendor, leaf(1, 0).eax);
    if vendor == Vendor::Intel && zero.eax >= 7 {
        let seven = leaf(7, 0).edx;
        identity.amx = seven >> 24 & 1 == 1;
        let hybrid = seven >> 15 & 1 == 1;
        identity.efficient = hybrid && zero.eax >= 0x1A && leaf(0x1A, 0).eax >> 24 == 0x20;
    }
    identity
}
