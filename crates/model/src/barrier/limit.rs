//! The lower bound of every barrier, whatever its algorithm: the time that knowledge of an arrival needs to spread.
//!
//! The one-way time of two CPUs is half a round trip: by flags where members wait for each other's stores
//! ([`Machine::message`]), else by the quicker of the two methods measured ([`Machine::one_way`]). A third member may be a
//! shortcut, so the shortest path counts.

use coho_profile::Ns;

use super::Machine;

/// The time from one CPU to another, by index.
pub type Way = fn(&Machine, usize, usize) -> Ns;

/// How soon each member, by rank, can know that member `from` has arrived, if members pass the news on. `team` holds the
/// CPU index of each rank.
pub fn distances(machine: &Machine, team: &[usize], from: usize, way: Way) -> Vec<Ns> {
    let n = team.len();
    let mut distance: Vec<Ns> = team.iter().map(|&cpu| way(machine, team[from], cpu)).collect();
    let mut open: Vec<usize> = (0..n).filter(|&rank| rank != from).collect();
    // Dijkstra's algorithm without a heap, since every member is every other's neighbour.
    while let Some(at) = (0..open.len()).min_by(|&a, &b| distance[open[a]].total_cmp(&distance[open[b]])) {
        let near = open.swap_remove(at);
        for &rank in &open {
            let over = distance[near] + way(machine, team[near], team[rank]);
            distance[rank] = distance[rank].min(over);
        }
    }
    distance
}

/// The longest of the [`distances`] from a member: the time to reach everybody.
pub fn eccentricity(machine: &Machine, team: &[usize], from: usize, way: Way) -> Ns {
    distances(machine, team, from, way).into_iter().fold(Ns::ZERO, Ns::max)
}

/// The lower bound of a barrier: the diameter of the one-way times, since no member may leave before it knows that the
/// last one has arrived.
pub fn barrier_limit(machine: &Machine, team: &[usize], way: Way) -> Ns {
    let n = team.len();
    let one_way = |a: usize, b: usize| way(machine, team[a], team[b]);
    let mut best = Ns::ZERO;
    // All shortest paths would take n³ steps. Most pairs turn out to lie within the best so far directly, or
    // through a near neighbour of theirs; the first pair that does not names a member whose paths are computed in
    // full.
    let mut near: Vec<usize> = Vec::with_capacity(n);
    for from in 0..n {
        let mut far = (0..n).filter(|&to| one_way(from, to) > best).peekable();
        if far.peek().is_none() {
            continue;
        }
        near.clear();
        near.extend((0..n).filter(|&rank| rank != from && one_way(from, rank) < best));
        near.sort_unstable_by(|&a, &b| one_way(from, a).total_cmp(&one_way(from, b)));
        let within = |to: usize| near.iter().any(|&by| one_way(from, by) + one_way(by, to) <= best);
        if far.any(|to| !within(to)) {
            best = best.max(eccentricity(machine, team, from, way));
        }
    }
    best
}

/// The lower bound of forking and joining an empty region: the longest round trip between the caller, which has rank
/// `root`, and a member.
pub fn fork_join_limit(machine: &Machine, team: &[usize], root: usize, way: Way) -> Ns {
    // One-way times are the same in both directions, so the way back takes as long as the way there.
    2.0 * eccentricity(machine, team, root, way)
}
