//! What the model finds in measured figures: classes, levels, verdict and contradictions of coherence, judged anew each
//! time and kept in no section; and what calls and messages cost.

use coho_profile::{Calls, Coherence, Ns, Profile, Timeline};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::audit::audit_by;
use crate::{Class, Contradiction, Level, Matrix, Verdict, classify, delegation};

/// What the figures of the section `coherence` say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Judgement {
    /// Classes of pairs, nearest first: found in the figures, not taken from the claims.
    pub classes: Vec<Class>,
    /// The partitions of the CPUs that the figures show, finest first.
    pub levels: Vec<Level>,
    /// What the figures say as a whole; `None` where no pair was measured.
    pub verdict: Option<Verdict>,
    /// Whether all but a few of the figures of strict alternation kept to one value each during the run, and so did the
    /// pair that was watched; `None` where each has fewer than six samples.
    pub stable: Option<bool>,
    /// The section's own notes, then why the verdict is what it is, and what makes the run unstable.
    pub notes: Vec<String>,
    /// Claims of the topology that the figures contradict; absent where no topology was held against them. As JSON, they
    /// are `claims`, and `contradictions`, which was their name before.
    #[serde(flatten, serialize_with = "under_both_names")]
    pub contradictions: Option<Vec<Contradiction>>,
    /// What the figures leave open about the claims, one sentence each.
    #[serde(rename = "claims_not_checked", skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
}

fn under_both_names<S: Serializer>(claims: &Option<Vec<Contradiction>>, out: S) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(None)?;
    if let Some(claims) = claims {
        map.serialize_entry("claims", claims)?;
        map.serialize_entry("contradictions", claims)?;
    }
    map.end()
}

/// A section and its judgement as one object: what `coho coherence --json` and `coho calls --json` print.
#[derive(Debug, Serialize)]
pub struct Judged<S, J> {
    #[serde(flatten)]
    section: S,
    #[serde(flatten)]
    judgement: J,
}

impl Judged<Coherence, Judgement> {
    /// The times between CPUs of a profile with what is judged of them; `None` without the section.
    pub fn coherence(mut profile: Profile) -> Option<Self> {
        let judgement = coherence(&profile);
        let mut section = profile.coherence.take()?;
        // The judgement has them all.
        section.notes.clear();
        Some(Self { section, judgement })
    }
}

impl Judged<Calls, delegation::Judgement> {
    /// The calls of a profile with what is judged of them; `None` without the section.
    pub fn calls(mut profile: Profile) -> Option<Self> {
        let judgement = calls(&profile);
        let section = profile.calls.take()?;
        Some(Self { section, judgement })
    }
}

/// Judges a profile's times between CPUs, beside the topology that it claims. Of a section that is absent, and of what a
/// paper published, nothing is found.
///
/// ```
/// use coho_model::Verdict;
/// use coho_profile::Profile;
/// let matrix = coho_model::Matrix::parse("\n25\n90,92\n91,93,26\n")?;
/// let coherence = Some(coho_model::coherence_from_matrix(&matrix));
/// let found = coho_model::judge::coherence(&Profile { coherence, ..Profile::default() });
/// assert_eq!((found.verdict, found.levels.len()), (Some(Verdict::Hops), 1));
/// assert_eq!((found.stable, found.contradictions), (None, None)); // Each was timed once, and nothing is claimed.
/// # Ok::<(), coho_model::Error>(())
/// ```
pub fn coherence(profile: &Profile) -> Judgement {
    let Some(coherence) = &profile.coherence else { return Judgement::default() };
    if coherence.published {
        return Judgement { notes: coherence.notes.clone(), ..Judgement::default() };
    }
    let topology = profile.topology.as_ref().map(|section| &section.topology);
    let clock_ghz = clock_ghz(coherence, profile.host.as_ref().and_then(|host| host.clock_ghz));
    let found = Matrix::of(coherence).map(|matrix| classify(&matrix));
    let is_timed = coherence.times().next().is_some();
    let mut judgement = Judgement {
        stable: coherence.keeps_to_its_values(),
        notes: coherence.notes.clone(),
        ..Judgement::default()
    };
    if let Some(topology) = topology.filter(|_| is_timed) {
        let audited = audit_by(topology, coherence, found.as_ref());
        (judgement.contradictions, judgement.unchecked) = (Some(audited.contradictions), audited.unchecked);
    }
    if let Some(mut found) = found {
        topology.iter().for_each(|topology| found.name_by(topology));
        judgement.classes = classes(coherence, found.classes, clock_ghz);
        judgement.levels = found.levels;
        let is_unstable = judgement.stable == Some(false);
        judgement.verdict = Some(if is_unstable { Verdict::Unstable } else { found.verdict });
        judgement.notes.extend(missing(coherence, found.cpus.len(), found.missing));
        judgement.notes.extend(found.notes);
    }
    judgement.notes.extend(coherence.timeline.as_ref().and_then(changed));
    judgement
}

