//! The machine that the figures were measured on: section `host`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, neither, single};

/// Facts about the machine and its software that figures depend on. A fact that could not be read is absent, with the
/// reason in `not_available`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Host {
    /// Brand string of the CPU.
    pub cpu: Option<String>,
    /// Architecture as the compiler names it: `x86_64`, `aarch64`.
    pub architecture: Option<String>,
    /// Kernel name, release and version.
    pub kernel: Option<String>,
    /// Distribution.
    pub os: Option<String>,
    /// The hypervisor, if the machine is virtual.
    pub hypervisor: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Firmware (BIOS) vendor, version and date.
    pub firmware: Option<String>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Whether the clock may rise above nominal.
    pub boost: Option<bool>,
    /// The clock used to convert figures into cycles, in GHz: measured with a chain of dependent additions during
    /// the run.
    pub clock_ghz: Option<f64>,
    /// Frequency of the time-stamp counter, in GHz.
    pub tsc_ghz: Option<f64>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Where the kernel backs memory by transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Smallest step seen of the clock in use, in ns.
    pub timer_step_ns: Option<f64>,
    /// Mitigations of speculative execution, by vulnerability.
    pub mitigations: BTreeMap<String, String>,
    /// Container and cgroup limits: `cpuset`, `cpu quota`, `memory`.
    pub limits: BTreeMap<String, String>,
    /// CPUs that the process may run on.
    pub allowed_cpus: Vec<u32>,
    /// Load average over one minute when the run began.
    pub load_average: Option<f64>,
    /// When the run began: RFC 3339, UTC.
    pub date: Option<String>,
    /// Version of the program that measured.
    pub coho_version: Option<String>,
    /// What could not be read: name to reason.
    pub not_available: BTreeMap<String, String>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Host);

const CLOCKS: &[Column<Host>] = &[
    neither("host.clock", "clock", "GHz", |host: &Host| single(host.clock_ghz)).headline(),
    neither("host.tsc", "time-stamp counter", "GHz", |host| single(host.tsc_ghz)),
    neither("host.timer-step", "smallest step of the clock that times", "ns", |host| {
        single(host.timer_step_ns)
    }),
];

impl Section for Host {
    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.allowed_cpus.iter().copied())
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        all.row(CLOCKS, self);
    }
}
