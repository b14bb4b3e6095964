//! What a command is remembered by: its whole line, with the settings under which it ran, its folder, and the programs
//! and scripts that it names.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use coho_profile::{Runs, Trial, TriedFile};

use super::{Pinned, Wish};
use crate::preload;

/// The most words of a command that are looked at for scripts.
const LOOKED_AT: usize = 64;
/// Programs that run the first file they are given.
const INTERPRETERS: [&str; 19] = [
    "sh", "bash", "dash", "ash", "ksh", "zsh", "fish", "python", "pypy", "perl", "ruby", "node", "lua",
    "php", "tclsh", "guile", "julia", "Rscript", "java",
];

/// Which command this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// Its name: the one that the user gave, or its line.
    pub(super) name: String,
    /// The folder it runs in; `None` if a name was given: who names a command says that it is the same everywhere.
    pub(super) folder: Option<String>,
    /// The programs and scripts that it names; none if a name was given.
    pub(super) programs: Vec<TriedFile>,
}

/// Why no trial of a command is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// It was never tried.
    New,
    /// This program or script has changed since.
    Changed(String),
    /// It was tried on these CPUs, and others may be used now.
    OtherCpus(Vec<u32>),
}

impl Identity {
    pub(super) fn of(wish: &Wish) -> Self {
        if let Some(name) = &wish.memory.name {
            return Self { name: name.clone(), folder: None, programs: Vec::new() };
        }
        let location = &wish.location;
        let settings = [
            location.threads.map(|threads| format!("--threads {threads}")),
            location.pinned.map(|pinned| match pinned {
                Pinned::Threads => "--per-thread".to_owned(),
                Pinned::Processes => "--per-process".to_owned(),
            }),
            location.omp_places.then(|| "--omp-places".to_owned()),
            wish.openmp.is_some().then(|| "--openmp".to_owned()),
            wish.finds_threads().then(|| "--threads auto".to_owned()),
        ];
        let settings: Vec<String> = settings.into_iter().flatten().collect();
        let line = wish.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let name = if settings.is_empty() { line } else { format!("{} -- {line}", settings.join(" ")) };
        let folder = env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned());
        Self { name, folder, programs: programs(&wish.command) }
    }

    /// The name in these runs: one that another folder's command has taken is followed by the folder.
    pub(super) fn name_in(&self, runs: &Runs) -> String {
        match (&self.folder, runs.commands.get(&self.name)) {
            (Some(folder), Some(other)) if other.folder.as_ref() != Some(folder) => {
                format!("{} (in {})", self.name, quoted(folder.as_ref()))
            }
            _ => self.name.clone(),
        }
    }

    /// Whether a trial was of the same programs, or which has changed.
    pub(super) fn check(&self, trial: &Trial) -> Result<(), Unknown> {
        if self.folder.is_none() || self.programs == trial.programs {
            return Ok(());
        }
        let changed = self.programs.iter().find(|one| !trial.programs.contains(one));
        Err(changed.map_or(Unknown::New, |one| Unknown::Changed(one.path.clone())))
    }
}

/// The program, and those words that are programs or scripts themselves.
fn programs(command: &[OsString]) -> Vec<TriedFile> {
    let Some((first, rest)) = command.split_first() else { return Vec::new() };
    let program = preload::find(first);
    let mut runs_next = program.as_deref().is_some_and(is_interpreter);
    let scripts = rest.iter().take(LOOKED_AT).filter_map(|word| {
        let path = Path::new(word);
        let is_file = !word.as_bytes().starts_with(b"-") && path.is_file();
        let is_run = is_file && (std::mem::take(&mut runs_next) || is_program(path));
        is_run.then(|| path.to_owned())
    });
    program.into_iter().chain(scripts).filter_map(|path| described(&path)).collect()
}

/// Whether it is one of [`INTERPRETERS`], whatever its version: `python3.11`.
fn is_interpreter(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Whether a file may be executed and begins like a program or a script.
fn is_program(path: &Path) -> bool {
    let mut head = [0; 4];
    let may_run = fs::metadata(path).is_ok_and(|found| found.mode() & 0o111 != 0);
    let mut is_read = || File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    may_run && is_read() && (head.starts_with(b"#!") || head == *b"\x7fELF")
}

fn described(path: &Path) -> Option<TriedFile> {
    let path: PathBuf = fs::canonicalize(path).ok()?;
    let found = fs::metadata(&path).ok()?;
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ns = modified.map_or(0, |since| since.as_nanos() as u64);
    Some(TriedFile { path: path.to_string_lossy().into_owned(), bytes: found.len(), modified_ns })
}

/// A word as a shell reads it.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.bytes().all(|byte| is_plain(&byte)) => text.to_owned(),
        Some(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let escaped = word.as_bytes().iter().map(|&byte| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            });
            format!("$'{}'", escaped.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn words_are_told_apart_whatever_is_in_them() {
        let word = |bytes: &[u8]| quoted(&OsString::from_vec(bytes.to_vec()));
        assert_eq!(word(b"--threads=2"), "--threads=2");
        assert_eq!([word(b""), word(b"a b"), word(b"it's")], ["''", "'a b'", "'it'\\''s'"]);
        assert_eq!([word(b"\xff"), word(b"\\xff"), word(b"a\nb")], ["$'\\xff'", "'\\xff'", "$'a\\x0ab'"]);
    }

    #[test]
    fn a_script_counts_as_a_program_and_data_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path.into_os_string()
        };
        let (plain, script) = (at("plain", "echo 1", 0o644), at("script", "#!/bin/sh\n", 0o755));
        let data = at("data", "1 2 3 4", 0o755);
        let names = |command: &[&OsStr]| -> Vec<String> {
            let command: Vec<OsString> = command.iter().map(|&word| word.to_owned()).collect();
            let paths = programs(&command).into_iter().map(|one| PathBuf::from(one.path));
            paths.skip(1).map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        let word = OsStr::new;
        assert_eq!(names(&[word("sh"), word("-e"), &plain, &data]), ["plain"]);
        assert_eq!(names(&[word("env"), word("A=1"), &script, &data]), ["script"]);
        assert!(names(&[word("cat"), &plain, &data]).is_empty());
        assert!(is_interpreter(Path::new("/usr/bin/python3.11")) && !is_interpreter(Path::new("/bin/cat")));
    }
}
