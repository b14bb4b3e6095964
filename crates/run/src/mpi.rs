//! What coho's library would serve of a program's MPI, found out without running it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use serde::Serialize;

use crate::imports::{self, Needs, NotExamined, Runtimes};
use crate::preload::{self, linked};

/// How the files of MPI's libraries begin.
const LIBRARIES: &Runtimes = &[("libmpi", "MPI")];
/// The functions that the library serves.
pub const SERVED: [&str; 2] = ["MPI_Allreduce", "MPI_Barrier"];

/// What the preloaded library would do with a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The MPI it is linked with: `Open MPI`, `MPICH` (or another that shares its ABI), `other` or `none`.
    pub mpi: &'static str,
    /// Whether coho would serve some of its calls.
    pub served: bool,
    /// The functions that it would serve, sorted.
    pub serves: Vec<String>,
    /// The functions of MPI that the program and its libraries import, sorted.
    pub imports: Vec<String>,
    /// Why MPI would serve all, or that there is nothing to serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Arguments that are MPI programs, as those of `mpiexec`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
}

/// A program among the arguments of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// As it is given.
    pub program: String,
    /// What would be served of it.
    #[serde(flatten)]
    pub decision: Decision,
}

/// What the library would do with a command: with its program and, if that has no MPI itself, with the programs among its
/// arguments.
///
/// # Errors
/// If the program or the library cannot be read.
pub fn check_command(command: &[OsString]) -> Result<Decision, NotExamined> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let mut decision = check(program)?;
    if decision.imports.is_empty() {
        let of_mpi = |word: &OsString| check(word).ok().filter(|decision| !decision.imports.is_empty());
        let found = imports::among(arguments, of_mpi);
        decision.arguments = found.map(|(program, decision)| Argument { program, decision }).collect();
    }
    Ok(decision)
}

fn check(program: &OsString) -> Result<Decision, NotExamined> {
    let Needs { imports, runtimes } = match imports::of_program(program, LIBRARIES)? {
        Ok(needs) => needs,
        Err(why) => return Ok(decide("none", BTreeSet::new(), Some(why))),
    };
    preload::path(preload::Library::Mpi).map_err(NotExamined::NoLibrary)?;
    let libraries: Vec<_> = runtimes.into_iter().map(|(_, library)| library).collect();
    let of_mpi = imports.into_iter().map(|import| import.name).filter(|name| name.starts_with("MPI_"));
    Ok(decide(which(&libraries), of_mpi.collect(), None))
}

fn decide(mpi: &'static str, imports: BTreeSet<String>, objection: Option<String>) -> Decision {
    let serves: Vec<_> =
        SERVED.into_iter().filter(|&name| imports.contains(name)).map(str::to_owned).collect();
    let reason = objection.or_else(|| {
        if imports.is_empty() {
            Some("it imports no MPI functions".into())
        } else if serves.is_empty() {
            Some(format!("it imports neither of {}", SERVED.join(" and ")))
        } else if mpi == "other" {
            Some("it is linked with an MPI whose handles are not known".into())
        } else {
            None
        }
    });
    let served = reason.is_none();
    let serves = if served { serves } else { Vec::new() };
    Decision { mpi, served, serves, imports: imports.into_iter().collect(), reason, arguments: Vec::new() }
}

/// Which MPI these libraries are, by symbols that all programs of its ABI rely on.
fn which(libraries: &[PathBuf]) -> &'static str {
    let mut is_there = false;
    for library in libraries {
        let Some(linked) = linked::linked(library) else { continue };
        let has = |name: &str| linked.defines.contains(name);
        if has("ompi_mpi_comm_world") {
            return "Open MPI";
        }
        // Of the ABI of MPI 5, a program may have other handles.
        if has("MPIR_Dup_fn") && !has("PMPI_Abi_get_version") {
            return "MPICH";
        }
        is_there |= has("PMPI_Barrier");
    }
    if is_there { "other" } else { "none" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_is_what_is_imported_of_it() {
        let of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let decision = decide("MPICH", of(&["MPI_Barrier", "MPI_Send"]), None);
        assert!(decision.served && decision.serves == ["MPI_Barrier"] && decision.imports.len() == 2);
        let decision = decide("MPICH", of(&["MPI_Send"]), None);
        assert!(!decision.served && decision.reason.unwrap().starts_with("it imports neither"));
        let decision = decide("other", of(&["MPI_Barrier"]), None);
        assert!(!decision.served && decision.serves.is_empty());
        assert_eq!(decide("none", of(&[]), None).reason.as_deref(), Some("it imports no MPI functions"));
    }
}
