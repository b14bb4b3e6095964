//! Turns a placement into CPUs of this machine.

use coho_platform::load::Busy;
use coho_platform::pin;
use coho_platform::room::Room;
use coho_sync::Mapping;
use coho_topology::{CpuSet, Level, Topology};

use super::{Placement, levels, name};
use crate::Error;

/// The CPUs that a placement means here and now.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The CPUs that work may run on.
    pub cpus: CpuSet,
    /// The same in the order in which threads take them.
    pub order: Vec<u32>,
    /// CPUs that were asked for by number and may not be used.
    pub refused: CpuSet,
}

impl Choice {
    /// These CPUs, in this order.
    #[must_use]
    pub fn of(order: Vec<u32>) -> Self {
        Self { cpus: order.iter().copied().collect(), order, refused: CpuSet::new() }
    }
}

/// Chooses CPUs for a number of threads. Without a number, that is one thread for compact, one on each core for spread,
/// and as many as there is room for within a level. Of equal objects the least busy one is taken.
///
/// # Errors
/// If the topology lacks the level, or no CPU of a list may be used.
///
/// ```
/// use coho_platform::{load::Busy, room::Room};
/// use coho_probe::placement::{Placement, choose};
/// use coho_topology::{CpuSet, Topology, Unit};
/// let unit = |cpus: &str| Unit { id: None, cpus: cpus.parse().unwrap() };
/// let topology = Topology { packages: vec![unit("0-3"), unit("4-7")], ..Topology::default() };
/// let room = Room { cpus: CpuSet::up_to(8), quota: None };
/// let busy = Busy::from_iter([(0, 0.9)]);
/// let cpus = |placement: &str, threads| {
///     let placement: Placement = placement.parse().unwrap();
///     choose(&placement, threads, &topology, &room, &busy).unwrap().cpus.to_string()
/// };
/// assert_eq!(cpus("package", None), "4-7");
/// assert_eq!(cpus("spread", Some(2)), "0,4");
/// assert_eq!(cpus("compact", Some(2)), "4-5");
/// ```
pub fn choose(
    placement: &Placement,
    threads: Option<usize>,
    topology: &Topology,
    room: &Room,
    busy: &Busy,
) -> Result<Choice, Error> {
    let width = |wanted: usize| threads.unwrap_or(wanted).clamp(1, room.width());
    let order = match placement {
        Placement::None => compact(topology, &room.cpus),
        Placement::Compact => {
            let wanted = width(1);
            let object = smallest(topology, &room.cpus, wanted, busy);
            first(compact(topology, &object), wanted)
        }
        Placement::Spread => {
            let order = Mapping::BinaryTree.order(topology, &room.cpus);
            // On a machine of one core there is nothing but its threads to spread over.
            let cores = within(topology, Level::Core, &room.cpus).len();
            let wanted = width(if cores > 1 { cores } else { order.len() });
            first(order, wanted)
        }
        Placement::Within(level) => {
            let objects = within(topology, *level, &room.cpus);
            let object = largest(objects, busy, room.width()).ok_or_else(|| unknown(*level, topology))?;
            let wanted = width(object.len());
            first(compact(topology, &object), wanted)
        }
        Placement::Cpus(listed) => return chosen_by_hand(listed, threads, room),
    };
    Ok(Choice::of(order))
}

fn chosen_by_hand(listed: &[u32], threads: Option<usize>, room: &Room) -> Result<Choice, Error> {
    let (order, refused): (Vec<u32>, Vec<u32>) = listed.iter().partition(|&&cpu| room.cpus.contains(cpu));
    if let (true, Some(&cpu)) = (order.is_empty(), refused.first()) {
        let left = || format!("CPUs {} are online and left to this process", room.cpus);
        return Err(Error::cpu(cpu, pin::refusal(cpu).map_or_else(left, |why| why.to_string())));
    }
    let refused = CpuSet::from_iter(refused);
    let order = first(order, threads.unwrap_or(usize::MAX).max(1));
    Ok(Choice { refused, ..Choice::of(order) })
}

fn first(mut order: Vec<u32>, n: usize) -> Vec<u32> {
    order.truncate(n);
    order
}

