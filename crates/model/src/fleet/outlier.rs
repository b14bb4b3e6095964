//! What is odd about a machine, beside others of its group.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::facts::FACTS;
use super::gathered::{Fleet, Kept, Machine};
use super::group::Group;
use super::robust::{FEWEST, Spread};
use super::row::WORST;
use crate::chance::BETWEEN_RUNS;
use crate::findings::DISTURBED;
use crate::words::number;

/// A fact that fewer machines than this part of a group have is odd.
const RARE: f64 = 0.05;
/// What this part of a group have is usual.
const USUAL: f64 = 0.9;

/// Something odd about a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// The machine.
    pub machine: String,
    /// A figure's key and parameters, a fact's name, or the kind of a finding.
    pub figure: String,
    /// What the machine has.
    pub value: Value,
    /// The robust z-score in its group; `None` of what is no figure.
    pub z: Option<f64>,
    /// What is odd, in words.
    pub why: String,
    /// The machine's place in the fleet.
    #[serde(skip)]
    pub(super) at: usize,
}

/// A number, a text, or nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A figure, in its unit.
    Number(f64),
    /// A fact.
    Text(String),
    /// A finding has no value.
    None,
}

/// Everything odd in the groups: findings first, then facts, then figures, the farthest off first.
pub(super) fn all(fleet: &Fleet, groups: &[Group]) -> Vec<Outlier> {
    let spreads: Vec<_> = groups.iter().map(|group| spreads(fleet, group)).collect();
    let looked_at: usize = spreads.iter().flat_map(BTreeMap::values).map(|spread| spread.n).sum();
    let mut outliers = Vec::new();
    for (group, spreads) in groups.iter().zip(&spreads) {
        warned(fleet, group, &mut outliers);
        facts(fleet, group, &mut outliers);
        absent(fleet, group, &mut outliers);
        figures(fleet, group, spreads, looked_at, &mut outliers);
    }
    let rank = |one: &Outlier| match (&one.value, one.z) {
        (Value::None, _) => f64::INFINITY,
        (_, None) => f64::MAX,
        (_, Some(z)) => z.abs(),
    };
    outliers.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
    outliers
}

/// How each figure of a group scatters, where enough machines have it.
pub(super) fn spreads(fleet: &Fleet, group: &Group) -> BTreeMap<u32, Spread> {
    let mut values = BTreeMap::<u32, Vec<f64>>::new();
    if group.machines >= FEWEST {
        let latest = group.members.iter().filter_map(|at| fleet.machines[*at].latest());
        for kept in latest.flat_map(|one| &one.values).filter(|kept| !kept.is_disturbed) {
            values.entry(kept.figure).or_default().push(kept.value);
        }
    }
    values.into_iter().filter_map(|(figure, mut values)| Some((figure, Spread::of(&mut values)?))).collect()
}

fn figures(
    fleet: &Fleet,
    group: &Group,
    spreads: &BTreeMap<u32, Spread>,
    looked_at: usize,
    outliers: &mut Vec<Outlier>,
) {
    for at in &group.members {
        let machine = &fleet.machines[*at];
        let Some(latest) = machine.latest() else { continue };
        for kept in latest.values.iter().filter(|kept| !kept.is_disturbed) {
            let Some(spread) = spreads.get(&kept.figure) else { continue };
            let limit =
                match fleet.names.text(fleet.figures[kept.figure as usize].parameters).ends_with(WORST) {
                    true => spread.limit_of_worst(looked_at),
                    false => spread.limit(looked_at),
                };
            if is_odd(kept, spread, limit) && !has_come_back(machine, kept.figure, spread, limit) {
                outliers.push(Outlier {
                    machine: fleet.machine_name(*at),
                    figure: fleet.name_of(kept.figure),
                    value: Value::Number(kept.value),
                    z: Some(spread.score(kept.value)),
                    why: why(fleet, kept, spread),
                    at: *at,
                });
            }
        }
    }
}

