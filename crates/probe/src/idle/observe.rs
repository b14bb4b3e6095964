//! What the machine tells of its idle states and clock, and how long its CPUs take to wake.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use coho_platform::{pin, stolen};
use coho_profile::{Idle, IdleControl, Method, Wakeup};
use coho_sync::Mapping;
use coho_topology::{CpuSet, Topology};
use serde_json::json;

use super::files::{CPUS, Root};
use super::wakeup::{self, Effort};
use super::{control, frequency, states};
use crate::Error;
use crate::end::End;

/// CPUs that are woken: the farthest apart.
const WOKEN: usize = 4;

/// What to observe and how well.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where `sys` and `dev` are.
    pub root: Root,
    /// These CPUs only; all if `None`.
    pub cpus: Option<CpuSet>,
    /// Fewer wake-ups.
    pub quick: bool,
    /// Stop after this time and keep what is done.
    pub time_limit: Option<Duration>,
    /// Seed of the random order.
    pub seed: u64,
}

/// Reads what there is and wakes CPUs; what is not there is named with the reason. Takes some seconds, `quick` less than
/// one.
///
/// # Errors
/// If a CPU that was asked for cannot be used.
pub fn observe(options: &Options, topology: &Topology) -> Result<Idle, Error> {
    let started = Instant::now();
    let mut section = told(options);
    let steal = stolen::steal_s(&topology.cpus());
    section.wakeups = wake(options, topology, started)?;
    let per_state = [("passes", json!(effort(options).passes)), ("samples", json!(effort(options).samples))];
    section.method = Method {
        description: "What the kernel's cpuidle and cpufreq tell. A thread sleeps until a moment of the clock, or until \
                      a thread on another CPU wakes it by a futex or a pipe; the time is from that moment, or that \
                      call, until the thread runs."
            .into(),
        parameters: per_state.map(|(name, value)| (name.to_owned(), value)).into(),
        passes: effort(options).passes as u64,
        duration_s: started.elapsed().as_secs_f64(),
        interrupted: coho_platform::stop::requested(),
        steal_s: stolen::steal_s(&topology.cpus()).zip(steal).map_or(0.0, |(after, before)| after - before),
        not_available: section.method.not_available,
        ..Method::default()
    };
    Ok(section)
}

/// How long CPUs take to wake as things are.
///
/// # Errors
/// If a CPU that was asked for cannot be used.
pub(super) fn wake(options: &Options, topology: &Topology, started: Instant) -> Result<Vec<Wakeup>, Error> {
    let allowed = pin::allowed()?.intersection(&topology.cpus());
    let cpus = match &options.cpus {
        // Those that may not be used shall be named.
        Some(cpus) if !cpus.is_subset(&allowed) => cpus.iter().collect(),
        Some(cpus) => Mapping::BinaryTree.order(topology, cpus),
        None => Mapping::BinaryTree.order(topology, &allowed),
    };
    let cpus: Vec<u32> = cpus.into_iter().take(WOKEN).collect();
    wakeup::measure(&cpus, &effort(options), End::after(started, options.time_limit))
}

fn effort(options: &Options) -> Effort {
    let (sleeps, passes, samples) =
        if options.quick { (&[200, 1000][..], 3, 8) } else { (&[100, 1000, 10_000][..], 6, 16) };
    Effort {
        sleeps: sleeps.iter().map(|&us| Duration::from_micros(us)).collect(),
        passes,
        samples,
        seed: options.seed,
    }
}

/// What the kernel's files tell, without waking anything; what is not there is named with the reason.
pub fn told(options: &Options) -> Idle {
    let (root, only) = (&options.root, options.cpus.as_ref());
    let mut missing = BTreeMap::new();
    let mut take = |name: &str, result: Result<String, String>| match result {
        // The kernel's word for none.
        Ok(text) if text != "none" => Some(text),
        Ok(_) => {
            missing.insert(name.to_owned(), "the kernel has none".to_owned());
            None
        }
        Err(why) => {
            missing.insert(name.to_owned(), why);
            None
        }
    };
    let driver = take("cpuidle driver", root.trimmed(&format!("{CPUS}/cpuidle/current_driver")));
    let governor = root.trimmed(&format!("{CPUS}/cpuidle/current_governor"));
    let governor = governor.or_else(|_| root.trimmed(&format!("{CPUS}/cpuidle/current_governor_ro")));
    let governor = take("cpuidle governor", governor);
    let states = states::read(root, only);
    let policies = frequency::policies(root, only);
    let dma_latency = control::dma_latency_us(root);
    take("boost", frequency::boost(root).map(|on| on.to_string()));
    for (name, why) in [
        ("idle states", states.as_ref().err()),
        ("frequency", policies.as_ref().err()),
        ("cpu_dma_latency", dma_latency.as_ref().err()),
    ] {
        missing.extend(why.map(|why| (name.to_owned(), why.clone())));
    }
    let resume = |cpu: u32| root.number(&format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us")).ok();
    Idle {
        driver,
        governor,
        states: states.as_deref().map(states::grouped).unwrap_or_default(),
        frequency: policies.as_deref().map(|policies| frequency::read(root, policies)).unwrap_or_default(),
        dma_latency_us: dma_latency.ok(),
        // 0 means that none is set.
        resume_latency_us: root
            .cpus(only)
            .into_iter()
            .filter_map(|cpu| Some((cpu, resume(cpu).filter(|&us| us > 0)?)))
            .collect(),
        controls: controls(root, states.as_deref(), policies.as_deref()),
        method: Method { not_available: missing, ..Method::default() },
        ..Idle::default()
    }
}

/// What could be set.
fn controls(
    root: &Root,
    states: Result<&[states::State], &String>,
    policies: Result<&[frequency::Policy], &String>,
) -> Vec<IdleControl> {
    let writable = |path: String| match root.is_writable(&path) {
        true => "available".to_owned(),
        false => format!("not available: {} may not be written; be root", root.path(path).display()),
    };
    let unavailable = |why: &String| format!("not available: {why}");
    let of_states =
        states.map_or_else(unavailable, |states| writable(format!("{}/disable", states[0].folder)));
    let of_policies = policies
        .map_or_else(unavailable, |policies| writable(format!("{}/scaling_governor", policies[0].folder)));
    let limit = control::dma_latency_us(root)
        .map_or_else(|why| unavailable(&why), |_| writable(control::DMA_LATENCY.into()));
    [("idle states", of_states), ("latency limit", limit), ("governor", of_policies)]
        .map(|(name, status)| IdleControl { name: name.into(), status })
        .into()
}
