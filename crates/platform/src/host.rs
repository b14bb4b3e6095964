//! What the host is: processor, firmware, kernel, limits, and whatever else figures depend on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cgroup::Groups;
use crate::{CpuSet, load, pin};

/// A fact, or the reason why it is not known.
pub type Fact<T> = Result<T, String>;

/// What the host says about itself.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Brand string of the CPU.
    pub cpu: Fact<String>,
    /// Microcode revision.
    pub microcode: Fact<String>,
    /// Kernel name, release and version.
    pub kernel: Fact<String>,
    /// Distribution.
    pub os: Fact<String>,
    /// The hypervisor's name.
    pub hypervisor: Fact<String>,
    /// Firmware (BIOS) vendor, version and date.
    pub firmware: Fact<String>,
    /// Frequency governor of the first CPU.
    pub governor: Fact<String>,
    /// Whether the clock may rise above nominal.
    pub boost: Fact<bool>,
    /// The kernel's clock source.
    pub clock_source: Fact<String>,
    /// Where the kernel backs memory by transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Fact<String>,
    /// Load average over one minute.
    pub load_average: Fact<f64>,
    /// Mitigations of speculative execution, by vulnerability.
    pub mitigations: Fact<BTreeMap<String, String>>,
    /// Limits that control groups set: `cpu quota` in CPUs, `cpuset`, `memory`; only those that are set.
    pub limits: Fact<BTreeMap<String, String>>,
    /// CPUs that the calling thread may run on; none if the system does not say.
    pub allowed_cpus: CpuSet,
}

impl Facts {
    /// Reads the facts of this host as they are now.
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            cpu: listed(&cpuinfo, &["model name", "Model"]).ok_or("/proc/cpuinfo names no model".into()),
            microcode: listed(&cpuinfo, &["microcode"]).ok_or("/proc/cpuinfo gives no revision".into()),
            kernel: kernel(),
            os: os(),
            hypervisor: hypervisor(&cpuinfo),
            firmware: firmware(Path::new("/sys/class/dmi/id")),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            boost: boost(),
            clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            huge_pages: chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
            load_average: load::average().map_err(|why| why.to_string()),
            mitigations: mitigations(Path::new("/sys/devices/system/cpu/vulnerabilities")),
            limits: control_groups(&Groups::of_process()),
            allowed_cpus: pin::allowed().unwrap_or_default(),
        }
    }
}

/// The trimmed contents of a file, or what is wrong with it.
fn read(path: impl AsRef<Path>) -> Fact<String> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// Which of several choices a file of the kernel's marks: `always [madvise] never`.
fn chosen(path: impl AsRef<Path>) -> Fact<String> {
    let path = path.as_ref();
    let text = read(path)?;
    let marked = text.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0.to_owned()));
    marked.ok_or_else(|| format!("{} marks no choice", path.display()))
}

/// The first value of a key in /proc/cpuinfo.
fn listed(cpuinfo: &str, keys: &[&str]) -> Option<String> {
    let value = |line: &str| {
        let (key, value) = line.split_once(':')?;
        keys.contains(&key.trim()).then(|| value.trim().to_owned())
    };
    cpuinfo.lines().find_map(value).filter(|value| !value.is_empty())
}

fn kernel() -> Fact<String> {
    let part = |name: &str| read(format!("/proc/sys/kernel/{name}"));
    Ok(format!("{} {} {}", part("ostype")?, part("osrelease")?, part("version")?))
}

fn os() -> Fact<String> {
    let release = read("/etc/os-release").or_else(|_| read("/usr/lib/os-release"))?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map(|name| name.trim_matches('"').to_owned())
        .ok_or_else(|| "/etc/os-release has no PRETTY_NAME".into())
}

fn hypervisor(cpuinfo: &str) -> Fact<String> {
    let flagged = listed(cpuinfo, &["flags"])
        .is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    match signature().or_else(|| read("/sys/hypervisor/type").ok()) {
        Some(signature) => Ok(signature),
        None if flagged => Ok("unnamed".into()),
        None => Err("none announces itself".into()),
    }
}

