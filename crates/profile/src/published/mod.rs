//! The papers' published figures, as profiles.
//!
//! Each paper has a file of facts beside this module, which names its source, and a type that reads it.

pub mod hamada_dimmnet;
pub mod kawabe_furuya;
pub mod kimoto_bulldozer;
pub mod nakamura_fbs;
pub mod shimosawa_hori_ishikawa;

use crate::Profile;
use crate::file::Error;

/// A paper whose experiments coho repeats.
#[derive(Debug, Clone, Copy)]
pub struct Paper {
    /// Its name after `published:`.
    pub name: &'static str,
    /// As it is cited: `Kawabe & Furuya`.
    pub authors: &'static str,
    /// All authors, for a bibliography.
    pub all_authors: &'static str,
    /// As printed.
    pub title: &'static str,
    /// When it appeared, as far as that is known: `about 2014`.
    pub year: &'static str,
    /// What it printed.
    pub publication: fn() -> Publication,
}

impl Paper {
    /// Authors and year: `Kawabe & Furuya, about 2014`.
    pub fn cited(&self) -> String {
        format!("{}, {}", self.authors, self.year)
    }
}

/// All of them, in the order of the experiments.
pub const PAPERS: [Paper; 5] = [
    kawabe_furuya::PAPER,
    shimosawa_hori_ishikawa::PAPER,
    nakamura_fbs::PAPER,
    hamada_dimmnet::PAPER,
    kimoto_bulldozer::PAPER,
];

/// What one paper published: a profile for each machine that it measured.
#[derive(Debug, Clone)]
pub struct Publication {
    /// The paper.
    pub paper: Paper,
    /// The machines, in the paper's order, each with a short name (`e5620`).
    pub machines: Vec<(String, Profile)>,
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
        let names = PAPERS.map(|known| known.name).join(", ");
        return Err(Error::new(format!("no published figures named '{name}'; there are: {names}")));
    };
    let mut publication = (known.publication)();
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
