//! Two profiles, or a profile and a publication's machines, figure by figure.

use std::collections::BTreeMap;

use coho_profile::{Host, Inexact, Profile};
use serde::Serialize;
use serde_json::Value;

use super::figures::{self, Figure};
use super::subject::Subject;
use super::tables;

/// What two or more profiles have in common and where they differ; the first is what the others are compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The profiles' labels.
    pub profiles: Vec<String>,
    /// Figures that the first and another profile have.
    pub figures: Vec<Row>,
    /// How many of the first profile's figures no other has.
    pub without_counterpart: usize,
    /// Facts of the host that differ.
    pub host: Vec<Fact>,
    /// Counts of objects of the topology that differ.
    pub topology: Vec<Fact>,
    /// What the figures say as a whole, where that differs.
    pub verdict: Vec<Fact>,
}

/// One figure in all profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Stable name: `coherence.turn.on-die.ns`.
    pub id: String,
    /// For people.
    pub label: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// In the order of the profiles.
    pub values: Vec<Option<Cell>>,
}

impl Row {
    /// Whether it is one of many: a read of prepared lines, one for each state, owner and size, or a loop of one length
    /// or program of one size under one barrier, or a rate under one condition.
    pub fn is_detail(&self) -> bool {
        let programs = ["sync.daxpy.", "sync.galerkin.", "sync.weather."];
        self.id.starts_with("read.")
            || self.id.starts_with("memory.")
            || self.unit == "us" && programs.iter().any(|name| self.id.starts_with(name))
    }

    /// Whether any profile differs from the first by more than noise, or by how much cannot be told.
    pub fn differs(&self) -> bool {
        self.values.iter().skip(1).flatten().any(|cell| cell.beyond_noise != Some(false))
    }
}

/// A figure and, but in the first profile, how it differs from the first's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The value.
    pub value: f64,
    /// Its interval, where the source tells one and has the six samples that a 95 % interval takes.
    pub interval: Option<(f64, f64)>,
    /// Of how many CPUs or pairs.
    pub n: u64,
    /// How the source words it, where that does not tell it exactly: `about`, `below`, `between` the interval's ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inexact: Option<Inexact>,
    /// The value over the first profile's.
    pub ratio: Option<f64>,
    /// Within which the ratio lies if both values lie in their intervals.
    pub ratio_interval: Option<(f64, f64)>,
    /// Whether the difference exceeds the noise: the intervals do not overlap. `None` where one has no
    /// interval.
    pub beyond_noise: Option<bool>,
}

/// Something that is not a figure; `None` where a profile does not tell it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// In the order of the profiles.
    pub values: Vec<Option<String>>,
}

/// Compares the first profile with each of the others.
pub fn compare(subjects: &[Subject]) -> Comparison {
    let columns: Vec<Vec<Figure>> = subjects.iter().map(figures::of).collect();
    let (first, others) = columns.split_first().map_or((&[][..], &[][..]), |(a, b)| (a.as_slice(), b));
    let find = |column: &[Figure], figure: &Figure| -> Option<Figure> {
        column.iter().find(|other| other.key == figure.key).cloned()
    };
    let mut rows = Vec::new();
    for figure in first {
        let matches: Vec<Option<Figure>> = others.iter().map(|column| find(column, figure)).collect();
        if matches.iter().any(Option::is_some) {
            let cells = matches.into_iter().map(|other| Some(cell(&other?, Some(figure))));
            let values = std::iter::once(Some(cell(figure, None))).chain(cells).collect();
            let key = &figure.key;
            rows.push(Row { id: key.id.clone(), label: key.label.clone(), unit: key.unit, values });
        }
    }
    Comparison {
        profiles: subjects.iter().map(|subject| subject.label.clone()).collect(),
        without_counterpart: first.len() - rows.len(),
        figures: rows,
        host: differing(subjects, |profile| profile.host.as_ref().map(host_facts).unwrap_or_default()),
        topology: differing(subjects, topology_counts),
        verdict: differing(subjects, verdict),
    }
}

