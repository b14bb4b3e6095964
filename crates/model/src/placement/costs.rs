//! What the simulator assumes: every cost with its range and its source.

use std::ops::Index;

use coho_profile::{Estimate, Idle, Ns, Profile, Wakeup, Workloads};
use fastrand::Rng;
use serde::Serialize;

use crate::{Error, json};

/// A cost that was not measured on the machine in question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumed {
    /// The name, which ends with the unit: `idle_exit_ns`.
    pub name: &'static str,
    /// The value used.
    pub value: f64,
    /// The range in which it may lie.
    #[serde(flatten, serialize_with = "json::ends")]
    pub range: (f64, f64),
    /// Where it comes from.
    pub source: &'static str,
}

/// What has a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    SmtLine,
    L2Line,
    L3Line,
    FarLine,
    LinesInFlight,
    WakeLines,
    MessageLines,
    Wake,
    Switch,
    IdleExit,
    Spin,
    SmtSpeed,
    ModuleSpeed,
    ModuleFloatSpeed,
}

/// All costs. Speeds are relative to a CPU alone, for one of two neighbours that are both busy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Costs([Assumed; 14]);

const FX_8300: &str = "as measured on an FX-8300 (kcores), from its quickest to its slowest such pair";
const ROUND: &str = "assumed, a round number";
const GIVEN: &str = "given";

/// What waking another task and switching to it cost on one CPU, in ns: low, median and high; `None` where context
/// switching or pipe calls were not measured there.
fn handover(workloads: &Workloads) -> Option<[f64; 3]> {
    let on_one = |test: &str| {
        let row = workloads.results.iter().find(|row| {
            row.test == test
                && row.copies == 1
                && row.pair_class.as_ref().map_or(row.placement == "compact", |class| class == "same CPU")
        });
        row?.value.as_ref().filter(|value| value.low > 0.0)
    };
    let (pair, pipe) = (on_one("pipe_context_switching")?, on_one("pipe_throughput")?);
    // A round trip has four calls and two handovers; a loop of pipe throughput has two calls.
    let both = |round_trips: f64, loops: f64| (1e9 / round_trips - 2.0 * 1e9 / loops) / 2.0;
    Some([both(pair.high, pipe.low), both(pair.median, pipe.median), both(pair.low, pipe.high)])
}

/// How long one of two CPUs took to wake after its shortest sleep, woken by the other.
fn shortest_wakeup(idle: &Idle, a: u32, b: u32) -> Option<&Estimate> {
    let between = |wakeup: &&Wakeup| {
        wakeup.under.is_none() && [(a, Some(b)), (b, Some(a))].contains(&(wakeup.cpu, wakeup.from))
    };
    let shortest = idle.wakeups.iter().filter(between).min_by_key(|wakeup| wakeup.slept_us)?;
    shortest.ns.as_ref()
}

impl Default for Costs {
    /// For a machine with AMD's modules, like the article's.
    fn default() -> Self {
        let cost = |name, value, range, source| Assumed { name, value, range, source };
        // In the order of `Cost`.
        Self([
            cost("smt_line_ns", 10.0, (5.0, 20.0), "assumed: through the L1 that threads of a core share"),
            cost("l2_line_ns", 42.0, (41.9, 46.7), FX_8300),
            cost("l3_line_ns", 60.0, (30.0, 120.0), ROUND),
            cost("far_line_ns", 291.0, (222.0, 339.6), FX_8300),
            cost("lines_in_flight", 4.0, (2.0, 8.0), "assumed: misses on a block of lines that overlap"),
            cost("wake_lines", 2.0, (1.0, 4.0), "assumed: run queue and thread of the woken"),
            cost("message_lines", 2.0, (1.0, 4.0), "assumed: a pipe and its data"),
            cost("wake_ns", 200.0, (100.0, 400.0), ROUND),
            cost("switch_ns", 500.0, (250.0, 1000.0), ROUND),
            cost("idle_exit_ns", 500.0, (200.0, 2000.0), "assumed: out of C1, with the signal to leave it"),
            cost("spin_ns", 100_000.0, (50_000.0, 400_000.0), "10000 turns of ULE's loop, of 10 ns"),
            cost("smt_speed", 0.62, (0.5, 0.75), "assumed: of a thread beside another of its core"),
            cost("module_speed", 0.9, (0.8, 1.0), "assumed: at least AMD's 80 % (Hot Chips 2010)"),
            cost("module_float_speed", 0.7, (0.5, 0.9), "assumed: two cores at one FPU"),
        ])
    }
}

impl Index<Cost> for Costs {
    type Output = f64;

    fn index(&self, cost: Cost) -> &f64 {
        &self.0[cost as usize].value
    }
}

impl Costs {
    /// Every cost.
    pub fn all(&self) -> &[Assumed] {
        &self.0
    }

