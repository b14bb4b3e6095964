//! The functions that a program and the libraries that it is linked with import, read from their files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::read::elf::{ElfFile64, ProgramHeader, Sym};
use object::{Endianness, elf};

use crate::preload;

/// Larger files are not read.
const LARGEST: u64 = 1 << 30;

/// A function imported from another object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// Its name.
    pub name: String,
    /// The required version.
    pub version: Option<String>,
}

#[derive(Debug, Default)]
struct Imports {
    strong: BTreeSet<Import>,
    /// Weak imports, which need not be defined anywhere.
    weak: BTreeSet<Import>,
}

/// How the files of runtimes begin, and a name of each.
pub(crate) type Runtimes = [(&'static str, &'static str)];

/// What a program needs.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The imports of the program and of the libraries that the loader finds for it, those of runtimes left out and, if
    /// there is no runtime, the weak ones.
    pub(crate) imports: Vec<Import>,
    /// The runtimes that it is linked with, and their files.
    pub(crate) runtimes: Vec<(&'static str, PathBuf)>,
}

/// Why it is not known what a preloaded library would do with a program.
#[derive(Debug)]
pub enum NotExamined {
    /// There is no such program.
    NoProgram(OsString),
    /// The program's imports cannot be read.
    Imports(String),
    /// There is no library to preload.
    NoLibrary(preload::Error),
    /// The library cannot be loaded.
    Library(PathBuf, libloading::Error),
}

impl fmt::Display for NotExamined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram(program) => write!(f, "there is no program {}", program.display()),
            Self::Imports(why) => f.write_str(why),
            Self::NoLibrary(error) => error.fmt(f),
            Self::Library(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for NotExamined {}

/// What a command's program needs, or why no library would do anything with it.
///
/// # Errors
/// If there is no such program, or its imports cannot be read.
pub(crate) fn of_program(program: &OsString, known: &Runtimes) -> Result<Result<Needs, String>, NotExamined> {
    let path = preload::find(program).ok_or_else(|| NotExamined::NoProgram(program.clone()))?;
    if let Some(why) = preload::objection(&path.clone().into_os_string()) {
        return Ok(Err(why.to_string()));
    }
    if is_script(&path) {
        return Ok(Err("it is a script".into()));
    }
    of(&path, known).map(Ok).map_err(NotExamined::Imports)
}

/// Those of a command's arguments that are programs of which `check` tells something, as those of `mpiexec`.
pub(crate) fn among<T>(
    arguments: &[OsString],
    check: impl Fn(&OsString) -> Option<T>,
) -> impl Iterator<Item = (String, T)> {
    arguments.iter().filter_map(move |word| Some((word.to_string_lossy().into_owned(), check(word)?)))
}

/// What a program and the libraries that the loader finds for it need, which may be some of these runtimes.
///
/// # Errors
/// If it is not a dynamically linked 64-bit ELF program of this machine's byte order, or cannot be read.
fn of(program: &Path, known: &Runtimes) -> Result<Needs, String> {
    let bytes = read(program)?;
    let mut imports = Imports::default();
    let asked = add(program, &bytes, &mut imports)?
        .ok_or_else(|| format!("{}: it names no loader", program.display()))?;
    // A program may name any file as its loader, and that file would be run.
    let own = own_loader()?;
    if asked != own {
        return Err(format!(
            "{}: its loader is {}, not {}",
            program.display(),
            asked.display(),
            own.display()
        ));
    }
    let mut runtimes = Vec::new();
    for library in libraries(&own, program)? {
        let file = library.file_name().map(|file| file.to_string_lossy()).unwrap_or_default();
        match known.iter().find(|(begin, _)| file.starts_with(begin)) {
            Some((_, runtime)) => runtimes.push((*runtime, library)),
            None => {
                add(&library, &read(&library)?, &mut imports)?;
            }
        }
    }
    if !runtimes.is_empty() {
        imports.strong.append(&mut imports.weak);
    }
    Ok(Needs { imports: imports.strong.into_iter().collect(), runtimes })
}

/// The loader of this command.
fn own_loader() -> Result<PathBuf, String> {
    let command = Path::new("/proc/self/exe");
    add(command, &read(command)?, &mut Imports::default())?.ok_or_else(|| "coho is linked statically".into())
}

/// Whether another program runs it.
fn is_script(path: &Path) -> bool {
    let mut begin = [0; 2];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"#!"
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Adds an object's imports; returns the loader that it asks for.
fn add(path: &Path, bytes: &[u8], imports: &mut Imports) -> Result<Option<PathBuf>, String> {
    let wrong = |error: object::Error| format!("{}: not a 64-bit ELF program: {error}", path.display());
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(wrong)?;
    let endian = file.endian();
    let sections = file.elf_section_table();
    let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM).map_err(wrong)?;
    let versions = sections.versions(endian, bytes).map_err(wrong)?;
    for (index, symbol) in symbols.enumerate() {
        if symbol.is_undefined(endian) && symbol.st_name(endian) != 0 {
            let name = symbols.symbol_name(endian, symbol).map_err(wrong)?;
            let version = versions.as_ref().and_then(|versions| {
                let version = versions.version(versions.version_index(endian, index)).ok()??;
                Some(String::from_utf8_lossy(version.name()).into_owned())
            });
            let kind =
                if symbol.st_bind() == elf::STB_WEAK { &mut imports.weak } else { &mut imports.strong };
            kind.insert(Import { name: String::from_utf8_lossy(name).into_owned(), version });
        }
    }
    let interpreter =
        |header: &elf::ProgramHeader64<Endianness>| header.interpreter(endian, bytes).ok().flatten();
    let loader = file.elf_program_headers().iter().find_map(interpreter);
    Ok(loader.map(|path| PathBuf::from(String::from_utf8_lossy(path).into_owned())))
}

/// The libraries that the loader would load, which it lists without running the program.
fn libraries(loader: &Path, program: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", loader.display());
    let output = Command::new(loader).arg("--list").arg(program).output().map_err(failed)?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", loader.display(), why.trim()));
    }
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

/// The paths of lines like `libm.so.6 => /lib/libm.so.6 (0x7f00)`, or `/opt/libx.so (0x7f00)` for a library that is
/// needed by its path.
fn listed(list: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let path = line.split_once("=> ").map_or(line.trim_start(), |(_, path)| path);
        let (path, _) = path.rsplit_once(" (")?;
        path.starts_with('/').then(|| path.into())
    };
    list.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_loader_are_read() {
        let list = "\tlinux-vdso.so.1 (0x7f)\n\tlibm.so.6 => /lib/x y/libm.so.6 (0x7f00)\n\tlibx.so => not found\n\
                    \t/opt/lib/liby.so (0x7f01)\n";
        assert_eq!(listed(list), ["/lib/x y/libm.so.6", "/opt/lib/liby.so"].map(PathBuf::from));
    }

    #[test]
    fn imports_of_this_program_have_versions() {
        let Needs { imports, runtimes } =
            of(&std::env::current_exe().unwrap(), &[("libc.", "libc")]).unwrap();
        assert!(matches!(runtimes[..], [("libc", _)]));
        let versioned = imports.iter().filter_map(|import| import.version.as_deref());
        assert!(versioned.into_iter().any(|version| version.starts_with("GLIBC_")), "{imports:?}");
        assert!(of(Path::new("/proc/self/status"), &[]).is_err());
    }
}
