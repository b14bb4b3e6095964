//! What keeps libraries from being preloaded into a program.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{find, sanitizer};

/// Why no library is preloaded into a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    program: PathBuf,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    MoreRights,
    Static,
    Musl,
    Bits32,
    Sanitizer(&'static str),
}

impl Objection {
    /// Whether such a program can be traced instead.
    pub fn can_be_traced(&self) -> bool {
        matches!(self.reason, Reason::Static | Reason::Musl | Reason::Bits32)
    }

    /// Whether a library that is preloaded ends it; others go without it, and programs that they start have it.
    fn is_fatal(&self) -> bool {
        matches!(self.reason, Reason::Musl | Reason::Sanitizer(_))
    }

    /// Whether its instructions can be read.
    pub fn can_be_read(&self) -> bool {
        self.reason != Reason::Bits32
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.program.display())?;
        f.write_str(match self.reason {
            Reason::MoreRights => {
                "it runs with more rights than its user, so no library can be preloaded into it"
            }
            Reason::Static => "it is linked statically, so no library can be preloaded into it",
            Reason::Musl => "it is linked with musl, and coho's libraries with glibc",
            Reason::Bits32 => "it is a 32-bit program, and coho's libraries are 64-bit",
            Reason::Sanitizer(why) => why,
        })
    }
}

/// Why no library is preloaded into a program; `None` if nothing prevents it. A script is none, and what it starts has the
/// libraries, unless they would end the program that reads it.
pub fn objection(program: &OsString) -> Option<Objection> {
    let program = find(program)?;
    match interpreter(&program) {
        Some(interpreter) => objection_to(interpreter).filter(Objection::is_fatal),
        None => objection_to(program),
    }
}

/// Whether a library that is preloaded into a program ends it.
pub fn ends_program(program: &OsString) -> bool {
    objection(program).is_some_and(|objection| objection.is_fatal())
}

fn objection_to(program: PathBuf) -> Option<Objection> {
    let mode = fs::metadata(&program).ok()?.mode();
    let reason = if mode & 0o6000 != 0 {
        Reason::MoreRights
    } else {
        match linked_as(&head(&program)?)? {
            Linkage::Dynamic => Reason::Sanitizer(sanitizer::objection(&program)?),
            Linkage::Static => Reason::Static,
            Linkage::Musl => Reason::Musl,
            Linkage::Bits32 => Reason::Bits32,
        }
    };
    Some(Objection { program, reason })
}

/// A file's beginning.
fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = vec![0; 4096];
    let read = File::open(path).ok()?.read(&mut head).ok()?;
    head.truncate(read);
    Some(head)
}

/// The program that reads a script, as execve(2) finds it; `None` if the file is no script.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let head = head(script)?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?.trim_ascii_start();
    let name = line.split(u8::is_ascii_whitespace).next().filter(|name| !name.is_empty())?;
    Some(OsStr::from_bytes(name).into())
}

/// How a program is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Linkage {
    /// A loader puts it together with its libraries.
    Dynamic,
    /// The same, by the loader of another C library.
    Musl,
    /// It is whole by itself.
    Static,
    /// It has 32-bit code.
    Bits32,
}

/// How an ELF program is linked, by its file's beginning; `None` if it is none (a script, say).
fn linked_as(head: &[u8]) -> Option<Linkage> {
    const INTERPRETER: u32 = 3;
    if head.starts_with(b"\x7fELF\x01") {
        return Some(Linkage::Bits32);
    }
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?) as usize);
    let table = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?) as usize;
    let (size, count) = (half(54)?, half(56)?);
    for index in 0..count {
        let at = table.checked_add(index * size)?;
        let kind = head.get(at..at.checked_add(4)?)?;
        if u32::from_le_bytes(kind.try_into().ok()?) == INTERPRETER {
            let word =
                |from: usize| Some(u64::from_le_bytes(head.get(from..from + 8)?.try_into().ok()?) as usize);
            let name = word(at + 8).zip(word(at + 32));
            // A name further on in the file is another loader's than musl's, whose programs begin with it.
            let name = name.and_then(|(from, bytes)| head.get(from..from.checked_add(bytes)?));
            let file = name.unwrap_or_default().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            return Some(if file.starts_with(b"ld-musl-") { Linkage::Musl } else { Linkage::Dynamic });
        }
    }
    Some(Linkage::Static)
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn a_dynamic_program_is_told_from_a_static_one_and_from_a_script() {
        let head = fs::read(env::current_exe().unwrap()).unwrap();
        let own = if cfg!(target_feature = "crt-static") {
            Linkage::Static
        } else if cfg!(target_env = "musl") {
            Linkage::Musl
        } else {
            Linkage::Dynamic
        };
        assert_eq!(linked_as(&head[..4096]), Some(own));
        let mut without = head[..4096].to_vec();
        without[56] = 0;
        without[57] = 0;
        assert_eq!(linked_as(&without), Some(Linkage::Static));
        assert_eq!(linked_as(b"#!/bin/sh\n"), None);
        let mut short = head[..4096].to_vec();
        short[4] = 1;
        assert_eq!(linked_as(&short), Some(Linkage::Bits32));
        for length in 0..64 {
            assert!(linked_as(&head[..length]).is_none_or(|linkage| linkage == own), "{length}");
        }
    }

    /// The beginning of a 64-bit program whose only header names this loader.
    fn head_with(loader: &str) -> Vec<u8> {
        let mut head = b"\x7fELF\x02\x01".to_vec();
        head.resize(64 + 56, 0);
        head[32] = 64;
        head[54] = 56;
        head[56] = 1;
        head[64] = 3;
        head[64 + 8] = 120;
        head[64 + 32] = loader.len() as u8 + 1;
        head.extend(loader.bytes().chain([0]));
        head
    }

    #[test]
    fn nothing_is_preloaded_into_a_program_of_musl_or_a_script_that_one_reads() {
        let folder = tempfile::tempdir().unwrap();
        let [musl, glibc] = ["ld-musl-x86_64.so.1", "ld-linux-x86-64.so.2"].map(|loader| {
            let path = folder.path().join(loader);
            fs::write(&path, head_with(&format!("/lib/{loader}"))).unwrap();
            path
        });
        for (reader, ends) in [(&musl, true), (&glibc, false)] {
            assert_eq!(ends_program(&reader.into()), ends, "{reader:?}");
            for line in ["#!READER", "#! READER -e", "#!READER\t-e\necho"] {
                let script = folder.path().join("script");
                fs::write(&script, line.replace("READER", reader.to_str().unwrap())).unwrap();
                assert_eq!(ends_program(&script.clone().into()), ends, "{line} by {reader:?}");
                assert_eq!(objection(&script.into()).map(|one| one.program), ends.then(|| reader.clone()));
            }
        }
    }

    #[test]
    fn a_program_of_another_c_library_is_told_by_its_loader() {
        for (loader, linkage) in [
            ("/lib/ld-musl-x86_64.so.1", Linkage::Musl),
            ("/lib64/ld-linux-x86-64.so.2", Linkage::Dynamic),
            ("/nix/store/x-glibc-2.40/lib/ld-linux-x86-64.so.2", Linkage::Dynamic),
            ("/ld-musl-x/ld-linux-aarch64.so.1", Linkage::Dynamic),
        ] {
            assert_eq!(linked_as(&head_with(loader)), Some(linkage), "{loader}");
        }
    }
}
