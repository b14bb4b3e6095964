//! What is shown: a profile under a name, with what the model says of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use coho_model::Answers;
use coho_profile::{Coherence, Estimate, Pair, Profile, published};
use coho_topology::Topology;

use crate::figure::Figure;

/// Stands before the name of a paper, in place of a file.
const PUBLISHED: &str = "published:";

/// A profile and what to call it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The file's stem, or `kawabe-furuya/e5620`.
    pub label: String,
    /// Whether a paper published it, rather than this program measuring it: such figures have no interval.
    pub published: bool,
    /// The figures.
    pub profile: Profile,
    /// What follows from them; but for the judgements of times between CPUs and of calls, empty until
    /// [`Subject::answered`].
    pub answers: Answers,
}

/// Why a profile cannot be shown.
#[derive(Debug)]
pub enum Error {
    /// The file cannot be read, or is no profile.
    Unreadable(coho_profile::Error),
    /// A publication of several machines stands where one is wanted: its name as given, and the machines'.
    Several(String, Vec<String>),
    /// Nothing was named.
    Nothing,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(_) => f.write_str("cannot read a profile"),
            Self::Several(name, n) => {
                write!(
                    f,
                    "'{name}' has {} machines; name one: '{PUBLISHED}{}'",
                    n.len(),
                    n.join(&format!("', '{PUBLISHED}"))
                )
            }
            Self::Nothing => write!(f, "no profile given; give a profile file or '{PUBLISHED}NAME'"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Several(..) | Self::Nothing => None,
        }
    }
}

impl Subject {
    /// A profile under a name.
    pub fn new(label: impl Into<String>, profile: Profile) -> Self {
        Self { label: label.into(), published: false, answers: Answers::judged(&profile), profile }
    }

    /// A profile under the name of its file.
    pub fn of_file(path: &Path, profile: Profile) -> Self {
        Self::new(path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy(), profile)
    }

    /// Each machine of a publication.
    pub fn of_publication(publication: published::Publication) -> Vec<Self> {
        let name = publication.paper.name;
        let subject = |(machine, profile): (String, Profile)| Self {
            published: true,
            ..Self::new(format!("{name}/{machine}"), profile)
        };
        publication.machines.into_iter().map(subject).collect()
    }

    /// Reads a profile file, or every machine of a publication.
    ///
    /// # Errors
    /// If there is no such file or publication, or the file is no profile.
    pub fn load(name: &str) -> Result<Vec<Self>, Error> {
        let Some(paper) = name.strip_prefix(PUBLISHED) else {
            let path = PathBuf::from(name);
            let profile = Profile::read(&path).map_err(Error::Unreadable)?;
            return Ok(vec![Self::of_file(&path, profile)]);
        };
        Ok(Self::of_publication(published::read(paper).map_err(Error::Unreadable)?))
    }

    /// Reads a profile file, or the only machine of a publication.
    ///
    /// # Errors
    /// As [`Subject::load`], or if the publication has several machines.
    pub fn only(name: &str) -> Result<Self, Error> {
        let mut subjects = Self::load(name)?;
        match subjects.len() {
            0 | 1 => subjects.pop().ok_or(Error::Nothing),
            _ => Err(Error::Several(name.to_owned(), subjects.into_iter().map(|one| one.label).collect())),
        }
    }

