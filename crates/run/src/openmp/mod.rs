//! Whether an OpenMP program can run on coho's teams, found out without running it.

mod choices;
mod told;

use std::ffi::{CString, OsString, c_char, c_int};

use libloading::{Library, Symbol};
use serde::Serialize;

pub use crate::imports::Import;
use crate::imports::{self, Needs, NotExamined, Runtimes};
use crate::preload;
pub use choices::{Choices, Chosen, Region, Tried};
pub(crate) use told::Told;
pub use told::{Otherwise, Ran};

/// How the files of OpenMP's runtimes begin, and the compilers' name of each.
const RUNTIMES: &Runtimes =
    &[("libgomp", "libgomp"), ("libomp.", "libomp"), ("libomp-", "libomp"), ("libiomp5", "libomp")];

/// What the preloaded library would do with a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Whose runtime it needs: `libgomp`, `libomp`, `both` or `none`.
    pub runtime: &'static str,
    /// Whether coho's teams would run it.
    pub served: bool,
    /// The functions that they lack for it, sorted.
    pub missing: Vec<String>,
    /// The functions of OpenMP that the program and its libraries import, sorted.
    pub imports: Vec<String>,
    /// Why its own runtime would run it, or that there is nothing to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Arguments that are OpenMP programs themselves, as those of `mpirun`, and whether it would take over there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
}

/// A program among the arguments of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// As it is given.
    pub program: String,
    /// Whether coho's teams would run it.
    pub served: bool,
    /// Why its own runtime would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Decision {
    fn not(why: String) -> Self {
        Self {
            runtime: "none",
            served: false,
            missing: Vec::new(),
            imports: Vec::new(),
            reason: Some(why),
            arguments: Vec::new(),
        }
    }
}

/// What the library would do with a command: with its program and, if that has no OpenMP itself, with the programs among
/// its arguments.
///
/// # Errors
/// If the program or the library cannot be read.
pub fn check_command(command: &[OsString]) -> Result<Decision, NotExamined> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let mut decision = check(program)?;
    if decision.imports.is_empty() {
        let of_openmp = |word: &OsString| check(word).ok().filter(|decision| !decision.imports.is_empty());
        let found = imports::among(arguments, of_openmp);
        decision.arguments = found
            .map(|(program, Decision { served, reason, .. })| Argument { program, served, reason })
            .collect();
    }
    Ok(decision)
}

/// Asks the library itself. Libraries that the program opens while it runs, and programs that it starts, are not seen.
///
/// # Errors
/// If the program or the library cannot be read.
pub fn check(program: &OsString) -> Result<Decision, NotExamined> {
    let needs = match imports::of_program(program, RUNTIMES)? {
        Ok(needs) => needs,
        Err(why) => return Ok(Decision::not(why)),
    };
    let library = preload::path(preload::Library::OpenMp).map_err(NotExamined::NoLibrary)?;
    let failed = |error: libloading::Error| NotExamined::Library(library.clone(), error);
    // SAFETY: coho's own library, which does nothing in a program without OpenMP; the functions have these types.
    unsafe {
        let loaded = Library::new(&library).map_err(failed)?;
        let serves: Symbol<'_, unsafe extern "C" fn(*const c_char, *const c_char) -> c_int> =
            loaded.get(b"coho_openmp_serves\0").map_err(failed)?;
        let objection: Symbol<'_, unsafe extern "C" fn(*mut c_char, usize) -> usize> =
            loaded.get(b"coho_openmp_objection\0").map_err(failed)?;
        let service = |import: &Import| {
            let name = CString::new(import.name.as_str()).unwrap_or_default();
            let version = import.version.as_deref().and_then(|version| CString::new(version).ok());
            serves(name.as_ptr(), version.as_ref().map_or(std::ptr::null(), |version| version.as_ptr()))
        };
        let mut why = vec![0u8; 1000];
        let length = objection(why.as_mut_ptr().cast(), why.len());
        why.truncate(length);
        Ok(decide(&needs, service, &String::from_utf8_lossy(&why)))
    }
}

