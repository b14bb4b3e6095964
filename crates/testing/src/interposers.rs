//! Libraries that others preload into programs, where distributions install them.

use std::path::PathBuf;

/// A library whose functions take the C library's places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interposer {
    /// Another time than the system's.
    Faketime,
    /// What only root may do, pretended.
    Fakeroot,
    /// Another allocator.
    Jemalloc,
    /// No waiting for the disk.
    Eatmydata,
}

impl Interposer {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Faketime, Self::Fakeroot, Self::Jemalloc, Self::Eatmydata];

    /// Its path below a folder of libraries.
    fn file(self) -> &'static str {
        match self {
            Self::Faketime => "faketime/libfaketimeMT.so.1",
            Self::Fakeroot => "libfakeroot/libfakeroot-sysv.so",
            Self::Jemalloc => "libjemalloc.so.2",
            Self::Eatmydata => "libeatmydata.so",
        }
    }

    pub(crate) fn find(self) -> Option<PathBuf> {
        let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let folders = [&multiarch[..], "/usr/lib64", "/usr/lib", "/usr/local/lib"];
        folders.map(|folder| PathBuf::from(folder).join(self.file())).into_iter().find(|path| path.exists())
    }

    /// The library; a test that asks for it needs [`Interposers`](crate::Capability::Interposers).
    ///
    /// # Panics
    /// If it is not installed.
    #[must_use]
    pub fn library(self) -> PathBuf {
        self.find().unwrap_or_else(|| panic!("{} is not installed", self.file()))
    }
}
