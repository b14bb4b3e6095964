//! The functions over each MPI that the machine had when this was built, and which of them fit the launcher.

use std::fs::File;
use std::io::{Error, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

use anyhow::{Context, Result, bail};
use coho_probe::mpi::Library;

include!(concat!(env!("OUT_DIR"), "/packed.rs"));

/// The environment variable that chooses an MPI where nothing else tells.
const CHOICE: &str = "COHO_MPI";
/// Variables that a launcher sets, and whose it is.
const LAUNCHERS: [(&str, &str); 5] = [
    ("OMPI_COMM_WORLD_SIZE", "openmpi"),
    ("OMPI_UNIVERSE_SIZE", "openmpi"),
    ("PMI_RANK", "mpich"),
    ("PMI_SIZE", "mpich"),
    ("PMI_FD", "mpich"),
];
/// Variables by which a launcher says how many ranks there are.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Starts the MPI by which this process was launched.
pub(crate) fn start() -> Result<Library> {
    let variable = |name: &str| std::env::var(name).ok();
    let kinds: Vec<_> = PACKED.iter().map(|(kind, _)| *kind).collect();
    let kind = choose(&kinds, &variable)?;
    let (_, bytes) = PACKED.iter().find(|(packed, _)| *packed == kind).expect("it was chosen from these");
    let file = in_memory(bytes).context("memory for the functions over MPI")?;
    let library = Library::start(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
    let launched = SIZES.iter().find_map(|name| variable(name)?.parse().ok());
    if let Some(launched) = launched.filter(|&launched: &i32| launched != library.ranks) {
        bail!(
            "{launched} ranks were launched, and {} finds {}: the launcher is another MPI's",
            library.version,
            library.ranks
        );
    }
    Ok(library)
}

/// Which of the packed kinds to use.
fn choose<'k>(kinds: &[&'k str], variable: &dyn Fn(&str) -> Option<String>) -> Result<&'k str> {
    if kinds.is_empty() {
        bail!("built without an MPI: `make mpi` packs those whose compilers (mpicc) it finds");
    }
    let launcher = LAUNCHERS.iter().find(|(name, _)| variable(name).is_some());
    let wanted = variable(CHOICE).or_else(|| launcher.map(|(_, kind)| (*kind).to_owned()));
    match (wanted, kinds) {
        (Some(wanted), _) => match kinds.iter().find(|kind| **kind == wanted) {
            Some(kind) => Ok(kind),
            None => bail!(
                "launched by {wanted}, and built for {} alone: run `make mpi` again",
                kinds.join(" and ")
            ),
        },
        (None, [only]) => Ok(only),
        (None, _) => {
            bail!("built for {}: {CHOICE} must say which of them launched this", kinds.join(" and "))
        }
    }
}

/// A file of these bytes that has no place in a folder.
fn in_memory(bytes: &[u8]) -> Result<File, Error> {
    // SAFETY: the name is a string with its end.
    let file = unsafe { libc::memfd_create(c"coho-mpi".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: new, and nobody else's.
    let mut file = unsafe { File::from_raw_fd(file) };
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_decides() {
        let both = ["mpich", "openmpi"];
        let choose = |kinds: &[&'static str], set: &[(&str, &str)]| {
            let variable = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            choose(kinds, &variable).map_err(|error| error.to_string())
        };
        assert_eq!(choose(&both, &[("PMI_RANK", "0")]), Ok("mpich"));
        assert_eq!(choose(&both, &[("OMPI_COMM_WORLD_SIZE", "2")]), Ok("openmpi"));
        assert_eq!(choose(&both, &[("OMPI_COMM_WORLD_SIZE", "2"), ("COHO_MPI", "mpich")]), Ok("mpich"));
        assert_eq!(choose(&both[1..], &[]), Ok("openmpi"));
        assert!(choose(&both, &[]).unwrap_err().contains("COHO_MPI must say"));
        assert!(
            choose(&both[..1], &[("OMPI_COMM_WORLD_SIZE", "2")]).unwrap_err().contains("for mpich alone")
        );
        assert!(choose(&[], &[]).unwrap_err().starts_with("built without an MPI"));
    }
}
