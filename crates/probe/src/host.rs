//! What figures are measured on: fills the profile's `host` section.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use coho_platform::cgroup::Groups;
use coho_profile::Host;

use crate::clock::{self, Clock};
use crate::pin;

/// Reads every fact about the machine that figures depend on; takes about 10 ms. What cannot be read is absent and
/// stands in `not_available`, with the reason.
pub fn collect() -> Host {
    let mut host = Host {
        architecture: Some(std::env::consts::ARCH.into()),
        timer_step_ns: Some(Clock::get().step_ns()),
        mitigations: mitigations(Path::new("/sys/devices/system/cpu/vulnerabilities")),
        limits: control_groups(&Groups::of_process()),
        allowed_cpus: pin::allowed().map(|cpus| cpus.iter().collect()).unwrap_or_default(),
        date: Some(date()),
        coho_version: Some(env!("CARGO_PKG_VERSION").into()),
        ..Host::default()
    };
    let mut missing = BTreeMap::new();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut take = |name: &str, value: Result<String, String>| match value {
        Ok(value) => Some(value),
        Err(why) => {
            missing.insert(name.to_owned(), why);
            None
        }
    };
    host.cpu =
        take("cpu", listed(&cpuinfo, &["model name", "Model"]).ok_or("/proc/cpuinfo names no model".into()));
    host.microcode =
        take("microcode", listed(&cpuinfo, &["microcode"]).ok_or("/proc/cpuinfo tells no revision".into()));
    host.kernel = take("kernel", kernel());
    host.os = take("os", os());
    host.hypervisor = take("hypervisor", hypervisor(&cpuinfo));
    host.firmware = take("firmware", firmware(Path::new("/sys/class/dmi/id")));
    host.governor = take("governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    host.boost = take("boost", boost()).map(|boost| boost == "1");
    host.clock_source =
        take("clock_source", read("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    host.load_average = take("load_average", load()).and_then(|load| load.parse().ok());
    let ghz = clock::effective_ghz();
    host.clock_ghz = ghz.as_ref().ok().copied();
    take("clock_ghz", ghz.map(|_| String::new()));
    host.tsc_ghz = Clock::get().counter_ghz();
    if let clock::Source::System(why) = Clock::get().source() {
        missing.insert("tsc_ghz".into(), why.into());
    }
    if host.mitigations.is_empty() {
        missing.insert(
            "mitigations".into(),
            "/sys/devices/system/cpu/vulnerabilities is absent or empty".into(),
        );
    }
    if host.limits.is_empty() {
        missing.insert("limits".into(), "no control group of this process sets any".into());
    }
    host.not_available = missing;
    host
}

/// The trimmed contents of a file, or what is wrong with it.
fn read(path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// The first value of a key in /proc/cpuinfo.
fn listed(cpuinfo: &str, keys: &[&str]) -> Option<String> {
    let value = |line: &str| {
        let (key, value) = line.split_once(':')?;
        keys.contains(&key.trim()).then(|| value.trim().to_owned())
    };
    cpuinfo.lines().find_map(value).filter(|value| !value.is_empty())
}

fn kernel() -> Result<String, String> {
    let part = |name: &str| read(format!("/proc/sys/kernel/{name}"));
    Ok(format!("{} {} {}", part("ostype")?, part("osrelease")?, part("version")?))
}

fn os() -> Result<String, String> {
    let release = read("/etc/os-release").or_else(|_| read("/usr/lib/os-release"))?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map(|name| name.trim_matches('"').to_owned())
        .ok_or_else(|| "/etc/os-release has no PRETTY_NAME".into())
}

fn hypervisor(cpuinfo: &str) -> Result<String, String> {
    let flagged = listed(cpuinfo, &["flags"])
        .is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    match signature().or_else(|| read("/sys/hypervisor/type").ok()) {
        Some(signature) => Ok(signature),
        None if flagged => Ok("unnamed".into()),
        None => Err("none announces itself".into()),
    }
}

/// CPUID leaf 0x40000000, where leaf 1 says that it exists.
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

fn firmware(dmi: &Path) -> Result<String, String> {
    let parts: Vec<_> = ["bios_vendor", "bios_version", "bios_date"]
        .iter()
        .filter_map(|name| read(dmi.join(name)).ok())
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() { Err(format!("{} tells no BIOS", dmi.display())) } else { Ok(parts.join(" ")) }
}

fn boost() -> Result<String, String> {
    read("/sys/devices/system/cpu/cpufreq/boost").or_else(|_| {
        let off = read("/sys/devices/system/cpu/intel_pstate/no_turbo")
            .map_err(|_| "neither cpufreq/boost nor intel_pstate/no_turbo exists".to_owned())?;
        Ok(if off == "0" { "1".into() } else { "0".into() })
    })
}

fn load() -> Result<String, String> {
    let text = read("/proc/loadavg")?;
    text.split(' ').next().map(str::to_owned).ok_or_else(|| "/proc/loadavg is empty".into())
}

/// The limits that control groups set: `cpu quota` in CPUs, `cpuset`, `memory`; only those that are set.
fn control_groups(groups: &Groups) -> BTreeMap<String, String> {
    let limits = [
        ("cpu quota", groups.cpu_quota().map(|cpus| format!("{cpus} CPUs"))),
        ("cpuset", groups.cpuset().map(|cpus| cpus.to_string())),
        ("memory", groups.memory_limit().map(|bytes| format!("{bytes} bytes"))),
    ];
    limits.into_iter().filter_map(|(name, limit)| Some((name.to_owned(), limit?))).collect()
}

fn mitigations(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, read(entry.path()).ok()?)))
        .collect()
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
    fn every_field_has_a_value_or_a_reason() {
        let host = collect();
        let value = serde_json::to_value(&host).unwrap();
        for (name, field) in value.as_object().unwrap() {
            let empty = field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
            if empty && !["not_available", "unknown"].contains(&name.as_str()) {
                assert!(host.not_available.contains_key(name), "{name} is empty without a reason");
            }
        }
        assert!(!host.allowed_cpus.is_empty());
    }

    #[test]
    fn reads_cpuinfo_of_both_architectures() {
        let x86 = "processor\t: 0\nmodel name\t: Some CPU\nmicrocode\t: 0xa\nflags\t\t: fpu hypervisor\n";
        assert_eq!(listed(x86, &["model name", "Model"]).as_deref(), Some("Some CPU"));
        assert_eq!(listed("processor\t: 0\nCPU part\t: 0xd0c\n", &["microcode"]), None);
    }
}
