//! The papers' published figures, as profiles.
//!
//! A publication is a folder beside this module, and the build takes in every one. Its `paper.toml` cites it and holds
//! the figures that belong into no profile. Its `.json` files are the profiles of its machines, in the format and read
//! by the reader of every other profile; what was printed as one number stands there as one number. `contents.toml`, if
//! there is one, lists its tables and figures. `machine.cpuid`, if there is one, is what CPUID answers on its machines.

mod contents;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use coho_topology::cpuid::{self, Dump};
use serde::Deserialize;

use crate::Profile;
use crate::file::Error;

pub use contents::{Column, Contents, Counts, Entry, Kind, Need, Which};

/// The folders, and their files' names and content.
const FOLDERS: &[(&str, Files)] = include!(concat!(env!("OUT_DIR"), "/published.rs"));

type Files = &'static [(&'static str, &'static str)];

/// A paper whose experiments coho repeats, or a collection of what people measured on their machines.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its name after `published:`.
    #[serde(skip)]
    pub name: &'static str,
    /// As it is cited: `Kawabe & Furuya`.
    pub authors: String,
    /// All authors, for a bibliography.
    pub all_authors: String,
    /// As printed.
    pub title: String,
    /// When it appeared, as far as that is known: `about 2014`.
    pub year: String,
    /// Its place among the papers, which stand in the order of the experiments.
    place: u32,
    /// Its machines' short names, in the paper's order.
    machines: Vec<String>,
    /// Printed figures that are in no machine's profile: rows of numbers by table and row.
    #[serde(default)]
    pub figures: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// What rows of its figures are called, by their names here.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What stands in a table of its figures, by the table's id, that the paper does not print: said below the table.
    #[serde(default)]
    pub ours: BTreeMap<String, String>,
    /// What sets its method apart from coho's, by how the keys of such figures begin: said where they are compared.
    #[serde(default)]
    pub methods: BTreeMap<String, String>,
    /// Of machines whose times between all pairs of CPUs it published, the file with them, by the machine's short name.
    #[serde(default)]
    pub matrices: BTreeMap<String, MatrixFile>,
    /// What it concludes, as far as a machine can test it.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Its tables, figures and systems.
    #[serde(skip)]
    pub contents: Contents,
    #[serde(skip)]
    files: Files,
}

/// Times between all pairs of a machine's CPUs, as they were published.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixFile {
    /// The file's name in `testdata/matrices`.
    pub file: String,
    /// The CPU, as the file's name in the publication has it.
    pub cpu: String,
}

/// A conclusion that a profile's figures may support or contradict: a figure, and the bounds between which it lies if the
/// conclusion holds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The conclusion.
    pub claim: String,
    /// Section, table or figure of the paper.
    pub source: String,
    /// The figure that it is about, by the name that the model gives it.
    pub figure: String,
    /// What the figure is of, where it can be of several things: `["lock", "16"]`.
    #[serde(default)]
    pub of: Vec<String>,
    /// The lower bound, in `unit`.
    pub at_least: Option<f64>,
    /// The upper bound, in `unit`.
    pub at_most: Option<f64>,
    /// `times`, `share`, `ns`, `kib`, `lines` or `cpi`.
    pub unit: String,
    /// The command that measures the figure.
    pub measure: String,
}

/// All of them: the papers in the order of the experiments, then the collections.
pub static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let mut papers: Vec<Paper> = FOLDERS.iter().map(|(name, files)| Paper::of_folder(name, files)).collect();
    papers.sort_by_key(|paper| paper.place);
    papers
});

/// The papers whose tables and figures are listed, and repeated, as those of collections are not.
pub fn repeated() -> impl Iterator<Item = &'static Paper> {
    PAPERS.iter().filter(|paper| !paper.contents.entries.is_empty())
}

/// What one paper published: a profile for each machine that it measured.
#[derive(Debug, Clone)]
pub struct Publication {
    /// The paper.
    pub paper: &'static Paper,
    /// The machines, in the paper's order, each with a short name (`e5620`).
    pub machines: Vec<(String, Profile)>,
}