fn cell(figure: &Figure, reference: Option<&Figure>) -> Cell {
    let ratio = |over: f64, under: f64| (under > 0.0).then(|| over / under);
    let ends = reference.and_then(|reference| Some((ends(figure)?, ends(reference)?)));
    // What is only bounded has no ratio.
    let is_bound = |figure: &Figure| figure.inexact == Some(Inexact::Below);
    let reference = reference.filter(|reference| !is_bound(figure) && !is_bound(reference));
    let ratio_interval =
        ends.filter(|_| reference.is_some()).and_then(|((low, high), (base_low, base_high))| {
            Some((ratio(low, base_high)?, ratio(high, base_low)?))
        });
    Cell {
        value: figure.value,
        interval: figure.interval,
        n: figure.n,
        inexact: figure.inexact,
        ratio: reference.and_then(|reference| ratio(figure.value, reference.value)),
        ratio_interval,
        beyond_noise: ends.map(|(mine, base)| mine.0 > base.1 || mine.1 < base.0),
    }
}

/// Within which a figure lies; of a bound, all below it.
fn ends(figure: &Figure) -> Option<(f64, f64)> {
    match figure.inexact {
        Some(Inexact::Below) => Some((f64::NEG_INFINITY, figure.value)),
        _ => figure.interval,
    }
}

/// Facts that at least two profiles tell differently, or that one measured profile tells and another does not; a
/// publication's silence is no difference.
fn differing(subjects: &[Subject], facts: impl Fn(&Profile) -> BTreeMap<String, String>) -> Vec<Fact> {
    let columns: Vec<BTreeMap<String, String>> =
        subjects.iter().map(|subject| facts(&subject.profile)).collect();
    let mut names: Vec<&String> = columns.iter().flat_map(BTreeMap::keys).collect();
    names.sort();
    names.dedup();
    let fact = |name: &String| {
        let values: Vec<Option<String>> = columns.iter().map(|column| column.get(name).cloned()).collect();
        let heard = |index: usize| values[index].is_some() || !subjects[index].published;
        let told: Vec<&Option<String>> =
            (0..values.len()).filter(|&index| heard(index)).map(|index| &values[index]).collect();
        let differs = told.windows(2).any(|pair| pair[0] != pair[1]);
        differs.then(|| Fact { name: name.clone(), values: values.clone() })
    };
    names.into_iter().filter_map(fact).collect()
}

fn host_facts(host: &Host) -> BTreeMap<String, String> {
    let boost = host.boost.map(|on| if on { "on" } else { "off" }.to_owned());
    let cpus = (!host.allowed_cpus.is_empty()).then(|| tables::cpu_list(&host.allowed_cpus));
    let facts = [
        ("CPU", host.cpu.clone()),
        ("architecture", host.architecture.clone()),
        ("kernel", host.kernel.clone()),
        ("distribution", host.os.clone()),
        ("hypervisor", host.hypervisor.clone()),
        ("microcode", host.microcode.clone()),
        ("firmware", host.firmware.clone()),
        ("governor", host.governor.clone()),
        ("boost", boost),
        // Two decimals: the measured clock's noise is no other clock.
        ("clock", host.clock_ghz.map(|ghz| format!("{ghz:.2} GHz"))),
        ("clock source", host.clock_source.clone()),
        ("allowed CPUs", cpus),
        ("coho", host.coho_version.clone()),
    ];
    let told = facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let named = |kind: &'static str, map: &BTreeMap<String, String>| -> Vec<(String, String)> {
        map.iter().map(|(name, value)| (format!("{kind} {name}"), value.clone())).collect()
    };
    told.chain(named("mitigation", &host.mitigations)).chain(named("limit", &host.limits)).collect()
}

fn topology_counts(profile: &Profile) -> BTreeMap<String, String> {
    let counts = profile.topology.as_ref().map(|section| serde_json::to_value(section.counts));
    let Some(Ok(Value::Object(counts))) = counts else { return BTreeMap::new() };
    let told = counts.into_iter().filter(|(_, count)| count.as_u64() != Some(0));
    told.map(|(name, count)| (name, count.to_string())).collect()
}

