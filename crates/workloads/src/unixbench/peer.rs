//! The user's own build of UnixBench: its programs, run as its driver runs them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::Test;
use super::child::Program;
use super::folder::Folder;
use crate::Error;

/// The tree: `pgms` with the programs, `testdir` with what the scripts sort.
pub struct Peer {
    programs: PathBuf,
}

impl Peer {
    /// Uses an existing tree, or its folder `pgms`; what its scripts need is copied into our folder, so that nothing is
    /// written into the tree.
    ///
    /// # Errors
    /// If it holds no such programs.
    pub fn open(tree: &Path, folder: &Folder) -> Result<Self, Error> {
        let failed = |path: &Path, error: std::io::Error| Error::system(path.display(), error);
        let tree = fs::canonicalize(tree).map_err(|error| failed(tree, error))?;
        let programs = [tree.join("pgms"), tree.clone()];
        let is_there = |programs: &&PathBuf| Test::all().any(|test| programs.join(file(test)).is_file());
        let programs = programs.iter().find(is_there).cloned().ok_or_else(|| {
            let tree = tree.display();
            Error::Argument(format!(
                "{tree}: no built UnixBench: there is no pgms/pipe or other program; run make there"
            ))
        })?;
        let text = programs.parent().map(|tree| tree.join("testdir/sort.src")).filter(|text| text.is_file());
        if let Some(text) = text {
            fs::copy(&text, folder.path().join("sort.src")).map_err(|error| failed(&text, error))?;
        }
        Ok(Self { programs })
    }

    /// The program of a test, to run for this many seconds.
    ///
    /// # Errors
    /// Why it cannot be run.
    pub(super) fn program(&self, test: Test, seconds: u64, folder: &Folder) -> Result<Program, String> {
        let path = self.programs.join(file(test));
        if test == Test::Build {
            return Err("UnixBench has no such test".into());
        }
        if !path.is_file() {
            return Err(format!("there is no {}", path.display()));
        }
        let seconds = seconds.to_string();
        let copying = |block: &str, blocks: &str| {
            let folder = folder.path().as_os_str().to_owned();
            let words = ["-c", "-t", &seconds, "-d"].map(OsString::from).into_iter().chain([folder]);
            words.chain(["-b", block, "-m", blocks].map(OsString::from)).collect()
        };
        let script = |times: &str| -> Vec<OsString> {
            vec![(&seconds).into(), self.programs.join("multi.sh").into(), times.into()]
        };
        let arguments: Vec<OsString> = match test {
            // It calibrates itself.
            Test::WhetstoneDouble => Vec::new(),
            Test::FileCopy1024 => copying("1024", "2000"),
            Test::FileCopy256 => copying("256", "500"),
            Test::FileCopy4096 => copying("4096", "8000"),
            Test::Shell1 => script("1"),
            Test::Shell8 => script("8"),
            _ => vec![seconds.into()],
        };
        let search = {
            let mut path = OsString::from(".:");
            path.push(&self.programs);
            path.push(":");
            path.push(std::env::var_os("PATH").unwrap_or_default());
            path
        };
        let folder = folder.path().as_os_str();
        let environment: [(&str, &OsStr); 6] = [
            ("UB_BINDIR", self.programs.as_os_str()),
            ("UB_TESTDIR", folder),
            ("UB_TMPDIR", folder),
            ("UB_RESULTDIR", folder),
            ("PATH", &search),
            ("LANG", OsStr::new("en_US.utf8")),
        ];
        let words = std::iter::once(path.into_os_string()).chain(arguments);
        Program::new(words, &environment).map_err(|error| error.to_string())
    }
}

/// Name of the program that runs a test.
fn file(test: Test) -> &'static str {
    match test {
        Test::FileCopy1024 | Test::FileCopy256 | Test::FileCopy4096 => "fstime",
        Test::Shell1 | Test::Shell8 => "looper",
        other => other.program(),
    }
}
