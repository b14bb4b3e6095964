//! How long figures between CPUs were seen to keep to their values, and so how far advice based on them reaches.

use coho_profile::{Coherence, Elsewhere, Estimate, Method, PairMethod, SAME_MODE};
use serde_json::Value;

use crate::words::{self, differing, tenths, window};

/// How the figures were watched: `in 3 passes over at least 810 ms; CPUs 0 and 1 watched for 5.0 s`. `None` where
/// nothing was measured repeatedly.
pub fn watched(coherence: &Coherence) -> Option<String> {
    let method = &coherence.method;
    let repeated = coherence.pairs.iter().any(|pair| pair.ns.n > 1) && method.duration_s > 0.0;
    let timeline = coherence.timeline.as_ref().and_then(|watched| {
        let last = watched.samples.last().filter(|_| watched.samples.len() > 1)?;
        Some(format!("CPUs {} and {} watched for {}", watched.a, watched.b, window(last.at_s)))
    });
    let parts: Vec<String> = repeated.then(|| visits(method)).into_iter().chain(timeline).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// How often and how long each figure was measured. The probe records this only for figures with enough samples to
/// tell whether they stay. For others it is known how many passes there were, though some may have visited few pairs,
/// and how long the whole measurement took.
fn visits(method: &Method) -> String {
    let parameter = |name: &str| method.parameters.get(name);
    let number = |name: &str| parameter(name).and_then(Value::as_f64);
    match (parameter("least_passes").and_then(Value::as_u64), number("least_span_s")) {
        (Some(passes), Some(span_s)) => {
            let least = if passes < method.passes { "at least " } else { "" };
            format!("in {least}{} over at least {}", words::passes(passes), window(span_s))
        }
        _ if method.passes == 0 => format!("within {}", window(method.duration_s)),
        _ if method.passes == 1 => format!("in 1 pass within {}", window(method.duration_s)),
        _ => format!("in up to {} passes within {}", method.passes, window(method.duration_s)),
    }
}

/// A pair whose time was another while it was watched, and both times, each with its window: `28.6 ns while pairs were
/// measured (in 3 passes over at least 139 ms), 103 ns for 62 % of a watch of 5.0 s`.
pub fn elsewhere(coherence: &Coherence) -> Option<((u32, u32), String)> {
    let Elsewhere { a, b, before_ns, watched_ns, share, window_s } = coherence.watched_elsewhere()?;
    let part = if share < 0.995 { format!("{:.0} %", 100.0 * share) } else { "all".into() };
    let times = format!(
        "{} ns while pairs were measured ({}), {} ns for {part} of a watch of {}",
        tenths(before_ns),
        visits(&coherence.method),
        tenths(watched_ns),
        window(window_s)
    );
    Some(((a, b), times))
}

/// For a run that kept to its values: how many of the figures that it is judged by did, as in `all but 1 of 66 times
/// between CPUs by turn and flags kept to one value`.
pub fn kept(coherence: &Coherence) -> Option<String> {
    if coherence.keeps_to_its_values() != Some(true) {
        return None;
    }
    let judged = coherence.judged();
    let certain: Vec<bool> = judged.iter().filter_map(|pair| pair.ns.is_known_to_stay()).collect();
    let (all, jumped) = (certain.len(), certain.iter().filter(|stable| !**stable).count());
    let methods = [PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning];
    let by = methods.into_iter().filter(|method| judged.iter().any(|pair| pair.method == *method));
    let by: Vec<&str> = by.map(PairMethod::name).collect();
    let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(" and ")) };
    let which = match (all, jumped) {
        // Only the watched pair counts, or the section does not judge each pair.
        (0, _) => return Some("the time between CPUs kept to one value".into()),
        (1, 0) => format!("the one time between CPUs{by}"),
        (_, 0) => format!("all {all} times between CPUs{by}"),
        _ => format!("all but {jumped} of {all} times between CPUs{by}"),
    };
    let few = match judged.len() - all {
        0 => String::new(),
        few => format!(" ({few} had too few samples to tell)"),
    };
    Some(format!("{which} kept to one value{few}"))
}

/// What advice based on a sample of the pairs rests on.
fn sampled(coherence: &Coherence) -> Option<String> {
    let (few, all) = coherence.sampled()?;
    Some(format!("by {few} of {all} pairs"))
}

/// The condition under which advice based on these figures holds; `None` without a figure.
pub fn condition(coherence: &Coherence) -> Option<String> {
    let holds = window_of(coherence)?;
    Some(match sampled(coherence) {
        Some(sampled) => format!("{sampled}; {holds}"),
        None => holds,
    })
}

