//! What the kernel says about its counters.

use std::fs;
use std::path::Path;

/// Whether the kernel drives a PMU of the CPU: PMUs that belong to certain CPUs list them in `cpus`, and a PMU of all
/// CPUs is called `cpu`.
pub(crate) fn has_counters() -> bool {
    let Ok(devices) = fs::read_dir("/sys/bus/event_source/devices") else { return false };
    devices.flatten().any(|device| device.file_name() == "cpu" || device.path().join("cpus").exists())
}

/// /proc/sys/kernel/perf_event_paranoid: from 2 on, users without rights may count user mode only.
pub(crate) fn perf_event_paranoid() -> Option<i32> {
    fs::read_to_string(Path::new("/proc/sys/kernel/perf_event_paranoid")).ok()?.trim().parse().ok()
}
