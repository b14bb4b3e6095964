//! A profile's figures as rows of a table, in which the figures of many CPUs are one.

use std::collections::HashMap;

use coho_profile::{Better, Estimate, Figure, Method, PLACES, Profile, Quantity};
use serde::Serialize;

use crate::findings::disturbed;
use crate::stats;

/// What the parameters of the worst of several places end in.
pub(super) const WORST: &str = "of=worst";
/// So many figures of one kind have a worst one that is told apart from their median.
pub(super) const SEVERAL: usize = 3;
/// The most rows of one profile; a survey of 192 CPUs has about a thousand.
const MOST_ROWS: usize = 20_000;
/// The longest parameters of a figure; no section writes half as many.
const LONGEST: usize = 400;

/// A figure of one survey of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// As in `coho schema --figures`: `coherence.turn`.
    pub key: &'static str,
    /// What distinguishes it from other figures of that key: `home=a claimed=L3`; `of=worst` for the worst of several
    /// places.
    pub parameters: String,
    /// The median, in `unit`.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many samples, or of several places how many places, it is of.
    pub n: u64,
    /// `ns`; empty for ratios.
    pub unit: &'static str,
    /// Under which it holds: `median of 66 places; 9 passes`.
    pub condition: String,
    #[serde(skip)]
    pub(super) quantity: &'static Quantity,
    #[serde(skip)]
    pub(super) passes: u64,
    /// What else had the CPUs while it was measured, in words; empty if nothing is known to.
    #[serde(skip)]
    pub(super) disturbed: String,
    /// Whether its section ended early.
    #[serde(skip)]
    pub(super) is_cut: bool,
}

