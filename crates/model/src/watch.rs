//! Whether a machine stayed as it was while something was measured on it.
//!
//! Pauses, in which nothing else runs, are compared with each other: what differs between them, the machine has done. What
//! jumps while the command runs may be the command's own doing, unless the pauses around it differ in the same way.

use std::fmt;

use coho_profile::Estimate;
use serde::{Serialize, Serializer};

use crate::chance::Family;

/// What was watched, and what has changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Watched {
    /// Whether the pauses tell that the machine changed.
    pub moved: bool,
    /// What changed, in the order of time.
    pub changes: Vec<Change>,
    /// The pauses and the runs, in the order of time.
    pub windows: Vec<Window>,
    /// The command.
    pub command: Command,
    /// On which machine, and when.
    pub machine: Machine,
}

/// How the command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Command {
    /// The exit status of the run that ended last, 128 + n for a signal.
    pub status: u8,
    /// How often it ran.
    pub runs: u32,
}

/// The machine and the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: Option<String>,
    /// The hypervisor's.
    pub hypervisor: Option<String>,
    /// The kernel's version.
    pub kernel: Option<String>,
    /// When the first pause began.
    pub date: Option<String>,
    /// coho's version.
    pub coho: String,
}

/// A pause or a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Window {
    /// Which.
    pub when: When,
    /// Its begin, in seconds since coho began to watch.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// One-way times between CPUs.
    pub hand_over: Vec<HandOver>,
    /// The clock of one CPU, in GHz. The command changes it too.
    pub clock_ghz: Option<Estimate>,
    /// A load from memory, in ns; only in pauses.
    pub memory_ns: Option<Estimate>,
    /// The share of the CPUs' time that the hypervisor took, 0 to 1.
    pub stolen: Option<f64>,
}

/// A pause or a run; the JSON has it in words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// Before the first run.
    #[default]
    Before,
    /// A run, counted from 1.
    Run(u32),
    /// Between this run and the next.
    Between(u32),
    /// After the last run.
    After,
}

impl When {
    /// Whether the command does not run.
    pub fn is_pause(self) -> bool {
        !matches!(self, Self::Run(_))
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before => f.write_str("before"),
            Self::Run(run) => write!(f, "run {run}"),
            Self::Between(run) => write!(f, "between {run} and {}", run + 1),
            Self::After => f.write_str("after"),
        }
    }
}

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A pair's one-way time, in ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HandOver {
    /// One CPU.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// The time.
    pub ns: Estimate,
}

/// A jump of a pair's time within a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jump {
    /// The run, counted from 1.
    pub run: u32,
    /// Seconds since the run began.
    pub at_s: f64,
    /// The pair.
    pub pair: (u32, u32),
    /// Its time before the jump and after it, in ns.
    pub ns: (f64, f64),
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// In which run.
    pub run: u32,
    /// Seconds since that run began, if it was seen to jump.
    pub at_s: Option<f64>,
    /// What.
    pub what: What,
    /// Its value before, in the unit that `what` names.
    pub before: f64,
    /// Its value after.
    pub after: f64,
    /// Whether the pauses around the run differ. If not, the command itself may have caused it.
    pub is_machine: bool,
}

/// A quantity that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The one-way time between two CPUs, in ns.
    HandOverNs {
        /// One of them.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The clock, in GHz.
    ClockGhz,
    /// A load from memory, in ns.
    MemoryNs,
}

/// By how much a time between CPUs must differ to count: its lines and its neighbours change it by less.
pub const HAND_OVER: f64 = 1.5;
/// The same of the clock, which the command's heat lowers,
const CLOCK: f64 = 1.1;
/// and of memory, whose pages and neighbours differ.
const MEMORY: f64 = 1.5;