fn verdict(profile: &Profile) -> BTreeMap<String, String> {
    let Some(coherence) = &profile.coherence else { return BTreeMap::new() };
    // A publication that passes no verdict has no classes or levels either.
    let Some(verdict) = &coherence.verdict else { return BTreeMap::new() };
    let name = serde_json::to_value(verdict).ok().and_then(|value| value.as_str().map(str::to_owned));
    let facts = [
        ("verdict", name.unwrap_or_default()),
        (
            "one value, but for a few",
            match coherence.stable {
                Some(true) => "yes",
                Some(false) => "no",
                None => "–",
            }
            .to_owned(),
        ),
        ("classes found", coherence.classes.len().to_string()),
        ("levels found", coherence.levels.len().to_string()),
        (
            "contradictions",
            coherence.contradictions.as_ref().map_or("–".to_owned(), |found| found.len().to_string()),
        ),
    ];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::Pair;

    use super::*;

    fn subject(label: &str, shift: f64) -> Subject {
        let mut subject = Subject::load("published:kawabe-furuya/e5620").unwrap().remove(0);
        subject.label = label.into();
        subject.published = false;
        let coherence = subject.profile.coherence.as_mut().unwrap();
        coherence.coherence_times.clear();
        coherence.singles.clear();
        for Pair { ns, .. } in &mut coherence.pairs {
            ns.n = 100;
            ns.median *= shift;
            (ns.low, ns.high) = (ns.median * 0.99, ns.median * 1.01);
        }
        subject
    }

    #[test]
    fn only_intervals_that_do_not_overlap_are_a_difference() {
        for (shift, expected) in [(1.01, false), (1.05, true)] {
            let comparison = compare(&[subject("a", 1.0), subject("b", shift)]);
            let row = comparison.figures.iter().find(|row| row.id == "pair.free-running.1-hop.ns").unwrap();
            let cell = row.values[1].as_ref().unwrap();
            assert_eq!(cell.beyond_noise, Some(expected));
            assert!((cell.ratio.unwrap() - shift).abs() < 1e-9);
            let (low, high) = cell.ratio_interval.unwrap();
            assert!(low < shift && shift < high);
        }
    }

    #[test]
    fn the_ranges_of_few_samples_tell_no_difference() {
        let few = |shift: f64| {
            let mut subject = subject("few", shift);
            subject.profile.coherence.as_mut().unwrap().pairs.iter_mut().for_each(|pair| pair.ns.n = 5);
            subject
        };
        for subjects in [[subject("a", 1.0), few(1.5)], [few(1.0), subject("b", 1.5)], [few(1.0), few(1.5)]] {
            let comparison = compare(&subjects);
            let row = comparison.figures.iter().find(|row| row.id == "pair.free-running.1-hop.ns").unwrap();
            let cell = row.values[1].as_ref().unwrap();
            assert_eq!((cell.beyond_noise, cell.ratio_interval), (None, None));
            assert!((cell.ratio.unwrap() - 1.5).abs() < 1e-9);
        }
    }

    #[test]
    fn a_bound_is_kept_or_broken_but_has_no_ratio() {
        let figure = |value: f64, inexact: Option<Inexact>| Figure {
            key: figures::Key::new(0, 0, "share".into(), "share".into(), "%"),
            value,
            interval: inexact.is_none().then_some((value - 1.0, value + 1.0)),
            n: 9,
            inexact,
        };
        for (mine, beyond) in [(25.0, true), (4.0, false)] {
            let cell = cell(&figure(10.0, Some(Inexact::Below)), Some(&figure(mine, None)));
            assert_eq!((cell.ratio, cell.ratio_interval, cell.beyond_noise), (None, None, Some(beyond)));
        }
        let about = cell(&figure(4.0, Some(Inexact::About)), Some(&figure(2.0, None)));
        assert_eq!((about.ratio, about.beyond_noise), (Some(2.0), None));
    }

    #[test]
    fn a_publications_silence_is_no_difference() {
        let mut mine = subject("mine", 1.0);
        mine.profile.host.as_mut().unwrap().kernel = Some("Linux 6.12".into());
        let paper = Subject::load("published:kawabe-furuya/e5620").unwrap().remove(0);
        assert!(compare(&[mine.clone(), paper]).host.is_empty());
        let mut other = mine.clone();
        other.profile.host.as_mut().unwrap().kernel = Some("Linux 6.1".into());
        let facts = compare(&[mine, other]).host;
        assert_eq!(facts.len(), 1);
        assert_eq!(facts[0].name, "kernel");
    }
}
