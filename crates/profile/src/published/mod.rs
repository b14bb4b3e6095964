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

/// What one paper published: a profile for each machine that it measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// The name after `published:`.
    pub name: &'static str,
    /// Authors and title.
    pub source: String,
    /// The machines, in the paper's order, each with a short name (`e5620`).
    pub machines: Vec<(String, Profile)>,
}

/// The names that [`read`] accepts.
pub const NAMES: [&str; 5] =
    ["kawabe-furuya", "shimosawa-hori-ishikawa", "nakamura-fbs", "hamada-dimmnet", "kimoto-bulldozer"];

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
    let mut publication = match paper {
        "kawabe-furuya" => kawabe_furuya::figures().publication(),
        "shimosawa-hori-ishikawa" => shimosawa_hori_ishikawa::figures().publication(),
        "nakamura-fbs" => nakamura_fbs::figures().publication(),
        "hamada-dimmnet" => hamada_dimmnet::figures().publication(),
        "kimoto-bulldozer" => kimoto_bulldozer::figures().publication(),
        _ => {
            return Err(Error::new(format!(
                "no published figures named '{name}'; there are: {}",
                NAMES.join(", ")
            )));
        }
    };
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