/// What changed, given the jumps within the runs.
///
/// ```
/// use coho_model::watch::{HandOver, When, Window, changes};
/// use coho_profile::Estimate;
/// let pause = |when, ns: f64| Window {
///     when,
///     hand_over: vec![HandOver { a: 0, b: 1, ns: Estimate { n: 24, low: ns - 1.0, high: ns + 1.0, ..Estimate::exact(ns) } }],
///     ..Window::default()
/// };
/// let windows = [pause(When::Before, 26.0), pause(When::Between(1), 26.5), pause(When::After, 128.0)];
/// let found = changes(&windows, &[]);
/// assert_eq!((found.len(), found[0].run, found[0].is_machine), (1, 2, true));
/// ```
pub fn changes(windows: &[Window], jumps: &[Jump]) -> Vec<Change> {
    let pauses: Vec<&Window> = windows.iter().filter(|window| window.when.is_pause()).collect();
    let quantities = |window: &Window| -> Vec<(What, f64, Estimate)> {
        let times = window.hand_over.iter();
        let times = times.map(|time| (What::HandOverNs { a: time.a, b: time.b }, HAND_OVER, time.ns.clone()));
        let clock = window.clock_ghz.iter().map(|ghz| (What::ClockGhz, CLOCK, ghz.clone()));
        let memory = window.memory_ns.iter().map(|ns| (What::MemoryNs, MEMORY, ns.clone()));
        times.chain(clock).chain(memory).collect()
    };
    let compared: usize = pauses.iter().skip(1).map(|pause| quantities(pause).len()).sum();
    let mut found = Vec::new();
    for (run, around) in (1..).zip(pauses.windows(2)) {
        let before = quantities(around[0]);
        for (what, least, after) in quantities(around[1]) {
            let Some((_, _, before)) = before.iter().find(|(known, ..)| *known == what) else { continue };
            if Family::of(compared).beyond(least).compare(before, &after).differs() {
                let (before, after) = (before.median, after.median);
                found.push(Change { run, at_s: None, what, before, after, is_machine: true });
            }
        }
    }
    for jump in jumps {
        let (before, after) = jump.ns;
        let what = What::HandOverNs { a: jump.pair.0, b: jump.pair.1 };
        let same = |change: &&mut Change| {
            (change.run, change.what) == (jump.run, what)
                && (change.before < change.after) == (before < after)
        };
        match found.iter_mut().filter(|change| change.is_machine && change.at_s.is_none()).find(same) {
            Some(change) => change.at_s = Some(jump.at_s),
            None => {
                let at_s = Some(jump.at_s);
                found.push(Change { run: jump.run, at_s, what, before, after, is_machine: false });
            }
        }
    }
    let at_s = |change: &Change| change.at_s.unwrap_or(0.0);
    found.sort_by(|one, other| one.run.cmp(&other.run).then(at_s(one).total_cmp(&at_s(other))));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, n: u64) -> Estimate {
        Estimate { n, low: value * 0.98, high: value * 1.02, min: value * 0.97, ..Estimate::exact(value) }
    }

    fn window(when: When, ns: f64) -> Window {
        Window { when, hand_over: vec![HandOver { a: 0, b: 1, ns: figure(ns, 24) }], ..Window::default() }
    }

    fn jump(run: u32, at_s: f64, ns: (f64, f64)) -> Jump {
        Jump { run, at_s, pair: (0, 1), ns }
    }

    #[test]
    fn a_jump_is_the_machine_s_only_if_the_pauses_agree() {
        let moved = [window(When::Before, 26.0), window(When::Run(1), 60.0), window(When::After, 128.0)];
        let told = |windows: &[Window], jumps: &[Jump]| {
            let of = |change: &Change| (change.run, change.at_s, change.is_machine);
            changes(windows, jumps).iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(told(&moved, &[]), [(1, None, true)]);
        assert_eq!(told(&moved, &[jump(1, 3.5, (26.0, 128.0))]), [(1, Some(3.5), true)]);
        let other_way = [jump(1, 3.5, (128.0, 26.0))];
        assert_eq!(told(&moved, &other_way), [(1, None, true), (1, Some(3.5), false)]);
        let calm = [window(When::Before, 26.0), window(When::After, 26.5)];
        assert_eq!(told(&calm, &[]), []);
        assert_eq!(told(&calm, &[jump(1, 0.5, (26.0, 50.0))]), [(1, Some(0.5), false)]);
    }

    #[test]
    fn small_differences_and_few_looks_are_no_change() {
        let pair = |before: Estimate, after: Estimate| {
            let window =
                |when, ns| Window { hand_over: vec![HandOver { a: 0, b: 1, ns }], ..window(when, 1.0) };
            changes(&[window(When::Before, before), window(When::After, after)], &[]).len()
        };
        assert_eq!(pair(figure(26.0, 24), figure(38.0, 24)), 0, "less than half as much again");
        assert_eq!(pair(figure(26.0, 24), figure(40.0, 24)), 1);
        assert_eq!(pair(figure(26.0, 4), figure(40.0, 24)), 0, "too few looks");
        let wide = Estimate { high: 60.0, ..figure(26.0, 24) };
        assert_eq!(pair(wide, figure(40.0, 24)), 0, "the intervals overlap");
    }

    #[test]
    fn each_quantity_has_its_own_measure() {
        let window = |when, ghz, ns| Window {
            when,
            clock_ghz: Some(figure(ghz, 24)),
            memory_ns: Some(figure(ns, 24)),
            ..Window::default()
        };
        let told = |ghz, ns| {
            let windows = [window(When::Before, 3.0, 100.0), window(When::After, ghz, ns)];
            changes(&windows, &[]).iter().map(|change| change.what).collect::<Vec<_>>()
        };
        assert_eq!(told(3.1, 120.0), []);
        assert_eq!(told(2.5, 120.0), [What::ClockGhz]);
        assert_eq!(told(3.0, 170.0), [What::MemoryNs]);
    }
}
