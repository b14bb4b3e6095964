//! Which packages are linked, by the times between their CPUs: the nearest packages are one hop apart, and whatever takes
//! clearly longer goes over another package (Kawabe & Furuya, section 3.1).

use std::collections::BTreeMap;

use coho_profile::{Coherence, Home, PairMethod};
use coho_topology::Topology;

use crate::stats::estimate;

/// By how many times a path over another package takes longer, at least, than a link: pairs of packages that are alike
/// differ by less, and the X7560's second hop takes 1.26 times its first.
const STEP: f64 = 1.15;

/// The time between two packages.
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    /// The packages, counted from 0, the first before the second.
    pub packages: (usize, usize),
    /// The median of their pairs' medians, in ns.
    pub ns: f64,
    /// How many pairs of CPUs were measured.
    pub pairs: usize,
    /// Links on the shortest path; `None` where the packages between them were not all measured.
    pub hops: Option<usize>,
}

/// The links that times imply.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    /// How the pairs were measured.
    pub method: PairMethod,
    /// Pairs of packages by their numbers, as far as they were measured.
    pub between: Vec<Between>,
    /// Pairs of packages that were not measured.
    pub unknown: usize,
}

impl Links {
    /// `None` of fewer than three packages, between which there is no choice of paths, or where no pair lies across them.
    pub fn of(coherence: &Coherence, topology: &Topology) -> Option<Self> {
        if topology.packages.len() < 3 {
            return None;
        }
        let package = |cpu: u32| topology.packages.iter().position(|package| package.cpus.contains(cpu));
        let times = |method: PairMethod| {
            let mut times = BTreeMap::<(usize, usize), Vec<f64>>::new();
            let alike =
                coherence.pairs.iter().filter(|pair| pair.method == method && pair.home != Home::Third);
            for pair in alike.filter(|pair| pair.ns.median > 0.0 && pair.ns.median.is_finite()) {
                let Some((a, b)) = package(pair.a).zip(package(pair.b)).filter(|(a, b)| a != b) else {
                    continue;
                };
                times.entry((a.min(b), a.max(b))).or_default().push(pair.ns.median);
            }
            (!times.is_empty()).then_some((method, times))
        };
        let methods = [PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning, PairMethod::Unknown];
        let (method, times) = methods.into_iter().find_map(times)?;
        let packages = topology.packages.len();
        let unknown = packages * (packages - 1) / 2 - times.len();
        let between: Vec<_> = times
            .into_iter()
            .filter_map(|(ends, ns)| {
                let pairs = ns.len();
                Some((ends, estimate(ns)?.median, pairs))
            })
            .collect();
        let mut sorted: Vec<f64> = between.iter().map(|(_, ns, _)| *ns).collect();
        sorted.sort_by(f64::total_cmp);
        let longest =
            sorted.windows(2).find(|two| two[1] > STEP * two[0]).map_or(f64::INFINITY, |two| two[0]);
        let linked: Vec<_> =
            between.iter().filter(|(_, ns, _)| *ns <= longest).map(|(ends, ..)| *ends).collect();
        let row = |((a, b), ns, pairs): ((usize, usize), f64, usize)| {
            let hops = if linked.contains(&(a, b)) {
                Some(1)
            } else {
                // A link that was not measured may be a shorter path.
                hops(&linked, packages, a, b).filter(|_| unknown == 0)
            };
            Between { packages: (a, b), ns, pairs, hops }
        };
        Some(Self { method, between: between.into_iter().map(row).collect(), unknown })
    }
}

/// The number of links on the shortest path from one package to another; `None` if none leads there.
fn hops(linked: &[(usize, usize)], packages: usize, from: usize, to: usize) -> Option<usize> {
    let is_linked = |a: usize, b: usize| linked.contains(&(a.min(b), a.max(b)));
    let (mut reached, mut newest) = (vec![from], vec![from]);
    for hops in 1..packages {
        let is_next =
            |one: &usize| !reached.contains(one) && newest.iter().any(|&near| is_linked(near, *one));
        newest = (0..packages).filter(is_next).collect();
        if newest.contains(&to) {
            return Some(hops);
        }
        reached.extend(&newest);
    }
    None
}

#[cfg(test)]
mod tests {
    use coho_profile::published;
    use coho_topology::{CpuSet, Unit};

    use super::*;
    use crate::{Matrix, coherence_from_matrix};

    #[test]
    fn the_times_of_the_eight_packages_give_the_links_that_were_measured_as_one_hop() {
        let profile = published::read("kawabe-furuya/x7560").unwrap().machines.remove(0).1;
        let topology = &profile.topology.as_ref().unwrap().topology;
        let links = Links::of(profile.coherence.as_ref().unwrap(), topology).unwrap();
        let near: Vec<_> =
            links.between.iter().filter(|one| one.hops == Some(1)).map(|one| one.packages).collect();
        let far: Vec<_> =
            links.between.iter().filter(|one| one.hops.is_none()).map(|one| one.packages).collect();
        assert_eq!((near, far), (vec![(0, 1), (0, 4)], vec![(0, 3), (0, 5), (0, 6), (0, 7)]));
        assert_eq!(links.unknown, 22, "of 28 pairs of packages");
    }

    #[test]
    fn a_ring_of_four_has_two_pairs_over_another_package() {
        let matrix = Matrix::parse("\n100\n160,102\n101,158,99\n").unwrap();
        let of = |packages: u32| {
            let unit = |id: u32| Unit { id: Some(id), cpus: CpuSet::from_iter([id]) };
            let topology = Topology { packages: (0..packages).map(unit).collect(), ..Topology::default() };
            Links::of(&coherence_from_matrix(&matrix), &topology)
        };
        let links = of(4).unwrap();
        let hops: Vec<_> = links.between.iter().map(|one| (one.packages, one.hops.unwrap())).collect();
        assert_eq!(hops, [((0, 1), 1), ((0, 2), 2), ((0, 3), 1), ((1, 2), 1), ((1, 3), 2), ((2, 3), 1)]);
        assert_eq!(of(2), None);
    }
}
