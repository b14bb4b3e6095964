//! What lines cost, by the CPU time at the instructions that touch them.

use std::collections::BTreeMap;

use coho_profile::{Estimate, ShareTotal};

use super::{InFile, Run, Touched};

/// The share of a line's touches below which an instruction is none of those that it costs time at.
const LEAST: f64 = 0.02;

/// How many bytes of code before and behind an instruction that waits for a line may be found waiting: what it is in turn
/// waited for by, and what the CPU had begun meanwhile.
const BEFORE: u64 = 64;
const BEHIND: u64 = 32;

/// The instructions that touch lines: for each the lines, how often it was seen to touch each, and its length.
type Touching = BTreeMap<InFile, Vec<(usize, Touched)>>;

/// For each line, by the instructions that touch it, the share of the CPU time that these take more on several CPUs than
/// on one: a value for each round, of which `several` and `one` hold a run each. An instruction that waits for a line
/// is found there, at the next one, or near. The time at a place that is near instructions that touch several of the lines
/// is theirs in proportion to how often they were seen to touch each.
pub fn costs(several: &[Run], one: &[Run], lines: &[&BTreeMap<InFile, Touched>]) -> Vec<Vec<f64>> {
    let mut touching = Touching::new();
    for (line, code) in lines.iter().enumerate() {
        let all: u64 = code.values().map(|touched| touched.times).sum();
        for (at, touched) in code.iter().filter(|(_, touched)| touched.times as f64 >= LEAST * all as f64) {
            touching.entry(*at).or_default().push((line, *touched));
        }
    }
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); lines.len()];
    for (several, one) in several.iter().zip(one).filter(|(several, _)| several.seconds > 0.0) {
        let mut round = vec![0.0; lines.len()];
        for (run, sign) in [(several, 1.0), (one, -1.0)] {
            for (place, seconds) in &run.at {
                let of = lines_at(&touching, *place);
                let all: u64 = of.iter().map(|(_, times)| times).sum();
                for (line, times) in of {
                    round[line] += sign * seconds / several.seconds * times as f64 / all.max(1) as f64;
                }
            }
        }
        costs.iter_mut().zip(round).for_each(|(costs, cost)| costs.push(cost));
    }
    costs
}

/// The lines that the time at a place belongs to, with the touches that say so: those of the instruction there or right
/// before, or else of those near.
fn lines_at(touching: &Touching, place: InFile) -> Vec<(usize, u64)> {
    let from = InFile { address: place.address.saturating_sub(BEHIND), ..place };
    let to = InFile { address: place.address.saturating_add(BEFORE), ..place };
    let near = || {
        touching
            .range(from..=to)
            .flat_map(|(at, of)| of.iter().map(move |(line, touched)| (*at, *line, *touched)))
    };
    let is_there = |at: InFile, touched: Touched| {
        at == place || at.address.wrapping_add(touched.length.into()) == place.address
    };
    let there: Vec<_> = near().filter(|(at, _, touched)| is_there(*at, *touched)).collect();
    let of = if there.is_empty() { near().collect() } else { there };
    of.into_iter().map(|(_, line, touched)| (line, touched.times)).collect()
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
