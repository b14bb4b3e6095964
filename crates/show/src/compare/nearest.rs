//! A profile beside the published machine most like it.

use coho_model::{Error, Kinship, Likeness};
use coho_profile::published;
use serde::Serialize;

use super::{Comparison, compare};
use crate::figure::{Figure, Format};
use crate::part::{Part, PartList, Table, Text};
use crate::{Subject, words};

/// How many machines are named after the first.
const NEXT: usize = 3;

/// A profile beside the published machines that are most like it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearestComparison {
    /// The machines, the most alike first.
    pub nearest: Vec<Likeness>,
    /// How many were compared.
    pub machines: usize,
    /// Whether the profile's times kept to one value; `null` if that is not known.
    pub stable: Option<bool>,
    /// The figures of the profile and of the first machine.
    #[serde(flatten)]
    figures: Comparison,
}

/// Finds the published machine most like a profile's, and compares the two.
///
/// # Errors
/// If the profile has no times of pairs of CPUs as they are published.
///
/// # Panics
/// Never: what is published is part of the program.
pub fn compare_nearest(subject: Subject) -> Result<NearestComparison, Error> {
    let mut nearest = coho_model::nearest(&subject.profile)?;
    nearest.retain(|likeness| !subject.published || likeness.machine != subject.label);
    let machines = nearest.len();
    nearest.truncate(1 + NEXT);
    let stable = subject.answers.judgement.stable;
    let named = published::read(&nearest[0].machine).expect("a published machine");
    let subjects: Vec<Subject> = [subject].into_iter().chain(Subject::of_publication(named)).collect();
    Ok(NearestComparison { nearest, machines, stable, figures: compare(&subjects) })
}

impl NearestComparison {
    /// What there is to show of it.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let (first, next) = (&self.nearest[0], &self.nearest[1..]);
        parts.summary(Text::new(self.how_like(first)));
        parts.summary(table(first));
        let named = |likeness: &Likeness| format!("{} ({:.2})", likeness.machine, likeness.factor);
        let next: Vec<String> = next.iter().map(named).collect();
        parts.summary((!next.is_empty()).then(|| Text::labelled("next", next.join(", "))));
        if !self.figures.figures.is_empty() {
            parts.extend(self.figures.parts());
        }
        parts
    }

    /// Which machine it is, and how far that can be told.
    fn how_like(&self, first: &Likeness) -> String {
        let [here, there] = first.cpus;
        let kinship = match first.kinship {
            Kinship::Cpu => "the same CPU",
            Kinship::Vendor => "the nearest of this vendor",
            Kinship::None => "the nearest, by its times alone",
        };
        let mut text = format!(
            "Of {} published machines, {} is most like this one: {}, {kinship}. Times differ by a factor of {:.2}; {} were \
             measured there, {here} here.",
            self.machines,
            first.machine,
            first.cpu,
            first.factor,
            words::count(there, "CPU"),
        );
        if first.classes.iter().filter(|class| class.here_ns.is_some()).count() == 1 {
            text += " This rests on one class of pairs.";
        }
        if self.stable == Some(false) {
            text += " Times here did not keep to one value: another run may find another machine.";
        }
        text
    }
}

/// Each class of pairs beside the other machine's.
fn table(likeness: &Likeness) -> Table {
    Table::of("nearest-classes", "Classes of pairs, compare-and-swap in turn", &likeness.classes)
        .figures("here", "ns", |class| class.here_ns.as_ref().map(Figure::from))
        .figures("there", "ns", |class| class.there_ns.map(Figure::exact))
        .figures("ratio", "", |class| class.ratio.map(|ratio| Format::Ratio.of(ratio)))
        .figures("pairs here", "", |class| (class.pairs[0] > 0).then(|| Figure::count(class.pairs[0])))
        .figures("pairs there", "", |class| (class.pairs[1] > 0).then(|| Figure::count(class.pairs[1])))
        .note(
            "A class here stands beside the one there that its time is nearest to, in their order; a part of a machine \
             need not have all of its classes.",
        )
        .done()
}
