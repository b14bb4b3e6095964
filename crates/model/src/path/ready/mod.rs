//! Paths that come with the program.

use super::{Error, PathFile};

/// A built-in file: a path, or what several paths include.
struct Text {
    name: &'static str,
    text: &'static str,
}

macro_rules! texts {
    ($($name:literal),+ $(,)?) => {
        [$(Text { name: $name, text: include_str!(concat!($name, ".toml")) }),+]
    };
}

/// Files that the paths include.
static SHARED: [Text; 1] = texts!["dimmnet-tables"];

/// The paths, by name.
static PATHS: [Text; 9] = texts![
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

/// Names of the paths that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    PATHS.iter().map(|path| path.name)
}

/// Returns a file that a built-in path includes.
///
/// # Errors
/// If there is none with that name.
pub fn load(name: &str) -> Result<String, String> {
    let entry = SHARED.iter().chain(&PATHS).find(|text| text.name == name);
    entry
        .map(|text| text.text.to_owned())
        .ok_or_else(|| format!("there is no '{name}' among the ready paths"))
}

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
    let text = match PATHS.iter().find(|path| path.name == name) {
        Some(path) => path.text,
        None => {
            let known: Vec<&str> = names().collect();
            let message =
                format!("no path of that name comes with the program; there are: {}", known.join(", "));
            return Err(Error::of_file(name, message));
        }
    };
    PathFile::parse(name, text, &load)
}
