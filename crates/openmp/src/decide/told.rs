//! Tells `coho run` what a process has decided: a line in the file that `COHO_OPENMP_DECISIONS` names.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::process;

use coho_preload::setting;

use super::loaded;
use crate::exports;

/// Adds a line: the process, what it has decided, and the file of the OpenMP runtime that it would use otherwise.
pub fn tell(what: impl Display) {
    write(&format!("{}\t{}\t{}\n", process::id(), runtime().unwrap_or_default(), what));
}

/// Adds a line: the process, and the numbers of threads that it has chosen.
pub fn tell_choices(choices: &str) {
    write(&format!("{}\tthreads\t{choices}\n", process::id()));
}

fn write(line: &str) {
    let Some(file) = setting(c"COHO_OPENMP_DECISIONS").filter(|file| file.starts_with(b"/")) else { return };
    // Whether or not it can be told, the program runs.
    let file = OpenOptions::new().append(true).open(OsStr::from_bytes(file));
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// The file's name.
fn runtime() -> Option<String> {
    let function = exports::resolved("omp_get_max_threads\0")? as usize;
    let mut name = None;
    loaded::each_object(&mut |object| {
        if object.range().contains(&function) {
            name = Some(String::from_utf8_lossy(object.file()).into_owned());
        }
    });
    name
}
