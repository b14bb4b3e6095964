//! A command under several placements, for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use coho_profile::{Examination, PlacementRate, PlacementTime, Trial};
use coho_run::trial::differences;
use coho_topology::CpuSet;

use super::table::{table, wrapped};
use crate::report::text;

/// Counters that are told of one placement at most.
const TOLD: usize = 3;

/// Writes the times, which is best, and what may explain it.
pub fn write(out: &mut impl Write, trial: &Trial) -> io::Result<()> {
    let medians = || trial.placements.iter().filter_map(|placement| Some(placement.seconds.as_ref()?.median));
    let (unit, per_s) = if medians().any(|seconds| seconds < 1.0) { ("ms", 1e3) } else { ("s", 1.0) };
    let figure = |placement: &PlacementTime, name| {
        placement.counters.get(name).map_or_else(|| "–".into(), |value| text::number(value.median))
    };
    let rows = trial.placements.iter().map(|placement| {
        let cpus: CpuSet = placement.cpus.iter().copied().collect();
        let time = match (&placement.same_as, &placement.seconds) {
            (Some(other), _) => format!("as {}", text::tame(other)),
            (None, None) => "–".into(),
            (None, Some(seconds)) => {
                let [median, low, high] =
                    [seconds.median, seconds.low, seconds.high].map(|seconds| seconds * per_s);
                text::with_interval(median, Some((low, high)))
            }
        };
        [
            text::tame(&placement.name),
            text::short(&cpus.to_string(), 12),
            time,
            placement.times_best.as_ref().map_or_else(|| "–".into(), text::ratio),
            figure(placement, "voluntary_switches"),
            figure(placement, "migrations"),
        ]
    });
    let time = format!("{unit} (95 %)");
    let header = ["placement", "CPUs", time.as_str(), "× best (95 %)", "waits", "moves"];
    writeln!(out, "{}", table(header, 2, rows.collect()))?;
    writeln!(out, "{}", wrapped("", &format!("{}.", verdict(trial))))?;
    for line in explained(trial) {
        writeln!(out, "{}", wrapped("  ", &line))?;
    }
    let mut told = BTreeMap::<&str, Vec<String>>::new();
    for (what, why) in &trial.method.not_available {
        told.entry(why).or_default().push(text::tame(what).replace('_', " "));
    }
    for (why, what) in told {
        let line = format!("not available: {}: {}", what.join(", "), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    if trial.method.interrupted {
        writeln!(out, "Stopped before its end; whole rounds are above.")?;
    }
    Ok(())
}

/// Which placement is best, with the nearest other, in a sentence without its point.
pub fn verdict(trial: &Trial) -> String {
    let Some(best) = trial.best.as_deref().map(text::tame) else { return "no round was finished".into() };
    let others = trial.placements.iter().filter_map(|one| Some((one, one.times_best.as_ref()?)));
    let nearest = others.min_by(|one, other| one.1.median.total_cmp(&other.1.median));
    let rounds = text::count(usize::try_from(trial.method.passes).unwrap_or(usize::MAX), "round");
    match nearest {
        None => format!("nothing to choose from: {best} is all that there is"),
        Some((other, ratio)) if trial.decided => {
            let other = text::tame(&other.name);
            format!("{best} is best: {other} takes {} times as long ({rounds})", text::ratio(ratio))
        }
        Some(_) if partly_decided(trial) => {
            let worst = trial.placements.iter().filter(|one| is_loser(trial, one));
            let worst = worst.filter_map(|one| Some((one, one.times_best.as_ref()?)));
            let told: Vec<_> = worst
                .map(|(one, ratio)| {
                    format!("{} ({} times {best})", text::tame(&one.name), text::ratio(ratio))
                })
                .collect();
            let winners: Vec<_> = trial.winners.iter().map(|name| text::tame(name)).collect();
            format!(
                "{} are not told apart, but worse than one of them beyond chance: {} ({rounds})",
                winners.join(" and "),
                told.join(", ")
            )
        }
        Some((other, ratio)) => {
            let other = text::tame(&other.name);
            let ratio = text::ratio(ratio);
            format!(
                "nothing is better beyond chance: {other} takes {ratio} times as long as {best} ({rounds})"
            )
        }
    }
}

/// Whether some placements are worse than others beyond chance, though no single one is best.
fn partly_decided(trial: &Trial) -> bool {
    !trial.winners.is_empty() && trial.placements.iter().any(|one| is_loser(trial, one))
}

fn is_loser(trial: &Trial, one: &PlacementTime) -> bool {
    one.same_as.is_none() && one.seconds.is_some() && !trial.winners.contains(&one.name)
}

/// What differs between the best placement and each other, beside the time.
fn explained(trial: &Trial) -> Vec<String> {
    let Some(best) = trial.placements.iter().find(|one| Some(&one.name) == trial.best.as_ref()) else {
        return Vec::new();
    };
    let others = trial.placements.iter().filter(|one| one.times_best.is_some() && one.same_as.is_none());
    others
        .filter_map(|other| {
            let found: Vec<_> = differences(best, other)
                .into_iter()
                .take(TOLD)
                .map(|found| {
                    let name = text::tame(&found.counter).replace('_', " ");
                    format!("{name} {} against {}", text::number(found.best), text::number(found.other))
                })
                .collect();
            let [best, other] = [&best.name, &other.name].map(|name| text::tame(name));
            (!found.is_empty()).then(|| format!("{best} and {other}: {}", found.join(", ")))
        })
        .collect()
}

/// Where a live command stays, and how far it comes there and at the next best place.
pub fn settled(examination: &Examination, progress: &str) -> String {
    let unit = if progress == "instructions" { " instructions/s" } else { "/s" };
    let rate = |one: &PlacementRate| one.rate.as_ref().map(|rate| rate.median);
    let figure = |one: &PlacementRate| {
        rate(one).map_or_else(|| "–".into(), |rate| format!("{}{unit}", with_prefix(rate)))
    };
    let best = text::tame(&examination.best);
    let is_best = |one: &&PlacementRate| one.name == examination.best;
    let Some(own) = examination.placements.iter().find(is_best) else { return format!("live: {best}") };
    let cpus: CpuSet = own.cpus.iter().copied().collect();
    let others =
        examination.placements.iter().filter(|one| one.best_times.is_some() && one.same_as.is_none());
    let next =
        others.max_by(|one, other| rate(one).partial_cmp(&rate(other)).unwrap_or(std::cmp::Ordering::Equal));
    let beside = match next {
        None => format!("{}, nothing else to compare", figure(own)),
        Some(next) if examination.decided => {
            format!("{}, {} {}", figure(own), text::tame(&next.name), figure(next))
        }
        Some(next) => {
            let name = text::tame(&next.name);
            format!("{}, {name} {}: nothing is better beyond chance", figure(own), figure(next))
        }
    };
    let rounds = text::count(usize::try_from(examination.rounds).unwrap_or(usize::MAX), "round");
    format!("live: {best} (CPUs {}): {beside} ({rounds})", text::short(&cpus.to_string(), 16))
}

/// `260 k`, `1.21 G`.
fn with_prefix(value: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let prefix = PREFIXES.into_iter().find(|(factor, _)| value >= *factor);
    prefix.map_or_else(|| text::number(value), |(factor, name)| text::number(value / factor) + name)
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Method};

    use super::*;

    fn trial(times: &[(&str, Option<(f64, f64)>)], winners: &[&str], decided: bool) -> Trial {
        let ratio = |(low, high): (f64, f64)| {
            let median = f64::midpoint(low, high);
            Estimate { median, low, high, n: 10, ..Estimate::exact(median) }
        };
        let placement = |(name, over): &(&str, Option<(f64, f64)>)| PlacementTime {
            name: (*name).into(),
            seconds: Some(Estimate::exact(1.0)),
            times_best: over.map(ratio),
            ..PlacementTime::default()
        };
        Trial {
            method: Method { passes: 10, ..Method::default() },
            placements: times.iter().map(placement).collect(),
            best: Some(times[0].0.into()),
            winners: winners.iter().map(|name| (*name).to_owned()).collect(),
            decided,
            ..Trial::default()
        }
    }

    /// Each sentence where its figures carry it, and none of the others.
    #[test]
    fn each_verdict_is_said_of_its_own_figures_alone() {
        let best = verdict(&trial(&[("compact", None), ("spread", Some((1.5, 1.7)))], &["compact"], true));
        assert!(best.starts_with("compact is best: spread takes"), "{best}");
        let nothing = verdict(&trial(
            &[("compact", None), ("spread", Some((0.9, 1.2)))],
            &["compact", "spread"],
            false,
        ));
        assert!(nothing.starts_with("nothing is better beyond chance"), "{nothing}");
        let times = [("compact", None), ("l3", Some((0.9, 1.1))), ("spread", Some((1.9, 2.1)))];
        let some = verdict(&trial(&times, &["compact", "l3"], false));
        assert!(some.starts_with("compact and l3 are not told apart"), "{some}");
        assert!(some.contains("spread (2.00"), "{some}");
        for (told, words) in [
            (&best, "not told apart"),
            (&nothing, "is best"),
            (&nothing, "not told apart"),
            (&some, "is best"),
        ] {
            assert!(!told.contains(words), "{words}: {told}");
        }
        // A profile of an earlier version names no winners: nothing is made up of that.
        let earlier = verdict(&trial(&times, &[], false));
        assert!(earlier.starts_with("nothing is better beyond chance"), "{earlier}");
    }
}