/// Whether a value lies further from the middle than the limit, and by as much as two runs of one machine never differ.
fn is_odd(kept: &Kept, spread: &Spread, limit: f64) -> bool {
    let z = spread.score(kept.value);
    // A single value, such as the clock, is none of a run.
    let apart = f64::max(kept.value / spread.median, spread.median / kept.value);
    // Its whole interval lies so far off: what disturbed a few passes does not make a machine odd.
    let nearest = kept.estimate();
    let nearest = if z > 0.0 { nearest.low.min(kept.value) } else { nearest.high.max(kept.value) };
    z.abs() > limit
        && spread.score(nearest).abs() > limit
        && z * spread.score(nearest) > 0.0
        && (kept.n <= 1 || apart.is_nan() || apart >= BETWEEN_RUNS)
}

/// Whether a machine's figure was odd before, and then was not: it comes and goes, as where a host moves the CPUs.
fn has_come_back(machine: &Machine, figure: u32, spread: &Spread, limit: f64) -> bool {
    let earlier = machine.surveys.iter().flat_map(|survey| &survey.values);
    let earlier = earlier.filter(|kept| kept.figure == figure && !kept.is_disturbed);
    let odd: Vec<bool> = earlier.map(|kept| is_odd(kept, spread, limit)).collect();
    odd.windows(2).any(|two| two == [true, false])
}

/// `latency of dependent loads (bytes=4096): 9.10 ns, 2.0 × the 4.55 ns of its group, whose middle half is at 4.50–4.61`.
fn why(fleet: &Fleet, kept: &Kept, spread: &Spread) -> String {
    let kind = &fleet.figures[kept.figure as usize];
    let (parameters, place) = (fleet.names.text(kind.parameters), fleet.names.text(kept.condition));
    let which = match (parameters.is_empty(), place.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!(" ({parameters})"),
        (false, false) => format!(" ({parameters}: {place})"),
    };
    let ratio = kept.value / spread.median;
    let times = match ratio.is_finite() && ratio > 0.0 {
        true => format!("{} × the ", number(ratio)),
        false => "against the ".into(),
    };
    let (unit, per_unit) = shown(kind.quantity.unit);
    let [value, median, low, high] = [kept.value, spread.median, spread.quartiles.0, spread.quartiles.1]
        .map(|value| number(value * per_unit));
    format!(
        "{}{which}: {value}{unit}, {times}{median}{unit} of its group, whose middle half is at {low}–{high}",
        kind.quantity.label
    )
}

/// A unit as people read it, with a space before it, and what makes a figure of it.
pub(super) fn shown(unit: &'static str) -> (String, f64) {
    match unit {
        "" => (String::new(), 1.0),
        "bytes/s" => (" GB/s".into(), 1e-9),
        unit => (format!(" {unit}"), 1.0),
    }
}

