//! What earlier surveys of a host found, beside the present one: whether its CPUs stay as far apart as they are.
//!
//! Two figures are of one mode unless they, or others between them, leave a gap of [`SAME_MODE`]: the line's place in a
//! cache, the clock and another run's noise move a step between CPUs by up to a third, a host that moves the CPUs by a
//! factor of two and more.

use std::collections::BTreeMap;

use coho_profile::{Coherence, Estimate, History, Home, Mode, Pair, PairMethod};
use coho_topology::CpuSet;
use serde::{Deserialize, Serialize};

use crate::Matrix;
use crate::stats::{estimate, median};

/// Values closer than this ratio belong to one mode.
pub const SAME_MODE: f64 = 1.5;
/// Surveys kept of one boot of one machine, the latest.
pub const MOST_OF_HOST: usize = 64;
/// Surveys kept of all.
pub const MOST: usize = 512;

const SCHEMA: &str = "coho-history/1";

/// Which host a survey is of. Its figures are compared with those of the same host only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// `/etc/machine-id`; empty where there is none.
    pub machine: String,
    /// The kernel's number of this boot.
    pub boot: String,
    /// The CPU's brand string.
    pub cpu: String,
}

/// The headline figures of one survey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Where it was made.
    pub host: Host,
    /// When, in seconds since 1970.
    pub at_s: u64,
    /// The CPUs measured, as `0-3,8`.
    pub cpus: String,
    /// How.
    pub method: PairMethod,
    /// A step between CPUs, in ns, by the level that they are claimed to share: the median over the pairs of the value
    /// that each mostly had, and the values that any had.
    pub steps_ns: BTreeMap<String, Estimate>,
}

impl Survey {
    /// The headlines of what was measured; `None` where no pair took turns, or none was measured repeatedly.
    pub fn of(coherence: &Coherence, host: Host, at_s: u64) -> Option<Self> {
        let (method, home) = Matrix::best_method(&coherence.pairs)?;
        if !matches!(method, PairMethod::Turn | PairMethod::Flags) {
            return None;
        }
        let mut by_level: BTreeMap<String, Vec<&Pair>> = BTreeMap::new();
        for pair in coherence.pairs.iter().filter(|pair| is_headline(pair, method, home)) {
            by_level.entry(pair.claimed.clone().unwrap_or_default()).or_default().push(pair);
        }
        let watched = coherence.timeline.iter().filter(|watched| watched.method == method);
        let seen = |pairs: &[&Pair]| -> Vec<Mode> {
            let of_these = |a, b| pairs.iter().any(|pair| (pair.a, pair.b) == (a, b));
            let watched = watched
                .clone()
                .filter(|watched| of_these(watched.a.min(watched.b), watched.a.max(watched.b)));
            let modes = pairs.iter().flat_map(|pair| &pair.ns.modes);
            modes.chain(watched.flat_map(|watched| &watched.modes)).copied().collect()
        };
        let steps = by_level.into_iter().filter_map(|(level, pairs)| {
            let step = estimate(pairs.iter().map(|pair| usual(&pair.ns)).collect())?;
            let step = if let [pair] = pairs[..] {
                Estimate { median: step.median, ..pair.ns.clone() }
            } else {
                step
            };
            Some((level, Estimate { modes: gather(seen(&pairs)), ..step }))
        });
        let steps_ns: BTreeMap<_, _> = steps.collect();
        let cpus = coherence.cpus.iter().copied().collect::<CpuSet>().to_string();
        (!steps_ns.is_empty()).then_some(Self { host, at_s, cpus, method, steps_ns })
    }

    /// Whether figures of two surveys are of the same quantity on the same host.
    fn is_comparable(&self, other: &Self) -> bool {
        (&self.host, &self.cpus, self.method) == (&other.host, &other.cpus, other.method)
    }
}

fn is_headline(pair: &Pair, method: PairMethod, home: Home) -> bool {
    (pair.method, pair.home) == (method, home) && pair.ns.n > 1 && is_time(usual(&pair.ns))
}

fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

/// The value that a figure mostly had.
fn usual(ns: &Estimate) -> f64 {
    ns.modes.first().map_or(ns.median, |mode| mode.value)
}

/// Modes that are one, as one; most frequent first.
fn gather(mut modes: Vec<Mode>) -> Vec<Mode> {
    modes.retain(|mode| is_time(mode.value) && mode.share > 0.0);
    let all: f64 = modes.iter().map(|mode| mode.share).sum();
    modes.sort_by(|a, b| a.value.total_cmp(&b.value));
    let one = |modes: &[Mode]| Mode {
        value: median(&mut modes.iter().map(|mode| mode.value).collect::<Vec<_>>()),
        share: modes.iter().map(|mode| mode.share).sum::<f64>() / all,
    };
    let mut gathered: Vec<Mode> = modes.chunk_by(|a, b| is_one_mode(a.value, b.value)).map(one).collect();
    gathered.sort_by(|a, b| b.share.total_cmp(&a.share));
    gathered
}

