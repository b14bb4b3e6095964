//! coho's libraries that are preloaded into a program.

pub(crate) mod linked;
mod objection;
mod packed;
mod sanitizer;
mod thread_sanitizer;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{env, fs};

use coho_platform::trust;

pub use objection::{Objection, ends_program, objection};
pub use packed::{Packed, Unpacked, provide};
pub use thread_sanitizer::{NotCounted, check_counted};

/// A library that `make install` puts beside the command, and cargo into its build folder; `cargo install` only packs
/// it into the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// Pins each thread.
    Pin,
    /// Takes the place of libgomp.
    OpenMp,
    /// Has other cores execute system calls.
    Delegate,
    /// Records what memory threads use.
    Share,
    /// Stands before MPI's functions.
    Mpi,
    /// Counts accesses in place of ThreadSanitizer's runtime.
    Exact,
}

impl Library {
    fn file(self) -> &'static str {
        match self {
            Self::Pin => "libcoho_pin.so",
            Self::OpenMp => "libcoho_openmp.so",
            Self::Delegate => "libcoho_delegate_preload.so",
            Self::Mpi => "libcoho_mpi_preload.so",
            Self::Share => "libcoho_share.so",
            Self::Exact => "libcoho_tsan.so",
        }
    }
}

/// Why a library cannot be preloaded.
#[derive(Debug)]
pub enum Error {
    /// Where the command lies is not known.
    Command(io::Error),
    /// The library is neither in this folder nor beside the command.
    Missing(&'static str, PathBuf),
    /// Somebody else could have put it there: each such file, and why.
    NotTrusted(Vec<(PathBuf, String)>),
    /// The loader's variable has no way to write this path.
    Path(PathBuf),
    /// It is packed into the command, and cannot be unpacked.
    Packed(&'static str, Unpacked),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(error) => write!(f, "where the command lies: {error}"),
            Self::Missing(file, folder) => {
                write!(f, "{file} is neither in {} nor beside the command", folder.display())
            }
            Self::NotTrusted(files) => {
                let refused =
                    |(path, why): &(PathBuf, String)| format!("{} is not loaded: {why}", path.display());
                f.write_str(&files.iter().map(refused).collect::<Vec<_>>().join("; "))
            }
            Self::Path(path) => {
                write!(f, "{}: the loader accepts no path that contains a space or a colon", path.display())
            }
            Self::Packed(file, why) => write!(f, "{file} is not available: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// What would change it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Command(_) => "/proc mounted where coho runs",
            Self::Missing(..) => "`make install`, or `cargo install --path crates/cli`, brings them",
            Self::NotTrusted(_) => "files and folders that nobody but you or root may write to",
            Self::Path(_) => "the command in a folder whose path has no space and no colon",
            Self::Packed(_, Unpacked::MoreRights) => "coho without set-user-id and file capabilities",
            Self::Packed(_, Unpacked::Damaged) => "coho installed again",
            Self::Packed(..) => "`export XDG_STATE_HOME=…`: yours alone, and not mounted noexec",
        }
    }
}

/// The variable that makes the loader preload these libraries, before any that are preloaded already.
///
/// # Errors
/// If one cannot be found, or its path cannot be written in the variable.
pub fn variable(libraries: &[Library]) -> Result<(OsString, OsString), Error> {
    let mut paths = Vec::new();
    for library in libraries {
        let path = path(*library)?;
        if path.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
            return Err(Error::Path(path));
        }
        paths.push(path.into_os_string());
    }
    paths.extend(env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()));
    Ok(("LD_PRELOAD".into(), paths.join(":".as_ref())))
}

/// The library that belongs to this command: its file where the command is installed, or else the one that is packed
/// into the command, unpacked into the state folder.
///
/// # Errors
/// If there is neither, if somebody other than the command's owner could have put the file there, or if it cannot be
/// unpacked.
pub fn path(library: Library) -> Result<PathBuf, Error> {
    let command = env::current_exe().and_then(fs::canonicalize);
    match (library_of(library, &command.map_err(Error::Command)?), packed::find(library)) {
        (Err(Error::Missing(..)), Some(packed)) => {
            packed.unpack(library.file()).map_err(|why| Error::Packed(library.file(), why))
        }
        (found, _) => found,
    }
}