/// Decides by what the library says about each import: 0 if it is not an OpenMP function, 3 if it is not served.
fn decide(needs: &Needs, service: impl Fn(&Import) -> c_int, objection: &str) -> Decision {
    let names = |wanted: &dyn Fn(c_int) -> bool| {
        let mut names: Vec<_> = needs
            .imports
            .iter()
            .filter(|import| wanted(service(import)))
            .map(|import| import.name.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let (imports, missing) = (names(&|service| service != 0), names(&|service| service == 3));
    let reason = if imports.is_empty() {
        Some("it imports no OpenMP functions".into())
    } else if !objection.is_empty() {
        Some(objection.into())
    } else {
        (!missing.is_empty()).then(|| format!("imports {}", missing.join(" ")))
    };
    let runtime = runtime(&imports, needs);
    Decision { runtime, served: reason.is_none(), missing, imports, reason, arguments: Vec::new() }
}

/// Whose runtime a program needs: those that it is linked with, unless what it imports is found nowhere yet.
fn runtime(imports: &[String], needs: &Needs) -> &'static str {
    let begins =
        |prefixes: &[&str]| imports.iter().any(|name| prefixes.iter().any(|one| name.starts_with(one)));
    let is_linked = |name: &str| needs.runtimes.iter().any(|(linked, _)| *linked == name);
    let llvms = is_linked("libomp") || begins(&["__kmpc_", "kmp_"]);
    let gnus = is_linked("libgomp") || begins(&["GOMP_"]) && !llvms;
    match (gnus, llvms) {
        _ if imports.is_empty() => "none",
        (true, true) => "both",
        (false, true) => "libomp",
        _ => "libgomp",
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn one_import_that_is_not_served_is_enough() {
        let imports = |names: &[&str]| Needs {
            imports: names.iter().map(|name| Import { name: (*name).into(), version: None }).collect(),
            ..Needs::default()
        };
        let service = |import: &Import| match import.name.as_str() {
            "GOMP_parallel" => 1,
            "GOMP_target" => 3,
            _ => 0,
        };
        let decision = decide(&imports(&["puts", "GOMP_parallel"]), service, "");
        assert_eq!((decision.served, decision.imports), (true, vec!["GOMP_parallel".to_owned()]));
        let decision = decide(&imports(&["GOMP_target", "GOMP_parallel"]), service, "");
        assert_eq!(decision.reason.as_deref(), Some("imports GOMP_target"));
        assert_eq!(decision.missing, ["GOMP_target"]);
        let decision = decide(&imports(&["GOMP_parallel"]), service, "COHO_OPENMP=off");
        assert_eq!((decision.served, decision.reason.as_deref()), (false, Some("COHO_OPENMP=off")));
        let decision = decide(&imports(&["puts"]), service, "");
        assert_eq!((decision.served, decision.runtime), (false, "none"));
    }

    #[test]
    fn the_runtime_is_the_one_that_the_program_is_linked_with() {
        let of = |names: &[&str], runtimes: &[&'static str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            runtime(
                &names,
                &Needs {
                    imports: Vec::new(),
                    runtimes: runtimes.iter().map(|&one| (one, PathBuf::new())).collect(),
                },
            )
        };
        assert_eq!(of(&["GOMP_parallel"], &["libgomp"]), "libgomp");
        assert_eq!(of(&["__kmpc_fork_call"], &["libomp"]), "libomp");
        // Code of gcc's that is linked with LLVM's runtime, which has libgomp's functions, too.
        assert_eq!(of(&["GOMP_parallel", "__kmpc_fork_call"], &["libomp"]), "libomp");
        assert_eq!(of(&["GOMP_parallel", "__kmpc_fork_call"], &["libgomp", "libomp"]), "both");
        assert_eq!(of(&["omp_get_thread_num"], &["libomp"]), "libomp");
        assert_eq!(of(&[], &["libgomp"]), "none");
    }
}
