//! Whether an OpenMP program can run on coho's teams, found out without running it.

mod imports;
mod told;

use std::ffi::{CString, OsString, c_char, c_int};
use std::fmt;
use std::path::PathBuf;

use libloading::{Library, Symbol};
use serde::Serialize;

use crate::preload;
pub use imports::Import;
pub(crate) use told::Told;
pub use told::{Otherwise, Ran};

/// What the preloaded library would do with a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Whether it would take over.
    pub takes_over: bool,
    /// The functions of OpenMP that the program and its libraries import, sorted.
    pub imports: Vec<String>,
    /// Those that the library does not provide.
    pub unsupported: Vec<String>,
    /// Why it would stand aside, or that there is nothing to take over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a user can do about the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
    /// Arguments that are OpenMP programs themselves, as those of `mpirun`, and whether it would take over there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
}

/// A program among the arguments of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// As it is given.
    pub program: String,
    /// Whether the library would take over in it.
    pub takes_over: bool,
    /// Why it would stand aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Decision {
    fn not(why: String) -> Self {
        Self {
            takes_over: false,
            imports: Vec::new(),
            unsupported: Vec::new(),
            reason: Some(why),
            advice: None,
            arguments: Vec::new(),
        }
    }
}

/// Why it is not known what the library would do.
#[derive(Debug)]
pub enum Error {
    /// There is no such program.
    NoProgram(OsString),
    /// The program's imports cannot be read.
    Imports(String),
    /// There is no library to ask.
    NoLibrary(preload::Error),
    /// The library cannot be loaded.
    Library(PathBuf, libloading::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram(program) => write!(f, "there is no program {}", program.display()),
            Self::Imports(why) => f.write_str(why),
            Self::NoLibrary(error) => error.fmt(f),
            Self::Library(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

/// What the library would do with a command: with its program and, if that has no OpenMP itself, with the programs among
/// its arguments.
///
/// # Errors
/// If the program or the library cannot be read.
pub fn check_command(command: &[OsString]) -> Result<Decision, Error> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let mut decision = check(program)?;
    if decision.imports.is_empty() {
        let argument = |word: &OsString| {
            let Decision { takes_over, imports, reason, .. } = check(word).ok()?;
            let program = word.to_string_lossy().into_owned();
            (!imports.is_empty()).then_some(Argument { program, takes_over, reason })
        };
        decision.arguments = arguments.iter().filter_map(argument).collect();
    }
    Ok(decision)
}

/// Asks the library itself. Libraries that the program opens while it runs, and programs that it starts, are not seen.
///
/// # Errors
/// If the program or the library cannot be read.
pub fn check(program: &OsString) -> Result<Decision, Error> {
    let path = preload::find(program).ok_or_else(|| Error::NoProgram(program.clone()))?;
    if let Some(why) = preload::objection(&path.clone().into_os_string()) {
        return Ok(Decision::not(why.to_string()));
    }
    if imports::is_script(&path) {
        return Ok(Decision::not("it is a script".into()));
    }
    let imports = imports::of(&path).map_err(Error::Imports)?;
    let library = preload::path(preload::Library::OpenMp).map_err(Error::NoLibrary)?;
    let failed = |error: libloading::Error| Error::Library(library.clone(), error);
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
        Ok(decide(&imports, service, &String::from_utf8_lossy(&why)))
    }
}

/// Decides by what the library says about each import: 0 if it is not an OpenMP function, 3 if it is not served.
fn decide(imports: &[Import], service: impl Fn(&Import) -> c_int, objection: &str) -> Decision {
    let names = |wanted: &dyn Fn(c_int) -> bool| {
        let mut names: Vec<_> = imports
            .iter()
            .filter(|import| wanted(service(import)))
            .map(|import| import.name.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let (imports, unsupported) = (names(&|service| service != 0), names(&|service| service == 3));
    let reason = if imports.is_empty() {
        Some("it imports no OpenMP functions".into())
    } else if !objection.is_empty() {
        Some(objection.into())
    } else {
        (!unsupported.is_empty()).then(|| format!("imports {}", unsupported.join(" ")))
    };
    let advice = reason.as_deref().filter(|why| told::needs_llvms(why)).map(|_| told::LLVMS);
    Decision { takes_over: reason.is_none(), imports, unsupported, reason, advice, arguments: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_import_that_is_not_served_is_enough() {
        let imports = |names: &[&str]| -> Vec<Import> {
            names.iter().map(|name| Import { name: (*name).into(), version: None }).collect()
        };
        let service = |import: &Import| match import.name.as_str() {
            "GOMP_parallel" => 1,
            "GOMP_target" => 3,
            _ => 0,
        };
        let decision = decide(&imports(&["puts", "GOMP_parallel"]), service, "");
        assert_eq!((decision.takes_over, decision.imports), (true, vec!["GOMP_parallel".to_owned()]));
        let decision = decide(&imports(&["GOMP_target", "GOMP_parallel"]), service, "");
        assert_eq!(decision.reason.as_deref(), Some("imports GOMP_target"));
        assert_eq!(decision.unsupported, ["GOMP_target"]);
        let decision = decide(&imports(&["GOMP_parallel"]), service, "COHO_OPENMP=off");
        assert_eq!((decision.takes_over, decision.reason.as_deref()), (false, Some("COHO_OPENMP=off")));
        assert!(!decide(&imports(&["puts"]), service, "").takes_over);
    }
}