/// Orders CPUs so that those that share most are adjacent, first of all the threads of a core.
fn compact(topology: &Topology, cpus: &CpuSet) -> Vec<u32> {
    let mut outwards: Vec<Level> = levels().collect();
    outwards.reverse();
    let sets: Vec<_> = outwards.iter().map(|&level| topology.partition(level)).collect();
    let place = |cpu: u32| -> Vec<Option<usize>> {
        sets.iter().map(|sets| sets.iter().position(|set| set.contains(cpu))).collect()
    };
    let mut order: Vec<u32> = cpus.iter().collect();
    order.sort_by_cached_key(|&cpu| (place(cpu), cpu));
    order
}

/// The objects of a level as far as they may be used.
fn within(topology: &Topology, level: Level, cpus: &CpuSet) -> Vec<CpuSet> {
    let mine = topology.partition(level).into_iter().map(|object| object.intersection(cpus));
    mine.filter(|object| !object.is_empty()).collect()
}

/// The smallest object that has room for `wanted` threads; among the smallest, the one that is least busy and has the
/// least busy neighbours.
fn smallest(topology: &Topology, cpus: &CpuSet, wanted: usize, busy: &Busy) -> CpuSet {
    let singles = || cpus.iter().map(|cpu| CpuSet::from_iter([cpu])).collect();
    let all = || vec![cpus.clone()];
    let objects = std::iter::once_with(singles).chain(levels().map(|level| within(topology, level, cpus)));
    let roomy = |objects: Vec<CpuSet>| -> Vec<CpuSet> {
        objects.into_iter().filter(|object| object.len() >= wanted).collect()
    };
    let candidates = objects.chain(std::iter::once_with(all)).map(roomy).find(|objects| !objects.is_empty());
    let cores = within(topology, Level::Core, cpus);
    let key = |object: &CpuSet| {
        let touched = cores.iter().filter(|core| core.intersects(object)).flat_map(CpuSet::iter);
        (object.len(), busy.of(object.iter()) + busy.of(touched))
    };
    least(candidates.unwrap_or_default(), key).unwrap_or_else(|| cpus.clone())
}

/// The object with the most room, up to what can be used; among equals the least busy.
fn largest(objects: Vec<CpuSet>, busy: &Busy, width: usize) -> Option<CpuSet> {
    least(objects, |object| (usize::MAX - object.len().min(width), busy.of(object.iter())))
}

