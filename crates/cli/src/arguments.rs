//! Values of options that several commands take.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coho_sync::Mapping;
use coho_topology::CpuSet;

/// Options that do not go together in a way that only the files show: exit status 2, as for other wrong usage.
#[derive(Debug)]
pub struct WrongUsage(String);

impl WrongUsage {
    /// Wrong usage in words: what, and what there is instead.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// Checks that no file is to be written twice, or written over what is read.
///
/// # Errors
/// If two of the outputs, or an output and an input, are the same file.
pub fn check_outputs(outputs: &[&Path], inputs: &[&Path]) -> Result<(), WrongUsage> {
    let real = |path: &&Path| -> PathBuf {
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        folder.canonicalize().unwrap_or_else(|_| folder.into()).join(path.file_name().unwrap_or_default())
    };
    for (index, output) in outputs.iter().enumerate() {
        // Devices take whatever is written to them.
        if real(output).starts_with("/dev") {
            continue;
        }
        if outputs[..index].iter().chain(inputs).any(|other| real(other) == real(output)) {
            return Err(WrongUsage(format!(
                "'{}' would be overwritten; name another file",
                output.display()
            )));
        }
    }
    Ok(())
}

/// Checks, before anything is measured, that a file can lie where it is to be written.
///
/// # Errors
/// If there is no such folder.
pub fn check_folder(output: &Path) -> anyhow::Result<()> {
    let folder = output.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    anyhow::ensure!(
        folder.is_dir(),
        "cannot write {}: there is no folder {}",
        output.display(),
        folder.display()
    );
    Ok(())
}

/// How long a measurement may take, and in which order it goes.
#[derive(Debug, clap::Args)]
pub struct Course {
    /// Stop after this time and keep what is done
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    pub time_limit: Option<Duration>,
    /// Seed of the random order, to repeat one
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Course {
    /// The seed asked for, or any.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| fastrand::u64(..))
    }
}

/// A list of CPUs (`0-3,8`) that names at least one.
pub fn cpus(text: &str) -> Result<CpuSet, String> {
    match text.parse::<CpuSet>() {
        Ok(cpus) if cpus.is_empty() => Err("names no CPU".into()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// A mapping of ranks to CPUs by the papers' name.
pub fn mapping(text: &str) -> Result<Mapping, String> {
    match text {
        "sequential" => Ok(Mapping::Sequential),
        "binary-tree" => Ok(Mapping::BinaryTree),
        _ => Err("mappings are sequential and binary-tree".into()),
    }
}

/// A time: `90` (seconds), `1.5`, `60s`, `2m`, `500ms`; above zero and at most a year.
pub fn duration(text: &str) -> Result<Duration, String> {
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?,
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string())?,
    };
    if time.is_zero() || time > Duration::from_secs(365 * 24 * 3600) {
        return Err("give a time above zero and below a year, such as 60s".into());
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_not_overwritten_by_one_command() {
        let path = Path::new;
        assert!(check_outputs(&[path("a.json"), path("a.html")], &[path("b.json")]).is_ok());
        assert!(check_outputs(&[path("a.json"), path("./a.json")], &[]).is_err());
        assert!(check_outputs(&[path("a.json")], &[path("./src/../a.json")]).is_err());
        assert!(check_outputs(&[path("/dev/null"), path("/dev/null")], &[]).is_ok());
    }

    #[test]
    fn a_cpu_list_names_a_cpu() {
        assert_eq!(cpus("0-1").unwrap().len(), 2);
        assert!(cpus("").is_err() && cpus("x").is_err());
    }

    #[test]
    fn times_are_seconds_or_carry_their_unit() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "-1", "0", "nan", "inf", "1e300", "ten", "5 parsecs"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