/// How long the figures were seen to stay, as a condition.
fn window_of(coherence: &Coherence) -> Option<String> {
    if coherence.times().next().is_none() {
        // Only one pair was watched.
        return watched(coherence).map(|watched| format!("{watched}; no other pair was measured"));
    }
    if coherence.published {
        return Some(match coherence.common_cpu() {
            Some(cpu) => format!("as published: only pairs of CPU {cpu}, one figure each"),
            None => "as published".into(),
        });
    }
    let watched = watched(coherence);
    let history = coherence.history.as_ref().filter(|history| history.surveys > 0);
    if let Some(history) = history.filter(|history| history.disagree > 0) {
        let jumped = match (coherence.keeps_to_its_values(), watched) {
            (Some(false), Some(watched)) => {
                format!(
                    "; within this run, too, times between CPUs did not all keep to one value ({watched})"
                )
            }
            (Some(false), None) => {
                "; within this run, too, times between CPUs did not all keep to one value".into()
            }
            _ => String::new(),
        };
        return Some(format!(
            "holds while the CPUs stay as far apart: {}{jumped}",
            differing(history, " since boot")
        ));
    }
    let Some(watched) = watched else {
        let rests = match coherence.pairs.iter().any(|pair| pair.ns.n > 1) {
            true => "the profile does not say how long the times were watched",
            false => "rests on one sample per pair",
        };
        return Some(format!("{rests}; whether the times stay is not known"));
    };
    let surveys = match history.map(|history| history.surveys) {
        None => "; no other survey to compare with".to_owned(),
        Some(1) => format!("; within a factor of {SAME_MODE} of 1 other survey since boot"),
        Some(n) => format!("; within a factor of {SAME_MODE} of {n} other surveys since boot"),
    };
    Some(match (coherence.keeps_to_its_values(), kept(coherence)) {
        (Some(false), _) => {
            format!("holds only for a while: times between CPUs did not all keep to one value ({watched})")
        }
        (_, Some(kept)) => format!("{kept}, {watched}{surveys}"),
        (_, None) => format!(
            "rests on times between CPUs that were not repeated enough to tell whether they stay ({watched})"
        ),
    })
}

/// The same condition as a clause; empty without a figure.
pub fn clause(coherence: &Coherence) -> String {
    sampled(coherence).into_iter().chain([brief_window(coherence)]).collect::<Vec<_>>().join(", ")
}

/// How long the figures were seen to stay, as a clause.
fn brief_window(coherence: &Coherence) -> String {
    if coherence.times().next().is_none() {
        return String::new();
    }
    if coherence.published {
        return "as published".into();
    }
    if coherence.history.as_ref().is_some_and(|history| history.disagree > 0) {
        return "while the CPUs stay as far apart".into();
    }
    if watched(coherence).is_none() {
        return match coherence.pairs.iter().any(|pair| pair.ns.n > 1) {
            true => "whether it stays is not known",
            false => "one sample per pair",
        }
        .into();
    }
    let watch = coherence.timeline.as_ref().and_then(|watched| watched.samples.last());
    match (coherence.keeps_to_its_values(), kept(coherence), watch) {
        (Some(false), ..) => "only for a while".into(),
        (_, None, _) => "too few samples to tell whether it stays".into(),
        (_, Some(_), Some(last)) => format!("in {} of watching", crate::words::window(last.at_s)),
        (_, Some(_), None) => "in this run".into(),
    }
}

/// A mode with a smaller share of the samples is not a value that a figure jumps to.
const SEEN: f64 = 0.05;

