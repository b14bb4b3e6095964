//! Which pairs are measured at the same time.

use std::collections::BTreeMap;

use coho_topology::{Level, Sharing, Topology};

/// A CPU's place among those that take part, in ascending order of their numbers; not its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rank(pub(crate) usize);

/// A pair of CPUs; the first has the lower rank.
pub(crate) type Pair = (Rank, Rank);

/// The ranks of this many CPUs.
pub(crate) fn ranks(n: usize) -> impl Iterator<Item = Rank> + Clone {
    (0..n).map(Rank)
}

/// All pairs of `n` CPUs in rounds of disjoint ones: a round-robin tournament by the circle method, over CPUs in the
/// given order.
pub(crate) fn tournament(order: &[Rank]) -> Vec<Vec<Pair>> {
    let even = order.len().next_multiple_of(2);
    let player = |seat: usize| order.get(seat).copied();
    (0..even.saturating_sub(1))
        .map(|round| {
            // The last seat stays, the others move round the circle; an empty seat is a bye.
            let seat = |k: usize| (round + k) % (even - 1);
            let first = (player(seat(0)), player(even - 1));
            let others = (1..even / 2).map(|k| (player(seat(k)), player(seat(even - 1 - k))));
            std::iter::once(first)
                .chain(others)
                .filter_map(|(a, b)| Some((a?, b?)))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect()
        })
        .collect()
}

/// Splits a round so that each part has pairs of one class only, at most as many as the class's width, and never
/// two CPUs of one core unless they are the pair: they would share its execution units.
pub(crate) fn split<'a>(
    round: &[Pair],
    class: impl Fn(Pair) -> &'a str,
    core: impl Fn(Rank) -> usize,
    width: &BTreeMap<String, usize>,
) -> Vec<Vec<Pair>> {
    let mut parts: Vec<(&str, Vec<Pair>)> = Vec::new();
    for &pair in round {
        let name = class(pair);
        let most = width.get(name).copied().unwrap_or(1).max(1);
        let clash =
            |&(a, b): &Pair| [a, b].iter().any(|&one| core(one) == core(pair.0) || core(one) == core(pair.1));
        let fits = |part: &&mut (&str, Vec<Pair>)| {
            part.0 == name && part.1.len() < most && !part.1.iter().any(clash)
        };
        match parts.iter_mut().find(fits) {
            Some(part) => part.1.push(pair),
            None => parts.push((name, vec![pair])),
        }
    }
    parts.into_iter().map(|(_, pairs)| pairs).collect()
}

/// How many disjoint pairs of a class may run at once: doubles as long as `disturbance(k)`, the relative shift of the
/// figures between `k` pairs at once and one at a time, stays within `most`; at least 1.
pub(crate) fn width(pairs: usize, most: f64, mut disturbance: impl FnMut(usize) -> Option<f64>) -> usize {
    let mut width = 1;
    while width < pairs {
        let wider = (width * 2).min(pairs);
        match disturbance(wider) {
            Some(shift) if shift.abs() <= most => width = wider,
            _ => break,
        }
    }
    width
}

/// Two measurements for each CPU instead of all pairs: one partner within the closest claimed level that has one, and
/// one outside the widest that excludes one. This tests the claims where they say most.
pub(crate) fn audit(cpus: &[u32], topology: &Topology) -> Vec<Pair> {
    let distance = |shared: Option<Level>| {
        let known = shared.and_then(|shared| Level::OUTWARD.into_iter().position(|level| level == shared));
        known.unwrap_or(Level::OUTWARD.len())
    };
    let sharing = Sharing::of(topology);
    let mut pairs = Vec::new();
    for (index, &cpu) in cpus.iter().enumerate() {
        // The next CPUs in a ring, so that each CPU is chosen about as often as it chooses.
        let others = (1..cpus.len()).map(|step| (index + step) % cpus.len());
        let others: Vec<_> =
            others.map(|other| (distance(sharing.closest(cpu, cpus[other])), Rank(other))).collect();
        let inside = others.iter().min_by_key(|(distance, _)| *distance);
        let farthest = others.iter().map(|(distance, _)| *distance).max();
        let outside = others.iter().find(|(distance, _)| Some(*distance) == farthest);
        let own = Rank(index);
        pairs.extend(
            [inside, outside].into_iter().flatten().map(|&(_, other)| (own.min(other), own.max(other))),
        );
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coho_topology::{Pu, Unit};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tournament_has_every_pair_once_and_rounds_are_disjoint(n in 0usize..40, seed: u64) {
            let mut order: Vec<_> = ranks(n).collect();
            fastrand::Rng::with_seed(seed).shuffle(&mut order);
            let rounds = tournament(&order);
            let mut seen = BTreeSet::new();
            for round in &rounds {
                let cpus: BTreeSet<_> = round.iter().flat_map(|&(a, b)| [a, b]).collect();
                prop_assert_eq!(cpus.len(), 2 * round.len());
                for &pair in round {
                    prop_assert!(pair.0 < pair.1 && seen.insert(pair));
                }
            }
            prop_assert_eq!(seen.len(), n * n.saturating_sub(1) / 2);
            prop_assert!(rounds.len() <= n);
        }

        #[test]
        fn no_part_has_siblings_two_classes_or_too_many(n in 2usize..32, width in 1usize..9) {
            let order: Vec<_> = ranks(n).collect();
            let class = |(a, b): Pair| if a.0 / 8 == b.0 / 8 { "near" } else { "far" };
            let widths = BTreeMap::from([("near".to_owned(), width)]);
            let mut count = 0;
            for round in tournament(&order) {
                for part in split(&round, class, |rank| rank.0 / 2, &widths) {
                    count += part.len();
                    let classes: BTreeSet<_> = part.iter().map(|&pair| class(pair)).collect();
                    prop_assert_eq!(classes.len(), 1);
                    let most = if classes.contains("near") { width } else { 1 };
                    prop_assert!(part.len() <= most);
                    let cores: Vec<_> = part
                        .iter()
                        .flat_map(|&(a, b)| BTreeSet::from([a.0 / 2, b.0 / 2]))
                        .collect();
                    prop_assert_eq!(cores.iter().collect::<BTreeSet<_>>().len(), cores.len());
                }
            }
            prop_assert_eq!(count, n * (n - 1) / 2);
        }
    }

    #[test]
    fn width_stops_where_pairs_disturb_each_other() {
        assert_eq!(width(128, 0.02, |k| Some(if k > 16 { 0.09 } else { 0.004 })), 16);
        assert_eq!(width(6, 0.02, |_| Some(-0.01)), 6);
        assert_eq!(width(6, 0.02, |_| None), 1);
        assert_eq!(width(1, 0.02, |_| unreachable!()), 1);
    }

    #[test]
    fn an_audit_asks_inside_and_outside() {
        let package = |cpus: std::ops::Range<u32>| Unit { id: None, cpus: cpus.collect() };
        let topology = Topology {
            pus: (0..16).map(|os| Pu { os, ..Pu::default() }).collect(),
            packages: vec![package(0..8), package(8..16)],
            ..Topology::default()
        };
        let cpus: Vec<_> = (0..16).collect();
        let pairs = audit(&cpus, &topology);
        assert!(pairs.len() <= 32);
        for cpu in ranks(16) {
            let partners = pairs.iter().filter(|&&(a, b)| a == cpu || b == cpu);
            let inside: BTreeSet<_> = partners.map(|&(a, b)| (a < Rank(8)) == (b < Rank(8))).collect();
            assert_eq!(inside, BTreeSet::from([false, true]), "{cpu:?}");
        }
    }
}