/// Whether two neighbouring values, the smaller first, are of one mode.
fn is_one_mode(less: f64, more: f64) -> bool {
    more < SAME_MODE * less
}

/// The surveys that are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    schema: String,
    surveys: Vec<Survey>,
}

impl Default for Log {
    fn default() -> Self {
        Self { schema: SCHEMA.into(), surveys: Vec::new() }
    }
}

impl Log {
    /// The surveys, oldest first.
    pub fn surveys(&self) -> &[Survey] {
        &self.surveys
    }

    /// Whether the text of a log is one that this version reads.
    ///
    /// # Errors
    /// With the schema that it names instead.
    pub fn check(self) -> Result<Self, String> {
        match self.schema == SCHEMA {
            true => Ok(self),
            false => Err(format!("it has schema '{}', this version of coho reads '{SCHEMA}'", self.schema)),
        }
    }

    /// Adds a survey; the oldest beyond what is kept are dropped.
    pub fn add(&mut self, survey: Survey) {
        let of_host = self.surveys.iter().filter(|other| other.host == survey.host).count();
        if of_host >= MOST_OF_HOST
            && let Some(oldest) = self.surveys.iter().position(|other| other.host == survey.host)
        {
            self.surveys.remove(oldest);
        }
        self.surveys.push(survey);
        let beyond = self.surveys.len().saturating_sub(MOST);
        self.surveys.drain(..beyond);
    }
}

/// What earlier surveys say of the present one.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// For the profile.
    pub history: History,
    /// For people; `None` where no earlier survey is of the same CPUs.
    pub words: Option<String>,
}

/// Compares the present survey with the earlier ones of the same host, CPUs and method. On a virtual machine the host
/// is named as what moves CPUs; what else may change them between surveys is not known here.
pub fn recall(now: &Survey, earlier: &[Survey], is_virtual: bool) -> Recalled {
    let compared: Vec<&Survey> = earlier.iter().filter(|survey| survey.is_comparable(now)).collect();
    let levels: Vec<Step<'_>> =
        now.steps_ns.iter().map(|(level, ns)| Step::of(level, ns, &compared)).collect();
    // Where none differs, the nearest stands for all.
    let order = |a: &&Step<'_>, b: &&Step<'_>| {
        (a.differing.len()).cmp(&b.differing.len()).then(b.now_ns.total_cmp(&a.now_ns))
    };
    let Some(told) = levels.iter().max_by(order) else {
        return Recalled { history: History::default(), words: None };
    };
    let differs =
        |survey: &usize| levels.iter().any(|level| level.differing.iter().any(|(at, _)| at == survey));
    let disagree = (0..compared.len()).filter(differs).count() as u64;
    let history = History { surveys: compared.len() as u64, modes_ns: told.modes_ns.clone(), disagree };
    let oldest = compared.iter().map(|survey| survey.at_s).min();
    let words = oldest.map(|oldest| {
        let whose = if levels.len() > 1 && !told.level.is_empty() {
            format!("within {}: ", told.level)
        } else {
            String::new()
        };
        let words = told.words(compared.len(), now.at_s.saturating_sub(oldest));
        let why = match (told.differing.is_empty(), is_virtual) {
            (true, _) => "",
            (false, true) => ": the host moves these CPUs",
            (false, false) => ": what moved it between the surveys is not known",
        };
        format!("{whose}{words}{why}")
    });
    Recalled { history, words }
}

/// One claimed level over the surveys.
struct Step<'a> {
    level: &'a str,
    now_ns: f64,
    modes_ns: Vec<f64>,
    /// The surveys that found another mode, by number, and the mode.
    differing: Vec<(usize, f64)>,
}

impl<'a> Step<'a> {
    fn of(level: &'a str, now: &Estimate, compared: &[&Survey]) -> Self {
        let there = || {
            let figures = compared.iter().enumerate();
            figures.filter_map(|(at, survey)| Some((at, survey.steps_ns.get(level)?)))
        };
        let estimates = || std::iter::once(now).chain(there().map(|(_, ns)| ns));
        let values = estimates()
            .flat_map(|ns| std::iter::once(ns.median).chain(ns.modes.iter().map(|mode| mode.value)));
        let mut values: Vec<f64> = values.filter(|ns| is_time(*ns)).collect();
        values.sort_by(f64::total_cmp);
        let groups: Vec<&[f64]> = values.chunk_by(|a, b| is_one_mode(*a, *b)).collect();
        let mode = |ns: f64| {
            let group = groups.iter().find(|group| group.contains(&ns))?;
            Some(median(&mut group.to_vec()))
        };
        let mine = mode(now.median);
        let differing =
            there().filter_map(|(at, ns)| Some((at, mode(ns.median).filter(|found| Some(*found) != mine)?)));
        let differing = differing.collect();
        let modes_ns = groups.iter().map(|group| median(&mut group.to_vec())).collect();
        Self { level, now_ns: now.median, modes_ns, differing }
    }

