//! The folder in which coho remembers things between runs.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::trust::{self, Distrust};

const NAME: &str = "coho";

/// Why there is no folder for state.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Neither `XDG_STATE_HOME` nor `HOME` holds an absolute path.
    NoHome,
    /// The folder cannot be made.
    Io(PathBuf, io::Error),
    /// Others may write it: what is in it is nobody's word.
    Unsafe(Distrust),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => f.write_str("neither XDG_STATE_HOME nor HOME names a folder by an absolute path"),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Unsafe(why) => write!(f, "no state is kept: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// Where the state lies: `coho` in `$XDG_STATE_HOME` or `$HOME/.local/state`. It need not exist. A relative path counts
/// as none, as the XDG Base Directory Specification demands.
///
/// # Errors
/// [`Error::NoHome`], or [`Error::Unsafe`] if it exists but others may write it.
pub fn folder() -> Result<PathBuf, Error> {
    let folder = named(&|name| env::var_os(name)).ok_or(Error::NoHome)?;
    match fs::metadata(&folder) {
        Ok(found) => trust::check_one(&folder, &found).map_err(Error::Unsafe)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::Io(folder, error)),
    }
    Ok(folder)
}

/// The same; made, for this user alone, where there was none.
///
/// # Errors
/// As for [`folder`], and [`Error::Io`] if it cannot be made.
pub fn create() -> Result<PathBuf, Error> {
    let folder = folder()?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| Error::Io(folder.clone(), error))?;
    Ok(folder)
}

fn named(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| Path::is_absolute(path));
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_count_as_none() {
        let with = |state: &str, home: &str| {
            named(&|name| match name {
                "XDG_STATE_HOME" => (state != "-").then(|| state.into()),
                "HOME" => (home != "-").then(|| home.into()),
                _ => None,
            })
        };
        assert_eq!(with("/s", "/h"), Some("/s/coho".into()));
        for state in ["-", "", "s", "./s"] {
            assert_eq!(with(state, "/h"), Some("/h/.local/state/coho".into()), "{state}");
            assert_eq!(with(state, "h"), None, "{state}");
            assert_eq!(with(state, "-"), None, "{state}");
        }
    }
}
