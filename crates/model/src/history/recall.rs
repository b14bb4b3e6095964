//! Compares the present survey with earlier ones.

use std::collections::BTreeSet;

use coho_profile::{Estimate, History};

use super::values::{counts, groups, middles};
use super::{SAME_MODE, Survey, are_apart, is_time};
use crate::stats::median;
use crate::words::{tenths, window};

/// What earlier surveys say about the present one.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// For the profile.
    pub history: History,
    /// For people; `None` where no earlier survey has the same pairs.
    pub words: Option<String>,
}

/// Compares the present survey with the earlier ones of the same host, pairs, method and home of the lines. On a
/// virtual machine the host may have moved the CPUs; what else may change times between surveys is not known here.
pub fn recall(now: &Survey, earlier: &[Survey], is_virtual: bool) -> Recalled {
    let comparable = earlier.iter().filter(|survey| survey.is_comparable(now)).count();
    let comparisons = comparable * now.steps_ns.len();
    let levels: Vec<Step<'_>> = now
        .steps_ns
        .iter()
        .map(|(level, ns)| {
            let same = earlier.iter().enumerate().filter(|(_, survey)| survey.is_comparable(now));
            let there = same.filter_map(|(at, survey)| Some((at, survey.at_s, survey.steps_ns.get(level)?)));
            Step { level, now: ns, there: there.collect(), comparisons }
        })
        .collect();
    // Where none differs, the nearest level that another survey also has represents all.
    let order = |step: &Step<'_>| (step.differing().count(), !step.there.is_empty());
    let nearest =
        |a: &&Step<'_>, b: &&Step<'_>| order(a).cmp(&order(b)).then(b.now.median.total_cmp(&a.now.median));
    let Some(shown) = levels.iter().max_by(nearest) else {
        return Recalled { history: History::default(), words: None };
    };
    let count = |of: &dyn Fn(&Step<'_>) -> Vec<usize>| {
        levels.iter().flat_map(of).collect::<BTreeSet<_>>().len() as u64
    };
    let history = History {
        surveys: count(&|step| step.there.iter().map(|(at, ..)| *at).collect()),
        modes_ns: shown.modes_ns(),
        disagree: count(&|step| step.differing().map(|(at, ..)| at).collect()),
    };
    let words = shown.words(now.at_s).map(|words| {
        let whose = if levels.len() > 1 && !shown.level.is_empty() {
            format!("within {}: ", shown.level)
        } else {
            String::new()
        };
        let why = match (shown.differing().next(), is_virtual) {
            (None, _) => "",
            (Some(_), true) => ": on a virtual machine, the host may have moved the CPUs",
            (Some(_), false) => ": the cause is not known",
        };
        format!("{whose}{words}{why}")
    });
    Recalled { history, words }
}

/// One claimed level over the surveys.
struct Step<'a> {
    level: &'a str,
    now: &'a Estimate,
    /// The surveys that have it: their numbers, times and figures.
    there: Vec<(usize, u64, &'a Estimate)>,
    /// How many there are of all levels and surveys.
    comparisons: usize,
}

