//! What the rule for choosing a barrier, the one that barriers themselves follow, needs to know about a machine.

use coho_profile::Ns;
pub use coho_sync::rule::{Choice, Cluster, choose};

use super::Machine;

/// The levels of a team's CPUs, finest first: for each, the largest group and the longest message within one. `team`
/// holds the CPU index of each rank.
pub fn clusters(machine: &Machine, team: &[usize]) -> Vec<Cluster> {
    let mut in_team = vec![false; machine.len()];
    team.iter().for_each(|&cpu| in_team[cpu] = true);
    let cluster = |groups: &Vec<Vec<usize>>| {
        let members = |group: &Vec<usize>| group.iter().copied().filter(|&cpu| in_team[cpu]).collect();
        let groups: Vec<Vec<usize>> = groups.iter().map(members).collect();
        Cluster {
            threads: groups.iter().map(Vec::len).max().unwrap_or(0),
            ns: groups.iter().map(|group| longest_message(machine, group)).fold(Ns::ZERO, Ns::max).0,
        }
    };
    machine.levels().iter().map(cluster).collect()
}

/// The longest message between any two of some CPUs.
pub fn longest_message(machine: &Machine, cpus: &[usize]) -> Ns {
    let messages = cpus.iter().flat_map(|&a| cpus.iter().map(move |&b| machine.message(a, b)));
    messages.fold(Ns::ZERO, Ns::max)
}
