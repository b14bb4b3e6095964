//! The actual machine: how long a line takes from CPU to CPU, and who shares execution units.

use std::collections::HashMap;

use coho_profile::{Coherence, Ns, PairMethod};
use coho_topology::{Level, Sharing, Topology};

use super::costs::{Cost, Costs};

/// How near two CPUs are, for the cost of a line where it was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Distance {
    Same,
    Core,
    L2,
    L3,
    Far,
}

/// What two CPUs share that slows them down when both are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slowed {
    ByCore,
    ByModule,
}

/// A machine over CPUs numbered from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The operating system's number of each CPU.
    cpus: Vec<u32>,
    distance: Vec<Distance>,
    /// Measured time of a line between two CPUs.
    measured: Vec<Option<Ns>>,
    /// The other CPUs of each CPU's core or module.
    siblings: Vec<Vec<(usize, Slowed)>>,
}

impl Machine {
    /// The CPUs of a topology in the given order, with the line times in `coherence` (Kawabe & Furuya's pairs, by
    /// strict alternation: one transfer per step).
    pub fn new(topology: &Topology, cpus: &[u32], coherence: Option<&Coherence>) -> Self {
        // Between modules of AMD's family 15h an L3 is no shortcut: the FX-8300's modules share one.
        let detour = topology.cpu.family == Some(0x15);
        let sharing = Sharing::of(topology);
        let distance = |a: u32, b: u32| match sharing.closest(a, b) {
            _ if a == b => Distance::Same,
            Some(Level::Core) => Distance::Core,
            Some(Level::Module | Level::L2) => Distance::L2,
            Some(Level::L3) if !detour => Distance::L3,
            _ => Distance::Far,
        };
        let mut turns = HashMap::new();
        for pair in coherence.iter().flat_map(|all| &all.pairs).filter(|pair| pair.method == PairMethod::Turn)
        {
            turns.entry((pair.a.min(pair.b), pair.a.max(pair.b))).or_insert(Ns(pair.ns.median));
        }
        let turn = |a: u32, b: u32| {
            turns.get(&(a.min(b), a.max(b))).copied().filter(|time| time.is_finite() && *time > Ns::ZERO)
        };
        let all = || cpus.iter().flat_map(|&a| cpus.iter().map(move |&b| (a, b)));
        // The two innermost levels: of two CPUs that share either, it is the closest that they share.
        let shared = |a: u32, b: u32| match sharing.closest(a, b) {
            _ if a == b => None,
            Some(Level::Core) => Some(Slowed::ByCore),
            Some(Level::Module) => Some(Slowed::ByModule),
            _ => None,
        };
        let siblings = |&a: &u32| {
            cpus.iter().enumerate().filter_map(|(at, &b)| Some((at, shared(a, b)?))).collect::<Vec<_>>()
        };
        Self {
            cpus: cpus.to_vec(),
            distance: all().map(|(a, b)| distance(a, b)).collect(),
            measured: all().map(|(a, b)| turn(a, b)).collect(),
            siblings: cpus.iter().map(siblings).collect(),
        }
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether there are no CPUs.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// The number of pairs of CPUs whose line time was measured, and of all pairs.
    pub fn measured_pairs(&self) -> (usize, usize) {
        let n = self.len();
        (self.measured.iter().flatten().count() / 2, n * (n - n.min(1)) / 2)
    }

    pub(super) fn distance(&self, a: usize, b: usize) -> Distance {
        self.distance[a * self.len() + b]
    }

    pub(super) fn siblings(&self, cpu: usize) -> &[(usize, Slowed)] {
        &self.siblings[cpu]
    }

    /// How long a line takes to move from one CPU to another.
    pub(super) fn line(&self, from: usize, to: usize, costs: &Costs) -> Ns {
        if let Some(time) = self.measured[from * self.len() + to].filter(|_| from != to) {
            return time;
        }
        match self.distance(from, to) {
            Distance::Same => Ns::ZERO,
            Distance::Core => costs.time(Cost::SmtLine),
            Distance::L2 => costs.time(Cost::L2Line),
            Distance::L3 => costs.time(Cost::L3Line),
            Distance::Far => costs.time(Cost::FarLine),
        }
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::{Coherence, Estimate, Home, Pair, published};
    use coho_topology::cpuid;

    use super::*;

    #[test]
    fn measured_lines_stand_before_assumed_ones() {
        let topology = cpuid::decode(&published::paper("kimoto-bulldozer").cpuid()).unwrap();
        let pair = Pair::new(2, 0, PairMethod::Turn, Home::Unknown, Estimate::exact(77.0));
        let coherence = Coherence { pairs: vec![pair], ..Coherence::default() };
        let machine = Machine::new(&topology, &[0, 1, 2, 3], Some(&coherence));
        let costs = Costs::default();
        assert_eq!(machine.measured_pairs(), (1, 6));
        let times = [(0, 0), (0, 1), (0, 2), (2, 0), (0, 3)].map(|(a, b)| machine.line(a, b, &costs));
        assert_eq!(times, [0.0, 42.0, 77.0, 77.0, 291.0].map(Ns));
        assert_eq!(machine.siblings(3), [(2, Slowed::ByModule)]);
    }
}
