//! Whether the host moves the CPUs.

use coho_profile::{Coherence, Method, Mode, Pair, Profile, SAME_MODE};

use super::dates::are_of_one_run;
use super::finding::{Finding, Urgency};
use super::places;
use crate::barrier::FarthestPair;
use crate::stability;
use crate::words::{differing, listed, number, window};

pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(coherence) = &profile.coherence else { return Vec::new() };
    let is_virtual = profile.host.as_ref().is_some_and(|host| host.hypervisor.is_some());
    moved(profile, coherence, is_virtual).or_else(|| stayed(profile, coherence)).into_iter().collect()
}

/// Whether times between CPUs kept to their values, as far as they were watched, and were watched often enough to
/// tell.
pub(super) fn have_stayed(profile: &Profile) -> bool {
    profile.coherence.as_ref().is_some_and(|coherence| {
        coherence.keeps_to_its_values() == Some(true)
            && !have_differed(coherence)
            && between_sections(profile).is_none()
    })
}

/// As [`have_stayed`], for another section's figures, which requires that the same run measured them.
pub(super) fn have_stayed_for(profile: &Profile, section: &Method) -> bool {
    have_stayed(profile)
        && profile.coherence.as_ref().is_some_and(|coherence| are_of_one_run(&coherence.method, section))
}

fn have_differed(coherence: &Coherence) -> bool {
    coherence.history.as_ref().is_some_and(|history| history.disagree > 0)
}

fn moved(profile: &Profile, coherence: &Coherence, is_virtual: bool) -> Option<Finding> {
    let (surveys, run, sections) =
        (between_surveys(coherence), within_run(coherence), between_sections(profile));
    let has_moved_within = run.as_ref().is_some_and(|seen| seen.is_moved);
    let condition = match &surveys {
        Some((_, differ)) => differ.clone(),
        None if run.is_some() => stability::condition(coherence)?,
        // Each section may have kept to its values while the CPUs moved between the two.
        None => "measured at two moments; when it changed in between, and how often, is not known".into(),
    };
    // Beside what other surveys saw, a run's small variation says nothing; its moves do, and so does a barrier measured at
    // another distance, which would stand beside the pairs' times unexplained.
    let run = run.filter(|seen| seen.is_moved || surveys.is_none());
    let all = surveys.map(|(seen, _)| seen).into_iter().chain(run).chain(sections);
    let mut seen = all.reduce(Seen::and)?;
    if seen.is_moved {
        seen.text.extend(places::guess(profile).map(|guess| format!(" {guess}")));
    }
    let (id, urgency) = match seen.is_moved {
        true => ("placement-moves", Urgency::Warning),
        false => ("times-vary", Urgency::Advice),
    };
    let (remedy, when) = match (seen.is_moved && is_virtual, has_moved_within) {
        (true, true) => (
            "Have the host pin the virtual CPUs; until then, run what you compare in turn and often, as `coho run --try -- \
             PROGRAM` does.",
            "they move",
        ),
        (true, false) => {
            ("Have the host pin the virtual CPUs, and compare programs only within one run.", "they move")
        }
        (false, _) => ("Keep other load off the machine and measure again.", "times change"),
    };
    let next = match is_watched_for_long(coherence) {
        true => remedy.to_owned(),
        false => format!("{remedy} `coho coherence --watch-for 60s` shows when {when}."),
    };
    let act = match (seen.is_moved && is_virtual, has_moved_within) {
        (true, true) => {
            "Have the host pin the virtual CPUs; compare programs by `coho run --try -- PROGRAM`."
        }
        (true, false) => "Have the host pin the virtual CPUs; compare programs only within one run.",
        (false, _) => "Keep other load off the machine and measure again.",
    };
    let Seen { text, brief, evidence, .. } = seen;
    Some(Finding { id, text, brief, urgency, evidence, condition, next, act: act.into() })
}

/// Whether a pair was watched for about a minute.
fn is_watched_for_long(coherence: &Coherence) -> bool {
    let last = coherence.timeline.as_ref().and_then(|watched| watched.samples.last());
    last.is_some_and(|last| last.at_s >= 50.0)
}

/// Times between CPUs that did not stay.
struct Seen {
    text: String,
    /// The same in one sentence.
    brief: String,
    evidence: Vec<String>,
    /// Whether the times are too far apart for CPUs that stayed where they were.
    is_moved: bool,
}

impl Seen {
    fn moved(text: String, evidence: Vec<String>) -> Self {
        Self { brief: text.clone(), text, evidence, is_moved: true }
    }

    fn and(self, other: Self) -> Self {
        Self {
            text: format!("{} {}", self.text, other.text),
            brief: self.brief,
            evidence: [self.evidence, other.evidence].concat(),
            is_moved: self.is_moved || other.is_moved,
        }
    }
}

/// The greatest value over the least.
fn ratio(modes: &[Mode]) -> f64 {
    let values = || modes.iter().map(|mode| mode.value);
    values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min)
}

fn values(all: impl Iterator<Item = f64>) -> String {
    listed(&all.map(number).collect::<Vec<_>>())
}

/// What other surveys show, and how often it was seen.
fn between_surveys(coherence: &Coherence) -> Option<(Seen, String)> {
    let history = coherence.history.as_ref().filter(|history| history.disagree > 0)?;
    let seen = match &history.modes_ns[..] {
        [] => String::new(),
        modes => format!(": {} ns were seen since boot", values(modes.iter().copied())),
    };
    let text = format!("Times between the same CPUs change from survey to survey{seen}.");
    let differ = format!("{} from this one", differing(history, ""));
    Some((Seen::moved(text, vec!["/coherence/history".into()]), differ))
}

