//! Whether settings have an effect, judged by the counters of idle states, the clock, and how long CPUs take to wake.

use std::collections::BTreeMap;

use coho_profile::{IdleControl, Wakeup};
use coho_topology::Topology;

use super::plan::Plan;
use crate::idle::observe::{self, Options};
use crate::idle::states;
use crate::{Around, Error, clock};

/// The clock must change by at least this share to show an effect.
const STEP: f64 = 0.02;
/// How often the clock is measured; an interruption spoils a try.
const TRIES: usize = 5;

/// What was observed while CPUs were woken repeatedly.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// How long they took.
    pub wakeups: Vec<Wakeup>,
    /// Entries of each idle state meanwhile, by its folder.
    entries: BTreeMap<String, u64>,
    ghz: Option<f64>,
}

impl Effect {
    /// Wakes CPUs and observes what they do in between.
    ///
    /// # Errors
    /// If a CPU that was asked for cannot be used.
    pub fn look(options: &Options, topology: &Topology) -> Result<Self, Error> {
        let usage = || -> BTreeMap<String, u64> {
            let states = states::read(&options.root, None).unwrap_or_default();
            states.into_iter().map(|state| (state.folder, state.usage)).collect()
        };
        let before = usage();
        let (wakeups, _) = observe::wake(options, &mut Around::new(topology, &mut |_| ()))?;
        let mut entries = usage();
        entries
            .iter_mut()
            .for_each(|(folder, n)| *n = n.saturating_sub(before.get(folder).copied().unwrap_or(0)));
        let ghz = (0..TRIES).find_map(|_| clock::effective_ghz().ok());
        Ok(Self { wakeups, entries, ghz })
    }

    fn entries(&self, which: impl Fn(&str) -> bool) -> u64 {
        self.entries.iter().filter(|(folder, _)| which(folder)).map(|(_, n)| n).sum()
    }
}

impl Plan {
    /// The verdicts, from observations before and after the plan was applied. Every file has been read back already.
    pub fn verdicts(&self, before: &Effect, after: &Effect) -> Vec<IdleControl> {
        let idle = self.idle(before, after);
        let control = |name: &String| {
            let status = if name.starts_with("governor ") { governor(before, after) } else { idle.clone() };
            IdleControl { name: name.clone(), status }
        };
        self.names.iter().map(control).collect()
    }

    /// Judged by the entries of the forbidden states: there must be none, while other states were entered.
    fn idle(&self, before: &Effect, after: &Effect) -> String {
        let forbidden = |folder: &str| self.forbidden.contains(folder);
        let was = before.entries(forbidden);
        let (entered, others) = (after.entries(forbidden), after.entries(|folder| !forbidden(folder)));
        let compared = |entered: u64| {
            let times = |n: u64| if n == 1 { "once".to_owned() } else { format!("{n} times") };
            format!("entered {}, before {}; other states {}", times(entered), times(was), times(others))
        };
        match (entered, others) {
            _ if self.forbidden.is_empty() => {
                "set, not verifiable: no CPU has an idle state that it forbids".into()
            }
            (0, 0) => "set, not verifiable: the counters of idle states do not move".into(),
            (0, _) if was == 0 => {
                "set, not verifiable: no CPU had entered the states that it forbids even before".into()
            }
            (0, _) => format!("set and verified: {}", compared(0)),
            _ => format!("set, without effect: still {}", compared(entered)),
        }
    }
}

fn governor(before: &Effect, after: &Effect) -> String {
    match (before.ghz, after.ghz) {
        (Some(before), Some(after)) if (after / before - 1.0).abs() > STEP => {
            format!("set and verified: the clock went from {before:.2} to {after:.2} GHz")
        }
        (Some(_), Some(ghz)) => {
            format!("set, not verifiable: read back, but the clock stayed at {ghz:.2} GHz")
        }
        _ => "set, not verifiable: read back, but the clock could not be measured".into(),
    }
}

impl Plan {
    /// The wishes in one line, as in `C6 disabled, governor performance`.
    pub fn name(&self) -> String {
        self.names.join(", ")
    }

    /// Whether some verdict says that what was set has no effect.
    pub fn failed(verdicts: &[IdleControl]) -> bool {
        verdicts.iter().any(|verdict| verdict.status.starts_with("set, without effect"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_in_words() {
        let entered = |forbidden, other| Effect {
            wakeups: Vec::new(),
            entries: [("cpu0/state2".to_owned(), forbidden), ("cpu0/state1".to_owned(), other)].into(),
            ghz: None,
        };
        let plan = Plan {
            changes: Vec::new(),
            dma_latency_us: None,
            names: Vec::new(),
            forbidden: ["cpu0/state2".to_owned()].into(),
            governor: false,
        };
        let says = |before, after| plan.idle(&before, &after);
        assert_eq!(
            says(entered(1, 5), entered(0, 9)),
            "set and verified: entered 0 times, before once; other states 9 times"
        );
        assert_eq!(
            says(entered(0, 5), entered(0, 9)),
            "set, not verifiable: no CPU had entered the states that it forbids even before"
        );
        assert_eq!(
            says(entered(7, 0), entered(1, 1)),
            "set, without effect: still entered once, before 7 times; other states once"
        );
    }
}