/// The figures of a profile, those of many CPUs as their median and, where one of two is better, their worst. Figures that
/// are no numbers are left out.
pub fn rows(profile: &Profile) -> Vec<Row> {
    let figures = profile.figures();
    let methods: HashMap<&str, &Method> =
        profile.sections().filter_map(|(name, section)| Some((name, section.method()?))).collect();
    let conditions: HashMap<&str, String> =
        methods.iter().map(|(name, method)| (*name, circumstances(method))).collect();
    let disturbed: HashMap<&str, String> =
        methods.iter().filter_map(|(name, method)| Some((*name, disturbed(method)?))).collect();
    let mut kinds: Vec<(String, Vec<&Figure<'_>>)> = Vec::new();
    let mut index: HashMap<(&str, String), usize> = HashMap::new();
    for figure in figures.iter().filter(|figure| figure.estimate.median.is_finite()) {
        let parameters = parameters(figure, |name| !PLACES.contains(&name));
        let key = (figure.quantity.key, parameters);
        match index.get(&key) {
            Some(at) => kinds[*at].1.push(figure),
            None if kinds.len() < MOST_ROWS => {
                kinds.push((key.1.clone(), vec![figure]));
                index.insert(key, kinds.len() - 1);
            }
            None => {}
        }
    }
    let of_kind = |(parameters, figures): (String, Vec<&Figure<'_>>)| {
        let section = figures[0].quantity.key.split('.').next().unwrap_or_default();
        let mut rows = summed_up(&parameters, &figures, conditions.get(section).map_or("", String::as_str));
        for row in &mut rows {
            row.disturbed = disturbed.get(section).cloned().unwrap_or_default();
            row.is_cut = methods.get(section).is_some_and(|method| method.interrupted);
        }
        rows
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// `home=a claimed=L3`: those parameters whose name is wanted.
fn parameters(figure: &Figure<'_>, is_wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (name, value) in figure.parameters.iter().filter(|(name, _)| is_wanted(name)) {
        let space = if text.is_empty() { "" } else { " " };
        text.extend([space, name, "=", value]);
    }
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => text[..at].to_owned(),
        None => text,
    }
}

fn summed_up(parameters: &str, figures: &[&Figure<'_>], around: &str) -> Vec<Row> {
    let quantity = figures[0].quantity;
    if let [only] = figures {
        return vec![row(only, parameters.to_owned(), &[], around)];
    }
    let medians = figures.iter().map(|figure| figure.estimate.median).collect();
    let Some(median) = stats::estimate(medians) else { return Vec::new() };
    let places = format!("median of {} places", figures.len());
    let whole = Row {
        n: figures.len() as u64,
        condition: joined([&places, around]),
        passes: figures.iter().map(|figure| figure.estimate.passes).min().unwrap_or_default(),
        ..of_estimate(quantity, parameters.to_owned(), &median)
    };
    let by_median =
        |one: &&&Figure<'_>, other: &&&Figure<'_>| one.estimate.median.total_cmp(&other.estimate.median);
    let worst = match quantity.better {
        _ if figures.len() < SEVERAL => None,
        Better::Lower => figures.iter().max_by(by_median),
        Better::Higher => figures.iter().min_by(by_median),
        Better::Neither => None,
    };
    let worst = worst.map(|worst| {
        let place = self::parameters(worst, |name| PLACES.contains(&name));
        let of_worst = if parameters.is_empty() { WORST.to_owned() } else { format!("{parameters} {WORST}") };
        row(worst, of_worst, &[&place], around)
    });
    [Some(whole), worst].into_iter().flatten().collect()
}

fn row(figure: &Figure<'_>, parameters: String, place: &[&str], around: &str) -> Row {
    let estimate = &figure.estimate;
    let few = match estimate.n {
        0 | 1 => "one value",
        _ if estimate.has_interval() => "",
        _ => "a range, as samples are few",
    };
    let passes = match estimate.passes {
        0 => String::new(),
        1 => "1 pass".into(),
        passes => format!("{passes} passes"),
    };
    let jumped = match (estimate.is_known_to_stay(), &estimate.modes[..]) {
        (Some(false), [one, other, ..]) => format!("jumped between {:.3} and {:.3}", one.value, other.value),
        (Some(false), _) => "did not keep to one value".into(),
        _ => String::new(),
    };
    let words = place.iter().copied().chain([passes.as_str(), few, &jumped, around]);
    Row { condition: joined(words), ..of_estimate(figure.quantity, parameters, estimate) }
}

fn of_estimate(quantity: &'static Quantity, parameters: String, estimate: &Estimate) -> Row {
    let finite = |end: f64| if end.is_finite() { end } else { estimate.median };
    Row {
        key: quantity.key,
        parameters,
        value: estimate.median,
        low: finite(estimate.low),
        high: finite(estimate.high),
        n: estimate.n,
        unit: quantity.unit,
        condition: String::new(),
        quantity,
        passes: estimate.passes,
        disturbed: String::new(),
        is_cut: false,
    }
}

/// What befell a section's measurement.
fn circumstances(method: &Method) -> String {
    let stopped = if method.interrupted { "ended early" } else { "" };
    let steal = match method.steal_s > 0.0 && method.steal_s.is_finite() {
        true => format!("{:.2} s of steal", method.steal_s),
        false => String::new(),
    };
    joined([stopped, &steal])
}

fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    Vec::from_iter(words.into_iter().filter(|word| !word.is_empty())).join("; ")
}

#[cfg(test)]
mod tests {
    use coho_profile::{Coherence, Home, Pair, PairMethod};

    use super::*;

    #[test]
    fn many_pairs_are_their_median_and_their_worst() {
        let pair = |b: u32, ns: f64| Pair {
            claimed: Some("L3".into()),
            ..Pair::new(0, b, PairMethod::Turn, Home::A, Estimate { n: 40, passes: 4, ..Estimate::exact(ns) })
        };
        let of = |times: &[f64]| {
            let pairs = (1..).zip(times).map(|(b, ns)| pair(b, *ns)).collect();
            rows(&Profile {
                coherence: Some(Coherence { pairs, ..Coherence::default() }),
                ..Profile::default()
            })
        };
        let told = |rows: &[Row]| {
            rows.iter().map(|row| (row.parameters.clone(), row.value, row.n)).collect::<Vec<_>>()
        };
        let many = of(&[20.0, 90.0, 21.0, 22.0]);
        assert_eq!(
            told(&many),
            [("home=a claimed=L3".into(), 21.5, 4), ("home=a claimed=L3 of=worst".into(), 90.0, 40)]
        );
        assert_eq!(many[0].condition, "median of 4 places");
        assert_eq!(many[1].condition, "a=0 b=2; 4 passes");
        assert_eq!(told(&of(&[20.0])), [("home=a claimed=L3".into(), 20.0, 40)]);
        assert!(of(&[f64::NAN]).is_empty());
    }
}
