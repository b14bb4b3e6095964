//! From the user's wishes to the files to write.

use std::collections::BTreeSet;

use coho_topology::CpuSet;

use crate::Error;
use crate::idle::files::Root;
use crate::idle::{frequency, states};

/// What to set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Idle states to disable, by name; numbers differ from CPU to CPU.
    pub disable: Vec<String>,
    /// Disable every state that takes longer than this to leave, in microseconds.
    pub max_latency_us: Option<u64>,
    /// The frequency governor.
    pub governor: Option<String>,
    /// Bound the latency of all CPUs, in microseconds, through `/dev/cpu_dma_latency`.
    pub dma_latency_us: Option<u32>,
    /// The CPUs concerned; all if `None`.
    pub cpus: Option<CpuSet>,
}

impl Wish {
    /// The wishes by name, as in `C6 disabled`.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        names.extend(self.dma_latency_us.map(|us| format!("latency limited to {us} us")));
        names.extend(self.disable.iter().map(|name| format!("{name} disabled")));
        names.extend(self.max_latency_us.map(|us| format!("states slower than {us} us disabled")));
        names.extend(self.governor.as_ref().map(|governor| format!("governor {governor}")));
        names
    }
}

/// A file and its new contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub path: String,
    pub value: String,
}

/// What will be changed: every file, before any is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) dma_latency_us: Option<u32>,
    /// The wishes by name, as in `C6 disabled`.
    pub(super) names: Vec<String>,
    /// Folders of the states that no CPU may enter.
    pub(super) forbidden: BTreeSet<String>,
    /// Whether a governor is set.
    pub(super) governor: bool,
}

impl Plan {
    /// Finds the files for a wish.
    ///
    /// # Errors
    /// If it is not possible here: no idle states, none of that name, no frequency policy, no such governor.
    pub fn of(root: &Root, wish: &Wish) -> Result<Self, Error> {
        let mut plan = Self {
            changes: Vec::new(),
            dma_latency_us: wish.dma_latency_us,
            names: wish.names(),
            forbidden: BTreeSet::new(),
            governor: wish.governor.is_some(),
        };
        if wish.dma_latency_us.is_some() {
            super::dma_latency_us(root).map_err(|why| not_available("a latency limit", &why))?;
        }
        if !wish.disable.is_empty() || wish.max_latency_us.is_some() {
            plan.states(root, wish)?;
        } else if let (Some(us), Ok(states)) = (wish.dma_latency_us, states::read(root, None)) {
            let beyond = states.into_iter().filter(|state| state.latency_us > u64::from(us));
            plan.forbidden.extend(beyond.map(|state| state.folder));
        }
        if let Some(governor) = &wish.governor {
            plan.governor(root, governor, wish.cpus.as_ref())?;
        }
        Ok(plan)
    }

    /// Folders of the states that it forbids, below the root.
    pub(crate) fn forbidden(&self) -> &BTreeSet<String> {
        &self.forbidden
    }

    fn states(&mut self, root: &Root, wish: &Wish) -> Result<(), Error> {
        let states = states::read(root, wish.cpus.as_ref())
            .map_err(|why| not_available("disabling idle states", &why))?;
        for name in &wish.disable {
            if !states.iter().any(|state| state.name == *name) {
                let known: BTreeSet<_> = states.iter().map(|state| state.name.as_str()).collect();
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                return Err(Error::argument(format!("no CPU has an idle state '{name}'; there are {known}")));
            }
        }
        let too_slow = |latency_us: u64| wish.max_latency_us.is_some_and(|most| latency_us > most);
        for state in states {
            if wish.disable.contains(&state.name) || too_slow(state.latency_us) {
                let path = format!("{}/disable", state.folder);
                self.changes.extend((!state.disabled).then(|| Change { path, value: "1\n".into() }));
                self.forbidden.insert(state.folder);
            }
        }
        Ok(())
    }

    fn governor(&mut self, root: &Root, governor: &str, cpus: Option<&CpuSet>) -> Result<(), Error> {
        let policies =
            frequency::policies(root, cpus).map_err(|why| not_available("setting a governor", &why))?;
        for policy in &policies {
            if !policy.available.iter().any(|known| known == governor) {
                return Err(Error::argument(format!(
                    "CPUs {} have no governor '{governor}'; they have {}",
                    policy.cpus,
                    policy.available.join(", ")
                )));
            }
            let path = format!("{}/scaling_governor", policy.folder);
            let differs = policy.governor != governor;
            self.changes.extend(differs.then(|| Change { path, value: format!("{governor}\n") }));
        }
        Ok(())
    }
}

fn not_available(what: &str, why: &str) -> Error {
    Error::not_available(format!("{what} is not available: {why}"))
}
