//! Who may change a file or folder. A library is not loaded, and state not believed, from a place that others may
//! write.

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a path is not trusted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Distrust {
    /// It cannot be looked at.
    Unreadable(PathBuf, io::Error),
    /// It belongs to this user, who is neither root nor the caller.
    Owner(PathBuf, u32),
    /// Its group or everybody may write it, or rename what is in it.
    Writable(PathBuf),
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Owner(path, owner) => write!(f, "{} belongs to another user ({owner})", path.display()),
            Self::Writable(path) => write!(f, "others may write {}", path.display()),
        }
    }
}

impl std::error::Error for Distrust {}

/// The effective user.
pub fn user() -> u32 {
    // SAFETY: no arguments, and it cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether this program has more rights than the user who started it, as one with set-user-ID has.
pub fn has_more_rights() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Whether this program acts as another user or group than the one who started it, as with set-user-ID.
pub fn acts_for_another() -> bool {
    // SAFETY: no arguments, and they cannot fail.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}

/// Whether a file belongs to the caller.
pub fn is_mine(found: &Metadata) -> bool {
    found.uid() == user()
}

/// Checks that nobody but root and the caller may change what a path leads to: the file itself, and each folder above
/// it. Returns the path without links and `..`.
///
/// From `top` down, a folder that everybody may write counts as writable even if it is sticky, as `/tmp` is: anybody
/// may have created what is in it. Above `top`, a sticky folder is accepted: the next folder there is known to be the
/// right one, and nobody else may rename it.
///
/// # Errors
/// [`Distrust`], naming the first path, from the file up, that others may change.
pub fn check(path: &Path, top: &Path) -> Result<PathBuf, Distrust> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| Distrust::Unreadable(path, error)
    };
    // Links are resolved first: nothing is read from the folders that hold the links.
    let real = fs::canonicalize(path).map_err(unreadable(path))?;
    for part in real.ancestors() {
        let metadata = fs::symlink_metadata(part).map_err(unreadable(part))?;
        let above = !part.starts_with(top);
        if !(above && metadata.is_dir() && metadata.mode() & STICKY != 0 && is_trusted(metadata.uid())) {
            check_one(part, &metadata)?;
        }
    }
    Ok(real)
}

const STICKY: u32 = 0o1000;

fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == user()
}

/// Checks one file or folder, but not those above it.
///
/// # Errors
/// As for [`check`].
pub fn check_one(path: &Path, found: &Metadata) -> Result<(), Distrust> {
    if !is_trusted(found.uid()) {
        return Err(Distrust::Owner(path.to_owned(), found.uid()));
    }
    // Many systems give each user a group of the same number, and let it write the user's files.
    let own_group = found.gid() == 0 || found.gid() == user();
    let others = if own_group { 0o002 } else { 0o022 };
    if found.mode() & others != 0 {
        return Err(Distrust::Writable(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use coho_testing::{Capability, needs};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn each_folder_above_a_file_counts() {
        let root = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(root.path()).unwrap();
        let (inner, file) = (top.join("inner"), top.join("inner/file"));
        fs::create_dir(&inner).unwrap();
        fs::write(&file, "").unwrap();
        chmod(&file, 0o644);
        chmod(&inner, 0o755);
        assert_eq!(check(&file, &top).unwrap(), file);
        for (path, mode) in [(&file, 0o666), (&inner, 0o777), (&top, 0o1777)] {
            let before = fs::metadata(path).unwrap().permissions().mode();
            chmod(path, mode);
            assert!(matches!(check(&file, &top), Err(Distrust::Writable(named)) if named == *path));
            chmod(path, before);
        }
        chmod(&top, 0o1777);
        assert!(check(&file, &inner).is_ok(), "nobody may rename a folder in a sticky one");
        chmod(&top, 0o777);
        assert!(matches!(check(&file, &inner), Err(Distrust::Writable(named)) if named == top));
    }

    #[test]
    fn a_link_is_judged_by_where_it_leads() {
        let root = tempfile::tempdir().unwrap();
        let (file, link) = (root.path().join("file"), root.path().join("link"));
        fs::write(&file, "").unwrap();
        chmod(&file, 0o666);
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(matches!(check(&link, root.path()), Err(Distrust::Writable(path)) if path.ends_with("file")));
        let missing = check(Path::new("/nonexistent"), Path::new("/"));
        assert!(matches!(missing, Err(Distrust::Unreadable(..))));
    }

    #[test]
    fn another_users_file_is_not_trusted() {
        needs!(Capability::Root);
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
        assert!(matches!(check(&file, root.path()), Err(Distrust::Owner(_, 65_534))));
    }
}
