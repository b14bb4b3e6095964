//! The machine that this program runs on.

use std::path::Path;

use crate::cpuid::{self, Dump};
use crate::recognise::Loaded;
use crate::reconcile::reconcile;
use crate::{CpuSet, Error, Topology, sysfs};

/// The topology of this machine, from sysfs and CPUID, with what they disagree on.
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
    let (told, answered) = std::thread::scope(|scope| {
        let answers = scope.spawn(|| {
            let dump = cpuid::live(&allowed_cpus()?)?;
            let topology = cpuid::decode(&dump)?;
            Ok((topology, dump))
        });
        let told = sysfs::read(Path::new("/sys"));
        let answered = answers.join().unwrap_or_else(|_| Err(Error::new("reading CPUID panicked")));
        (told, answered)
    });
    both_or_either(told, answered)
}

fn both_or_either(
    told: Result<Topology, Error>,
    answered: Result<(Topology, Dump), Error>,
) -> Result<Loaded, Error> {
    match (told, answered) {
        (Ok(told), Ok((answered, dump))) => {
            Ok(Loaded { topology: reconcile(told, &answered), dump: Some(dump) })
        }
        (Ok(told), Err(_)) => Ok(told.into()),
        (Err(_), Ok((topology, dump))) => Ok(Loaded { topology, dump: Some(dump) }),
        (Err(sysfs), Err(cpuid)) => Err(Error::new(format!("{sysfs}; CPUID: {cpuid}"))),
    }
}

/// The CPUs that this process may run on; CPUID can be asked on no others.
fn allowed_cpus() -> Result<CpuSet, Error> {
    let path = Path::new("/proc/thread-self/status");
    let status = std::fs::read_to_string(path).map_err(|error| Error::io(path, &error))?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.ok_or_else(|| Error::new("has no Cpus_allowed_list").in_file(path))?.parse()
}
