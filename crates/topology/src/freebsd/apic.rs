//! What the kernels' rules take from a dump: the local APIC ids, and the booting CPU's answers.

use std::collections::HashSet;

use crate::Error;
use crate::cpuid::{Dump, Registers};

/// The machine as the kernels' rules see it.
pub(super) struct Machine<'a> {
    dump: &'a Dump,
    /// Local APIC ids, ascending.
    pub(super) ids: Vec<u32>,
    /// The booting CPU's id: that of the dump's first CPU.
    pub(super) boot: u32,
    pub(super) vendor: Vendor,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    Amd,
    Hygon,
    Intel,
    Other,
}

impl<'a> Machine<'a> {
    pub(super) fn new(dump: &'a Dump) -> Result<Self, Error> {
        let first = dump.cpus.first().ok_or_else(|| Error::new("the dump holds no CPU"))?;
        let leaf_0 = first.query(0, 0);
        let vendor = match [leaf_0.ebx, leaf_0.edx, leaf_0.ecx].map(u32::to_le_bytes).concat().as_slice() {
            b"AuthenticAMD" => Vendor::Amd,
            b"HygonGenuine" => Vendor::Hygon,
            b"GenuineIntel" => Vendor::Intel,
            _ => Vendor::Other,
        };
        let ids = ids(dump, vendor)?;
        let boot = ids[0];
        let mut sorted = ids;
        sorted.sort_unstable();
        Ok(Self { dump, ids: sorted, boot, vendor })
    }

    /// The booting CPU's answer.
    pub(super) fn query(&self, leaf: u32, subleaf: u32) -> Registers {
        self.dump.cpus[0].query(leaf, subleaf)
    }

    /// The highest basic leaf.
    pub(super) fn highest(&self) -> u32 {
        self.query(0, 0).eax
    }

    /// The display family: the extended one added where the base is 15.
    pub(super) fn family(&self) -> u32 {
        let eax = self.query(1, 0).eax;
        match eax >> 8 & 0xf {
            0xf => 0xf + (eax >> 20 & 0xff),
            family => family,
        }
    }

    /// CPUID 0x80000001 ECX.
    pub(super) fn amd_features(&self) -> u32 {
        self.query(0x8000_0001, 0).ecx
    }

    /// How many CPUs agree with the booting CPU's id in the bits from `shift` on.
    pub(super) fn beside_boot(&self, shift: u32) -> usize {
        self.ids.iter().filter(|&&id| shifted(id, shift) == shifted(self.boot, shift)).count()
    }
}

/// CPUID 0x80000001 ECX: more than one core (CmpLegacy).
pub(super) const CMP: u32 = 1 << 1;
/// CPUID 0x80000001 ECX: leaves 0x8000001D and 0x8000001E are announced.
pub(super) const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;

/// The dump's ids in the order of its CPUs. Extended ids are preferred: on some dumps the initial id of
/// leaf 1 counts within the package, or is cut to eight bits.
fn ids(dump: &Dump, vendor: Vendor) -> Result<Vec<u32>, Error> {
    let amd: fn(&crate::cpuid::CpuAnswers) -> u32 = |cpu| cpu.query(0x8000_001e, 0).eax;
    let x2apic: fn(&crate::cpuid::CpuAnswers) -> u32 = |cpu| cpu.query(0xb, 0).edx;
    let initial: fn(&crate::cpuid::CpuAnswers) -> u32 = |cpu| cpu.query(1, 0).ebx >> 24;
    let candidates = match vendor {
        Vendor::Amd | Vendor::Hygon => [amd, x2apic, initial],
        Vendor::Intel | Vendor::Other => [x2apic, initial, amd],
    };
    for candidate in candidates {
        let ids: Vec<u32> = dump.cpus.iter().map(candidate).collect();
        if ids.iter().collect::<HashSet<_>>().len() == ids.len() {
            return Ok(ids);
        }
    }
    Err(Error::new("the dump's CPUs have no distinct APIC ids, which FreeBSD's rules need"))
}

/// `id >> shift`, 0 once every bit is shifted out.
pub(super) fn shifted(id: u32, shift: u32) -> u32 {
    id.checked_shr(shift).unwrap_or(0)
}

/// The number of bits that hold `count` numbers; `None` if `count` is 0.
pub(super) fn mask_width(count: u32) -> Option<u32> {
    match count {
        0 => None,
        count => Some(32 - (count - 1).leading_zeros()),
    }
}
