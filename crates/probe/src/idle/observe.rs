//! What the machine reports about its idle states and clock, and how long its CPUs take to wake.

use std::collections::BTreeMap;
use std::time::Duration;

use coho_platform::pin;
use coho_profile::{Idle, IdleControl, Method, Wakeup};
use coho_sync::Mapping;
use coho_topology::Topology;

use super::files::{CPUS, Root};
use super::wakeup::{self, Effort};
use super::{control, frequency, states};
use crate::experiment::{Surveyed, Times};
use crate::frame::Frame;
use crate::{Around, Course, Error, Experiment};

/// CPUs that are woken: the farthest apart.
const WOKEN: usize = 4;

/// What to observe and how well.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where `sys` and `dev` are.
    pub root: Root,
    /// Fewer wake-ups.
    pub quick: bool,
    /// Where, and for how long.
    pub course: Course,
}

/// Reads what there is and wakes CPUs; what is missing is named with the reason. Takes some seconds, `quick` less than
/// one.
impl Experiment for Options {
    type Section = Idle;

    fn has_figures(section: &Idle) -> bool {
        section.wakeups.iter().any(|wakeup| wakeup.ns.is_some())
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Idle, Error> {
        let mut section = told(self);
        let (wakeups, mut frame) = wake(self, around)?;
        section.wakeups = wakeups;
        frame.method.not_available = section.method.not_available;
        section.method = frame.finish(DESCRIPTION);
        Ok(section)
    }
}

impl Surveyed for Options {
    const TIMES: Times = Times::seconds(2, 10);

    fn in_survey(_: bool, course: Course) -> Self {
        Self { quick: true, course, ..Self::default() }
    }

    fn method(section: &mut Idle) -> &mut Method {
        &mut section.method
    }
}

const DESCRIPTION: &str = "What the kernel's cpuidle and cpufreq report. A thread sleeps until a set time, \
    or until a thread on another CPU wakes it by a futex or a pipe; the time is from that moment, or that \
    call, until the thread runs.";

/// How long CPUs take to wake as things are, and the frame in which that was measured.
///
/// # Errors
/// If a CPU that was asked for cannot be used.
pub(super) fn wake<'a>(
    options: &Options,
    around: &'a mut Around<'_>,
) -> Result<(Vec<Wakeup>, Frame<'a>), Error> {
    let (effort, order) = (effort(options), woken(options, around.topology)?);
    let mut frame = Frame::on(&options.course.moved(&order[..]), around.progress)?;
    let wakeups = wakeup::measure(&mut frame, &order, &effort)?;
    frame.parameter("passes", effort.passes);
    frame.parameter("samples", effort.samples);
    Ok((wakeups, frame))
}

/// The CPUs that are woken, the first of which wakes the others.
fn woken(options: &Options, topology: &Topology) -> Result<Vec<u32>, Error> {
    let allowed = pin::allowed()?.intersection(&topology.cpus());
    let cpus = match &options.course.named() {
        // CPUs that may not be used must be named in the error.
        Some(cpus) if !cpus.is_subset(&allowed) => cpus.iter().collect(),
        Some(cpus) => Mapping::BinaryTree.order(topology, cpus),
        None => Mapping::BinaryTree.order(topology, &allowed),
    };
    Ok(cpus.into_iter().take(WOKEN).collect())
}

fn effort(options: &Options) -> Effort {
    let (sleeps, passes, samples) =
        if options.quick { (&[200, 1000][..], 3, 8) } else { (&[100, 1000, 10_000][..], 6, 16) };
    Effort { sleeps: sleeps.iter().map(|&us| Duration::from_micros(us)).collect(), passes, samples }
}

/// What the kernel's files say, without waking anything; what is missing is named with the reason.
pub fn told(options: &Options) -> Idle {
    let (root, only) = (&options.root, options.course.named());
    let only = only.as_ref();
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

/// What can be set.
fn controls(
    root: &Root,
    states: Result<&[states::State], &String>,
    policies: Result<&[frequency::Policy], &String>,
) -> Vec<IdleControl> {
    let writable = |path: String| match root.is_writable(&path) {
        true => "available".to_owned(),
        false => format!("not available: {} is not writable; run as root", root.path(path).display()),
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
