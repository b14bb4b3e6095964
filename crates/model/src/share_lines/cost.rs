//! What lines cost, by the CPU time at the instructions that touch them and on the way to them.

use std::collections::BTreeMap;

use coho_profile::{Estimate, ShareTotal};

use super::{InFile, Run, Touched};
use crate::share::control_that_loses;

/// The share of a line's touches below which an instruction is none of those that it costs time at.
const LEAST: f64 = 0.02;
/// A place counts as on the way to a line if at least this share of the time there is.
const LEAST_NEAR: f64 = 0.01;
/// Bytes of code behind an instruction, where its CPU may be found waiting for it if nothing leads back to it.
const BEHIND: u64 = 32;

/// What is known of a line's instructions.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// Those that touch it.
    pub touched: &'a BTreeMap<InFile, Touched>,
    /// Seconds of CPU time at the places from which threads come to it; see [`Line::near`](super::Line::near).
    pub near: &'a BTreeMap<InFile, f64>,
}

/// Parts of the time at a place, by the lines that they are due to; they add up to 1, or there are none.
type Parts = Vec<(usize, f64)>;

/// For each line, the share of the CPU time that instructions at it and near it take more on several CPUs than on one: a
/// value for each round, of which `several` and `one` hold a run each. The time at an instruction that touches a line, and
/// at the next, is due to that line. So is the time at the places from which threads soon come to it, as a store that waits
/// is found anywhere behind it: if they come to several lines, in proportion to what these take more at their own.
pub fn costs(several: &[Run], one: &[Run], lines: &[Code<'_>]) -> Vec<Vec<f64>> {
    let rounds: Vec<(&Run, &Run)> =
        several.iter().zip(one).filter(|(several, _)| several.seconds > 0.0).collect();
    let at_own = Own::of(lines);
    let mut shares = vec![0.0; lines.len()];
    for costs in costs_of(&rounds, lines.len(), |place| at_own.parts(place)) {
        shares.iter_mut().zip(costs).for_each(|(all, cost)| *all += cost);
    }
    let near = near(several, lines, &shares);
    let parts = |place: InFile| {
        let own = at_own.parts(place);
        match (own.is_empty(), near.get(&place)) {
            (false, _) => own,
            (true, Some(near)) => near.clone(),
            (true, None) => at_own.behind(place),
        }
    };
    let mut costs = vec![Vec::new(); lines.len()];
    for round in costs_of(&rounds, lines.len(), parts) {
        costs.iter_mut().zip(round).for_each(|(costs, cost)| costs.push(cost));
    }
    costs
}

/// What lines cost in each round, if the time at a place is due to them in these parts.
fn costs_of(rounds: &[(&Run, &Run)], lines: usize, parts: impl Fn(InFile) -> Parts) -> Vec<Vec<f64>> {
    let of = |(several, one): &(&Run, &Run)| {
        let mut costs = vec![0.0; lines];
        for (run, sign) in [(several, 1.0), (one, -1.0)] {
            for (place, seconds) in &run.at {
                for (line, part) in parts(*place) {
                    costs[line] += sign * part * seconds / several.seconds;
                }
            }
        }
        costs
    };
    rounds.iter().map(of).collect()
}

/// The instructions that touch lines: for each the lines, how often it was seen to touch each, and its length.
struct Own(BTreeMap<InFile, Vec<(usize, Touched)>>);

impl Own {
    fn of(lines: &[Code<'_>]) -> Self {
        let mut touching = BTreeMap::<InFile, Vec<(usize, Touched)>>::new();
        for (line, code) in lines.iter().enumerate() {
            let all: u64 = code.touched.values().map(|touched| touched.times).sum();
            let is_often = |touched: &Touched| touched.times as f64 >= LEAST * all as f64;
            for (at, touched) in code.touched.iter().filter(|(_, touched)| is_often(touched)) {
                touching.entry(*at).or_default().push((line, *touched));
            }
        }
        Self(touching)
    }

    /// If the place is such an instruction, or right behind one.
    fn parts(&self, place: InFile) -> Parts {
        self.of_those(place, |at, length| at == place.address || at.wrapping_add(length) == place.address)
    }

    /// If the place is not far behind such an instruction.
    fn behind(&self, place: InFile) -> Parts {
        self.of_those(place, |_, _| true)
    }

    fn of_those(&self, place: InFile, is_one: impl Fn(u64, u64) -> bool) -> Parts {
        let from = InFile { address: place.address.saturating_sub(BEHIND), ..place };
        let those = self.0.range(from..=place).flat_map(|(at, of)| of.iter().map(move |one| (at, one)));
        let those = those.filter(|(at, (_, touched))| is_one(at.address, touched.length.into()));
        parted(those.map(|(_, (line, touched))| (*line, touched.times as f64)).collect())
    }
}

/// The places from which threads come to lines, by what these take more at their own instructions.
fn near(several: &[Run], lines: &[Code<'_>], shares: &[f64]) -> BTreeMap<InFile, Parts> {
    let mut seconds = BTreeMap::<InFile, f64>::new();
    for (place, time) in several.iter().flat_map(|run| &run.at) {
        *seconds.entry(*place).or_default() += time;
    }
    let mut near = BTreeMap::<InFile, Parts>::new();
    for (line, code) in lines.iter().enumerate() {
        let is_often = |(place, near): &(&InFile, &f64)| {
            seconds.get(place).is_some_and(|all| **near >= LEAST_NEAR * all)
        };
        for (place, _) in code.near.iter().filter(is_often) {
            near.entry(*place).or_default().push((line, shares[line].max(0.0)));
        }
    }
    near.into_iter().map(|(place, weights)| (place, parted(weights))).collect()
}

/// Scales weights so that they add up to 1. If all are 0, the parts are equal.
fn parted(mut weights: Parts) -> Parts {
    let (all, count) = (weights.iter().map(|(_, weight)| weight).sum::<f64>(), weights.len() as f64);
    for (_, weight) in &mut weights {
        *weight = if all > 0.0 { *weight / all } else { 1.0 / count };
    }
    weights
}

/// The widest interval of a line's cost that is told.
const WIDEST: f64 = 0.25;

/// Why what a line costs cannot be told; `None` if it can.
pub fn why_no_cost(cost: Option<&Estimate>, total: &ShareTotal) -> Option<String> {
    if let Some(why) = &total.why_not {
        return Some(why.clone());
    }
    if let Some(control) = control_that_loses(total) {
        return Some(format!(
            "a loop that shares nothing loses {:.0} % on these CPUs too, and so may every instruction",
            100.0 * control.median
        ));
    }
    let Some(cost) = cost else { return Some("no round was recorded".into()) };
    if !cost.has_interval() {
        return Some(format!("{} recorded rounds are too few; {} can tell", cost.n, Estimate::FEWEST));
    }
    let [low, high] = [cost.low, cost.high].map(|share| 100.0 * share);
    (cost.high - cost.low > WIDEST)
        .then(|| format!("{} rounds differ too much: it lies between {low:.0} % and {high:.0} %", cost.n))
}
