//! Libraries that are packed into the command, unpacked where only the user may write.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use coho_platform::{filesystem, kept, state, trust};

use super::Library;

/// A shared library, packed.
#[derive(Debug, Clone, Copy)]
pub struct Packed {
    /// A hash of the library, as hexadecimal digits: its file's name tells versions apart by it.
    pub hash: &'static str,
    /// The library's size in bytes.
    pub size: usize,
    /// The library as a zlib stream.
    pub deflated: &'static [u8],
}

/// Why a packed library cannot be unpacked.
#[derive(Debug)]
pub enum Unpacked {
    /// The command has more rights than its user, whose variables name the folder.
    MoreRights,
    /// Programs and libraries in this folder may not be run.
    NoExec(PathBuf),
    /// The file cannot be kept, or is not trusted.
    Kept(kept::Error),
    /// What is packed into the command is damaged.
    Damaged,
}

impl fmt::Display for Unpacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoreRights => f.write_str("coho has more rights than its user"),
            Self::NoExec(folder) => {
                write!(f, "{} is mounted noexec; XDG_STATE_HOME can name another folder", folder.display())
            }
            Self::Kept(why) => why.fmt(f),
            Self::Damaged => f.write_str("the command's file is damaged"),
        }
    }
}

impl std::error::Error for Unpacked {}

static PROVIDED: OnceLock<&[(Library, Option<Packed>)]> = OnceLock::new();

/// Hands over the libraries that are packed into the command; `None` for one that its build did not pack. Only the
/// first call counts.
pub fn provide(libraries: &'static [(Library, Option<Packed>)]) {
    PROVIDED.get_or_init(|| libraries);
}

pub(super) fn find(library: Library) -> Option<Packed> {
    let (_, packed) = PROVIDED.get()?.iter().find(|(of, _)| *of == library)?;
    *packed
}

impl Packed {
    /// The unpacked library in the state folder. A file that is there already is compared with what is packed.
    pub(super) fn unpack(&self, file: &str) -> Result<PathBuf, Unpacked> {
        if trust::has_more_rights() {
            return Err(Unpacked::MoreRights);
        }
        self.unpack_in(&state::create().map_err(|why| Unpacked::Kept(why.into()))?, file)
    }

    fn unpack_in(&self, folder: &Path, file: &str) -> Result<PathBuf, Unpacked> {
        if !filesystem::runs_programs(folder) {
            return Err(Unpacked::NoExec(folder.to_owned()));
        }
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(self.deflated, self.size);
        let bytes = bytes.ok().filter(|bytes| bytes.len() == self.size).ok_or(Unpacked::Damaged)?;
        let stem = file.strip_suffix(".so").unwrap_or(file);
        kept::exactly_in(folder, &format!("{stem}-{}.so", self.hash), &bytes).map_err(Unpacked::Kept)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn packed(bytes: &[u8], size: usize) -> Packed {
        let deflated = miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6).leak();
        Packed { hash: "0123456789abcdef", size, deflated }
    }

    #[test]
    fn a_library_is_unpacked_whole_under_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let library = b"library".repeat(100_000);
        let path = packed(&library, library.len()).unpack_in(folder.path(), "libx.so").unwrap();
        assert_eq!(path, folder.path().join("libx-0123456789abcdef.so"));
        assert_eq!(fs::read(&path).unwrap(), library);
    }

    #[test]
    fn what_is_packed_otherwise_than_it_says_is_not_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        for size in [6, 8] {
            let refused = packed(b"library", size).unpack_in(folder.path(), "libx.so");
            assert!(matches!(refused, Err(Unpacked::Damaged)), "{refused:?}");
        }
        let cut = Packed { deflated: &packed(b"library", 7).deflated[..5], ..packed(b"library", 7) };
        assert!(matches!(cut.unpack_in(folder.path(), "libx.so"), Err(Unpacked::Damaged)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
