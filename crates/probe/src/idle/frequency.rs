//! Frequency policies, from Linux's cpufreq.

use coho_profile::Frequency;
use coho_topology::CpuSet;

use super::files::{CPUS, Root};

/// A group of CPUs whose clock is set together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Policy {
    pub cpus: CpuSet,
    pub governor: String,
    pub available: Vec<String>,
    /// Its folder, below the root.
    pub folder: String,
}

/// The policies of CPUs, or why there are none.
pub(super) fn policies(root: &Root, only: Option<&CpuSet>) -> Result<Vec<Policy>, String> {
    let all = format!("{CPUS}/cpufreq");
    let mut policies = Vec::new();
    for number in root.numbered(&all, "policy") {
        let folder = format!("{all}/policy{number}");
        let cpus: CpuSet = root
            .trimmed(&format!("{folder}/affected_cpus"))?
            .split_ascii_whitespace()
            .filter_map(|cpu| cpu.parse().ok().filter(|&cpu| cpu < coho_topology::MAX_CPUS))
            .collect();
        if only.is_none_or(|only| only.intersects(&cpus)) {
            let governors =
                root.trimmed(&format!("{folder}/scaling_available_governors")).unwrap_or_default();
            policies.push(Policy {
                cpus,
                governor: root.trimmed(&format!("{folder}/scaling_governor"))?,
                available: governors.split_ascii_whitespace().map(str::to_owned).collect(),
                folder,
            });
        }
    }
    if policies.is_empty() {
        return Err(format!("no CPU has a frequency policy in {}", root.path(all).display()));
    }
    Ok(policies)
}

/// A summary of all policies.
pub(super) fn read(root: &Root, policies: &[Policy]) -> Frequency {
    let mut frequency = Frequency::default();
    let mut limits: Option<(u64, u64)> = None;
    for policy in policies {
        frequency.governors.entry(policy.governor.clone()).or_default().extend(policy.cpus.iter());
        for governor in &policy.available {
            if !frequency.available_governors.contains(governor) {
                frequency.available_governors.push(governor.clone());
            }
        }
        let limit = |name: &str| root.number(&format!("{}/{name}", policy.folder)).ok();
        if let (Some(least), Some(most)) = (limit("scaling_min_freq"), limit("scaling_max_freq")) {
            let (low, high) = limits.unwrap_or((least, most));
            limits = Some((low.min(least), high.max(most)));
        }
    }
    frequency.driver =
        policies.first().and_then(|policy| root.trimmed(&format!("{}/scaling_driver", policy.folder)).ok());
    frequency.boost = boost(root).ok();
    frequency.limits_khz = limits;
    frequency
}

/// Whether the clock may rise above the nominal one. Not every driver has the same file, and some have none.
pub(super) fn boost(root: &Root) -> Result<bool, String> {
    let boost = root.number(&format!("{CPUS}/cpufreq/boost")).map(|on| on == 1);
    boost.or_else(|why| {
        root.number(&format!("{CPUS}/intel_pstate/no_turbo")).map(|off| off == 0).map_err(|_| why)
    })
}
