//! Whether the host moves the CPUs.

use coho_profile::{Coherence, Method, PairMethod, Profile};

use super::dates::are_of_one_run;
use super::{Finding, Urgency, listed, number};
use crate::history::{SAME_MODE, window};
use crate::stability;

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
    let (text, evidence, condition) = match (between_surveys(coherence), within_run(coherence)) {
        (Some(seen), _) => seen,
        (None, Some((text, evidence))) => (text, evidence, stability::condition(coherence)?),
        (None, None) => {
            let (text, evidence) = between_sections(profile)?;
            // Each part may have kept to its values; that says nothing about the time between them.
            (text, evidence, "two moments of measuring; when it changed, and how often, is not known".into())
        }
    };
    let next = match is_virtual {
        true => {
            "Have the host pin the virtual CPUs. `coho coherence --watch-for 60s` shows when they move; compare programs \
             only within one run."
        }
        false => {
            "Keep other load off the machine and measure again. `coho coherence --watch-for 60s` shows when times change."
        }
    };
    let (id, urgency) = ("placement-moves", Urgency::Warning);
    Some(Finding { id, text, urgency, evidence, condition, next: next.into() })
}

fn values(all: impl Iterator<Item = f64>) -> String {
    listed(&all.map(number).collect::<Vec<_>>())
}

/// The text, the figures behind it, and how often it was seen.
fn between_surveys(coherence: &Coherence) -> Option<(String, Vec<String>, String)> {
    let history = coherence.history.as_ref().filter(|history| history.disagree > 0)?;
    let seen = values(history.modes_ns.iter().copied());
    let text =
        format!("Times between the same CPUs change from survey to survey: {seen} ns were seen since boot.");
    let differ = format!("{} of {} other surveys differ from this one", history.disagree, history.surveys);
    Some((text, vec!["/coherence/history".into()], differ))
}

fn within_run(coherence: &Coherence) -> Option<(String, Vec<String>)> {
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
        return Some((text, vec!["/coherence/timeline".into()]));
    }
    if let (Some((before, watched)), Some(timeline)) = (coherence.watched_elsewhere(), &coherence.timeline) {
        let text = format!(
            "The time between CPUs {} and {} changed within the run: {} ns while all pairs were measured, {} ns while the two were \
             watched afterwards.",
            timeline.a,
            timeline.b,
            number(before),
            number(watched)
        );
        return Some((text, vec!["/coherence/timeline".into(), "/coherence/pairs".into()]));
    }
    // All pairs include the judged ones.
    let strict = coherence.pairs.iter().any(|pair| pair.method.is_strict());
    let jumped = coherence.pairs.iter().enumerate().filter(|(_, pair)| {
        pair.ns.stable == Some(false) && pair.ns.modes.len() > 1 && pair.method.is_strict() == strict
    });
    let width = |modes: &[coho_profile::Mode]| {
        let (least, most) = modes.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), mode| {
            (least.min(mode.value), most.max(mode.value))
        });
        most / least
    };
    let widest = jumped.max_by(|(_, a), (_, b)| width(&a.ns.modes).total_cmp(&width(&b.ns.modes)));
    Some(match widest {
        Some((at, pair)) => (
            format!(
                "Times between CPUs jumped during the run: between CPUs {} and {}, {} ns were seen.",
                pair.a,
                pair.b,
                values(pair.ns.modes.iter().map(|mode| mode.value))
            ),
            vec![format!("/coherence/pairs/{at}/ns")],
        ),
        None => (
            "Times between CPUs did not keep to one value during the run.".into(),
            vec!["/coherence/pairs".into()],
        ),
    })
}

/// The barriers' limit and the pairs give the same time, that of the two farthest CPUs, at two moments.
fn between_sections(profile: &Profile) -> Option<(String, Vec<String>)> {
    let (coherence, sync) = (profile.coherence.as_ref()?, profile.sync.as_ref()?);
    let limit = sync.limit_ns.as_ref().map(|limit| &limit.barrier).filter(|limit| limit.has_interval())?;
    let threads = sync.barriers.iter().map(|barrier| barrier.threads as usize).max()?;
    if threads != coherence.cpus.len() {
        return None;
    }
    // Where a line's home makes a difference, the barrier's lines may have the nearer one.
    let farthest = |end: fn(f64, f64) -> f64| {
        let turn =
            coherence.pairs.iter().filter(|pair| pair.method == PairMethod::Turn && pair.ns.has_interval());
        let mut homes = std::collections::BTreeMap::<(u32, u32), f64>::new();
        for pair in turn {
            let ns = homes.entry((pair.a.min(pair.b), pair.a.max(pair.b))).or_insert(pair.ns.median);
            *ns = end(*ns, pair.ns.median);
        }
        homes.into_values().reduce(f64::max)
    };
    let (nearer, farther) = (farthest(f64::min)?, farthest(f64::max)?);
    let differs = limit.high * SAME_MODE < nearer || limit.low > farther * SAME_MODE;
    differs.then(|| {
        let text = format!(
            "Times between CPUs changed between two parts of this profile: the farthest pair took {} ns while pairs were \
             measured, and {} ns while barriers were.",
            number(if limit.median < nearer { nearer } else { farther }),
            number(limit.median)
        );
        (text, vec!["/coherence/pairs".into(), "/sync/limit_ns/barrier".into()])
    })
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
        text: format!("The CPUs stayed as far apart as they are, in this run and {others} since boot."),
        urgency: Urgency::Note,
        evidence: vec!["/coherence/history".into(), "/coherence/pairs".into()],
        condition: stability::condition(coherence)?,
        next: String::new(),
    })
}
