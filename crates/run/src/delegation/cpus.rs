//! Which CPUs the hosts poll on, and which are left to the program.

use std::fmt;

use coho_platform::pin;
use coho_platform::room::Room;
use coho_profile::{Coherence, PairMethod};
use coho_topology::{CpuSet, Level, Topology};

/// The hosts' CPUs and the program's, which do not overlap.
#[derive(Debug, Clone, PartialEq)]
pub struct Division {
    /// Where hosts poll.
    pub hosts: Vec<u32>,
    /// Where the program may run.
    pub program: CpuSet,
    /// How far the hosts are from the program.
    pub way: Way,
}

/// How far apart two sets of CPUs are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// The mean measured one-way time between a CPU of one and a CPU of the other, in ns.
    Measured(f64),
    /// The outermost of the levels that they share by the claimed topology; `None` if they share none.
    Claimed(Option<Level>),
}

/// Why hosts get no CPU, or not those that were asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum NoHost {
    /// There is one CPU.
    OneCpu(u32),
    /// The quota, in CPUs, is below two: a host that polls would take the program's share of it.
    Quota(f64),
    /// CPUs that were asked for and may not be used, and those that may.
    NotAllowed(CpuSet, CpuSet),
    /// The CPUs that were asked for leave the program none of these.
    All(CpuSet),
}

impl fmt::Display for NoHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneCpu(cpu) => {
                write!(f, "delegation needs a second CPU beside CPU {cpu}{}", pin::way_round())
            }
            Self::Quota(cpus) => {
                write!(
                    f,
                    "delegation needs a CPU for a host, which polls, and the quota of {cpus:.1} CPUs leaves \
                     none"
                )
            }
            Self::NotAllowed(cpus, allowed) => {
                let why = cpus.iter().find_map(pin::refusal).map(|why| why.to_string());
                let why = why.unwrap_or_else(|| format!("this process may use {allowed}"));
                let s = if cpus.len() == 1 { "" } else { "s" };
                write!(f, "hosts cannot be on CPU{s} {cpus}: {why}")
            }
            Self::All(cpus) => write!(f, "hosts would take all of the program's CPUs: {cpus}"),
        }
    }
}

/// Divides CPUs between one host, or hosts on the CPUs that were `asked` for, and a program that is to run on `wanted`.
///
/// A host polls, and slows whatever runs beside it. So its core is one that the program does not use or, if there is
/// none, one of the program's, as long as that leaves the program another. Of several cores, the nearest is taken: by
/// measured times if all were measured, otherwise by the claimed topology.
///
/// # Errors
/// [`NoHost`] if a host has no CPU of its own.
///
/// ```
/// use coho_platform::room::Room;
/// use coho_run::delegation::divide;
/// use coho_topology::{CpuSet, Topology};
/// let room = Room { cpus: CpuSet::up_to(2), quota: None };
/// let both = divide(&room, &room.cpus, None, &Topology::default(), None)?;
/// assert_eq!((both.hosts, both.program.to_string()), (vec![1], "0".to_owned()));
/// # Ok::<(), coho_run::delegation::NoHost>(())
/// ```
pub fn divide(
    room: &Room,
    wanted: &CpuSet,
    asked: Option<&CpuSet>,
    topology: &Topology,
    coherence: Option<&Coherence>,
) -> Result<Division, NoHost> {
    let machine = Machine { topology, coherence };
    if let Some(hosts) = asked {
        let refused = hosts.difference(&room.cpus);
        if !refused.is_empty() {
            return Err(NoHost::NotAllowed(refused, room.cpus.clone()));
        }
        let program = wanted.difference(hosts);
        if program.is_empty() {
            return Err(NoHost::All(wanted.clone()));
        }
        return Ok(Division { way: machine.way(hosts, &program), hosts: hosts.iter().collect(), program });
    }
    if room.cpus.len() < 2 {
        return Err(NoHost::OneCpu(room.cpus.first().expect("a room has a CPU")));
    }
    if let Some(quota) = room.quota.filter(|quota| *quota < 2.0) {
        return Err(NoHost::Quota(quota));
    }
    let own = |cpu: u32| CpuSet::from_iter([cpu]);
    let divide = |hosts: &CpuSet, taken: &dyn Fn(u32) -> CpuSet| {
        let divisions = hosts.iter().filter_map(|host| {
            let program = wanted.difference(&taken(host));
            (!program.is_empty()).then(|| Division {
                way: machine.way(&own(host), &program),
                hosts: vec![host],
                program,
            })
        });
        machine.nearest(divisions.collect())
    };
    let unused: CpuSet = room.cpus.iter().filter(|cpu| !machine.core(*cpu).intersects(wanted)).collect();
    divide(&unused, &own)
        .or_else(|| divide(wanted, &|host| machine.core(host)))
        .or_else(|| divide(&room.cpus.difference(wanted), &own))
        .or_else(|| divide(wanted, &own))
        .ok_or_else(|| NoHost::All(wanted.clone()))
}

fn pairs(hosts: &CpuSet, program: &CpuSet) -> impl Iterator<Item = (u32, u32)> {
    hosts.iter().flat_map(|host| program.iter().map(move |cpu| (host, cpu)))
}

/// 0 for the innermost level.
fn rank(level: Option<Level>) -> usize {
    let at = |level| Level::OUTWARD.iter().position(|other| *other == level);
    level.and_then(at).unwrap_or(Level::OUTWARD.len())
}

struct Machine<'a> {
    topology: &'a Topology,
    coherence: Option<&'a Coherence>,
}