    /// Loads all names in order. Subjects of one label are numbered, so that readers can tell them apart.
    ///
    /// # Errors
    /// As [`Subject::load`], or if no name is given.
    pub fn load_all(names: &[String]) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = Vec::new();
        for name in names {
            all.extend(Self::load(name)?);
        }
        if all.is_empty() {
            return Err(Error::Nothing);
        }
        let labels: Vec<String> = all.iter().map(|subject| subject.label.clone()).collect();
        for (index, subject) in all.iter_mut().enumerate() {
            if labels.iter().filter(|label| **label == labels[index]).count() > 1 {
                subject.label = format!("{} ({})", labels[index], index + 1);
            }
        }
        Ok(all)
    }

    /// The paper that published it.
    pub fn paper(&self) -> Option<&'static published::Paper> {
        let name = self.label.split('/').next().filter(|_| self.published)?;
        published::PAPERS.iter().find(|paper| paper.name == name)
    }

    /// With all that the model says of the profile. This may simulate: it takes longer than the rest.
    #[must_use]
    pub fn answered(self) -> Self {
        Self { answers: self.answers.completed(&self.profile), ..self }
    }

    /// An estimate of this profile as a figure: what a paper published has no interval, but may be a range.
    pub fn figure(&self, estimate: &Estimate) -> Figure {
        if self.published { Figure::published(estimate) } else { Figure::from(estimate) }
    }

    /// The figure of an estimate that may not be there.
    pub fn figure_of(&self, estimate: &Option<Estimate>) -> Option<Figure> {
        estimate.as_ref().map(|estimate| self.figure(estimate))
    }

    /// The same in another unit: 10^-9 makes GB/s of bytes per second.
    pub fn scaled(&self, estimate: &Option<Estimate>, scale: f64) -> Option<Figure> {
        Some(self.figure_of(estimate)?.scaled(scale))
    }

    /// The estimates of each key as one figure, in the keys' order: the middle of their medians, between the middles of
    /// their intervals' ends if all have intervals. `middle` is [`median`](crate::scale::median) or
    /// [`mean`](crate::scale::mean).
    pub(crate) fn summed_up<'a, K: Ord>(
        &self,
        estimates: impl IntoIterator<Item = (K, &'a Estimate)>,
        middle: fn(std::vec::IntoIter<f64>) -> Option<f64>,
    ) -> BTreeMap<K, Figure> {
        let mut by_key = BTreeMap::<K, Vec<&Estimate>>::new();
        for (key, estimate) in estimates {
            by_key.entry(key).or_default().push(estimate);
        }
        let figure = |estimates: &[&Estimate]| {
            let middle_of = |end: fn(&Estimate) -> f64| {
                middle(estimates.iter().map(|one| end(one)).collect::<Vec<f64>>().into_iter())
            };
            let have_intervals = !self.published && estimates.iter().all(|one| one.has_interval());
            let interval = middle_of(|one| one.low).zip(middle_of(|one| one.high)).filter(|_| have_intervals);
            let fewest = estimates.iter().map(|one| one.n).min()?;
            let figure = Figure::within(middle_of(|one| one.median)?, interval, estimates.len() as u64);
            Some(figure.of_samples(fewest))
        };
        by_key.into_iter().filter_map(|(key, estimates)| Some((key, figure(&estimates)?))).collect()
    }

    /// The section on sharing a line, if it was measured.
    pub fn coherence(&self) -> Option<&Coherence> {
        self.profile.coherence.as_ref()
    }

    /// What the machine claims to be, if it was read.
    pub fn topology(&self) -> Option<&Topology> {
        self.profile.topology.as_ref().map(|section| &section.topology)
    }

    /// The clock in which times become cycles, in GHz.
    pub fn clock_ghz(&self) -> Option<f64> {
        self.profile.host.as_ref()?.clock_ghz.filter(|ghz| ghz.is_finite() && *ghz > 0.0)
    }

    /// Whether the topology claims nothing between cores and packages that would make a package more than one die.
    pub fn packages_are_dies(&self) -> bool {
        self.profile.topology.as_ref().is_some_and(|section| {
            let counts = &section.counts;
            counts.l3 <= counts.package && counts.die == 0 && counts.numa <= counts.package
        })
    }

    /// How to call a CPU: its number, with the papers' name of it if the topology has one.
    pub fn cpu_label(&self, cpu: u32) -> String {
        match self.topology().and_then(|topology| topology.pu(cpu)) {
            Some(pu) if !pu.name.is_empty() => format!("{cpu} {}", pu.name),
            _ => cpu.to_string(),
        }
    }

    /// How to call a pair's two CPUs.
    pub fn pair_label(&self, pair: &Pair) -> String {
        format!("CPU {} – {}", self.cpu_label(pair.a), self.cpu_label(pair.b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_stands_where_a_file_may_and_brings_each_machine() {
        let subjects = Subject::load("published:kawabe-furuya").unwrap();
        let labels: Vec<_> = subjects.iter().map(|subject| subject.label.as_str()).collect();
        assert_eq!(labels, ["kawabe-furuya/e5620", "kawabe-furuya/x7560"]);
        assert!(subjects.iter().all(|subject| subject.published));
        let error = Subject::only("published:kawabe-furuya").unwrap_err().to_string();
        assert!(error.contains("2 machines"), "{error}");
    }

    #[test]
    fn what_does_not_exist_is_named_in_the_error() {
        let said = |name: &str| {
            let error = Subject::load(name).unwrap_err();
            std::error::Error::source(&error).unwrap().to_string()
        };
        assert!(said("/nowhere/mine.json").contains("/nowhere/mine.json"));
        assert!(said("published:nobody").contains("kawabe-furuya"));
    }

    #[test]
    fn equal_labels_are_numbered() {
        let names = ["published:kawabe-furuya/e5620".to_owned(), "published:kawabe-furuya/e5620".to_owned()];
        let subjects = Subject::load_all(&names).unwrap();
        assert_ne!(subjects[0].label, subjects[1].label);
    }
}
