//! Whether coho's runtime can take the place of ThreadSanitizer's in a program.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::linked::{Linked, linked};
use super::{Error, Library, Objection, find, objection, path};

/// The runtime's name in programs; coho's takes its place.
const RUNTIME: &str = "libtsan.so.2";
/// Beginnings of what only the runtime has.
const ITS_OWN: [&str; 3] = ["__tsan_", "__sanitizer_", "Annotate"];
/// Both compilers call the same functions, but only gcc links their runtime as a library of this name.
const LINK_BY_GCC: &str =
    "link the same objects by gcc, or g++ for C++: `gcc -fsanitize=thread -o PROGRAM OBJECTS`";
/// Functions that are named of those that are missing.
const MOST_NAMED: usize = 4;

/// Why a program's accesses cannot be counted.
#[derive(Debug)]
pub enum NotCounted {
    /// There is no such program.
    Absent(OsString),
    /// It is a script, say.
    NoElf(PathBuf),
    /// Nothing can be preloaded into it.
    Objection(Objection),
    /// The compiler has put no calls into it.
    NoCalls(PathBuf),
    /// The runtime is a part of it.
    OwnRuntime(PathBuf),
    /// It needs another runtime.
    OtherRuntime(PathBuf, String),
    /// It calls functions that coho's runtime lacks.
    Lacking(PathBuf, Vec<String>),
    /// coho's runtime is not there.
    Preload(Error),
}

impl fmt::Display for NotCounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(name) => write!(f, "{}: there is no such program", name.display()),
            Self::NoElf(path) => write!(
                f,
                "{}: it is no 64-bit ELF program; name the program itself, not what starts it",
                path.display()
            ),
            Self::Objection(why) => why.fmt(f),
            Self::NoCalls(path) => write!(
                f,
                "{}: it was not built with -fsanitize=thread; compile and link it by gcc with `-fsanitize=thread -g`",
                path.display()
            ),
            Self::OwnRuntime(path) => write!(
                f,
                "not available: {}: the runtime of -fsanitize=thread is a part of it, as clang and -static-libtsan \
                 link it; {LINK_BY_GCC}",
                path.display()
            ),
            Self::OtherRuntime(path, needed) => {
                write!(
                    f,
                    "not available: {}: it needs {needed}, and coho takes the place of {RUNTIME}",
                    path.display()
                )?;
                if needed.starts_with("libclang_rt.") { write!(f, "; {LINK_BY_GCC}") } else { Ok(()) }
            }
            Self::Lacking(path, names) => {
                let more = names.len().saturating_sub(MOST_NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let names = names[..names.len().min(MOST_NAMED)].join(", ");
                write!(
                    f,
                    "not available: {}: it calls {names}{more}, which coho's runtime lacks",
                    path.display()
                )
            }
            Self::Preload(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NotCounted {}

/// Whether a program's accesses can be counted.
///
/// # Errors
/// [`NotCounted`] if they cannot.
pub fn check_counted(program: &OsString) -> Result<(), NotCounted> {
    let file =
        find(program).filter(|file| file.is_file()).ok_or_else(|| NotCounted::Absent(program.clone()))?;
    if let Some(why) = objection(program) {
        return Err(NotCounted::Objection(why));
    }
    let linked = linked(&file).ok_or_else(|| NotCounted::NoElf(file.clone()))?;
    let runtime = path(Library::Exact).map_err(NotCounted::Preload)?;
    check(file, &linked, &provided(&runtime))
}

/// What coho's runtime has; nothing where it does not work.
fn provided(runtime: &Path) -> BTreeSet<String> {
    linked(runtime).unwrap_or_default().defines
}

fn check(file: PathBuf, program: &Linked, provided: &BTreeSet<String>) -> Result<(), NotCounted> {
    let is_runtime = |name: &&String| name.starts_with("libtsan.so") || name.starts_with("libclang_rt.tsan");
    let is_its_own = |name: &&String| ITS_OWN.iter().any(|begin| name.starts_with(begin));
    let needed = program.needs.iter().find(is_runtime);
    let has_runtime = program.holds.contains("__tsan_init") || program.defines.contains("__tsan_init");
    match needed {
        Some(name) if name == RUNTIME => {}
        Some(name) => return Err(NotCounted::OtherRuntime(file, name.clone())),
        None if has_runtime => return Err(NotCounted::OwnRuntime(file)),
        None => return Err(NotCounted::NoCalls(file)),
    }
    let asked = program.asks.iter().filter(is_its_own);
    let lacking: Vec<String> = asked.filter(|name| !provided.contains(*name)).cloned().collect();
    if lacking.is_empty() { Ok(()) } else { Err(NotCounted::Lacking(file, lacking)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(needs: &[&str], asks: &[&str], holds: &[&str]) -> Result<(), String> {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let program = Linked { needs: set(needs), asks: set(asks), holds: set(holds), ..Linked::default() };
        check("a".into(), &program, &set(&["__tsan_init", "__tsan_read8"])).map_err(|why| why.to_string())
    }

    #[test]
    fn a_program_is_taken_over_if_all_that_it_calls_is_there() {
        let libraries = ["libtsan.so.2", "libc.so.6"];
        assert_eq!(told(&libraries, &["__tsan_init", "__tsan_read8", "malloc"], &["main"]), Ok(()));
        let lacking = told(&libraries, &["__tsan_x", "AnnotateHappensBefore"], &[]).unwrap_err();
        assert!(lacking.contains("calls AnnotateHappensBefore, __tsan_x, which"), "{lacking}");
        let without = told(&["libc.so.6"], &["malloc"], &["main"]).unwrap_err();
        assert!(without.contains("not built with -fsanitize=thread"), "{without}");
        let within = told(&["libc.so.6"], &[], &["__tsan_init"]).unwrap_err();
        assert!(within.starts_with("not available: a: the runtime"), "{within}");
        assert!(within.ends_with(LINK_BY_GCC), "{within}");
        let other = told(&["libtsan.so.0"], &[], &[]).unwrap_err();
        assert!(other.contains("needs libtsan.so.0"), "{other}");
    }
}
