//! Whether figures belong into a profile: those of two machines never end up in one.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Host, Profile};

/// A profile belongs to another machine than the figures that were to go into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherMachine {
    /// The profile.
    path: PathBuf,
    /// The profile's machine.
    machine: String,
    /// Where the figures come from.
    figures: Figures,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Figures {
    /// This machine.
    Here(String),
    /// A file, of this machine if it names one.
    Read(PathBuf, Option<String>),
}

impl fmt::Display for OtherMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, machine) = (self.path.display(), &self.machine);
        match &self.figures {
            Figures::Here(this) => {
                write!(f, "{path}: measured on another machine ({machine}), this is {this}")
            }
            Figures::Read(from, host) => {
                let from = from.display();
                match host {
                    Some(host) => write!(f, "{path}: measured on {machine}, but {from} on {host}")?,
                    None => write!(f, "{path}: measured on {machine}, but {from} does not name its machine")?,
                }
                f.write_str("; name another file by -o")
            }
        }
    }
}

impl std::error::Error for OtherMachine {}

impl Profile {
    /// Checks that what is measured on `host` may go into this profile, which was read from `path`. A profile that
    /// names no machine takes any.
    ///
    /// # Errors
    /// If it was measured on another machine.
    pub fn check_machine(&self, path: &Path, host: &Host) -> Result<(), OtherMachine> {
        self.check(path, Some(host), || Figures::Here(named(host)))
    }

    /// As [`Profile::check_machine`], for figures that were read from the file `from`, which need not name its machine.
    ///
    /// # Errors
    /// If this profile names a machine, and the file does not name the same one.
    pub fn check_machine_of(
        &self,
        path: &Path,
        from: &Path,
        host: Option<&Host>,
    ) -> Result<(), OtherMachine> {
        self.check(path, host, || Figures::Read(from.to_owned(), host.map(named)))
    }

    fn check(
        &self,
        path: &Path,
        host: Option<&Host>,
        figures: impl FnOnce() -> Figures,
    ) -> Result<(), OtherMachine> {
        match self.host.as_ref().filter(|own| host.map(facts) != Some(facts(own))) {
            None => Ok(()),
            Some(own) => Err(OtherMachine { path: path.to_owned(), machine: named(own), figures: figures() }),
        }
    }
}

/// The facts that distinguish machines.
fn facts(host: &Host) -> [Option<&str>; 3] {
    [host.cpu.as_deref(), host.architecture.as_deref(), host.hypervisor.as_deref()]
}

fn named(host: &Host) -> String {
    facts(host).into_iter().flatten().collect::<Vec<_>>().join(", ")
}
