//! The paper's coherence time: the mean of a class's pairs minus what sharing costs without a transfer.

use std::collections::{BTreeMap, BTreeSet};

use coho_topology::{Level, Sharing, Topology};

use crate::{Coherence, CoherenceTime, Estimate, PairMethod};

impl Coherence {
    /// Adds to each pair what a topology claims about it, replacing what another claimed.
    pub fn claim(&mut self, topology: &Topology) {
        let sharing = Sharing::of(topology);
        for pair in &mut self.pairs {
            pair.claimed = Some(sharing.claimed(pair.a, pair.b));
        }
    }

    /// Puts the coherence times by class and method beside the figures that they follow from (Kawabe & Furuya, section 2.6
    /// and tables 1 and 2).
    ///
    /// The classes are those that the topology claims: `smt`; `on-die` if the CPUs of a package share only one more level,
    /// otherwise each level's own name; between packages `1-hop` and `2-hop` by the firmware's distances of memory nodes.
    /// The baseline is the mean of the SMT pairs; if there are none, that of one CPU's locked increments, but not for
    /// `flags`, which has no locked operation. The baseline class itself has no time, nor has a class whose pairs take no
    /// longer than the baseline within their intervals: `not_available` says why. `clock_ghz` turns ns into cycles. Pairs
    /// of all homes count alike.
    pub fn put_coherence_times(&mut self, topology: &Topology, clock_ghz: Option<f64>) {
        let (times, not_available) = coherence_times(self, topology, clock_ghz);
        self.coherence_times = times;
        self.method.not_available.extend(not_available);
    }
}

fn coherence_times(
    coherence: &Coherence,
    topology: &Topology,
    clock_ghz: Option<f64>,
) -> (Vec<CoherenceTime>, BTreeMap<String, String>) {
    let mut groups: BTreeMap<(PairMethod, Class), Vec<&Estimate>> = BTreeMap::new();
    let mut counted: BTreeMap<(PairMethod, Class), BTreeSet<(u32, u32)>> = BTreeMap::new();
    let claims = Claims::new(coherence, topology);
    for pair in &coherence.pairs {
        let class = claims.class(pair.a, pair.b);
        groups.entry((pair.method, class)).or_default().push(&pair.ns);
        counted.entry((pair.method, class)).or_default().insert((pair.a, pair.b));
    }
    let within: Vec<_> = {
        let mut levels: Vec<_> = groups.keys().filter_map(|(_, class)| class.level()).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    };
    let singles: Vec<&Estimate> = coherence.singles.iter().map(|single| &single.locked_ns).collect();
    let mut times = Vec::new();
    let mut not_available = BTreeMap::new();
    for (&(method, class), pairs) in &groups {
        if class == Class::Smt {
            continue;
        }
        let name = class.name(within.len() == 1);
        let mean = Mean::of(pairs);
        let smt = groups.get(&(method, Class::Smt)).map(|smt| (Mean::of(smt), "smt pair"));
        let baseline = match smt {
            None if method == PairMethod::Flags => {
                Err("no two CPUs share a core, and one CPU alone has no comparable operation")
            }
            None if singles.is_empty() => continue,
            None => Ok((Mean::of(&singles), "locked single CPU")),
            Some(smt) => Ok(smt),
        };
        let time = baseline.map_err(str::to_owned).and_then(|(less, baseline)| {
            let (low, high) = (mean.low - less.high, mean.high - less.low);
            if low <= 0.0 {
                return Err(format!(
                    "{:.1} ns are not above the {:.1} ns of a {baseline} beyond their intervals",
                    mean.ns, less.ns
                ));
            }
            let coherence_ns = mean.ns - less.ns;
            Ok(CoherenceTime {
                class: name.clone(),
                method,
                mean_ns: mean.ns,
                baseline_ns: less.ns,
                baseline: baseline.into(),
                coherence_ns,
                interval_ns: (mean.is_interval && less.is_interval).then_some((low, high)),
                coherence_cycles: clock_ghz.map(|ghz| coherence_ns * ghz),
                pairs: counted[&(method, class)].len() as u64,
            })
        });
        match time {
            Ok(time) => times.push(time),
            Err(why) => {
                not_available.insert(format!("coherence time, {name}, {}", method.name()), why);
            }
        }
    }
    (times, not_available)
}

