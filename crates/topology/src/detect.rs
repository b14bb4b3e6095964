//! The machine that this program runs on.

use std::path::Path;

use crate::cpuid::{self, Dump};
use crate::recognise::Loaded;
use crate::reconcile::reconcile;
use crate::{Error, Topology, sysfs};

/// The topology of this machine, from sysfs and CPUID, including their disagreements.
///
/// # Errors
/// If neither source can be read.
///
/// ```no_run
/// let topology = coho_topology::detect()?;
/// println!("{} cores", topology.counts().core);
/// # Ok::<(), coho_topology::Error>(())
/// ```
pub fn detect() -> Result<Topology, Error> {
    detect_with_dump().map(|loaded| loaded.topology)
}

/// As [`detect`], with the CPUID answers of the CPUs that this process may run on.
///
/// # Errors
/// If neither source can be read.
pub fn detect_with_dump() -> Result<Loaded, Error> {
    // One after the other: CPUID already starts a thread on each CPU, and on a busy machine waiting for one more costs
    // more than reading sysfs.
    let answered = cpuid::allowed_cpus().and_then(|cpus| cpuid::live(&cpus)).and_then(|dump| {
        let topology = cpuid::decode(&dump)?;
        Ok((topology, dump))
    });
    let from_sysfs = sysfs::read(Path::new("/sys"));
    both_or_either(from_sysfs, answered)
}

fn both_or_either(
    told: Result<Topology, Error>,
    answered: Result<(Topology, Dump), Error>,
) -> Result<Loaded, Error> {
    let loaded = |topology, dump, missing: Option<String>| Loaded {
        topology,
        dump,
        not_available: missing.into_iter().collect(),
    };
    match (told, answered) {
        (Ok(told), Ok((answered, dump))) => Ok(loaded(reconcile(told, &answered), Some(dump), None)),
        (Ok(told), Err(error)) => Ok(loaded(told, None, Some(format!("CPUID: {error}")))),
        (Err(error), Ok((topology, dump))) => {
            Ok(loaded(topology, Some(dump), Some(format!("sysfs: {error}"))))
        }
        (Err(sysfs), Err(cpuid)) => Err(Error::new(format!("{sysfs}; CPUID: {cpuid}"))),
    }
}
