//! Which published machine has similar costs of sharing a line.

use std::collections::BTreeMap;

use coho_profile::{Coherence, Pair, PairMethod, Profile, published};
use coho_topology::Topology;

use super::finding::{Finding, Urgency};
use crate::claims::kawabe_furuya::{EACH, Near, near};
use crate::range::Range;
use crate::words::{differing, interval, number};

/// The largest ratio of a mean to a published one that it resembles: the paper's own pairs of one class spread as
/// much.
const RESEMBLES: f64 = 1.25;

/// The most pairs that are named one by one.
const MOST_NAMED: usize = 16;

/// The pairs of a class: their positions in the profile, and the mean of their times.
struct Class {
    pairs: Vec<usize>,
    mean: Range,
    /// How often the line changes hands per increment; `None` unless every pair says so.
    changes: Option<f64>,
}

/// The pairs of a class, one by one.
#[derive(Default)]
struct Gathered {
    pairs: Vec<usize>,
    times: Vec<Range>,
    changes: Vec<Option<f64>>,
}

/// The paper timed two CPUs that both increment as fast as they can, so only such pairs are compared with its own.
pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(coherence) = &profile.coherence else { return Vec::new() };
    let timed = coherence.pairs.iter().filter(|pair| pair.method == PairMethod::FreeRunning);
    let mut timed = timed.peekable();
    if timed.peek().is_none()
        || coherence.keeps_to_its_values() == Some(false)
        || !timed.all(|pair| pair.ns.has_interval())
    {
        return Vec::new();
    }
    let mine = classes(profile);
    // The farthest class that a paper has says most about a machine; siblings pass no line on.
    let resembled = mine.iter().rev().filter(|(class, _)| **class != Near::Siblings);
    resembled
        .filter_map(|(class, mine)| beside(*class, mine, &stays(coherence, &mine.pairs)))
        .take(1)
        .collect()
}

/// Whether the increments of these pairs keep to their values. That their lines' hand-overs do says nothing of that: how many
/// increments happen in one ownership is chance.
fn stays(coherence: &Coherence, pairs: &[usize]) -> String {
    let told = pairs.iter().map(|at| coherence.pairs[*at].ns.is_known_to_stay());
    let (jumped, untold) =
        (told.clone().filter(|stays| *stays == Some(false)).count(), told.filter(Option::is_none).count());
    let stays = match (jumped, untold) {
        (0, 0) => {
            "the increments kept to one value in this run, but one run cannot show that they stay there"
                .to_owned()
        }
        (0, _) => "too few samples to tell whether the increments keep to one value".to_owned(),
        (1, _) if pairs.len() == 1 => "the increments did not keep to one value in this run".to_owned(),
        (jumped, _) => format!(
            "{jumped} of {} figures of the increments did not keep to one value in this run",
            pairs.len()
        ),
    };
    match coherence.history.as_ref().filter(|history| history.disagree > 0) {
        Some(history) => format!("{stays}; {}", differing(history, " since boot")),
        None => stays,
    }
}

fn classes(profile: &Profile) -> BTreeMap<Near, Class> {
    let topology: Option<&Topology> = profile.topology.as_ref().map(|section| &section.topology);
    let mut all: BTreeMap<Near, Gathered> = BTreeMap::new();
    let pairs = profile.coherence.iter().flat_map(|coherence| coherence.pairs.iter().enumerate());
    for (at, pair) in pairs.filter(|(_, pair)| pair.method == PairMethod::FreeRunning) {
        let Pair { a, b, claimed, ns, ownership_changes_per_op: changes, .. } = pair;
        let Some(class) = near(claimed.as_deref().unwrap_or_default(), *a, *b, topology) else { continue };
        let of_class = all.entry(class).or_default();
        of_class.pairs.push(at);
        of_class.times.push(ns.into());
        of_class.changes.push(changes.as_ref().map(|changes| changes.median));
    }
    let mut classes = BTreeMap::new();
    for (class, Gathered { pairs, times, changes }) in all {
        // The times of a damaged profile may add up to infinity.
        let is_number = |mean: &Range| [mean.value, mean.low, mean.high].into_iter().all(f64::is_finite);
        let Some(mean) = Range::mean(&times).filter(is_number) else { continue };
        let n = changes.len() as f64;
        let changes = changes.into_iter().sum::<Option<f64>>().map(|sum| sum / n);
        classes.insert(class, Class { pairs, mean, changes });
    }
    classes
}

fn beside(class: Near, mine: &Class, stays: &str) -> Option<Finding> {
    // Several increments in one ownership do not show what it costs to take the line, as the paper's do.
    if mine.changes.is_some_and(|changes| changes < EACH) {
        return None;
    }
    let papers = published::paper("kawabe-furuya").publication();
    let distance = |theirs: f64| (mine.mean.value / theirs).ln().abs();
    let machines = papers.machines.iter().filter_map(|(short, profile)| {
        let name = profile.host.as_ref()?.cpu.clone()?;
        Some((short, name, classes(profile).get(&class)?.mean.value))
    });
    let (short, name, theirs) = machines.min_by(|a, b| distance(a.2).total_cmp(&distance(b.2)))?;
    // `8 x Xeon X7560`, without what follows.
    let name = name.split([',', '(']).next().unwrap_or_default().trim().to_owned();
    let Range { value, low, high } = mine.mean;
    let words = class.words();
    let is_alike = distance(theirs) < RESEMBLES.ln();
    let likeness = match is_alike {
        true => format!("like {name} ({} ns", number(theirs)),
        false => {
            format!("{} times the nearest published, {name} ({} ns", number(value / theirs), number(theirs))
        }
    };
    let changes = mine
        .changes
        .map(|changes| format!("; the line changes hands {} times an increment here", number(changes)));
    Some(Finding {
        id: "published-machine",
        text: format!(
            "While two CPUs increment one line at once, an increment takes {} ns ({}) between {words}: \
             {likeness}, Kawabe & Furuya).",
            number(value),
            interval(low, high)
        ),
        // It is about a paper's machine, so the user of this one need not act on it.
        brief: String::new(),
        act: String::new(),
        urgency: Urgency::Note,
        evidence: match mine.pairs.len() {
            ..=MOST_NAMED => mine.pairs.iter().map(|at| format!("/coherence/pairs/{at}/ns")).collect(),
            _ => vec!["/coherence/pairs".into()],
        },
        condition: format!(
            "free-running, as in the paper, which gives no intervals; mean of {}, by the claimed topology{}; {stays}",
            match mine.pairs.len() {
                1 => "one figure".into(),
                n => format!("{n} figures"),
            },
            changes.unwrap_or_default()
        ),
        next: format!("`coho compare published:kawabe-furuya/{short} PROFILE` shows the rest."),
    })
}