/// The mean of some figures, with the means of their intervals' ends.
#[derive(Debug, Clone, Copy)]
struct Mean {
    ns: f64,
    low: f64,
    high: f64,
    is_interval: bool,
}

impl Mean {
    fn of(figures: &[&Estimate]) -> Self {
        let mean = |pick: fn(&Estimate) -> f64| {
            figures.iter().map(|ns| pick(ns)).sum::<f64>() / figures.len() as f64
        };
        let is_interval = figures.iter().all(|ns| ns.has_interval());
        Self { ns: mean(|ns| ns.median), low: mean(|ns| ns.low), high: mean(|ns| ns.high), is_interval }
    }
}

/// A claimed class, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Smt,
    /// A level within a package, by its rank and itself.
    Within(u8, &'static str),
    /// Different packages, this many steps of distance apart.
    Hops(usize),
}

impl Class {
    fn level(self) -> Option<&'static str> {
        match self {
            Self::Within(_, name) => Some(name),
            _ => None,
        }
    }

    fn name(self, only_level: bool) -> String {
        match self {
            Self::Smt => "smt".into(),
            Self::Within(..) if only_level => "on-die".into(),
            Self::Within(_, name) => name.into(),
            Self::Hops(hops) => format!("{hops}-hop"),
        }
    }
}

/// What a topology claims about pairs.
struct Claims<'a> {
    topology: &'a Topology,
    sharing: Sharing,
    /// The distinct distances between packages of the pairs, ascending.
    far: Vec<u32>,
}

impl<'a> Claims<'a> {
    fn new(coherence: &Coherence, topology: &'a Topology) -> Self {
        let mut claims = Self { topology, sharing: Sharing::of(topology), far: Vec::new() };
        let pairs = coherence.pairs.iter().filter(|pair| claims.sharing.closest(pair.a, pair.b).is_none());
        let far: BTreeSet<u32> = pairs.filter_map(|pair| claims.distance(pair.a, pair.b)).collect();
        claims.far.extend(far);
        claims
    }

    fn class(&self, a: u32, b: u32) -> Class {
        match self.sharing.closest(a, b) {
            Some(Level::Core) => Class::Smt,
            Some(Level::Module) => Class::Within(1, "module"),
            Some(Level::L1 | Level::L2) => Class::Within(2, "L2"),
            Some(Level::L3) => Class::Within(3, "L3"),
            Some(Level::L4 | Level::Die) => Class::Within(4, "die"),
            Some(Level::Numa) => Class::Within(5, "NUMA node"),
            Some(_) => Class::Within(6, "package"),
            None => {
                let rank = self.distance(a, b).and_then(|d| self.far.iter().position(|&known| known == d));
                Class::Hops(rank.unwrap_or(0) + 1)
            }
        }
    }