/// CPUID leaf 0x40000000, if leaf 1 says that it exists.
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    #[allow(unused_unsafe)]
    // SAFETY: CPUID exists on every x86-64 CPU and is unprivileged.
    let (present, leaf) = unsafe { (__cpuid(1).ecx >> 31 & 1 == 1, __cpuid(0x4000_0000)) };
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    let name = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
    (present && !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic() || c == ' ')).then_some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<String> {
    None
}

fn firmware(dmi: &Path) -> Fact<String> {
    let parts: Vec<_> = ["bios_vendor", "bios_version", "bios_date"]
        .iter()
        .filter_map(|name| read(dmi.join(name)).ok())
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() { Err(format!("{} names no BIOS", dmi.display())) } else { Ok(parts.join(" ")) }
}

fn boost() -> Fact<bool> {
    let on = read("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1");
    on.or_else(|_| {
        let off = read("/sys/devices/system/cpu/intel_pstate/no_turbo");
        off.map(|off| off == "0")
            .map_err(|_| "neither cpufreq/boost nor intel_pstate/no_turbo exists".to_owned())
    })
}

fn control_groups(groups: &Groups) -> Fact<BTreeMap<String, String>> {
    let limits = [
        ("cpu quota", groups.cpu_quota().map(|cpus| format!("{cpus} CPUs"))),
        ("cpuset", groups.cpuset().map(|cpus| cpus.to_string())),
        ("memory", groups.memory_limit().map(|bytes| format!("{bytes} bytes"))),
    ];
    let set = limits.into_iter().filter_map(|(name, limit)| Some((name.to_owned(), limit?)));
    some(set.collect()).ok_or_else(|| "no control group of this process sets any".into())
}

fn mitigations(folder: &Path) -> Fact<BTreeMap<String, String>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |entry: fs::DirEntry| Some((entry.file_name().into_string().ok()?, read(entry.path()).ok()?));
    some(entries.filter_map(one).collect()).ok_or_else(|| format!("{} is absent or empty", folder.display()))
}

fn some(facts: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    Some(facts).filter(|facts| !facts.is_empty())
}

/// The time now, as in `2026-11-21T21:30:00Z`.
pub fn date() -> String {
    rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

/// Seconds since 1970 as RFC 3339 in UTC.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days, counting in eras of 400 years that begin in March (proleptic Gregorian calendar).
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), date);
        }
    }

    #[test]
    fn every_fact_is_there_or_has_a_reason() {
        let facts = Facts::read();
        let words = [&facts.cpu, &facts.microcode, &facts.kernel, &facts.os, &facts.hypervisor];
        for fact in words.into_iter().chain([&facts.firmware, &facts.governor, &facts.clock_source]) {
            assert!(!fact.as_ref().unwrap_or_else(|why| why).is_empty(), "{facts:?}");
        }
        assert!(facts.kernel.unwrap().starts_with("Linux"));
        assert!(!facts.allowed_cpus.is_empty());
    }

    #[test]
    fn limits_and_mitigations_without_a_value_have_a_reason() {
        let empty = tempfile::tempdir().unwrap();
        assert!(mitigations(empty.path()).unwrap_err().ends_with("is absent or empty"));
        std::fs::write(empty.path().join("meltdown"), "Not affected\n").unwrap();
        assert_eq!(mitigations(empty.path()).unwrap()["meltdown"], "Not affected");
        assert!(firmware(empty.path()).unwrap_err().contains("names no BIOS"));
        let choice = empty.path().join("enabled");
        assert!(chosen(&choice).unwrap_err().contains("No such file"));
        std::fs::write(&choice, "always [madvise] never\n").unwrap();
        assert_eq!(chosen(&choice).unwrap(), "madvise");
        std::fs::write(&choice, "always\n").unwrap();
        assert!(chosen(&choice).unwrap_err().ends_with("marks no choice"));
    }

    #[test]
    fn reads_cpuinfo_of_both_architectures() {
        let x86 = "processor\t: 0\nmodel name\t: Some CPU\nmicrocode\t: 0xa\nflags\t\t: fpu hypervisor\n";
        assert_eq!(listed(x86, &["model name", "Model"]).as_deref(), Some("Some CPU"));
        assert_eq!(listed("processor\t: 0\nCPU part\t: 0xd0c\n", &["microcode"]), None);
    }
}