    /// `27 ns now, 128 ns in 2 of 4 surveys in the last 26 hours`.
    fn words(&self, surveys: usize, ago_s: u64) -> String {
        let window = window(ago_s as f64);
        let now = ns(self.now_ns);
        if self.differing.is_empty() {
            let them = if surveys == 1 {
                "one other survey".to_owned()
            } else {
                format!("all {surveys} other surveys")
            };
            return format!("{now} ns now and in {them} in the last {window}");
        }
        let mut others: Vec<(f64, usize)> = Vec::new();
        for &(_, mode) in &self.differing {
            match others.iter_mut().find(|(known, _)| *known == mode) {
                Some((_, count)) => *count += 1,
                None => others.push((mode, 1)),
            }
        }
        let others: Vec<_> =
            others.iter().map(|(mode, count)| format!("{} ns in {count}", ns(*mode))).collect();
        let surveys =
            if surveys == 1 { "1 other survey".to_owned() } else { format!("{surveys} other surveys") };
        format!("{now} ns now, {} of {surveys} in the last {window}", others.join(", "))
    }
}

/// Three digits.
pub(crate) fn ns(ns: f64) -> String {
    match ns {
        ns if ns < 99.95 => format!("{ns:.1}"),
        ns => format!("{ns:.0}"),
    }
}

/// A time in the unit that people would take: `26 hours`.
pub(crate) fn window(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 120.0 * 60.0 => format!("{:.0} minutes", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.0} hours", s / 3600.0),
        s => format!("{:.0} days", s / 86400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        Host { machine: "m".into(), boot: "b".into(), cpu: "c".into() }
    }

    fn pair(a: u32, b: u32, modes: &[(f64, f64)], claimed: &str) -> Pair {
        let modes: Vec<Mode> = modes.iter().map(|&(value, share)| Mode { value, share }).collect();
        Pair {
            a,
            b,
            method: PairMethod::Turn,
            home: Home::A,
            ns: Estimate { n: 40, modes: modes.clone(), ..Estimate::exact(modes[0].value) },
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: Some(claimed.into()),
        }
    }

    fn survey(ns: f64, at_s: u64) -> Survey {
        let coherence = Coherence {
            cpus: vec![0, 1],
            pairs: vec![pair(0, 1, &[(ns, 1.0)], "L3")],
            ..Coherence::default()
        };
        Survey::of(&coherence, host(), at_s).unwrap()
    }

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
                "27.1 ns now, 127 ns in 2 of 4 other surveys in the last 24 hours: the host moves these CPUs"
            )
        );
        let found = recall(&survey(128.0, day), &earlier[1..2], false);
        let words = found.words.unwrap();
        assert!(words.starts_with("128 ns now, 26.0 ns in 1 of 1 other survey"), "{words}");
        assert!(!words.contains("the host"), "no host is known to be there: {words}");
    }

    #[test]
    fn surveys_that_agree_are_not_said_to_move() {
        // As much as lines and clocks make of it.
        let earlier = [survey(10.2, 0), survey(14.6, 60), survey(12.9, 90)];
        let found = recall(&survey(12.0, 120), &earlier, true);
        assert_eq!((found.history.disagree, found.history.modes_ns.len()), (0, 1));
        let words = found.words.unwrap();
        assert!(
            words.contains("in all 3 other surveys in the last 2 minutes") && !words.contains("moves"),
            "{words}"
        );
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

    #[test]
    fn what_was_not_measured_repeatedly_by_turns_is_no_headline() {
        let mut coherence = Coherence { cpus: vec![0, 1], ..Coherence::default() };
        assert_eq!(Survey::of(&coherence, host(), 0), None);
        coherence.pairs = vec![Pair { method: PairMethod::FreeRunning, ..pair(0, 1, &[(5.0, 1.0)], "L3") }];
        assert_eq!(Survey::of(&coherence, host(), 0), None);
        coherence.pairs = vec![Pair { ns: Estimate::exact(25.0), ..pair(0, 1, &[(5.0, 1.0)], "L3") }];
        assert_eq!(Survey::of(&coherence, host(), 0), None);
    }

    #[test]
    fn the_log_keeps_the_latest() {
        let mut log = Log::default();
        for at_s in 0..200 {
            log.add(survey(27.0, at_s));
        }
        assert_eq!((log.surveys().len(), log.surveys()[0].at_s), (MOST_OF_HOST, 200 - MOST_OF_HOST as u64));
        for boot in 0..1000 {
            let mut other = survey(27.0, 1000 + boot);
            other.host.boot = boot.to_string();
            log.add(other);
        }
        assert_eq!(log.surveys().len(), MOST);
        let text = serde_json::to_string(&log).unwrap();
        assert!(text.len() < 1 << 20, "{} bytes", text.len());
        assert_eq!(serde_json::from_str::<Log>(&text).unwrap().check(), Ok(log));
        let newer = text.replace("coho-history/1", "coho-history/2");
        assert!(serde_json::from_str::<Log>(&newer).unwrap().check().unwrap_err().contains("coho-history/2"));
    }
}
