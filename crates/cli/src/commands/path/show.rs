//! `coho path NAME|FILE`: a path's times, gains and crossovers.

use std::path::Path as FilePath;

use anyhow::{Context, bail};
use coho_model::path::dimmnet::READINGS;
use coho_model::path::{self, Path, PathFile, Summary, ready};
use coho_profile::{Profile, read_text};
use coho_show::sections::paths;

use crate::arguments::WrongUsage;
use crate::printed::How;
use coho_show::Subject;

#[derive(Debug, clap::Args)]
#[group(id = "shown")]
pub struct Args {
    /// A path from `coho path list`, or a file
    #[arg(value_name = "NAME|FILE")]
    path: String,
    /// Take the machine's figures from a profile, or from `published:NAME`
    #[arg(short, long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Only these figures of the paper (for dimmnet: 4, 5, 6, 8, 9, 10, 11)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    figure: Vec<String>,
    /// Readings of the paper's path: H1, H2, H3 [default: H1]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    reading: Vec<String>,
    // Not flattened: an optional group of arguments knows only its own.
    /// Print the result as JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// Show all rows, and how they were obtained
    #[arg(long, conflicts_with = "json")]
    full: bool,
}

/// The name of the paper's path, which can be read in several ways.
const DIMMNET: &str = "dimmnet";

pub fn run(args: &Args) -> anyhow::Result<()> {
    How { json: args.json, full: args.full }.print(&summary(args)?, paths::path)
}

/// The summary of one path, or of several readings of it.
fn summary(args: &Args) -> anyhow::Result<Summary> {
    let readings = readings(args)?;
    let mut shown: Option<Summary> = None;
    for reading in readings {
        let name = match &reading {
            Some(reading) => format!("{DIMMNET}-{}", reading.to_ascii_lowercase()),
            None => args.path.clone(),
        };
        let (path, passes) = load(&name, args.profile.as_deref())?;
        for figure in &args.figure {
            if path.figures.iter().all(|known| known.name != *figure) {
                let known: Vec<_> = path.figures.iter().map(|figure| figure.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message = format!("'{name}' has no figure '{figure}'; there are: {known}");
                return Err(WrongUsage::new(message).into());
            }
        }
        let shown = shown.get_or_insert_with(|| Summary::begin(&args.path, &path));
        shown.add(&path, &passes, reading.as_deref(), &args.figure);
    }
    shown.context("no reading was asked for")
}

/// The requested readings; `None` for a path that has none.
fn readings(args: &Args) -> anyhow::Result<Vec<Option<String>>> {
    let own = args.path.strip_prefix(DIMMNET).and_then(|rest| rest.strip_prefix('-'));
    let own = own.and_then(|name| READINGS.into_iter().find(|known| known.eq_ignore_ascii_case(name)));
    if args.path != DIMMNET && own.is_none() {
        return match args.reading.as_slice() {
            [] => Ok(vec![None]),
            _ => Err(WrongUsage::new(format!("'{}' has no readings; 'dimmnet' has", args.path)).into()),
        };
    }
    if let Some(own) = own {
        if !args.reading.is_empty() {
            return Err(WrongUsage::new(format!("'{}' is a reading already", args.path)).into());
        }
        return Ok(vec![Some(own.to_owned())]);
    }
    if args.reading.is_empty() {
        return Ok(vec![Some(READINGS[0].to_owned())]);
    }
    let known = |name: &String| {
        let matched = READINGS.into_iter().find(|known| known.eq_ignore_ascii_case(name));
        let none = || WrongUsage::new(format!("no reading '{name}'; there are: {}", READINGS.join(", ")));
        Ok(Some(matched.ok_or_else(none)?.to_owned()))
    };
    args.reading.iter().map(known).collect()
}

/// A ready path, or one from a file, with the figures of a profile; also as each pass of its messages has it.
fn load(name: &str, profile: Option<&str>) -> anyhow::Result<(Path, Vec<Path>)> {
    let file = if ready::names().any(|known| known == name) {
        ready::file(name)?
    } else {
        let path = FilePath::new(name);
        if !path.exists() {
            let known: Vec<&str> = ready::names().collect();
            bail!(
                "'{name}' is neither a file nor a path that comes with coho; of these there are: {}",
                known.join(", ")
            );
        }
        read(path)?
    };
    let profile = match profile.or(file.profile()) {
        Some(name) => Some(one(name)?),
        None => None,
    };
    let passes = profile.as_ref().map(|profile| file.by_pass(profile)).unwrap_or_default();
    match file.resolve(profile.as_ref()) {
        Ok(path) => Ok((path, passes)),
        Err(error) => {
            missing(file.lacking(profile.as_ref()))?;
            Err(error.into())
        }
    }
}

/// Fails if figures are missing, listing each with the command that adds it.
pub(super) fn missing(lacking: Vec<path::Error>) -> anyhow::Result<()> {
    match lacking.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone().into()),
        several => {
            let each: Vec<String> = several.iter().map(ToString::to_string).collect();
            bail!("{} rates or costs have no figure: {}", several.len(), each.join("; "))
        }
    }
}

/// Reads a file. What it includes is beside it or comes with the program.
fn read(path: &FilePath) -> anyhow::Result<PathFile> {
    let text = read_text(path)?;
    let beside = |name: &str| {
        let folder = path.parent().unwrap_or(FilePath::new(""));
        ready::load(name).or_else(|_| read_text(&folder.join(name)).map_err(|error| error.to_string()))
    };
    Ok(PathFile::parse(&path.display().to_string(), &text, &beside)?)
}

/// The only machine of a profile.
pub(super) fn one(name: &str) -> anyhow::Result<Profile> {
    let mut subjects = Subject::load(name)?;
    if subjects.len() > 1 {
        bail!("'{name}' has {} machines; name one of them, as in '{name}/MACHINE'", subjects.len());
    }
    Ok(subjects.remove(0).profile)
}
