//! x86-64: CLFLUSH everywhere, CLFLUSHOPT and CLWB where CPUID says so.

use std::sync::LazyLock;

use raw_cpuid::CpuId;

use super::LineOperation;

/// In the order in which CPUs got them.
pub(super) const OPERATIONS: &[LineOperation] = &[
    LineOperation { name: "CLFLUSH", present: || true, act: clflush },
    LineOperation { name: "CLFLUSHOPT", present: || HAS.0, act: clflushopt },
    LineOperation { name: "CLWB", present: || HAS.1, act: clwb },
];

/// CPUID is slow under a hypervisor: CLFLUSHOPT, CLWB.
static HAS: LazyLock<(bool, bool)> = LazyLock::new(|| {
    CpuId::new()
        .get_extended_feature_info()
        .map_or((false, false), |features| (features.has_clflushopt(), features.has_clwb()))
});

each_line! {
    /// Writes back and removes, one line after the other.
    clflush: "clflush byte ptr [{}]"
}
each_line! {
    /// Writes back and removes, in any order.
    clflushopt: "clflushopt byte ptr [{}]"
}
each_line! {
    /// Writes back; the CPU may keep the line.
    clwb: "clwb byte ptr [{}]"
}