    /// Sets a cost to a known value.
    ///
    /// ```
    /// let mut costs = coho_model::placement::Costs::default();
    /// costs.set("idle_exit_ns", 1500.0)?;
    /// assert!(costs.set("idle_exit", 1500.0).is_err());
    /// # Ok::<(), coho_model::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no cost with that name (the message lists them), or the value is not above zero, or above 1 for a
    /// speed, or above a second.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), Error> {
        let names = self.0.each_ref().map(|cost| cost.name).join(", ");
        let Some(cost) = self.0.iter_mut().find(|cost| cost.name == name) else {
            return Err(Error::new(format!("no cost named '{name}'; there are: {names}")));
        };
        let most = if name.ends_with("_speed") { 1.0 } else { 1e9 };
        if !(value > 0.0 && value <= most) {
            return Err(Error::new(format!("{name} must lie above 0 and be at most {most}")));
        }
        *cost = Assumed { name: cost.name, value, range: (value, value), source: GIVEN };
        Ok(())
    }

    /// Replaces assumed costs by those that a profile has measured, for programs on two of its CPUs; costs that were
    /// set stay.
    ///
    /// - Waking and switching together, from context switching of two processes on one CPU minus its calls, which
    ///   pipe throughput gives; their proportion is still assumed.
    /// - Leaving an idle state, from how long a CPU took to wake after its shortest sleep, woken by another, minus
    ///   waking, switching and a line's transfer.
    /// - Speeds beside a busy neighbour, from kernels that were run alone and together.
    ///
    /// The times of lines belong to the machine ([`Machine`](super::Machine)).
    pub fn measured(mut self, profile: &Profile, a: u32, b: u32) -> Self {
        let workloads = profile.workloads.as_ref();
        if let Some([low, median, high]) = workloads.and_then(handover) {
            let article = (self[Cost::Wake], self[Cost::Switch]);
            let both = article.0 + article.1;
            const SOURCE: &str =
                "measured: context switching on one CPU less its pipe calls; its share assumed";
            for (cost, own) in [(Cost::Wake, article.0), (Cost::Switch, article.1)] {
                self.take(cost, [low, median, high].map(|ns| ns * own / both), SOURCE);
            }
        }
        if let Some(wakeup) = profile.idle.as_ref().and_then(|idle| shortest_wakeup(idle, a, b)) {
            let busy = self[Cost::Wake] + self[Cost::Switch];
            let exit = [wakeup.low, wakeup.median, wakeup.high].map(|ns| ns - busy);
            self.take(
                Cost::IdleExit,
                exit,
                "measured: waking a CPU after its shortest sleep, less wake and switch",
            );
        }
        for sharing in workloads.into_iter().flat_map(|workloads| &workloads.sharing) {
            let cost = match (&*sharing.kernel, &*sharing.pair_class) {
                ("integer", "core") => Cost::SmtSpeed,
                ("integer", "module" | "L2") => Cost::ModuleSpeed,
                ("floating-point", "module" | "L2") => Cost::ModuleFloatSpeed,
                _ => continue,
            };
            if let Some(ratio) = &sharing.ratio {
                let speed = [ratio.low, ratio.median, ratio.high].map(|ratio| ratio.min(1.0));
                self.take(cost, speed, "measured: kernels alone and together on such a pair");
            }
        }
        self
    }

    /// Sets a measured value and its interval, if the value is above 0 and the cost was not set. A remainder after
    /// subtracting other times may have an interval that reaches below 0; it then counts as 1 ns.
    fn take(&mut self, cost: Cost, [low, median, high]: [f64; 3], source: &'static str) {
        let assumed = &mut self.0[cost as usize];
        if assumed.source != GIVEN && median > 0.0 && high.is_finite() {
            let least = if assumed.name.ends_with("_ns") { 1.0 } else { 1e-3 };
            let range = (low.clamp(f64::min(least, median), median), high.max(median));
            *assumed = Assumed { name: assumed.name, value: median, range, source };
        }
    }

    /// A cost that is a time.
    pub(super) fn time(&self, cost: Cost) -> Ns {
        Ns(self[cost])
    }

    /// Every cost drawn from its range, uniformly in its logarithm.
    pub(super) fn drawn(&self, rng: &mut Rng) -> Self {
        let mut drawn = self.clone();
        for cost in &mut drawn.0 {
            let (low, high) = cost.range;
            cost.value = low * (high / low).powf(rng.f64());
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_drawn_from_their_ranges_and_known_ones_stay() {
        let mut costs = Costs::default();
        assert_eq!(costs.0[Cost::ModuleFloatSpeed as usize].name, "module_float_speed");
        assert_eq!(costs.0[Cost::Switch as usize].name, "switch_ns");
        costs.set("wake_ns", 7.0).unwrap();
        let drawn = costs.drawn(&mut Rng::with_seed(1));
        for (cost, drawn) in costs.all().iter().zip(drawn.all()) {
            let (low, high) = cost.range;
            assert!(low <= cost.value && cost.value <= high, "{cost:?}");
            assert!(low <= drawn.value * (1.0 + 1e-9) && drawn.value <= high * (1.0 + 1e-9), "{drawn:?}");
        }
        assert_eq!((drawn[Cost::Wake], drawn[Cost::Switch] == costs[Cost::Switch]), (7.0, false));
    }

    #[test]
    fn what_is_no_cost_is_refused() {
        let mut costs = Costs::default();
        for (name, value) in [("gold", 1.0), ("wake_ns", 0.0), ("wake_ns", f64::NAN), ("smt_speed", 1.5)] {
            assert!(costs.set(name, value).is_err(), "{name} {value}");
        }
        assert_eq!(costs, Costs::default());
    }
}
