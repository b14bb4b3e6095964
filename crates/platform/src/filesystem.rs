//! Which file system a path is on, and where files can be kept in memory.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// `f_type` of tmpfs in statfs(2).
const TMPFS: i64 = 0x0102_1994;
/// Names of the file systems that a folder may be on.
const FILE_SYSTEMS: [(i64, &str); 6] = [
    (TMPFS, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x794c_7630, "overlay"),
];

/// Folders for temporary files, best first: each tmpfs of /dev/shm and `XDG_RUNTIME_DIR`, then the usual place.
pub fn temporary() -> impl Iterator<Item = PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let in_memory = [Some(PathBuf::from("/dev/shm")), runtime].into_iter().flatten();
    in_memory.filter(|parent| kind(parent).is_ok_and(|kind| kind == TMPFS)).chain([std::env::temp_dir()])
}

/// The name of the file system that a path lies on.
///
/// # Errors
/// The operating system's: there is no such path.
pub fn name(path: &Path) -> io::Result<String> {
    let kind = kind(path)?;
    let name = FILE_SYSTEMS.iter().find(|(known, _)| *known == kind);
    Ok(name.map_or_else(|| format!("type {kind:#x}"), |(_, name)| (*name).to_owned()))
}

/// Whether files of the named file system live in memory alone.
pub fn is_in_memory(name: &str) -> bool {
    ["tmpfs", "ramfs"].contains(&name)
}

/// Whether programs on the file system of a path may be run.
pub fn runs_programs(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a zeroed statvfs is a valid one, which the kernel fills; the path ends with a zero.
    unsafe {
        let mut stats: libc::statvfs = std::mem::zeroed();
        libc::statvfs(path.as_ptr(), &mut stats) == 0 && stats.f_flag & libc::ST_NOEXEC == 0
    }
}

fn kind(path: &Path) -> io::Result<i64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: as above, with a statfs.
    unsafe {
        let mut stats: libc::statfs = std::mem::zeroed();
        if libc::statfs(path.as_ptr(), &mut stats) != 0 {
            return Err(io::Error::last_os_error());
        }
        // Compared as unsigned 32 bits: the field's own type differs between architectures.
        Ok(stats.f_type as i64 & 0xffff_ffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_have_names() {
        assert!(!name(Path::new("/")).unwrap().is_empty());
        assert!(name(Path::new("/nonexistent")).is_err());
        assert!(!runs_programs(Path::new("/nonexistent")));
        let places: Vec<_> = temporary().collect();
        assert_eq!(places.last(), Some(&std::env::temp_dir()));
        for place in &places[..places.len() - 1] {
            assert!(is_in_memory(&name(place).unwrap()), "{place:?}");
        }
    }
}
