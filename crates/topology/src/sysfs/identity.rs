//! The processor's identity, from the first entry of `proc/cpuinfo`.

use std::path::PathBuf;

use super::files::{self, Notes};
use crate::CpuIdentity;

/// The first entry fits into this; on a live system, reading more would make the kernel format every CPU.
const FIRST_ENTRY_BYTES: usize = 4096;

/// ARM's implementer codes (Main ID Register, bits 31:24).
const IMPLEMENTERS: [(u32, &str); 14] = [
    (0x41, "ARM"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "Applied Micro"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x56, "Marvell"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// Reads the first of the files that exists; nothing is known if none does.
pub(super) fn read(candidates: &[PathBuf], notes: &Notes) -> CpuIdentity {
    for path in candidates {
        match files::bounded(path, FIRST_ENTRY_BYTES) {
            Ok(Some(text)) => return parse(&text),
            Ok(None) => {}
            Err(error) => notes.add(error),
        }
    }
    CpuIdentity::default()
}

/// The value of a line `name : value` of an entry; `None` if there is none or it is empty.
pub(super) fn field<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    };
    entry.lines().find_map(value).filter(|value| !value.is_empty())
}

fn parse(text: &str) -> CpuIdentity {
    // On 32-bit ARM, the processor stands in an entry of its own behind those of the CPUs.
    let entries = || text.trim_start().split("\n\n");
    let names_arm = |entry: &&str| field(entry, "CPU implementer").is_some();
    let entry = entries().find(names_arm).or_else(|| entries().next()).unwrap_or_default();
    let field = |name: &str| field(entry, name).map(str::to_owned);
    let number = |name: &str| {
        let text = field(name)?;
        match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    };
    if let Some(code) = number("CPU implementer") {
        let known = IMPLEMENTERS.iter().find(|(known, _)| *known == code);
        let vendor =
            known.map_or_else(|| format!("ARM implementer {code:#x}"), |(_, name)| (*name).to_owned());
        return CpuIdentity {
            vendor: Some(vendor),
            brand: field("model name"),
            family: number("CPU architecture"),
            model: number("CPU part"),
            stepping: number("CPU revision"),
            hypervisor: None,
        };
    }
    CpuIdentity {
        // Itanium calls its vendor `vendor`, POWER its processor `cpu`.
        vendor: field("vendor_id").or_else(|| field("vendor")),
        brand: field("model name").or_else(|| field("cpu")),
        family: number("cpu family"),
        model: number("model"),
        stepping: number("stepping"),
        hypervisor: None,
    }
}

/// Whether this is an ARM processor, by its implementer.
pub(super) fn is_arm(cpu: &CpuIdentity) -> bool {
    let known = |vendor: &str| IMPLEMENTERS.iter().any(|(_, name)| *name == vendor);
    cpu.vendor.as_deref().is_some_and(|vendor| known(vendor) || vendor.starts_with("ARM implementer"))
}

/// Whether this is an x86 processor, by its CPUID vendor string.
pub(super) fn is_x86(cpu: &CpuIdentity) -> bool {
    const VENDORS: [&str; 6] =
        ["AuthenticAMD", "GenuineIntel", "HygonGenuine", "CentaurHauls", "  Shanghai  ", "Shanghai"];
    cpu.vendor.as_deref().is_some_and(|vendor| VENDORS.contains(&vendor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_and_arm_entries() {
        let amd = parse(
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel\t\t: 2\n\nprocessor: 1\n",
        );
        assert_eq!((amd.vendor.as_deref(), amd.family, amd.model), (Some("AuthenticAMD"), Some(21), Some(2)));
        let arm = parse("processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n");
        assert_eq!((arm.vendor.as_deref(), arm.model), (Some("ARM"), Some(0xd0c)));
        let arm32 =
            parse("Processor\t: ARMv7\nprocessor\t: 0\n\nprocessor\t: 1\n\nCPU implementer\t: 0x51\n");
        assert_eq!(arm32.vendor.as_deref(), Some("Qualcomm"));
        assert!(!is_x86(&arm) && is_x86(&amd) && is_arm(&arm) && !is_arm(&amd));
    }
}
