//! The folder in which coho remembers things between runs.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
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
    /// It belongs to another user, or others may write it, so its contents cannot be trusted.
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

/// Where the state lies: `coho` in `$XDG_STATE_HOME` or `$HOME/.local/state`. It need not exist. A relative path is
/// ignored, as the XDG Base Directory Specification demands. Links are resolved.
///
/// # Errors
/// [`Error::NoHome`], or [`Error::Unsafe`] if the folder that the variable names is not the caller's, or if others may
/// change a folder on the way from there to the state, or one above it.
pub fn folder() -> Result<PathBuf, Error> {
    named(&|name| env::var_os(name)).ok_or(Error::NoHome)?.checked()
}

/// The same folder, created for this user alone if there was none.
///
/// # Errors
/// As for [`folder`], and [`Error::Io`] if it cannot be made.
pub fn create() -> Result<PathBuf, Error> {
    named(&|name| env::var_os(name)).ok_or(Error::NoHome)?.made()
}

/// A folder for state below the one that a variable names.
#[derive(Debug, PartialEq)]
struct Place {
    /// As in the variable.
    home: PathBuf,
    folder: PathBuf,
}

impl Place {
    /// The folder if it may be used; nothing is made.
    fn checked(&self) -> Result<PathBuf, Error> {
        let Some(home) = exists(&self.home)? else {
            // Anybody who may write the folder above could create this one, or replace it with a link, at any time.
            let above = self.home.ancestors().skip(1);
            for part in above {
                if exists(part)?.is_some() {
                    trust::check(part, &self.home).map_err(Error::Unsafe)?;
                    break;
                }
            }
            return Ok(self.folder.clone());
        };
        // Root with a user's HOME would leave folders there that do not belong to the user.
        if !trust::is_mine(&home) {
            return Err(Error::Unsafe(Distrust::Owner(self.home.clone(), home.uid())));
        }
        let top = fs::canonicalize(&self.home).map_err(|error| Error::Io(self.home.clone(), error))?;
        for part in self.folder.ancestors() {
            if exists(part)?.is_some() {
                let real = trust::check(part, &top).map_err(Error::Unsafe)?;
                let rest = self.folder.strip_prefix(part).expect("it is an ancestor");
                return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
            }
        }
        Ok(self.folder.clone())
    }

    fn made(&self) -> Result<PathBuf, Error> {
        let folder = self.checked()?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| Error::Io(folder, error))?;
        // Somebody else may have made a part of it in between.
        self.checked()
    }
}

/// What a path leads to, if it is there.
fn exists(path: &Path) -> Result<Option<Metadata>, Error> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        // A dangling link exists, and must not be replaced.
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            Ok(None)
        }
        Err(error) => Err(Error::Io(path.to_owned(), error)),
    }
}

fn named(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Place> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| Path::is_absolute(path));
    let at = |home: PathBuf, below: &str| Place { folder: home.join(below), home };
    absolute("XDG_STATE_HOME")
        .map(|state| at(state, NAME))
        .or_else(|| Some(at(absolute("HOME")?, &format!(".local/state/{NAME}"))))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use coho_testing::{Capability, needs};

    use super::*;

    #[test]
    fn relative_paths_count_as_none() {
        let with = |state: &str, home: &str| {
            let named = named(&|name| match name {
                "XDG_STATE_HOME" => (state != "-").then(|| state.into()),
                "HOME" => (home != "-").then(|| home.into()),
                _ => None,
            });
            named.map(|place| place.folder)
        };
        assert_eq!(with("/s", "/h"), Some("/s/coho".into()));
        for state in ["-", "", "s", "./s"] {
            assert_eq!(with(state, "/h"), Some("/h/.local/state/coho".into()), "{state}");
            assert_eq!(with(state, "h"), None, "{state}");
            assert_eq!(with(state, "-"), None, "{state}");
        }
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn place(home: &Path, below: &str) -> Place {
        Place { home: home.to_owned(), folder: home.join(below) }
    }

    #[test]
    fn the_folder_is_made_for_this_user_alone() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let place = place(&home, ".local/state/coho");
        assert_eq!(place.checked().unwrap(), place.folder, "a home that is not there yet");
        assert!(!home.exists(), "looking makes nothing");
        let made = place.made().unwrap();
        assert_eq!(made, fs::canonicalize(&place.folder).unwrap());
        for folder in made.ancestors().take(3) {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert_eq!(place.made().unwrap(), made);
    }

    #[test]
    fn what_others_may_change_holds_no_state() {
        let root = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(root.path()).unwrap();
        let writable = |place: &Place, named: &Path| {
            for outcome in [place.checked(), place.made()] {
                assert!(matches!(&outcome, Err(Error::Unsafe(Distrust::Writable(path))) if path == named));
            }
        };
        // Below a shared folder anybody could have made the next one.
        let shared = top.join("shared");
        fs::create_dir(&shared).unwrap();
        chmod(&shared, 0o777);
        writable(&place(&shared.join("mine"), "coho"), &shared);
        assert!(!shared.join("mine").exists(), "nothing is left there");
        chmod(&shared, 0o1777);
        writable(&place(&shared, "coho"), &shared);
        assert!(place(&shared.join("mine"), "coho").made().is_ok(), "nobody may rename it in a sticky one");
        // A folder on the way, and the last one.
        for part in ["home/.local", "home/.local/state/coho"] {
            let home = top.join("home");
            let place = place(&home, ".local/state/coho");
            place.made().unwrap();
            chmod(&top.join(part), 0o777);
            writable(&place, &top.join(part));
            chmod(&top.join(part), 0o700);
        }
    }

    #[test]
    fn a_link_is_judged_by_where_it_leads() {
        let root = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(root.path()).unwrap();
        let (home, elsewhere) = (top.join("home"), top.join("elsewhere"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, home.join("coho")).unwrap();
        let place = place(&home, "coho");
        chmod(&elsewhere, 0o777);
        assert!(matches!(place.made(), Err(Error::Unsafe(Distrust::Writable(path))) if path == elsewhere));
        chmod(&elsewhere, 0o700);
        assert_eq!(place.made().unwrap(), elsewhere);
        fs::remove_dir(&elsewhere).unwrap();
        assert!(matches!(place.made(), Err(Error::Io(..))), "a link that leads nowhere");
        assert!(!elsewhere.exists());
    }

    #[test]
    fn another_users_home_stays_as_it_is() {
        needs!(Capability::Root);
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        fs::create_dir(&home).unwrap();
        chown(&home, Some(65_534), Some(65_534)).unwrap();
        for place in [place(&home, ".local/state/coho"), place(&home.join("state"), "coho")] {
            assert!(matches!(place.made(), Err(Error::Unsafe(Distrust::Owner(_, 65_534)))));
        }
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    }
}