impl Machine<'_> {
    /// A CPU and its SMT siblings.
    fn core(&self, cpu: u32) -> CpuSet {
        let cores = self.topology.partition(Level::Core);
        let core = cores.into_iter().find(|core| core.contains(cpu)).cloned();
        core.unwrap_or_else(|| CpuSet::from_iter([cpu]))
    }

    /// The nearest; among equals the last, because the first CPUs do the system's own work.
    fn nearest(&self, divisions: Vec<Division>) -> Option<Division> {
        let are_measured = divisions.iter().all(|one| matches!(one.way, Way::Measured(_)));
        let distance = |division: &Division| match division.way {
            Way::Measured(ns) if are_measured => ns,
            _ => rank(self.shared(&division.hosts.iter().copied().collect(), &division.program)) as f64,
        };
        divisions.into_iter().rev().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    fn way(&self, hosts: &CpuSet, program: &CpuSet) -> Way {
        // Requests travel by plain stores, so those times are preferred if they were measured.
        for method in [PairMethod::Flags, PairMethod::Turn] {
            let times: Option<Vec<f64>> =
                pairs(hosts, program).map(|(a, b)| self.one_way_ns(a, b, method)).collect();
            if let Some(times) = times.filter(|times| !times.is_empty()) {
                return Way::Measured(times.iter().sum::<f64>() / times.len() as f64);
            }
        }
        Way::Claimed(self.shared(hosts, program))
    }

    /// The outermost of the levels that a host and a CPU of the program share.
    fn shared(&self, hosts: &CpuSet, program: &CpuSet) -> Option<Level> {
        let levels = pairs(hosts, program).map(|(a, b)| self.topology.closest_shared(a, b));
        levels.max_by_key(|level| rank(*level)).flatten()
    }

    fn one_way_ns(&self, a: u32, b: u32, method: PairMethod) -> Option<f64> {
        let pairs = self.coherence?.pairs.iter();
        let own = pairs.filter(|pair| pair.method == method && [(a, b), (b, a)].contains(&(pair.a, pair.b)));
        own.map(|pair| pair.ns.median).filter(|ns| ns.is_finite()).min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Home, Pair};
    use coho_topology::Unit;

    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    fn room(cpus: &str, quota: Option<f64>) -> Room {
        Room { cpus: set(cpus), quota }
    }

    /// Cores 0,4 1,5 2,6 3,7 in packages 0-1,4-5 and 2-3,6-7.
    fn two_threads_a_core() -> Topology {
        let units = |sets: &[&str]| sets.iter().map(|cpus| Unit { id: None, cpus: set(cpus) }).collect();
        Topology {
            cores: units(&["0,4", "1,5", "2,6", "3,7"]),
            packages: units(&["0-1,4-5", "2-3,6-7"]),
            ..Topology::default()
        }
    }

    fn divided(cpus: &str, wanted: &str, asked: Option<&str>) -> Result<(Vec<u32>, String), NoHost> {
        let asked = asked.map(set);
        let division = divide(&room(cpus, None), &set(wanted), asked.as_ref(), &two_threads_a_core(), None)?;
        assert!(division.hosts.iter().all(|host| !division.program.contains(*host)), "{division:?}");
        Ok((division.hosts, division.program.to_string()))
    }

    #[test]
    fn a_host_keeps_off_the_program_s_cores_as_long_as_there_are_others() {
        for (cpus, wanted, hosts, program) in [
            // Near to what the program runs on, on a core of its own.
            ("0-7", "0", 5, "0"),
            ("0-7", "2", 7, "2"),
            // If the program has all CPUs, it gives up a core.
            ("0-7", "0-7", 7, "0-2,4-6"),
            ("0,4,1,5", "0,4,1,5", 5, "0,4"),
            // One core: a thread each.
            ("0,4", "0,4", 4, "0"),
            ("0,4", "0", 4, "0"),
        ] {
            assert_eq!(divided(cpus, wanted, None), Ok((vec![hosts], program.to_owned())), "{cpus} {wanted}");
        }
    }

    #[test]
    fn hosts_that_are_asked_for_are_taken_if_both_have_cpus() {
        assert_eq!(divided("0-7", "0-7", Some("3,6")), Ok((vec![3, 6], "0-2,4-5,7".to_owned())));
        assert_eq!(divided("0-3", "0-3", Some("3-4")), Err(NoHost::NotAllowed(set("4"), set("0-3"))));
        assert_eq!(divided("0-3", "1-2", Some("1-2")), Err(NoHost::All(set("1-2"))));
    }

    #[test]
    fn a_host_needs_a_cpu_of_its_own() {
        assert_eq!(divided("3", "3", None), Err(NoHost::OneCpu(3)));
        let few = |quota| divide(&room("0-3", Some(quota)), &set("0-3"), None, &Topology::default(), None);
        assert_eq!(few(1.5), Err(NoHost::Quota(1.5)));
        assert!(few(2.0).is_ok());
    }

    #[test]
    fn measured_times_come_before_what_is_claimed() {
        let pair = |a, b, ns| Pair::new(a, b, PairMethod::Turn, Home::A, Estimate::exact(ns));
        let mut coherence = Coherence {
            pairs: vec![pair(0, 1, 90.0), pair(0, 2, 30.0), pair(3, 0, 80.0)],
            ..Coherence::default()
        };
        let host = |coherence: &Coherence| {
            let topology = two_threads_a_core();
            divide(&room("0-3", None), &set("0"), None, &topology, Some(coherence)).unwrap()
        };
        let hosts = host(&coherence);
        assert_eq!((hosts.hosts, hosts.way), (vec![2], Way::Measured(30.0)));
        // One that was not measured might be nearer.
        coherence.pairs.pop();
        let hosts = host(&coherence);
        assert_eq!(hosts.hosts, [1], "{hosts:?}");
    }
}
