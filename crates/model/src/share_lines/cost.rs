//! What lines cost, by the CPU time at the instructions that touch them.

use std::collections::BTreeMap;

use coho_profile::{Estimate, ShareTotal};

use super::{InFile, Run, Touched};

/// The share of a line's touches below which an instruction is none of those that it costs time at.
const LEAST: f64 = 0.02;

/// For each line, by the instructions that touch it, the share of the CPU time that these take more on several CPUs than
/// on one: a value for each round, of which `several` and `one` hold a run each. An instruction that waits for a line
/// is found there, or at the next one. The time at an instruction that touches several of the lines is theirs in
/// proportion to how often it was seen to touch each.
pub fn costs(several: &[Run], one: &[Run], lines: &[&BTreeMap<InFile, Touched>]) -> Vec<Vec<f64>> {
    let mut places = BTreeMap::<InFile, BTreeMap<usize, u64>>::new();
    for (line, code) in lines.iter().enumerate() {
        let all: u64 = code.values().map(|touched| touched.times).sum();
        for (at, touched) in code.iter().filter(|(_, touched)| touched.times as f64 >= LEAST * all as f64) {
            let after = InFile { address: at.address.wrapping_add(touched.length.into()), ..*at };
            for place in [*at, after] {
                *places.entry(place).or_default().entry(line).or_default() += touched.times;
            }
        }
    }
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); lines.len()];
    for (several, one) in several.iter().zip(one).filter(|(several, _)| several.seconds > 0.0) {
        let mut round = vec![0.0; lines.len()];
        for (place, touching) in &places {
            let at = |run: &Run| run.at.get(place).copied().unwrap_or(0.0);
            let more = (at(several) - at(one)) / several.seconds;
            let all: u64 = touching.values().sum();
            for (line, times) in touching {
                round[*line] += more * *times as f64 / all.max(1) as f64;
            }
        }
        costs.iter_mut().zip(round).for_each(|(costs, cost)| costs.push(cost));
    }
    costs
}

/// The widest interval of a line's cost that is told.
const WIDEST: f64 = 0.25;

/// Why what a line costs cannot be told; `None` if it can.
pub fn why_no_cost(cost: Option<&Estimate>, total: &ShareTotal) -> Option<String> {
    if let Some(why) = &total.why_not {
        return Some(why.clone());
    }
    let Some(cost) = cost else { return Some("no round was recorded".into()) };
    if !cost.has_interval() {
        return Some(format!("{} recorded rounds are too few; {} can tell", cost.n, Estimate::FEWEST));
    }
    let [low, high] = [cost.low, cost.high].map(|share| 100.0 * share);
    (cost.high - cost.low > WIDEST)
        .then(|| format!("{} rounds differ too much: it lies between {low:.0} % and {high:.0} %", cost.n))
}
