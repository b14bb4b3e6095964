//! Paths that come with the program.

use serde::Serialize;

use super::{Error, PathFile, Reason};

macro_rules! texts {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!($name, ".toml")))),+]
    };
}

/// The paths, by name.
static PATHS: [(&str, &str); 9] = texts![
    "dimmnet-h1",
    "dimmnet-h2",
    "dimmnet-h3",
    "post",
    "copy",
    "eager",
    "cxl",
    "shared-memory",
    "tcp-loopback",
];

/// Files that the paths include.
static SHARED: [(&str, &str); 1] = texts!["dimmnet-tables"];

/// The readings of the path of Hamada et al., by what follows `dimmnet-`; the first is the default. The paper's curves
/// have not survived, but its statements about them have: the readings differ in how stages overlap.
pub const READINGS: [&str; 3] = ["H1", "H2", "H3"];

/// Names of the paths that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    PATHS.iter().map(|(name, _)| *name)
}

fn text(name: &str) -> Option<&'static str> {
    PATHS.iter().chain(&SHARED).find(|(other, _)| *other == name).map(|(_, text)| *text)
}

/// Returns a file that a built-in path includes.
///
/// # Errors
/// If there is none with that name.
pub fn load(name: &str) -> Result<String, Unready> {
    text(name).map(str::to_owned).ok_or_else(|| Unready(name.to_owned()))
}

/// The name of a file that does not come with the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no '{0}' among the ready paths")]
pub struct Unready(pub String);

/// Returns a path that comes with the program.
///
/// # Errors
/// If there is none with that name.
///
/// ```
/// let file = coho_model::path::ready::file("dimmnet-h1")?;
/// assert_eq!(file.profile(), Some("published:hamada-dimmnet"));
/// # Ok::<(), coho_model::path::Error>(())
/// ```
pub fn file(name: &str) -> Result<PathFile, Error> {
    match text(name).filter(|_| names().any(|known| known == name)) {
        Some(text) => PathFile::parse(name, text, &load),
        None => {
            let known: Vec<&str> = names().collect();
            Err(Error::of_file(name, Reason::NotReady(known.join(", "))))
        }
    }
}

/// All paths that come with the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct List {
    /// The paths.
    pub paths: Vec<Listed>,
}

/// A path that comes with the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// What it describes.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Whether a profile must be named that gives it figures.
    pub needs_profile: bool,
    /// The profile whose figures it uses where no other is named.
    pub profile: Option<String>,
}

/// Lists the paths that come with the program.
///
/// # Panics
/// Never: they are well formed.
pub fn list() -> List {
    let listed = |name| {
        let file = file(name).expect("the ready paths are well formed");
        Listed {
            name,
            about: file.about().trim().to_owned(),
            source: file.source().to_owned(),
            needs_profile: file.needs_profile() && file.profile().is_none(),
            profile: file.profile().map(str::to_owned),
        }
    };
    List { paths: names().map(listed).collect() }
}