impl Paper {
    fn of_folder(name: &'static str, files: Files) -> Self {
        let mut paper: Self =
            toml::from_str(content(name, files, "paper.toml")).expect("a built-in paper.toml is well formed");
        (paper.name, paper.files) = (name, files);
        if let Some((_, text)) = files.iter().find(|(file, _)| *file == "contents.toml") {
            paper.contents = toml::from_str(text).expect("a built-in contents.toml is well formed");
        }
        paper
    }

    /// Authors and year: `Kawabe & Furuya, about 2014`.
    pub fn cited(&self) -> String {
        format!("{}, {}", self.authors, self.year)
    }

    /// What it printed.
    ///
    /// # Panics
    /// Never: the profiles are part of the program and read by a test.
    pub fn publication(&'static self) -> Publication {
        let machine = |name: &String| {
            let text = content(self.name, self.files, &format!("{name}.json"));
            (name.clone(), Profile::from_json(text).expect("a built-in profile is well formed"))
        };
        Publication { paper: self, machines: self.machines.iter().map(machine).collect() }
    }

    /// The profile of the machine with this short name; of its first one for an empty name.
    ///
    /// # Panics
    /// If it has no such machine.
    pub fn machine_named(&'static self, name: &str) -> Profile {
        let mut all = self.publication().machines;
        let at = all.iter().position(|(known, _)| name.is_empty() || known == name);
        all.swap_remove(at.unwrap_or_else(|| panic!("{} has no machine {name}", self.name))).1
    }

    /// The profile of its first machine.
    ///
    /// # Panics
    /// Never: as [`Paper::publication`].
    pub fn machine(&'static self) -> Profile {
        self.machine_named("")
    }

    /// The numbers in a row of [`Paper::figures`].
    ///
    /// ```
    /// let paper = coho_profile::published::paper("nakamura-fbs");
    /// assert_eq!(paper.row("fork-join", "fbs-16-us"), [4.8]);
    /// ```
    ///
    /// # Panics
    /// If the paper has no such table or row.
    pub fn row(&self, table: &str, row: &str) -> &[f64] {
        &self.figures[table][row]
    }

    /// What CPUID answers on its machines.
    ///
    /// # Panics
    /// If the paper has no such file.
    pub fn cpuid(&self) -> Dump {
        cpuid::parse(content(self.name, self.files, "machine.cpuid")).expect("a built-in dump is well formed")
    }
}

fn content(name: &str, files: Files, file: &str) -> &'static str {
    let known = files.iter().find(|(known, _)| *known == file);
    known.unwrap_or_else(|| panic!("the folder published/{name} has a file {file}")).1
}

/// The paper with this name.
///
/// # Panics
/// If there is none: [`read`] takes the names that a user gives.
pub fn paper(name: &str) -> &'static Paper {
    PAPERS.iter().find(|paper| paper.name == name).unwrap_or_else(|| panic!("no paper is named {name}"))
}

/// The figures of the paper with this name (`kawabe-furuya`), or of one of its machines (`kawabe-furuya/e5620`).
///
/// ```
/// let paper = coho_profile::published::read("kawabe-furuya/e5620")?;
/// assert_eq!(paper.machines.len(), 1);
/// # Ok::<(), coho_profile::Error>(())
/// ```
///
/// # Errors
/// If no paper or machine has that name; the message lists the names that exist.
pub fn read(name: &str) -> Result<Publication, Error> {
    let (paper, machine) =
        name.split_once('/').map_or((name, None), |(paper, machine)| (paper, Some(machine)));
    let Some(known) = PAPERS.iter().find(|known| known.name == paper) else {
        let names: Vec<&str> = PAPERS.iter().map(|known| known.name).collect();
        let names = names.join(", ");
        return Err(Error::new(format!("no published figures named '{name}'; there are: {names}")));
    };
    let mut publication = known.publication();
    if let Some(machine) = machine {
        let names: Vec<_> = publication.machines.iter().map(|(name, _)| format!("{paper}/{name}")).collect();
        publication.machines.retain(|(name, _)| name == machine);
        if publication.machines.is_empty() {
            return Err(Error::new(format!(
                "no machine '{machine}' in {paper}; there are: {}",
                names.join(", ")
            )));
        }
    }
    Ok(publication)
}

#[cfg(test)]
mod tests;
