//! A program's own sources, built by its makefile: what a large build does, a Linux kernel's say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::functions::{Environment, Failure};
use super::report::Report;

/// Copies the sources into the folder of the tests, and configures a Linux kernel as its smallest.
///
/// # Errors
/// What is missing or failed.
pub(super) fn prepare(source: &Path, folder: &Path) -> Result<PathBuf, String> {
    let folder = folder.join("source");
    let has = |name: &str| folder.join(name).exists();
    fs::create_dir(&folder).map_err(|error| error.to_string())?;
    let copied =
        Command::new("cp").arg("-a").arg(source.join(".")).arg(&folder).stdin(Stdio::null()).output();
    let copied = copied.map_err(|error| format!("cp: {error}"))?;
    if !copied.status.success() {
        return Err(format!("{}: {}", source.display(), String::from_utf8_lossy(&copied.stderr).trim()));
    }
    if !["GNUmakefile", "makefile", "Makefile"].into_iter().any(has) {
        return Err(format!("{} has no makefile", source.display()));
    }
    if has("Kconfig") && has("arch") && !has(".config") {
        make(&folder, &[], &["tinyconfig"])?;
    }
    // What cannot be built at all is found out at once, and so is what takes time the first time alone.
    make(&folder, &[], &["clean"])?;
    Ok(folder)
}

/// Removes what was built, which does not count, and builds it with so many commands at a time.
pub(super) fn build(folder: &Path, environment: Environment<'_>, at_once: usize) -> Result<Report, Failure> {
    let failed = |why: String| Failure::of("the build", std::io::Error::other(why));
    make(folder, environment, &["clean"]).map_err(failed)?;
    let started = Instant::now();
    make(folder, environment, &[&format!("-j{at_once}")]).map_err(failed)?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Report { count: seconds, timebase_s: 0.0, seconds: Some(seconds) })
}

fn make(folder: &Path, environment: Environment<'_>, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new("make");
    command.arg("-s").args(words).current_dir(folder).envs(environment.iter().cloned());
    // A make that coho runs under has a job server of its own.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.output().map_err(|error| format!("make: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(format!("make {}: {last}", words.join(" ")))
}