fn within_run(coherence: &Coherence) -> Option<Seen> {
    if coherence.keeps_to_its_values() != Some(false) {
        return None;
    }
    if let Some(watched) = coherence.timeline.as_ref().filter(|watched| !watched.change_points_s.is_empty()) {
        let times = watched.change_points_s.len();
        let text = format!(
            "The time between CPUs {} and {} changed {} within {} ({} ns were seen).",
            watched.a,
            watched.b,
            if times == 1 { "once".into() } else { format!("{times} times") },
            window(watched.samples.last().map_or(0.0, |last| last.at_s)),
            values(watched.modes.iter().map(|mode| mode.value))
        );
        let is_moved = ratio(&watched.modes) > SAME_MODE;
        return Some(Seen {
            brief: text.clone(),
            text,
            evidence: vec!["/coherence/timeline".into()],
            is_moved,
        });
    }
    if let Some(watched) = coherence.timeline.as_ref().filter(|watched| watched.modes.len() > 1) {
        let share = |mode: &Mode| format!("{} ns ({:.0} %)", number(mode.value), 100.0 * mode.share);
        let text = format!(
            "The time between CPUs {} and {} jumped within {}, at no moment for good: {} were seen.",
            watched.a,
            watched.b,
            window(watched.samples.last().map_or(0.0, |last| last.at_s)),
            listed(&watched.modes.iter().map(share).collect::<Vec<_>>())
        );
        let is_moved = ratio(&watched.modes) > SAME_MODE;
        return Some(Seen {
            brief: text.clone(),
            text,
            evidence: vec!["/coherence/timeline".into()],
            is_moved,
        });
    }
    if let Some(((a, b), times)) = stability::elsewhere(coherence) {
        let text = format!("The time between CPUs {a} and {b} changed within the run: {times}.");
        return Some(Seen::moved(text, vec!["/coherence/timeline".into(), "/coherence/pairs".into()]));
    }
    Some(widest_jump(coherence).or_else(|| widest_variation(coherence)).unwrap_or_else(|| Seen {
        text: "Times between CPUs did not keep to one value during the run.".into(),
        brief: "Times between CPUs did not keep to one value during the run.".into(),
        evidence: vec!["/coherence/pairs".into()],
        is_moved: false,
    }))
}

/// The judged pairs that did not keep to one value, with their places among all.
fn unstable(coherence: &Coherence) -> impl Iterator<Item = (usize, &Pair)> {
    let strict = coherence.pairs.iter().any(|pair| pair.method.is_strict());
    let all = coherence.pairs.iter().enumerate();
    all.filter(move |(_, pair)| pair.ns.stable == Some(false) && pair.method.is_strict() == strict)
}

fn widest_jump(coherence: &Coherence) -> Option<Seen> {
    let jumped = unstable(coherence).filter(|(_, pair)| pair.ns.modes.len() > 1);
    let (at, pair) = jumped.max_by(|(_, a), (_, b)| ratio(&a.ns.modes).total_cmp(&ratio(&b.ns.modes)))?;
    let text = format!(
        "Times between CPUs jumped during the run: between CPUs {} and {}, {} ns were seen.",
        pair.a,
        pair.b,
        values(pair.ns.modes.iter().map(|mode| mode.value))
    );
    let evidence = vec![format!("/coherence/pairs/{at}/ns")];
    Some(Seen { brief: text.clone(), text, evidence, is_moved: ratio(&pair.ns.modes) > SAME_MODE })
}

/// Of pairs that show one value, but not in all passes.
fn widest_variation(coherence: &Coherence) -> Option<Seen> {
    let varied = unstable(coherence).filter(|(_, pair)| pair.ns.has_interval());
    let width = |pair: &Pair| pair.ns.relative_half_width();
    let (at, pair) = varied.max_by(|(_, a), (_, b)| width(a).total_cmp(&width(b)))?;
    let text = format!(
        "The passes did not agree within a tenth on all times between CPUs: not on that of CPUs {} and {} \
         by {}, for example, with a median of {} ns.",
        pair.a,
        pair.b,
        pair.method.name(),
        number(pair.ns.median)
    );
    let brief = "Times between CPUs differed by more than a tenth from pass to pass of this run.".into();
    Some(Seen { text, brief, evidence: vec![format!("/coherence/pairs/{at}/ns")], is_moved: false })
}

/// The barriers' limit and the pairs give the same time, that of the two farthest CPUs, at two moments.
fn between_sections(profile: &Profile) -> Option<Seen> {
    let text = format!(
        "Times between CPUs changed between two parts of this profile: {}.",
        FarthestPair::of(profile)?
    );
    Some(Seen::moved(text, vec!["/coherence/pairs".into(), "/sync/limit_ns/barrier".into()]))
}

/// Only where other surveys show it: all figures of one run may lie between two moves.
fn stayed(profile: &Profile, coherence: &Coherence) -> Option<Finding> {
    let history = coherence.history.as_ref().filter(|history| history.surveys > 0)?;
    if !have_stayed(profile) {
        return None;
    }
    let others = match history.surveys {
        1 => "1 other survey".to_owned(),
        n => format!("{n} other surveys"),
    };
    Some(Finding {
        id: "placement-stays",
        text: format!("The CPUs were as far apart in this run as in {others} since boot."),
        brief: format!("The CPUs were as far apart in this run as in {others} since boot."),
        act: String::new(),
        urgency: Urgency::Note,
        evidence: vec!["/coherence/history".into(), "/coherence/pairs".into()],
        condition: stability::condition(coherence)?,
        next: String::new(),
    })
}
