//! Paths that come with the program.

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
