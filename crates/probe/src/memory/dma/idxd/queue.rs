//! Work queues that user programs may use, according to sysfs.

use std::arch::x86_64::__cpuid_count;
use std::fs;
use std::path::Path;

/// CPUID leaf 7, ECX.
const MOVDIR64B: u32 = 1 << 28;
const ENQCMD: u32 = 1 << 29;

/// How a queue takes descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of one process: by MOVDIR64B.
    Dedicated,
    /// Of several: by ENQCMD, which returns whether there was room.
    Shared,
}

impl Kind {
    /// An error if the CPU lacks the instruction.
    pub(super) fn needs_of_cpu(self) -> Result<(), String> {
        let (bit, name) = match self {
            Self::Dedicated => (MOVDIR64B, "MOVDIR64B"),
            Self::Shared => (ENQCMD, "ENQCMD"),
        };
        let has = __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).ecx & bit != 0;
        if has { Ok(()) } else { Err(format!("the CPU has no {name}")) }
    }
}

/// A queue that may be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Queue {
    /// Its device under `/dev/dsa`: `wq0.1`.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Most bytes of one descriptor.
    pub(super) most_bytes: usize,
}

/// The first queue that is enabled and for user programs.
pub(super) fn find(devices: &Path) -> Result<Queue, String> {
    let entries = fs::read_dir(devices)
        .map_err(|_| format!("no such engine, or no driver idxd: {} is not there", devices.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("wq"))
        .collect();
    names.sort();
    let mut reasons = Vec::new();
    for name in names {
        match queue(&devices.join(&name), name) {
            Ok(queue) => return Ok(queue),
            Err(why) => reasons.push(why),
        }
    }
    let all = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    Err(format!("no queue is enabled for user programs{all}; accel-config sets one up"))
}

fn queue(folder: &Path, name: String) -> Result<Queue, String> {
    let attribute = |file: &str| fs::read_to_string(folder.join(file)).map(|text| text.trim().to_string());
    let [state, of, mode] = ["state", "type", "mode"].map(|file| attribute(file).unwrap_or_default());
    if state != "enabled" || of != "user" {
        return Err(format!("{name}: {state}, {of}"));
    }
    let kind = match mode.as_str() {
        "dedicated" => Kind::Dedicated,
        "shared" => Kind::Shared,
        _ => return Err(format!("{name}: unknown mode '{mode}'")),
    };
    // A descriptor has 32 bits for it; every queue allows a page.
    let most = attribute("max_transfer_size").ok().and_then(|text| text.parse::<u32>().ok());
    Ok(Queue { name, kind, most_bytes: most.unwrap_or(0).max(4096) as usize })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_up(devices: &Path, name: &str, attributes: [&str; 4]) {
        let folder = devices.join(name);
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in ["state", "type", "mode", "max_transfer_size"].iter().zip(attributes) {
            fs::write(folder.join(file), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn finds_the_first_queue_for_users() {
        let folder = tempfile::tempdir().unwrap();
        let devices = folder.path();
        fs::create_dir(devices.join("dsa0")).unwrap();
        let why = find(devices).unwrap_err();
        assert!(why.starts_with("no queue is enabled for user programs;"), "{why}");
        set_up(devices, "wq0.0", ["enabled", "kernel", "dedicated", "2147483648"]);
        set_up(devices, "wq0.1", ["disabled", "user", "shared", "2147483648"]);
        set_up(devices, "wq0.2", ["enabled", "user", "odd", "2147483648"]);
        let why = find(devices).unwrap_err();
        assert!(
            why.contains("wq0.0: enabled, kernel, wq0.1: disabled, user, wq0.2: unknown mode 'odd'"),
            "{why}"
        );
        set_up(devices, "wq1.0", ["enabled", "user", "shared", "2097152"]);
        let found = Queue { name: "wq1.0".into(), kind: Kind::Shared, most_bytes: 2 << 20 };
        assert_eq!(find(devices), Ok(found));
        set_up(devices, "wq0.3", ["enabled", "user", "dedicated", ""]);
        let found = Queue { name: "wq0.3".into(), kind: Kind::Dedicated, most_bytes: 4096 };
        assert_eq!(find(devices), Ok(found));
    }

    #[test]
    fn says_that_there_is_no_engine() {
        assert!(find(Path::new("/nowhere/dsa")).unwrap_err().starts_with("no such engine"));
    }
}