    fn distance(&self, a: u32, b: u32) -> Option<u32> {
        let nodes = &self.topology.numa_nodes;
        let node = |cpu| nodes.iter().position(|node| node.cpus.contains(cpu));
        nodes[node(a)?].distances.get(node(b)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use coho_topology::{NumaNode, Pu, Unit};

    use super::*;
    use crate::{Estimate, Home, Pair, Single};

    fn pair(a: u32, b: u32, ns: f64) -> Pair {
        Pair {
            a,
            b,
            method: PairMethod::FreeRunning,
            home: Home::A,
            ns: Estimate::exact(ns),
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: None,
        }
    }

    /// Four packages of two cores of two threads, in a line: 0 - 1 - 2 - 3.
    fn line_of_packages() -> Topology {
        let unit = |cpus: std::ops::Range<u32>| Unit { id: None, cpus: cpus.collect() };
        Topology {
            pus: (0..16).map(|os| Pu { os, ..Pu::default() }).collect(),
            packages: (0..4).map(|p| unit(4 * p..4 * p + 4)).collect(),
            cores: (0..8).map(|c| unit(2 * c..2 * c + 2)).collect(),
            numa_nodes: (0..4u32)
                .map(|n| NumaNode {
                    os: n,
                    cpus: (4 * n..4 * n + 4).collect(),
                    distances: (0..4u32).map(|m| [10, 21, 31, 31][m.abs_diff(n) as usize]).collect(),
                    ..NumaNode::default()
                })
                .collect(),
            ..Topology::default()
        }
    }

    #[test]
    fn means_less_the_smt_pair_as_in_table_2() {
        // X7560, table 2: SMT 13.29, on die 38.88, one hop 218.32, two hops 305.62.
        let pairs = vec![pair(0, 1, 13.29), pair(0, 2, 38.88), pair(0, 4, 218.32), pair(0, 8, 305.62)];
        let coherence = Coherence { pairs, ..Coherence::default() };
        let (times, _) = coherence_times(&coherence, &line_of_packages(), Some(2.26));
        let found: Vec<_> = times.iter().map(|time| (time.class.as_str(), time.coherence_ns)).collect();
        assert_eq!(found.len(), 3, "the pair that is the baseline has no time of its own: {found:?}");
        let expected = [("on-die", 25.59), ("1-hop", 205.03), ("2-hop", 292.33)];
        for ((class, ns), (name, published)) in found.iter().zip(expected) {
            assert_eq!(*class, name);
            assert!((ns - published).abs() < 0.005, "{class}: {ns}");
        }
        // The published 57.83 cycles are 25.59 ns at 2.26 GHz.
        assert!((times[0].coherence_cycles.unwrap() - 57.83).abs() < 0.01);
    }

    #[test]
    fn without_siblings_one_cpu_is_the_baseline() {
        let single = Single {
            cpu: 0,
            name: "C0".into(),
            locked_ns: Estimate::exact(8.0),
            unlocked_ns: Estimate::exact(1.0),
        };
        let coherence =
            Coherence { singles: vec![single], pairs: vec![pair(0, 4, 50.0)], ..Coherence::default() };
        let (times, _) = coherence_times(&coherence, &line_of_packages(), None);
        assert_eq!((times[0].coherence_ns, times[0].baseline.as_str()), (42.0, "locked single CPU"));
        assert_eq!((times[0].coherence_cycles, times[0].interval_ns), (None, None));
        let mut coherence = coherence;
        for ns in [&mut coherence.pairs[0].ns, &mut coherence.singles[0].locked_ns] {
            (ns.low, ns.high, ns.n) = (ns.median - 1.0, ns.median + 2.0, 40);
        }
        let (times, _) = coherence_times(&coherence, &line_of_packages(), None);
        assert_eq!(times[0].interval_ns, Some((39.0, 45.0)));
    }

    #[test]
    fn what_takes_no_longer_than_its_baseline_has_no_time() {
        let single = |ns: f64| Single {
            cpu: 0,
            name: "C0".into(),
            locked_ns: Estimate { low: ns - 1.0, high: ns + 1.0, n: 40, ..Estimate::exact(ns) },
            unlocked_ns: Estimate::exact(1.0),
        };
        // A free-running pair may take less than one CPU alone, or more by less than the uncertainty of either.
        for ns in [3.0, 8.0, 8.5] {
            let (singles, pairs) = (vec![single(8.0)], vec![pair(0, 4, ns)]);
            let mut coherence = Coherence { singles, pairs, ..Coherence::default() };
            coherence.put_coherence_times(&line_of_packages(), None);
            assert_eq!(coherence.coherence_times, []);
            let why = &coherence.method.not_available["coherence time, 1-hop, free-running"];
            assert!(why.contains("not above the 8.0 ns"), "{why}");
        }
    }

    #[test]
    fn a_locked_increment_is_not_taken_off_plain_stores() {
        let flags = |a, b, ns| Pair { method: PairMethod::Flags, ..pair(a, b, ns) };
        let single = Single {
            cpu: 0,
            name: "C0".into(),
            locked_ns: Estimate::exact(8.0),
            unlocked_ns: Estimate::exact(1.0),
        };
        let mut coherence =
            Coherence { singles: vec![single], pairs: vec![flags(0, 4, 63.0)], ..Coherence::default() };
        let (times, why) = coherence_times(&coherence, &line_of_packages(), None);
        assert!(times.is_empty() && why["coherence time, 1-hop, flags"].contains("no two CPUs share a core"));
        coherence.pairs.push(flags(0, 1, 13.0));
        let (times, why) = coherence_times(&coherence, &line_of_packages(), None);
        assert_eq!((times[0].coherence_ns, &*times[0].baseline, why.len()), (50.0, "smt pair", 0));
    }

    #[test]
    fn nothing_to_subtract_gives_nothing() {
        let coherence = Coherence { pairs: vec![pair(0, 4, 50.0)], ..Coherence::default() };
        assert_eq!(coherence_times(&coherence, &line_of_packages(), None).0, []);
    }
}