fn least(objects: Vec<CpuSet>, key: impl Fn(&CpuSet) -> (usize, f64)) -> Option<CpuSet> {
    objects.into_iter().min_by(|one, other| {
        let (one, other) = (key(one), key(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    })
}

fn unknown(level: Level, topology: &Topology) -> Error {
    let known: Vec<_> = levels().filter(|&level| !topology.partition(level).is_empty()).map(name).collect();
    Error::argument(format!(
        "this machine reports no level '{}'; it reports {}",
        name(level),
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use coho_topology::{Cache, CacheKind, Unit};

    use super::*;

    fn units(lists: &[&str]) -> Vec<Unit> {
        lists.iter().map(|list| Unit { id: None, cpus: list.parse().unwrap() }).collect()
    }

    /// Two packages of two cores of two threads, second threads at the end, an L3 a package.
    fn machine() -> Topology {
        let l3 = |cpus: &str| Cache {
            level: 3,
            kind: CacheKind::Unified,
            size_bytes: 0,
            line_bytes: None,
            ways: None,
            cpus: cpus.parse().unwrap(),
        };
        Topology {
            packages: units(&["0-1,4-5", "2-3,6-7"]),
            cores: units(&["0,4", "1,5", "2,6", "3,7"]),
            caches: vec![l3("0-1,4-5"), l3("2-3,6-7")],
            ..Topology::default()
        }
    }

    fn order(placement: &str, threads: Option<usize>, room: &Room, busy: &Busy) -> Vec<u32> {
        choose(&placement.parse().unwrap(), threads, &machine(), room, busy).unwrap().order
    }

    #[test]
    fn each_word_on_a_machine_with_every_level() {
        let (room, free) = (Room { cpus: CpuSet::up_to(8), quota: None }, Busy::default());
        let order = |placement, threads| order(placement, threads, &room, &free);
        assert_eq!(order("none", None), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(order("compact", None), [0]);
        assert_eq!(order("compact", Some(2)), [0, 4]);
        assert_eq!(order("compact", Some(3)), [0, 4, 1]);
        assert_eq!(order("compact", Some(99)), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(order("spread", None), [0, 2, 1, 3]);
        assert_eq!(order("spread", Some(2)), [0, 2]);
        assert_eq!(order("spread", Some(6)).len(), 6);
        assert_eq!(order("smt", None), [0, 4]);
        assert_eq!(order("l3", None), [0, 4, 1, 5]);
        assert_eq!(order("package", Some(3)), [0, 4, 1]);
        assert_eq!(order("5,0-1", None), [5, 0, 1]);
    }

    #[test]
    fn busy_objects_are_left_alone() {
        let room = Room { cpus: CpuSet::up_to(8), quota: None };
        // CPU 0 is free, but its sibling is not.
        let busy: Busy = [(4, 1.0), (1, 0.2), (5, 0.2)].into_iter().collect();
        assert_eq!(order("compact", None, &room, &busy), [2]);
        assert_eq!(order("smt", None, &room, &busy), [2, 6]);
        assert_eq!(order("l3", None, &room, &busy), [2, 6, 3, 7]);
    }

    #[test]
    fn nothing_leaves_the_room() {
        let free = Busy::default();
        let narrow = Room { cpus: "1,3,5".parse().unwrap(), quota: None };
        assert_eq!(order("none", None, &narrow, &free), [1, 5, 3]);
        assert_eq!(order("spread", None, &narrow, &free), [1, 3]);
        assert_eq!(order("package", None, &narrow, &free), [1, 5]);
        assert_eq!(order("compact", Some(3), &narrow, &free), [1, 5, 3]);
        let some = choose(&"0-3".parse().unwrap(), None, &machine(), &narrow, &free).unwrap();
        assert_eq!((some.order, some.refused), (vec![1, 3], "0,2".parse().unwrap()));
        let none = choose(&"0,2".parse().unwrap(), None, &machine(), &narrow, &free).unwrap_err();
        assert!(none.to_string().contains("1,3,5"), "{none}");
    }

    #[test]
    fn a_quota_bounds_the_number_of_cpus() {
        let (room, free) = (Room { cpus: CpuSet::up_to(8), quota: Some(1.5) }, Busy::default());
        assert_eq!(order("l3", None, &room, &free), [0, 4]);
        assert_eq!(order("spread", None, &room, &free), [0, 2]);
        assert_eq!(order("compact", Some(8), &room, &free), [0, 4]);
        // If nothing is chosen, no CPU is taken away.
        assert_eq!(order("none", None, &room, &free).len(), 8);
    }

    #[test]
    fn a_level_that_is_not_reported_is_an_error_that_names_those_that_are() {
        let room = Room { cpus: CpuSet::up_to(8), quota: None };
        let placement = "module".parse().unwrap();
        let error = choose(&placement, None, &machine(), &room, &Busy::default()).unwrap_err();
        assert!(error.to_string().contains("it reports smt, l3, package"), "{error}");
    }

    #[test]
    fn any_topology_yields_distinct_cpus_of_the_room() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let mut sets = || -> Vec<Unit> {
                let mut groups = vec![CpuSet::new(); random.usize(1..5)];
                for cpu in 0..16 {
                    let group = random.usize(..groups.len());
                    groups[group].insert(cpu);
                }
                groups.into_iter().map(|cpus| Unit { id: None, cpus }).collect()
            };
            let topology = Topology { packages: sets(), cores: sets(), ..Topology::default() };
            let mut cpus: CpuSet = (0..16).filter(|_| random.bool()).collect();
            cpus.insert(random.u32(..16));
            let room = Room { cpus, quota: random.bool().then(|| 4.0 * random.f64() + 0.1) };
            let threads = random.bool().then(|| random.usize(0..20));
            for placement in ["none", "compact", "spread", "smt", "package"] {
                let placement = placement.parse().unwrap();
                let choice = choose(&placement, threads, &topology, &room, &Busy::default()).unwrap();
                assert!(!choice.order.is_empty() && choice.cpus.is_subset(&room.cpus));
                assert_eq!(choice.cpus.len(), choice.order.len(), "each once");
                if placement != Placement::None {
                    assert!(choice.order.len() <= room.width());
                }
            }
        }
    }
}