/// Figures that a machine lacks and nearly all others of its group have, though it has others of the same key: it was
/// measured under another condition, such as pages of another size. One is told for each key.
fn absent(fleet: &Fleet, group: &Group, outliers: &mut Vec<Outlier>) {
    if group.machines < FEWEST {
        return;
    }
    let latest: Vec<_> =
        group.members.iter().filter_map(|at| Some((*at, fleet.machines[*at].latest()?))).collect();
    let mut counts = BTreeMap::<u32, usize>::new();
    for kept in latest.iter().flat_map(|(_, latest)| &latest.values) {
        *counts.entry(kept.figure).or_default() += 1;
    }
    let machines = group.machines as f64;
    let usual = |(_, n): &(u32, usize)| *n as f64 >= (1.0 - RARE) * machines && *n < group.machines;
    let usual: Vec<(u32, usize)> = counts.into_iter().filter(usual).collect();
    for (at, survey) in latest {
        let own: BTreeSet<u32> = survey.values.iter().map(|kept| kept.figure).collect();
        let key = |figure: u32| fleet.figures[figure as usize].quantity.key;
        let keys: BTreeSet<&str> = own.iter().map(|figure| key(*figure)).collect();
        // A measurement that ended early lacks figures for want of time.
        let cut: BTreeSet<&str> =
            survey.values.iter().filter(|kept| kept.is_cut).map(|kept| key(kept.figure)).collect();
        let mut told = BTreeSet::new();
        for (figure, n) in usual.iter().filter(|(figure, _)| !own.contains(figure)) {
            if keys.contains(key(*figure)) && !cut.contains(key(*figure)) && told.insert(key(*figure)) {
                outliers.push(Outlier {
                    machine: fleet.machine_name(at),
                    figure: fleet.name_of(*figure),
                    value: Value::None,
                    z: None,
                    why: format!(
                        "{} ({}) is missing, which {n} of the {} machines of its group have",
                        fleet.figures[*figure as usize].quantity.label,
                        fleet.names.text(fleet.figures[*figure as usize].parameters),
                        group.machines
                    ),
                    at,
                });
            }
        }
    }
}

/// Facts that hardly any other machine of the group has.
fn facts(fleet: &Fleet, group: &Group, outliers: &mut Vec<Outlier>) {
    if group.machines < FEWEST {
        return;
    }
    for (place, (name, _)) in FACTS.iter().enumerate() {
        let known = group
            .members
            .iter()
            .filter_map(|at| Some((*at, fleet.machines[*at].latest()?.fact(place, &fleet.names)?)));
        let known: Vec<(usize, &str)> = known.collect();
        let mut counts = BTreeMap::<&str, usize>::new();
        for (_, fact) in &known {
            *counts.entry(fact).or_default() += 1;
        }
        let Some((usual, most)) = counts.iter().max_by_key(|(_, n)| **n) else { continue };
        if (*most as f64) < USUAL * group.machines as f64 {
            continue;
        }
        let rare = known.iter().filter(|(_, fact)| counts[fact] as f64 <= RARE * group.machines as f64);
        outliers.extend(rare.map(|(at, fact)| Outlier {
            machine: fleet.machine_name(*at),
            figure: (*name).into(),
            value: Value::Text((*fact).into()),
            z: None,
            why: format!(
                "{} is {fact}; {most} of the {} machines of its group have {usual}",
                spoken(name),
                group.machines
            ),
            at: *at,
        }));
    }
}

/// A fact's name in a sentence.
pub(super) fn spoken(name: &str) -> String {
    match name {
        "cpu" => "CPU".into(),
        "os" => "operating system".into(),
        name => name.replace('_', " "),
    }
}

/// What warns of a machine and of hardly any other of its group: of claims that measurement contradicts, of CPUs that the
/// host moves. What many have is the group's, not the machine's.
fn warned(fleet: &Fleet, group: &Group, outliers: &mut Vec<Outlier>) {
    let all = group.members.iter().filter_map(|at| Some((*at, fleet.machines[*at].latest()?)));
    let all = all.flat_map(|(at, latest)| latest.warnings.iter().map(move |(id, words)| (at, *id, *words)));
    // What disturbed a survey is not the machine's.
    let all: Vec<(usize, &str, u32)> = all.filter(|(_, id, _)| *id != DISTURBED).collect();
    let mut counts = BTreeMap::<&str, usize>::new();
    for (_, id, _) in &all {
        *counts.entry(id).or_default() += 1;
    }
    let is_rare = |id: &str| group.machines >= FEWEST && counts[id] as f64 <= RARE * group.machines as f64;
    outliers.extend(all.iter().filter(|(_, id, _)| is_rare(id)).map(|(at, id, words)| Outlier {
        machine: fleet.machine_name(*at),
        figure: (*id).into(),
        value: Value::None,
        z: None,
        why: fleet.names.text(*words).to_owned(),
        at: *at,
    }));
}