/// How many pairs have no time, and what a sample shows of them.
fn missing(coherence: &Coherence, cpus: usize, missing: usize) -> Option<String> {
    if let Some((few, all)) = coherence.sampled() {
        let drawn = coherence.random_pairs().unwrap_or(0);
        let missed = match drawn >= Coherence::ENOUGH_DRAWS {
            true => ", which miss a class of at least 1 % of the pairs with p < 0.001",
            false => "",
        };
        return Some(format!(
            "{few} of {all} pairs were measured, after {drawn} draws from all{missed}; `coho coherence --all-pairs` measures \
             the others, too"
        ));
    }
    let pairs = cpus * cpus.saturating_sub(1) / 2;
    match missing {
        0 => None,
        1 => Some(format!("1 of {pairs} pairs has no time")),
        _ => Some(format!("{missing} of {pairs} pairs have no time")),
    }
}

/// The classes with what else is known of them: their cycles; and one of a single pair is known as well as the pair is.
fn classes(coherence: &Coherence, mut classes: Vec<Class>, clock_ghz: Option<f64>) -> Vec<Class> {
    let how = Matrix::best_method(&coherence.pairs);
    if let [class] = &mut classes[..]
        && class.pairs == 1
        && let Some(only) = coherence.pairs.iter().find(|pair| Some((pair.method, pair.home)) == how)
    {
        class.ns = only.ns.clone();
    }
    for class in &mut classes {
        class.cycles = clock_ghz.map(|ghz| Ns(class.ns.median).cycles(ghz));
    }
    classes
}

fn changed(timeline: &Timeline) -> Option<String> {
    let Timeline { a, b, .. } = timeline;
    (timeline.kept_to_one_value() == Some(false)).then(|| {
        format!("the time between CPUs {a} and {b} did not keep to one value while they were watched")
    })
}

/// What cycles are counted by: the clock while the section was measured, if that is known, else the host's.
pub fn clock_ghz(coherence: &Coherence, host: Option<f64>) -> Option<f64> {
    coherence.method.parameters.get("clock_ghz").and_then(Value::as_f64).or(host)
}

/// Judges what a profile's calls cost, by its own times between CPUs. Without the section, nothing is found.
pub fn calls(profile: &Profile) -> delegation::Judgement {
    let judge = |calls| delegation::judge(calls, profile.coherence.as_ref());
    profile.calls.as_ref().map(judge).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use coho_profile::{PairMethod, TimelineSample};

    use super::*;

    fn timeline(jumped: bool) -> Timeline {
        let sample = |i: u32| TimelineSample { at_s: f64::from(i) * 0.05, ns: 26.0 };
        Timeline {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            samples: (0..100).map(sample).collect(),
            change_points_s: if jumped { vec![2.0] } else { Vec::new() },
            modes: Vec::new(),
        }
    }

    fn watched(coherence: &Coherence, jumped: bool) -> Judgement {
        let coherence = Coherence { timeline: Some(timeline(jumped)), ..coherence.clone() };
        super::coherence(&Profile { coherence: Some(coherence), ..Profile::default() })
    }

    fn of_matrix() -> Coherence {
        crate::coherence_from_matrix(&Matrix::parse("\n25\n90,92\n91,93,26\n").unwrap())
    }

    #[test]
    fn a_pair_that_jumps_while_it_is_watched_changes_the_verdict() {
        let mut coherence = of_matrix();
        coherence.pairs.iter_mut().for_each(|pair| {
            (pair.method, pair.ns.stable, pair.ns.n) = (PairMethod::Turn, Some(true), 40);
        });
        let told = |jumped| {
            let found = watched(&coherence, jumped);
            let notes = found.notes.iter().filter(|note| note.contains("CPUs 0 and 1 did not keep")).count();
            (found.stable, found.verdict, notes)
        };
        assert_eq!(told(true), (Some(false), Some(Verdict::Unstable), 1));
        assert_eq!(told(false), (Some(true), Some(Verdict::Hops), 0), "by this timeline alone");
    }

    #[test]
    fn two_samples_tell_nothing_whatever_a_file_calls_them() {
        let mut coherence = of_matrix();
        (coherence.pairs[0].ns.stable, coherence.pairs[0].ns.n) = (Some(true), 2);
        let found = super::coherence(&Profile { coherence: Some(coherence), ..Profile::default() });
        assert_eq!((found.stable, found.verdict), (None, Some(Verdict::Hops)));
    }

    #[test]
    fn one_pair_that_was_watched_says_nothing_of_pairs_that_were_not_repeated() {
        let found = watched(&of_matrix(), false);
        assert_eq!((found.stable, found.verdict), (None, Some(Verdict::Hops)));
    }
}