/// Where `make install` puts it: in `PREFIX/lib/coho` for a command in `PREFIX/bin`. For a command in any other folder,
/// beside it or where cargo builds. A library that anybody else could have put there is not loaded.
fn library_of(library: Library, command: &Path) -> Result<PathBuf, Error> {
    let folder = command.parent().unwrap_or(Path::new("/"));
    let prefix = folder.parent().filter(|_| folder.ends_with("bin"));
    let installed = prefix.map(|prefix| (prefix, prefix.join("lib/coho")));
    // Cargo's tests renew the library in `deps` alone.
    let beside = [(folder, folder.join("deps")), (folder, folder.to_owned())];
    let places: Vec<_> = installed.into_iter().chain(beside).collect();
    let mut refused = Vec::new();
    for (top, place) in &places {
        let path = place.join(library.file());
        if !path.is_file() {
            continue;
        }
        match trust::check(&path, top) {
            Ok(library) => return Ok(library),
            Err(why) => refused.push((path, why.to_string())),
        }
    }
    if !refused.is_empty() {
        return Err(Error::NotTrusted(refused));
    }
    Err(Error::Missing(library.file(), places[0].1.clone()))
}

/// The file that a name means, as execvp(3) looks for it.
pub fn find(program: &OsString) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let folders = env::var_os("PATH")?.into_vec();
    let folders =
        folders.split(|&byte| byte == b':').map(|folder| PathBuf::from(OsString::from_vec(folder.into())));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A command and libraries below a folder of their own; the folder's path without links.
    fn tree(command: &str, libraries: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        for name in libraries
            .iter()
            .map(|folder| format!("{folder}/{}", Library::Pin.file()))
            .chain([command.to_owned()])
        {
            let path = real.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path.ancestors().take_while(|part| part.starts_with(&real)).for_each(|part| chmod(part, 0o755));
        }
        (root, real)
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_library_is_looked_for_where_it_was_installed() {
        for (command, libraries, found) in [
            ("p/bin/coho", &["p/lib/coho", "p/bin"][..], Some("p/lib/coho")),
            ("p/bin/coho", &["p/bin"], Some("p/bin")),
            ("x/coho", &["lib/coho", "x"], Some("x")),
            ("x/coho", &["lib/coho"], None),
            (
                "target/debug/coho",
                &["target/lib/coho", "target/debug/deps", "target/debug"],
                Some("target/debug/deps"),
            ),
        ] {
            let (_root, real) = tree(command, libraries);
            let path = library_of(Library::Pin, &real.join(command)).ok();
            assert_eq!(
                path,
                found.map(|found| real.join(found).join(Library::Pin.file())),
                "{command}: {path:?}"
            );
        }
    }

    #[test]
    fn a_library_that_others_could_have_put_there_is_refused() {
        for open in ["p/lib/coho/libcoho_pin.so", "p/lib/coho", "p/lib", "p"] {
            for mode in [0o777, 0o1777] {
                let (_root, real) = tree("p/bin/coho", &["p/lib/coho"]);
                chmod(&real.join(open), mode);
                let why = library_of(Library::Pin, &real.join("p/bin/coho")).unwrap_err().to_string();
                let named = format!("others may write {}", real.join(open).display());
                assert!(why.contains(&named), "{open}: {why}");
            }
        }
        // A folder for everybody's files, with another's folder beside the command's.
        let (_root, real) = tree("x/coho", &["lib/coho"]);
        chmod(&real, 0o1777);
        let missing = library_of(Library::Pin, &real.join("x/coho"));
        assert!(matches!(missing, Err(Error::Missing(..))), "{missing:?}");
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        assert!(find(&"sh".into()).is_some_and(|path| path.is_absolute()));
        assert_eq!(find(&"./x".into()), Some("./x".into()));
        assert_eq!(find(&"no-such-program-anywhere".into()), None);
    }
}
