//! Which barrier to use: the rule in closed form, a function of the team's shape and a few times.

/// Groups of near threads within a team.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cluster {
    /// Threads in a group.
    pub threads: usize,
    /// Longest one-way time within a group, in ns.
    pub ns: f64,
}

/// The barrier to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// FBS with both flags on one line, for two threads: each one's store brings the other's flag along.
    OneLine,
    /// FBS on separate lines, every thread reading every flag.
    Flat,
    /// FBS in two rounds, within groups and then between them.
    Grid {
        /// Threads in a group.
        group: usize,
    },
    /// FBS with a round for each level of clusters, and one between the largest.
    Hierarchical,
    /// Dissemination.
    Dissemination,
}

/// The barrier for `threads` threads, the longest one-way time between any two of which is `across_ns`, with levels of
/// `clusters`, where one more remote line costs `extra_line_ns`.
///
/// An exchange of flags between k threads with a one-way time of L takes `L + (k - 2) g`, where g is the cost of one
/// more line. So
/// - flat FBS takes that for all threads;
/// - a grid takes that within a group plus that between groups: it is quicker than flat once `n - c - n/c + 2` lines
///   cost more than a message within the group of c;
/// - a round for each level takes the sum over the levels;
/// - dissemination takes log₂ n messages, each of which some distant pair of threads exchanges: it is quicker only if
///   an extra line costs nearly a whole message.
///
/// Two threads share a line, which then goes back and forth.
///
/// Without clusters, groups of about the square root of the threads do as well as any.
///
/// ```
/// use coho_sync::rule::{Choice, Cluster, choose};
/// let dies = [Cluster { threads: 16, ns: 29.0 }];
/// assert_eq!(choose(2, &[], 29.0, 3.0), Choice::OneLine);
/// assert_eq!(choose(8, &[], 29.0, 3.0), Choice::Flat);
/// assert_eq!(choose(128, &dies, 140.0, 3.0), Choice::Grid { group: 16 });
/// ```
pub fn choose(threads: usize, clusters: &[Cluster], across_ns: f64, extra_line_ns: f64) -> Choice {
    if threads == 2 {
        return Choice::OneLine;
    }
    let exchange = |threads: usize, ns: f64| match threads {
        0 | 1 => 0.0,
        _ => ns + (threads - 2) as f64 * extra_line_ns.min(ns),
    };
    let within = |threads: usize| {
        let near = clusters.iter().filter(|cluster| cluster.threads >= threads).map(|cluster| cluster.ns);
        near.fold(across_ns, f64::min)
    };
    let mut best = (exchange(threads, across_ns), Choice::Flat);
    let mut try_one = |ns: f64, choice: Choice| {
        if ns < best.0 {
            best = (ns, choice);
        }
    };
    let root = threads.isqrt().max(1).next_power_of_two();
    for group in clusters.iter().map(|cluster| cluster.threads).chain([root]) {
        if (2..threads).contains(&group) {
            let ns = exchange(group, within(group)) + exchange(threads.div_ceil(group), across_ns);
            try_one(ns, Choice::Grid { group });
        }
    }
    let (mut ns, mut inner) = (0.0, 1);
    for cluster in clusters.iter().filter(|cluster| (2..threads).contains(&cluster.threads)) {
        ns += exchange(cluster.threads.div_ceil(inner), cluster.ns);
        inner = cluster.threads;
    }
    try_one(ns + exchange(threads.div_ceil(inner), across_ns), Choice::Hierarchical);
    try_one(f64::from(threads.max(1).next_power_of_two().ilog2()) * across_ns, Choice::Dissemination);
    best.1
}
