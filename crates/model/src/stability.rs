//! For how long figures between CPUs were seen to keep to their values, and so how far advice that rests on them reaches.

use coho_profile::Coherence;

use crate::history::{ns, window};

/// Over what the figures were watched: `in 3 passes over 1.2 s; CPUs 0 and 1 watched for 5.0 s`. `None` where nothing was
/// measured repeatedly.
pub fn watched(coherence: &Coherence) -> Option<String> {
    let method = &coherence.method;
    let repeated = coherence.pairs.iter().any(|pair| pair.ns.n > 1) && method.duration_s > 0.0;
    let passes = match method.passes {
        0 => format!("over {}", window(method.duration_s)),
        1 => format!("in 1 pass over {}", window(method.duration_s)),
        passes => format!("in {passes} passes over {}", window(method.duration_s)),
    };
    let timeline = coherence.timeline.as_ref().and_then(|watched| {
        let last = watched.samples.last().filter(|_| watched.samples.len() > 1)?;
        Some(format!("CPUs {} and {} watched for {}", watched.a, watched.b, window(last.at_s)))
    });
    let parts: Vec<String> = repeated.then_some(passes).into_iter().chain(timeline).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The condition under which what is advised from these figures holds; `None` without a figure.
pub fn condition(coherence: &Coherence) -> Option<String> {
    coherence.times().next()?;
    let history = coherence.history.as_ref().filter(|history| history.surveys > 0);
    if let Some(history) = history.filter(|history| history.disagree > 0) {
        let modes: Vec<String> = history.modes_ns.iter().map(|mode| ns(*mode)).collect();
        return Some(format!(
            "holds while the CPUs stay as far apart: {} of {} other surveys since boot differ ({} ns were seen)",
            history.disagree,
            history.surveys,
            modes.join(", ")
        ));
    }
    let Some(watched) = watched(coherence) else {
        return Some("rests on one sample a pair: whether it stays so is not known".into());
    };
    Some(match (coherence.stable, history) {
        (Some(false), _) => format!("holds only for a while: times between CPUs jumped ({watched})"),
        (None, _) => format!(
            "rests on times between CPUs that were not repeated enough to tell whether they stay ({watched})"
        ),
        (Some(true), None) => {
            format!("times between CPUs kept to one value each {watched}; no other survey to compare")
        }
        (Some(true), Some(history)) => {
            let surveys = if history.surveys == 1 {
                "1 other survey".into()
            } else {
                format!("{} other surveys", history.surveys)
            };
            format!(
                "times between CPUs kept to one value each {watched}, and do not differ from {surveys} since boot"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, History, Home, Pair, PairMethod, Timeline, TimelineSample};

    use super::*;

    fn measured(stable: Option<bool>) -> Coherence {
        let pair = Pair {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            home: Home::A,
            ns: Estimate { n: 40, ..Estimate::exact(27.0) },
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: None,
        };
        let mut coherence = Coherence { cpus: vec![0, 1], pairs: vec![pair], stable, ..Coherence::default() };
        (coherence.method.passes, coherence.method.duration_s) = (3, 1.25);
        coherence
    }

    #[test]
    fn the_window_is_named() {
        let mut coherence = measured(Some(true));
        assert_eq!(watched(&coherence).as_deref(), Some("in 3 passes over 1.2 s"));
        let samples = [0.05, 5.0].map(|at_s| TimelineSample { at_s, ns: 27.0 }).to_vec();
        let (a, b, method) = (0, 1, PairMethod::Turn);
        let timeline = Timeline { a, b, method, samples, change_points_s: Vec::new(), modes: Vec::new() };
        coherence.timeline = Some(timeline);
        assert_eq!(
            watched(&coherence).as_deref(),
            Some("in 3 passes over 1.2 s; CPUs 0 and 1 watched for 5.0 s")
        );
        coherence.timeline.as_mut().unwrap().samples.truncate(1);
        assert_eq!(
            watched(&coherence).as_deref(),
            Some("in 3 passes over 1.2 s"),
            "one sample watches nothing"
        );
    }

    #[test]
    fn advice_says_what_it_rests_on() {
        let told = |coherence: &Coherence| condition(coherence).unwrap();
        assert_eq!(condition(&Coherence::default()), None);
        let alone = told(&measured(Some(true)));
        assert!(alone.contains("kept to one value") && alone.contains("no other survey"), "{alone}");
        assert!(told(&measured(Some(false))).starts_with("holds only for a while"));
        assert!(!told(&measured(None)).contains("kept to one value"));
        let mut coherence = measured(Some(true));
        coherence.history = Some(History { surveys: 4, modes_ns: vec![27.0, 128.0], disagree: 2 });
        let moved = told(&coherence);
        assert!(
            moved.contains("2 of 4") && moved.contains("27.0, 128 ns") && !moved.contains("kept to"),
            "{moved}"
        );
        coherence.history = Some(History { surveys: 1, modes_ns: vec![27.0], disagree: 0 });
        assert!(told(&coherence).contains("do not differ from 1 other survey since boot"));
    }

    #[test]
    fn one_sample_is_not_stable() {
        let mut coherence = measured(None);
        coherence.pairs[0].ns = Estimate::exact(27.0);
        assert_eq!(watched(&coherence), None);
        let told = condition(&coherence).unwrap();
        assert!(told.contains("one sample a pair") && !told.contains("kept"), "{told}");
    }
}
