//! The CPU's identity, as far as its events depend on it.

use std::fs;
use std::path::Path;

use super::PERF_TYPE_RAW;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

/// Who numbered the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Intel.
    Intel,
    /// AMD, and Hygon, whose CPUs are AMD's.
    Amd,
    /// An Arm CPU of any maker: the Arm architecture itself numbers the events.
    Arm,
    /// Another maker; only perf's generic events are tried.
    Other,
}

/// A CPU's identity as it reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The maker.
    pub vendor: Vendor,
    /// Family as x86 counts it (base and extended added up); on AArch64 the implementer's code.
    pub family: u32,
    /// Model as x86 counts it (extended one included); on AArch64 the part number.
    pub model: u32,
    /// Stepping; on AArch64 variant and revision, four bits each.
    pub stepping: u32,
    /// Whether it is one of the small cores of a machine that has both kinds.
    pub efficient: bool,
    /// Whether the CPU has the tile registers of AMX (CPUID leaf 7).
    pub amx: bool,
    /// `perf_event_attr.type` of this CPU's raw events: `PERF_TYPE_RAW`, or its PMU's own number if the machine has
    /// several.
    pub raw_kind: u32,
}

impl Identity {
    /// The CPU on which the caller runs; if the machine has two kinds of cores, pin the thread first.
    pub fn here() -> Self {
        let mut identity = arch::identity();
        let cpu = coho_platform::pin::current().unwrap_or(0);
        if let Some(kind) = pmu_of(Path::new("/sys/bus/event_source/devices"), cpu) {
            identity.raw_kind = kind;
        }
        identity
    }

    /// What an x86 CPU's leaf 1 EAX says, without what other leaves and the operating system know.
    pub fn from_signature(vendor: Vendor, signature: u32) -> Self {
        let base = signature >> 8 & 0xf;
        let family = if base == 0xf { base + (signature >> 20 & 0xff) } else { base };
        let extended = if base == 6 || base == 0xf { signature >> 16 & 0xf } else { 0 };
        Self {
            vendor,
            family,
            model: extended << 4 | signature >> 4 & 0xf,
            stepping: signature & 0xf,
            efficient: false,
            amx: false,
            raw_kind: PERF_TYPE_RAW,
        }
    }

    /// What in the CPU's identity cannot be true: a hypervisor may present another model than the real one.
    pub fn contradiction(&self) -> Option<String> {
        match super::names(self).as_slice() {
            [likely, claimed] => Some(format!(
                "family {} model {} is {claimed}, which has no AMX, yet the CPU has it: it is {likely} or later",
                self.family, self.model
            )),
            _ => None,
        }
    }
}

/// The perf type of the PMU that names `cpu` as its own; `None` if there is only one PMU for all CPUs, or none.
fn pmu_of(devices: &Path, cpu: u32) -> Option<u32> {
    let own = |name: &str| name.starts_with("armv8") || name == "cpu_core" || name == "cpu_atom";
    let mut pmus: Vec<_> = fs::read_dir(devices)
        .ok()?
        .flatten()
        .filter(|device| device.file_name().to_str().is_some_and(own))
        .map(|device| device.path())
        .collect();
    pmus.sort();
    pmus.into_iter().find_map(|pmu| {
        let cpus = fs::read_to_string(pmu.join("cpus")).ok()?;
        let kind = fs::read_to_string(pmu.join("type")).ok()?;
        contains(cpus.trim(), cpu).then(|| kind.trim().parse().ok()).flatten()
    })
}

/// Whether the kernel's list (`0-3,8`) names `cpu`.
fn contains(list: &str, cpu: u32) -> bool {
    list.split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if (first..=last).contains(&cpu))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_cpu_is_somebody() {
        let identity = Identity::here();
        assert_eq!(identity.vendor == Vendor::Arm, cfg!(target_arch = "aarch64"));
        eprintln!("{identity:?}: {:?}, {:?}", super::super::names(&identity), identity.contradiction());
    }

    #[test]
    fn signatures_are_read_as_the_manuals_say() {
        // Milan, Sapphire Rapids, Nehalem-EP, Kaveri, Athlon 64 X2.
        for (vendor, signature, family, model, stepping) in [
            (Vendor::Amd, 0x00A0_0F11, 0x19, 0x01, 1),
            (Vendor::Intel, 0x0008_06F8, 6, 0x8F, 8),
            (Vendor::Intel, 0x0001_06A5, 6, 0x1A, 5),
            (Vendor::Amd, 0x0063_0F01, 0x15, 0x30, 1),
            (Vendor::Amd, 0x0004_0FB2, 0xF, 0x4B, 2),
        ] {
            let identity = Identity::from_signature(vendor, signature);
            assert_eq!((identity.family, identity.model, identity.stepping), (family, model, stepping));
        }
    }

    #[test]
    fn each_kind_of_core_has_its_own_pmu() {
        let devices = std::env::temp_dir().join(format!("coho-pmus-{}", std::process::id()));
        for (name, kind, cpus) in
            [("cpu_core", "4", "0-7,16"), ("cpu_atom", "10", "8-15"), ("msr", "12", "0")]
        {
            let device = devices.join(name);
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("type"), format!("{kind}\n")).unwrap();
            fs::write(device.join("cpus"), format!("{cpus}\n")).unwrap();
        }
        let found = [0, 16, 8, 15, 17].map(|cpu| pmu_of(&devices, cpu));
        fs::remove_dir_all(&devices).unwrap();
        assert_eq!(found, [Some(4), Some(4), Some(10), Some(10), None]);
        assert_eq!(pmu_of(Path::new("/nonexistent"), 0), None);
    }
}
