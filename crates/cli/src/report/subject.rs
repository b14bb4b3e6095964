//! What a report or comparison is about: a profile under a name.

use std::path::Path;

use anyhow::{Context, bail};
use coho_profile::{Coherence, Pair, Profile, published};

use coho_model::judge;

/// Stands before the name of a paper, in place of a file.
const PUBLISHED: &str = "published:";

/// A profile and what to call it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The file's stem, or `kawabe-furuya/e5620`.
    pub label: String,
    /// Whether a paper published it, rather than this program measuring it: such figures tell no interval.
    pub published: bool,
    /// The figures.
    pub profile: Profile,
}

impl Subject {
    /// Reads a profile file, or every machine of a publication.
    ///
    /// # Errors
    /// If there is no such file or publication, or the file is no profile.
    pub fn load(name: &str) -> anyhow::Result<Vec<Self>> {
        let Some(paper) = name.strip_prefix(PUBLISHED) else {
            let path = Path::new(name);
            let profile = Profile::read(path).context("cannot read a profile")?;
            return Ok(vec![Self::of_file(path, profile)]);
        };
        let publication = published::read(paper)?;
        Ok(Self::of_publication(publication))
    }

    /// Reads a profile file, or the only machine of a publication.
    ///
    /// # Errors
    /// As [`Subject::load`], or if the publication has several machines.
    pub fn only(name: &str) -> anyhow::Result<Self> {
        let mut subjects = Self::load(name)?;
        if subjects.len() > 1 {
            bail!("'{name}' has {} machines; name one of them, as in '{name}/MACHINE'", subjects.len());
        }
        subjects.pop().with_context(|| format!("'{name}' has no machine"))
    }

    /// A profile under the name of its file.
    pub fn of_file(path: &Path, profile: Profile) -> Self {
        let label = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self { label, published: false, profile }
    }

    /// Loads all names in order.
    ///
    /// # Errors
    /// As [`Subject::load`], or if the names are two of the same label, which the reader could not tell apart.
    pub fn load_all(names: &[String]) -> anyhow::Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for name in names {
            all.extend(Self::load(name)?);
        }
        if all.is_empty() {
            bail!("no profile given; give a profile file or '{PUBLISHED}NAME'");
        }
        let labels: Vec<String> = all.iter().map(|subject| subject.label.clone()).collect();
        for (index, subject) in all.iter_mut().enumerate() {
            if labels.iter().filter(|label| **label == labels[index]).count() > 1 {
                subject.label = format!("{} ({})", labels[index], index + 1);
            }
        }
        Ok(all)
    }

    /// Each machine of a publication.
    pub fn of_publication(publication: published::Publication) -> Vec<Self> {
        let name = publication.name;
        let subject = |(machine, mut profile): (String, Profile)| {
            // Papers tell figures; what follows from them is the model's.
            judge::calls(&mut profile);
            Self { label: format!("{name}/{machine}"), published: true, profile }
        };
        publication.machines.into_iter().map(subject).collect()
    }

    /// The section on sharing a line, if it was measured.
    pub fn coherence(&self) -> Option<&Coherence> {
        self.profile.coherence.as_ref()
    }

    /// The clock in which times become cycles, in GHz.
    pub fn clock_ghz(&self) -> Option<f64> {
        self.profile.host.as_ref()?.clock_ghz.filter(|ghz| ghz.is_finite() && *ghz > 0.0)
    }

    /// How many packages the topology claims; 0 if it is not told.
    pub fn packages(&self) -> usize {
        self.profile.topology.as_ref().map_or(0, |section| section.topology.packages.len())
    }

    /// Whether the topology claims nothing between cores and packages that would make a package more than one die.
    pub fn packages_are_dies(&self) -> bool {
        self.profile.topology.as_ref().is_some_and(|section| {
            let counts = &section.counts;
            counts.l3 == 0 && counts.die == 0 && counts.numa <= counts.package
        })
    }

    /// How to call a CPU: its number, with the papers' name of it where the topology tells one.
    pub fn cpu_label(&self, cpu: u32) -> String {
        match self.pu_name(cpu) {
            Some(name) => format!("{cpu} {name}"),
            None => cpu.to_string(),
        }
    }

    fn pu_name(&self, cpu: u32) -> Option<&str> {
        let topology = self.profile.topology.as_ref()?;
        let pu = topology.topology.pu(cpu)?;
        (!pu.name.is_empty()).then_some(pu.name.as_str())
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
    }

    #[test]
    fn what_does_not_exist_is_named_in_the_error() {
        let error = format!("{:#}", Subject::load("/nowhere/mine.json").unwrap_err());
        assert!(error.contains("/nowhere/mine.json"), "{error}");
        let error = format!("{:#}", Subject::load("published:nobody").unwrap_err());
        assert!(error.contains("kawabe-furuya"), "{error}");
    }

    #[test]
    fn equal_labels_are_told_apart() {
        let names = ["published:kawabe-furuya/e5620".to_owned(), "published:kawabe-furuya/e5620".to_owned()];
        let subjects = Subject::load_all(&names).unwrap();
        assert_ne!(subjects[0].label, subjects[1].label);
    }
}
