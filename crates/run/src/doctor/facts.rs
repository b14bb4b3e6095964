//! What there is to see, without a judgement.

use std::fs;
use std::path::Path;

use coho_counters::{Column, Counter, Error, Event, Mode, Price};
use coho_platform::host::Fact;
use coho_platform::{cgroup, pin, state, stolen};
use coho_probe::calls::mpi;
use coho_probe::memory::provider;
use coho_probe::{EXPERIMENTS, idle, step};
use coho_profile::{CacheType, Idle};
use coho_topology::CpuSet;

use crate::events::chosen;
use crate::preload::{self, Library};

/// What was seen of the machine and of what its user may do.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The CPUs that are online.
    pub online: CpuSet,
    /// The CPUs of the inherited affinity mask.
    pub mask: Fact<CpuSet>,
    /// The CPUs that the process may ask for.
    pub reachable: CpuSet,
    /// CPU time that the control groups allow, in CPUs; `None` without a quota.
    pub quota: Option<f64>,
    /// What takes two CPUs, in the words of the experiments.
    pub needs_two: Vec<&'static str>,
    /// The hypervisor's name.
    pub hypervisor: Option<String>,
    /// The share of the CPUs' time since boot that the hypervisor gave to others; `None` if the kernel does not say.
    pub stolen: Option<f64>,
    /// What earlier surveys tell.
    pub moves: Fact<Option<Moves>>,
    /// Performance counters in user mode.
    pub counting: Counting,
    /// Whether the kernel's part may be counted.
    pub kernel_mode: Result<(), Error>,
    /// Whether programs can be run one instruction at a time.
    pub steps: Fact<()>,
    /// Idle states and the clock, as the kernel tells them.
    pub idle: Idle,
    /// Pages larger than the small ones.
    pub huge: HugePages,
    /// Types of memory that pass their self-test.
    pub types: Vec<CacheType>,
    /// The tools by which MPI is measured.
    pub mpi: Fact<()>,
    /// The folder in which coho remembers things.
    pub state: Fact<()>,
    /// The libraries that coho preloads.
    pub preload: Result<(), NotPreloaded>,
}

/// Why nothing is preloaded, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPreloaded {
    pub why: String,
    pub fix: &'static str,
}

impl From<preload::Error> for NotPreloaded {
    fn from(error: preload::Error) -> Self {
        Self { why: error.to_string(), fix: error.remedy() }
    }
}

/// How the kept surveys of this host compare with the latest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moves {
    /// How many earlier ones measured the same.
    pub surveys: u64,
    /// How many of them differ from the latest.
    pub differ: u64,
}

/// What counting in user mode comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counting {
    /// No event can be counted.
    No(Error),
    /// Events can be counted by system calls only.
    ByKernel(Error),
    /// Events can be read in user mode.
    Yes {
        /// Whether a hypervisor traps each read.
        trapped: bool,
        /// The columns for which no event passed its self-test; or why none was tried.
        failed: Fact<Vec<&'static str>>,
    },
}

/// Pages larger than the small ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HugePages {
    /// When the kernel provides them unasked: `always`, `madvise` or `never`.
    pub transparent: Fact<String>,
    /// How many are reserved.
    pub reserved: Fact<u64>,
}

impl Facts {
    /// Looks at this machine; takes some 0.1 s without counters, some seconds with them. `hypervisor` and `moves` are what the
    /// caller knows.
    ///
    /// # Errors
    /// If the topology cannot be detected.
    pub fn here(
        hypervisor: Option<String>,
        moves: Fact<Option<Moves>>,
    ) -> Result<Self, coho_topology::Error> {
        let online = coho_topology::detect()?.cpus();
        let mask = pin::allowed().map_err(|why| why.to_string());
        let needs_two = EXPERIMENTS.iter().flat_map(|one| one.needs_two).copied().collect();
        Ok(Self {
            reachable: pin::reachable().unwrap_or_default().intersection(&online),
            quota: cgroup::cpu_quota(),
            needs_two,
            hypervisor,
            stolen: stolen::share_since_boot(&online),
            moves,
            counting: Counting::here(mask.as_ref().ok().and_then(CpuSet::first)),
            kernel_mode: Counter::open(&Event::instructions(), Mode::Kernel).map(drop),
            steps: step::available().map_err(|why| why.to_string()),
            idle: idle::told(&idle::Options::default()),
            huge: HugePages::below(Path::new("/")),
            types: types(),
            mpi: mpi::available(),
            state: state::create().map(drop).map_err(|why| why.to_string()),
            preload: preload::path(Library::Pin).map_err(Into::into).and_then(|_| {
                if cfg!(target_env = "musl") { glibc(Path::new(GLIBC_LOADER)) } else { Ok(()) }
            }),
            online,
            mask,
        })
    }
}

/// Where programs of glibc look for their loader.
const GLIBC_LOADER: &str =
    if cfg!(target_arch = "aarch64") { "/lib/ld-linux-aarch64.so.1" } else { "/lib64/ld-linux-x86-64.so.2" };

/// Whether a system that may have another C library has glibc, too, whose programs alone load what coho preloads.
fn glibc(loader: &Path) -> Result<(), NotPreloaded> {
    let why = || format!("no {}: its libraries need programs of glibc", loader.display());
    loader.exists().then_some(()).ok_or_else(|| NotPreloaded { why: why(), fix: "a system that has glibc" })
}

/// The types of memory that a provider has and that pass their self-test.
fn types() -> Vec<CacheType> {
    let offers = provider::offers(&provider::Wish { bytes: 1 << 20, ..provider::Wish::default() });
    let proven =
        offers.unwrap_or_default().into_iter().filter(|offer| offer.row.available && offer.row.proven);
    proven.map(|offer| offer.row.name).collect()
}

impl Counting {
    fn here(cpu: Option<u32>) -> Self {
        if let Err(why) = Counter::open(&Event::instructions(), Mode::User) {
            return Self::No(why);
        }
        let price = Price::measure();
        if let Err(why) = price.rdpmc_ns {
            return Self::ByKernel(why);
        }
        let failed = cpu.ok_or_else(|| "no CPU to test events on".to_owned()).and_then(|cpu| {
            let chosen = chosen(cpu, &Column::ALL)?;
            let failed = Column::ALL.into_iter().filter(|column| !chosen.contains_key(column));
            Ok(failed.map(Column::name).collect())
        });
        Self::Yes { trapped: price.trapped == Some(true), failed }
    }
}

impl HugePages {
    /// As the kernel's files below a root say.
    pub(super) fn below(root: &Path) -> Self {
        let read = |path: &str| {
            let path = root.join(path);
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>((path, text))
        };
        // `always [madvise] never`
        let transparent = read("sys/kernel/mm/transparent_hugepage/enabled").and_then(|(path, text)| {
            let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            chosen
                .map(|(chosen, _)| chosen.to_owned())
                .ok_or_else(|| format!("{} names no choice", path.display()))
        });
        let reserved = read("proc/sys/vm/nr_hugepages").and_then(|(path, text)| {
            text.trim().parse().map_err(|_| format!("{} holds no number", path.display()))
        });
        Self { transparent, reserved }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_glibc_has_no_programs_to_preload_into() {
        let folder = tempfile::tempdir().unwrap();
        let loader = folder.path().join("ld-linux-x86-64.so.2");
        assert!(glibc(&loader).unwrap_err().why.contains("ld-linux-x86-64.so.2: its libraries need"));
        std::fs::write(&loader, "").unwrap();
        assert_eq!(glibc(&loader), Ok(()));
    }
}
