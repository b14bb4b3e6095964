//! Values of options that several commands take.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use coho_sync::{MAX_THREADS, Mapping};
use coho_topology::CpuSet;

/// Options that do not go together, which only the files show: exit status 2, as for other wrong usage.
#[derive(Debug)]
pub struct WrongUsage(String);

impl WrongUsage {
    /// Wrong usage in words: what is wrong, and what to give instead.
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

/// Checks that no file would be written twice, or over an input.
///
/// # Errors
/// If two of the outputs, or an output and an input, are the same file.
pub fn check_outputs(outputs: &[&Path], inputs: &[&Path]) -> Result<(), WrongUsage> {
    let real = |path: &&Path| -> PathBuf {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        folder.canonicalize().unwrap_or_else(|_| folder.into()).join(path.file_name().unwrap_or_default())
    };
    for (index, output) in outputs.iter().enumerate() {
        // Devices and standard output take whatever is written to them.
        if output.starts_with("/dev") || is_stdout(output) {
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

/// Whether an output is standard output: `-`, as in other programs.
pub fn is_stdout(output: &Path) -> bool {
    output == Path::new("-")
}

/// The name of an output that must be a file: `-` would mean standard output, where other results go.
pub fn file_name() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match is_stdout(&path) {
        true => Err("this is written to a file only; name one ('./-' for one of that name)"),
        false => Ok(path),
    })
}

/// A parser that also offers some of its values to shell completion.
#[derive(Clone)]
pub struct Offering<P> {
    parser: P,
    values: Vec<String>,
}

/// A parser that reads what `parser` reads; shells offer these values.
pub fn offering<P: TypedValueParser>(
    parser: P,
    values: impl IntoIterator<Item = impl Into<String>>,
) -> Offering<P> {
    Offering { parser, values: values.into_iter().map(Into::into).collect() }
}

impl<P: TypedValueParser> TypedValueParser for Offering<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().cloned().map(PossibleValue::new)))
    }
}

/// A parser of values by their names; the help says what each is.
pub fn choices<T: Copy + Send + Sync + 'static>(
    all: &'static [(T, &'static str, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let known = all.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(known).map(|name| {
        let chosen = all.iter().find(|(_, known, _)| *known == name);
        chosen.expect("one of the possible values").0
    })
}

/// Placements by name; lists of CPUs are accepted as well.
pub const PLACEMENTS: [&str; 13] =
    ["auto", "none", "compact", "spread", "smt", "module", "l1", "l2", "l3", "l4", "die", "numa", "package"];

/// How long a measurement may take, and its order.
#[derive(Debug, clap::Args)]
pub struct Course {
    /// Stop after this time and keep what is done
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    pub time_limit: Option<Duration>,
    /// Seed for the random order, to repeat it
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Course {
    /// On these CPUs; all that the process may use if none are named.
    pub fn on(&self, cpus: Option<&CpuSet>) -> coho_probe::Course {
        let cpus = cpus.into_iter().flat_map(CpuSet::iter).collect();
        coho_probe::Course { cpus, time_limit: self.time_limit, seed: self.seed() }
    }

    /// The requested seed, or any.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| fastrand::u64(..))
    }
}

/// Where teams of threads run, and how many threads they have.
#[derive(Debug, clap::Args)]
pub struct Teams {
    /// Use these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<CpuSet>,
    /// Numbers of threads [default: powers of two and all CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=MAX_THREADS as i64))]
    pub threads: Vec<u32>,
    /// How to assign ranks to CPUs: sequential, binary-tree [default: both]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(str::parse::<Mapping>, Mapping::ALL.map(Mapping::name)))]
    mapping: Vec<Mapping>,
}

impl Teams {
    /// The requested mappings, or both.
    pub fn mappings(&self) -> Vec<Mapping> {
        match &self.mapping[..] {
            [] => Mapping::ALL.to_vec(),
            some => some.to_vec(),
        }
    }
}

/// A list of CPUs (`0-3,8`) that names at least one.
pub fn cpus(text: &str) -> Result<CpuSet, String> {
    match text.parse::<CpuSet>() {
        Ok(cpus) if cpus.is_empty() => Err("names no CPU".into()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// A size: `512` (bytes), `64K`, `1M`, `2G`, with or without `iB`; above zero.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size; give one such as 512, 64K or 1M");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().trim_end_matches("iB").to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

/// The value in `all` with this name, ignoring case.
pub fn named<T: Copy + ToString>(all: &[T], name: &str) -> Result<T, String> {
    all.iter().copied().find(|one| one.to_string().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(ToString::to_string).collect();
        format!("'{name}' is not one of {}", names.join(", "))
    })
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
        assert!(check_outputs(&[path("-")], &[path("-")]).is_ok());
    }

    #[test]
    fn a_cpu_list_names_a_cpu() {
        assert_eq!(cpus("0-1").unwrap().len(), 2);
        assert!(cpus("").is_err() && cpus("x").is_err());
    }

    #[test]
    fn sizes_have_binary_units() {
        for (text, bytes) in [("512", 512), ("64K", 64 << 10), ("1MiB", 1 << 20), ("2g", 2 << 30), ("7B", 7)]
        {
            assert_eq!(size(text), Ok(bytes));
        }
        for bad in ["", "K", "0", "-1", "1.5M", "64 parsecs", "99999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
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
