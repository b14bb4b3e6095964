//! Pins each thread of a program, by a library that is preloaded into it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The library, which `make install` puts beside the command and cargo into its build folder.
const LIBRARY: &str = "libcoho_pin.so";

/// Variables that have a program's threads take these CPUs in turn.
///
/// # Errors
/// If the library cannot be found, or lies where the loader cannot be told to look.
pub fn environment(order: &[u32]) -> Result<Vec<(OsString, OsString)>, String> {
    let library = library()?;
    if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Err(format!("{}: the loader takes no path with a blank or colon", library.display()));
    }
    let mut preload = library.into_os_string();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let list = order.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    Ok(vec![("LD_PRELOAD".into(), preload), ("COHO_PIN".into(), list.into())])
}

/// Installed in `PREFIX/lib/coho` for a command in `PREFIX/bin`; else beside the command.
fn library() -> Result<PathBuf, String> {
    let command = env::current_exe().map_err(|error| format!("where the command lies: {error}"))?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let places = [folder.join("../lib/coho"), folder.to_path_buf(), folder.join("deps")];
    let found = places.iter().map(|place| place.join(LIBRARY)).find(|path| path.is_file());
    let found = found.and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| format!("{LIBRARY} is neither in {} nor beside the command", places[0].display()))
}

/// Why a program's threads cannot be pinned by a preloaded library; `None` if nothing speaks against it.
pub fn objection(program: &OsString) -> Option<String> {
    let path = find(program)?;
    let mode = fs::metadata(&path).ok()?.mode();
    let objection = if mode & 0o6000 != 0 {
        "it runs with more rights than its user, and no library is preloaded into it"
    } else {
        let mut head = vec![0; 4096];
        let read = File::open(&path).ok()?.read(&mut head).ok()?;
        head.truncate(read);
        if is_dynamic(&head)? {
            return None;
        }
        "it is linked statically, and no library is preloaded into it"
    };
    Some(format!("{}: {objection}: its threads share all CPUs of the placement", path.display()))
}

/// The file that a name means, as execvp(3) looks for it.
fn find(program: &OsString) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let folders = env::var_os("PATH")?.into_vec();
    let folders =
        folders.split(|&byte| byte == b':').map(|folder| PathBuf::from(OsString::from_vec(folder.into())));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether an ELF program asks for a loader; `None` if it is no 64-bit little-endian one: a script, say.
fn is_dynamic(head: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
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
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_program_is_told_from_a_static_one_and_from_a_script() {
        let head = fs::read(env::current_exe().unwrap()).unwrap();
        assert_eq!(is_dynamic(&head[..4096]), Some(!cfg!(target_feature = "crt-static")));
        let mut without = head[..4096].to_vec();
        without[56] = 0;
        without[57] = 0;
        assert_eq!(is_dynamic(&without), Some(false));
        assert_eq!(is_dynamic(b"#!/bin/sh\n"), None);
        for length in 0..64 {
            assert_eq!(is_dynamic(&head[..length]), None, "{length}");
        }
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        assert!(find(&"sh".into()).is_some_and(|path| path.is_absolute()));
        assert_eq!(find(&"./x".into()), Some("./x".into()));
        assert_eq!(find(&"no-such-program-anywhere".into()), None);
    }
}