/// An interval widened to all values between which its figure jumped.
pub(crate) fn jumped_between(estimate: &Estimate, (mut low, mut high): (f64, f64)) -> (f64, f64) {
    if estimate.stable == Some(false) {
        for mode in estimate.modes.iter().filter(|mode| mode.share >= SEEN) {
            (low, high) = (low.min(mode.value), high.max(mode.value));
        }
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, History, Home, Pair, PairMethod, Timeline, TimelineSample};

    use super::*;

    fn measured(stable: Option<bool>) -> Coherence {
        let pair = Pair::new(0, 1, PairMethod::Turn, Home::A, Estimate { n: 40, ..Estimate::exact(27.0) });
        let mut coherence = Coherence { cpus: vec![0, 1], pairs: vec![pair], ..Coherence::default() };
        (coherence.method.passes, coherence.method.duration_s) = (3, 1.25);
        coherence.pairs[0].ns.stable = stable;
        coherence
    }

    fn set_window(coherence: &mut Coherence, passes: impl Into<Value>, span_s: impl Into<Value>) {
        let parameters = [("least_passes", passes.into()), ("least_span_s", span_s.into())];
        coherence.method.parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
    }

    #[test]
    fn the_window_is_named() {
        let mut coherence = measured(Some(true));
        assert_eq!(watched(&coherence).as_deref(), Some("in up to 3 passes within 1.2 s"));
        set_window(&mut coherence, 2, 0.0312);
        assert_eq!(watched(&coherence).as_deref(), Some("in at least 2 passes over at least 31 ms"));
        set_window(&mut coherence, Value::Null, Value::Null);
        assert_eq!(
            watched(&coherence).as_deref(),
            Some("in up to 3 passes within 1.2 s"),
            "too few samples have no window"
        );
        set_window(&mut coherence, 3, 0.81);
        let samples = [0.05, 5.0].map(|at_s| TimelineSample { at_s, ns: 27.0 }).to_vec();
        let (a, b, method) = (0, 1, PairMethod::Turn);
        let timeline = Timeline { a, b, method, samples, change_points_s: Vec::new(), modes: Vec::new() };
        coherence.timeline = Some(timeline);
        assert_eq!(
            watched(&coherence).as_deref(),
            Some("in 3 passes over at least 810 ms; CPUs 0 and 1 watched for 5.0 s")
        );
        coherence.timeline.as_mut().unwrap().samples.truncate(1);
        assert_eq!(
            watched(&coherence).as_deref(),
            Some("in 3 passes over at least 810 ms"),
            "one sample watches nothing"
        );
    }

    #[test]
    fn a_paper_is_not_said_to_have_taken_one_sample() {
        let paper = coho_profile::published::read("kawabe-furuya/e5620").unwrap().machines.remove(0).1;
        let mut coherence = paper.coherence.unwrap();
        assert_eq!(condition(&coherence).unwrap(), "as published: only pairs of CPU 0, one figure each");
        coherence.pairs.retain(|pair| pair.b == 1);
        assert_eq!(condition(&coherence).unwrap(), "as published", "one pair has two CPUs");
    }

    #[test]
    fn advice_says_what_it_rests_on() {
        let words = |coherence: &Coherence| condition(coherence).unwrap();
        assert_eq!(condition(&Coherence::default()), None);
        let alone = words(&measured(Some(true)));
        assert_eq!(
            alone,
            "the one time between CPUs by turn kept to one value, in up to 3 passes within 1.2 s; no other \
             survey to compare with"
        );
        assert!(words(&measured(Some(false))).starts_with("holds only for a while"));
        assert!(!words(&measured(None)).contains("kept to one value"));
        let mut coherence = measured(Some(true));
        coherence.history = Some(History { surveys: 4, modes_ns: vec![27.0, 128.0], disagree: 2 });
        let moved = words(&coherence);
        assert!(moved.contains("2 of 4") && !moved.contains("kept to"), "{moved}");
        assert!(!moved.contains("within this run"), "{moved}");
        coherence.pairs[0].ns.stable = Some(false);
        assert!(
            words(&coherence)
                .contains("within this run, too, times between CPUs did not all keep to one value (in up")
        );
        coherence.pairs[0].ns.stable = Some(true);
        coherence.history = Some(History { surveys: 1, modes_ns: vec![27.0], disagree: 0 });
        assert!(words(&coherence).ends_with("; within a factor of 1.5 of 1 other survey since boot"));
    }

    #[test]
    fn all_is_said_of_what_all_did() {
        let with = |more: &[(PairMethod, Option<bool>)]| {
            let mut coherence = measured(Some(true));
            for &(method, stable) in more {
                let mut pair = coherence.pairs[0].clone();
                (pair.method, pair.ns.stable) = (method, stable);
                coherence.pairs.push(pair);
            }
            kept(&coherence).unwrap()
        };
        let (yes, no) = (Some(true), Some(false));
        let (turn, flags, free) = (PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning);
        assert_eq!(
            with(&[(flags, yes), (free, no)]),
            "all 2 times between CPUs by turn and flags kept to one value"
        );
        let mut many = vec![(turn, yes); 60];
        many.push((turn, no));
        assert_eq!(with(&many), "all but 1 of 62 times between CPUs by turn kept to one value");
        assert_eq!(
            with(&[(turn, None)]),
            "the one time between CPUs by turn kept to one value (1 had too few samples to tell)"
        );
        assert_eq!(kept(&measured(Some(false))), None);
    }

    #[test]
    fn one_sample_is_not_stable() {
        let mut coherence = measured(None);
        coherence.pairs[0].ns = Estimate::exact(27.0);
        assert_eq!(watched(&coherence), None);
        let words = condition(&coherence).unwrap();
        assert!(words.contains("one sample per pair") && !words.contains("kept"), "{words}");
        let mut untold = measured(Some(true));
        untold.method.duration_s = 0.0;
        let words = condition(&untold).unwrap();
        assert!(words.contains("does not say how long") && !words.contains("one sample"), "{words}");
    }
}