impl Step<'_> {
    /// The surveys whose figure belongs to another mode than the present one, with that figure.
    fn differing(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let figures = self.there.iter().filter(|(_, _, ns)| is_time(ns.median));
        let differing = figures.filter(|(_, _, ns)| are_apart(ns, self.now, self.comparisons));
        differing.map(|(at, _, ns)| (*at, ns.median))
    }

    /// The distinct values in all of them and now.
    fn modes_ns(&self) -> Vec<f64> {
        let all = std::iter::once(self.now).chain(self.there.iter().map(|(.., ns)| *ns));
        let values = all.flat_map(|ns| {
            let modes = ns.modes.iter().filter(|mode| counts(mode));
            std::iter::once(ns.median).chain(modes.map(|mode| mode.value))
        });
        middles(values.filter(|ns| is_time(*ns)).collect())
    }

    /// `27.0 ns now, 128 ns in 2 of 4 other surveys in the last 26 hours`; `None` where no survey has it.
    fn words(&self, at_s: u64) -> Option<String> {
        let oldest = self.there.iter().map(|(_, at_s, _)| *at_s).min()?;
        let window = window(at_s.saturating_sub(oldest) as f64);
        let now = tenths(self.now.median);
        let surveys = match self.there.len() {
            1 => "1 other survey".to_owned(),
            n => format!("{n} other surveys"),
        };
        let mut differing: Vec<f64> = self.differing().map(|(_, ns)| ns).collect();
        differing.sort_by(f64::total_cmp);
        if differing.is_empty() {
            return Some(format!(
                "{now} ns now, and within {SAME_MODE} times of it in {} in the last {window}",
                if self.there.len() == 1 { surveys } else { format!("all {surveys}") }
            ));
        }
        let others = groups(&differing, |ns| *ns).into_iter().map(|group| {
            let mode = median(&mut group.to_vec());
            format!("{} ns in {}", tenths(mode), group.len())
        });
        let others: Vec<String> = others.collect();
        let others = match self.there.len() {
            1 => format!("{} ns in the one other survey", tenths(differing[0])),
            _ => format!("{} of {surveys}", others.join(", ")),
        };
        Some(format!("{now} ns now, {others} in the last {window}"))
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::{Coherence, Home, Pair, PairMethod};

    use super::super::tests::{host, pair, survey};
    use super::*;

    #[test]
    fn a_host_that_moves_its_cpus_is_found_out() {
        let day = 86_400;
        let earlier = [survey(128.0, 0), survey(26.0, 3600), survey(126.5, 7200), survey(27.5, 9000)];
        let found = recall(&survey(27.1, day), &earlier, true);
        assert_eq!((found.history.surveys, found.history.disagree), (4, 2));
        assert_eq!(found.history.modes_ns, [27.1, 127.25]);
        assert_eq!(
            found.words.as_deref(),
            Some(
                "27.1 ns now, 127 ns in 2 of 4 other surveys in the last 24 hours: on a virtual machine, the host may \
                 have moved the CPUs"
            )
        );
        let found = recall(&survey(128.0, day), &earlier[1..2], false);
        let words = found.words.unwrap();
        assert!(words.starts_with("128 ns now, 26.0 ns in the one other survey in"), "{words}");
        assert!(!words.contains("the host"), "no host is known to be there: {words}");
    }

    #[test]
    fn surveys_that_agree_are_not_said_to_move() {
        // As much as lines and clocks vary.
        let earlier = [survey(10.2, 0), survey(14.6, 60), survey(12.9, 90)];
        let found = recall(&survey(12.0, 120), &earlier, true);
        assert_eq!((found.history.disagree, found.history.modes_ns.len()), (0, 1));
        let words = found.words.unwrap();
        assert!(
            words.contains("within 1.5 times of it in all 3 other surveys in the last 2 minutes"),
            "{words}"
        );
        assert!(!words.contains("the host"), "{words}");
    }

    #[test]
    fn values_between_do_not_make_two_one() {
        let found = recall(&survey(27.0, 99), &[survey(40.0, 0), survey(59.0, 0)], true);
        assert_eq!((found.history.disagree, found.history.modes_ns), (1, vec![27.0, 49.5]));
        let words = found.words.unwrap();
        assert!(words.contains("59.0 ns in 1 of 2 other surveys"), "{words}");
    }

    #[test]
    fn a_survey_without_the_level_says_nothing_of_it() {
        let of = |claimed: &str| {
            let pairs = vec![pair(0, 1, &[(27.0, 1.0)], claimed)];
            Survey::of(&Coherence { cpus: vec![0, 1], pairs, ..Coherence::default() }, host(), 0).unwrap()
        };
        let found = recall(&of("L3"), &[of("system"), of("L3"), of("system")], true);
        assert_eq!(found.history.surveys, 1);
        assert!(found.words.unwrap().contains("in 1 other survey in"));
        let found = recall(&of("L3"), &[of("system")], true);
        assert_eq!((found.history.surveys, found.words), (0, None));
    }

    /// Medians over other pairs, or of lines that live elsewhere, differ on a machine that moves nothing.
    #[test]
    fn other_pairs_and_homes_are_not_compared() {
        let of = |cpus: &[u32], pairs: &[(u32, u32)], home: Home| {
            let pairs = pairs.iter().map(|&(a, b)| Pair {
                home,
                ..pair(a, b, &[(if b - a == 1 { 27.0 } else { 90.0 }, 1.0)], "L3")
            });
            let (cpus, pairs) = (cpus.to_vec(), pairs.collect());
            Survey::of(&Coherence { cpus, pairs, ..Coherence::default() }, host(), 0).unwrap()
        };
        let (cpus, all) = ([0, 1, 2], [(0, 1), (0, 2), (1, 2)]);
        let now = of(&cpus, &all, Home::A);
        let surveys = |earlier: Survey| recall(&now, &[earlier], true).history.surveys;
        assert_eq!(surveys(of(&cpus, &all, Home::A)), 1);
        assert_eq!(surveys(of(&cpus, &all, Home::Third)), 0);
        assert_eq!(surveys(of(&cpus, &all[1..2], Home::A)), 0, "as an audit, or a run that was stopped");
        let part = of(&cpus, &all[1..2], Home::A);
        assert_eq!(recall(&part, &[of(&cpus, &all[1..2], Home::A)], true).history.surveys, 1);
        assert_eq!(recall(&part, &[of(&cpus, &all[..1], Home::A)], true).history.surveys, 0);
    }

    #[test]
    fn the_first_survey_has_nothing_to_be_compared_with() {
        let found = recall(&survey(27.0, 5), &[], true);
        assert_eq!(found.history, History { surveys: 0, modes_ns: vec![27.0], disagree: 0 });
        assert_eq!(found.words, None);
    }

    #[test]
    fn other_hosts_cpus_and_methods_do_not_count() {
        let other = |change: fn(&mut Survey)| {
            let mut survey = survey(128.0, 0);
            change(&mut survey);
            survey
        };
        let earlier = [
            other(|survey| survey.host.boot = "an earlier one".into()),
            other(|survey| survey.host.cpu = "another".into()),
            other(|survey| survey.host.machine = "a clone".into()),
            other(|survey| survey.cpus = "0-3".into()),
            other(|survey| survey.method = PairMethod::Flags),
        ];
        assert_eq!(recall(&survey(27.0, 9), &earlier, true).history.surveys, 0);
    }

    #[test]
    fn each_level_is_compared_with_itself() {
        let of = |near: f64, far: f64| {
            let pairs = [
                pair(0, 1, &[(near, 1.0)], "L3"),
                pair(0, 2, &[(far, 1.0)], "system"),
                pair(1, 2, &[(far, 1.0)], "system"),
            ];
            let coherence = Coherence { cpus: vec![0, 1, 2], pairs: pairs.to_vec(), ..Coherence::default() };
            Survey::of(&coherence, host(), 0).unwrap()
        };
        let same = recall(&of(25.0, 90.0), &[of(26.0, 91.0)], true);
        assert_eq!(
            (same.history.disagree, same.history.modes_ns),
            (0, vec![25.5]),
            "two levels are no two modes"
        );
        let moved = recall(&of(25.0, 90.0), &[of(26.0, 91.0), of(25.0, 300.0)], true);
        assert_eq!(moved.history.disagree, 1);
        let words = moved.words.unwrap();
        assert!(words.starts_with("within system: 90.0 ns now, 300 ns in 1 of 2"), "{words}");
    }

    #[test]
    fn what_jumped_within_a_survey_is_a_mode_but_no_disagreement() {
        let pairs = vec![pair(0, 1, &[(27.0, 0.8), (128.0, 0.2)], "L3")];
        let coherence = Coherence { cpus: vec![0, 1], pairs, ..Coherence::default() };
        let now = Survey::of(&coherence, host(), 0).unwrap();
        let found = recall(&now, &[survey(28.0, 0)], true);
        assert_eq!((found.history.modes_ns.len(), found.history.disagree), (2, 0));
    }
}
