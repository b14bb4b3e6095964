//! coho's libraries that are preloaded into a program.

mod linked;
mod packed;
mod sanitizer;
mod thread_sanitizer;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use coho_platform::trust;

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
    /// Counts accesses in place of ThreadSanitizer's runtime.
    Exact,
}

impl Library {
    fn file(self) -> &'static str {
        match self {
            Self::Pin => "libcoho_pin.so",
            Self::OpenMp => "libcoho_openmp.so",
            Self::Delegate => "libcoho_delegate_preload.so",
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

/// Why no library is preloaded into a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    program: PathBuf,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    MoreRights,
    Static,
    Musl,
    Bits32,
    Sanitizer(&'static str),
}

impl Objection {
    /// Whether such a program can be traced instead.
    pub fn can_be_traced(&self) -> bool {
        matches!(self.reason, Reason::Static | Reason::Musl | Reason::Bits32)
    }

    /// Whether its instructions can be read.
    pub fn can_be_read(&self) -> bool {
        self.reason != Reason::Bits32
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.program.display())?;
        f.write_str(match self.reason {
            Reason::MoreRights => {
                "it runs with more rights than its user, so no library can be preloaded into it"
            }
            Reason::Static => "it is linked statically, so no library can be preloaded into it",
            Reason::Musl => "it is linked with musl, and coho's libraries with glibc",
            Reason::Bits32 => "it is a 32-bit program, and coho's libraries are 64-bit",
            Reason::Sanitizer(why) => why,
        })
    }
}

/// Why no library is preloaded into a program; `None` if nothing prevents it.
pub fn objection(program: &OsString) -> Option<Objection> {
    let program = find(program)?;
    let mode = fs::metadata(&program).ok()?.mode();
    let reason = if mode & 0o6000 != 0 {
        Reason::MoreRights
    } else {
        let mut head = vec![0; 4096];
        let read = File::open(&program).ok()?.read(&mut head).ok()?;
        head.truncate(read);
        match linked_as(&head)? {
            Linkage::Dynamic => Reason::Sanitizer(sanitizer::objection(&program)?),
            Linkage::Static => Reason::Static,
            Linkage::Musl => Reason::Musl,
            Linkage::Bits32 => Reason::Bits32,
        }
    };
    Some(Objection { program, reason })
}

/// Whether a library that is preloaded into a program ends it; others go without it, and programs that they start
/// have it.
pub fn ends_program(program: &OsString) -> bool {
    find(program).is_some_and(|path| sanitizer::objection(&path).is_some())
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

/// How a program is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Linkage {
    /// A loader puts it together with its libraries.
    Dynamic,
    /// The same, by the loader of another C library.
    Musl,
    /// It is whole by itself.
    Static,
    /// It has 32-bit code.
    Bits32,
}

/// How an ELF program is linked, by its file's beginning; `None` if it is none (a script, say).
fn linked_as(head: &[u8]) -> Option<Linkage> {
    const INTERPRETER: u32 = 3;
    if head.starts_with(b"\x7fELF\x01") {
        return Some(Linkage::Bits32);
    }
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?) as usize);
    let table = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?) as usize;
    let (size, count) = (half(54)?, half(56)?);
    for index in 0..count {
        let at = table.checked_add(index * size)?;
        let kind = head.get(at..at.checked_add(4)?)?;
        if u32::from_le_bytes(kind.try_into().ok()?) == INTERPRETER {
            let word =
                |from: usize| Some(u64::from_le_bytes(head.get(from..from + 8)?.try_into().ok()?) as usize);
            let name = word(at + 8).zip(word(at + 32));
            // A name further on in the file is another loader's than musl's, whose programs begin with it.
            let name = name.and_then(|(from, bytes)| head.get(from..from.checked_add(bytes)?));
            let file = name.unwrap_or_default().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            return Some(if file.starts_with(b"ld-musl-") { Linkage::Musl } else { Linkage::Dynamic });
        }
    }
    Some(Linkage::Static)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_dynamic_program_is_told_from_a_static_one_and_from_a_script() {
        let head = fs::read(env::current_exe().unwrap()).unwrap();
        let own = if cfg!(target_feature = "crt-static") {
            Linkage::Static
        } else if cfg!(target_env = "musl") {
            Linkage::Musl
        } else {
            Linkage::Dynamic
        };
        assert_eq!(linked_as(&head[..4096]), Some(own));
        let mut without = head[..4096].to_vec();
        without[56] = 0;
        without[57] = 0;
        assert_eq!(linked_as(&without), Some(Linkage::Static));
        assert_eq!(linked_as(b"#!/bin/sh\n"), None);
        let mut short = head[..4096].to_vec();
        short[4] = 1;
        assert_eq!(linked_as(&short), Some(Linkage::Bits32));
        for length in 0..64 {
            assert!(linked_as(&head[..length]).is_none_or(|linkage| linkage == own), "{length}");
        }
    }

    /// The beginning of a 64-bit program whose only header names this loader.
    fn head_with(loader: &str) -> Vec<u8> {
        let mut head = b"\x7fELF\x02\x01".to_vec();
        head.resize(64 + 56, 0);
        head[32] = 64;
        head[54] = 56;
        head[56] = 1;
        head[64] = 3;
        head[64 + 8] = 120;
        head[64 + 32] = loader.len() as u8 + 1;
        head.extend(loader.bytes().chain([0]));
        head
    }

    #[test]
    fn a_program_of_another_c_library_is_told_by_its_loader() {
        for (loader, linkage) in [
            ("/lib/ld-musl-x86_64.so.1", Linkage::Musl),
            ("/lib64/ld-linux-x86-64.so.2", Linkage::Dynamic),
            ("/nix/store/x-glibc-2.40/lib/ld-linux-x86-64.so.2", Linkage::Dynamic),
            ("/ld-musl-x/ld-linux-aarch64.so.1", Linkage::Dynamic),
        ] {
            assert_eq!(linked_as(&head_with(loader)), Some(linkage), "{loader}");
        }
    }

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
