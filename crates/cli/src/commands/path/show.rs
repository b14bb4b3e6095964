//! `coho path NAME|FILE`: a path's times, gains and crossovers.

use std::path::Path as FilePath;

use anyhow::{Context, bail};
use coho_model::path::ready::{self, READINGS};
use coho_model::path::{Path, PathFile, Summary};
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
    let mut shown: Option<Summary> = None;
    for name in names(args)? {
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
        shown.add(&path, &passes, &args.figure);
    }
    shown.context("no reading was asked for")
}

/// The paths asked for: the one named, or the requested readings of the paper's.
fn names(args: &Args) -> Result<Vec<String>, WrongUsage> {
    let reading = |name: &str| {
        let known = READINGS.into_iter().find(|known| known.eq_ignore_ascii_case(name));
        known.map(|known| format!("{DIMMNET}-{}", known.to_ascii_lowercase()))
    };
    let own = args.path.strip_prefix(DIMMNET).and_then(|rest| reading(rest.strip_prefix('-')?));
    match (own, args.reading.as_slice()) {
        (Some(own), []) => Ok(vec![own]),
        (Some(_), _) => Err(WrongUsage::new(format!("'{}' is a reading already", args.path))),
        (None, []) if args.path == DIMMNET => Ok(reading(READINGS[0]).into_iter().collect()),
        (None, []) => Ok(vec![args.path.clone()]),
        (None, _) if args.path == DIMMNET => {
            let none =
                |name| WrongUsage::new(format!("no reading '{name}'; there are: {}", READINGS.join(", ")));
            args.reading.iter().map(|name| reading(name).ok_or_else(|| none(name))).collect()
        }
        (None, _) => Err(WrongUsage::new(format!("'{}' has no readings; 'dimmnet' has", args.path))),
    }
}

/// A ready path, or one from a file, with the figures of a profile; also as each pass of its messages has it.
fn load(name: &str, profile: Option<&str>) -> anyhow::Result<(Path, Vec<Path>)> {
    let path = FilePath::new(name);
    let file = match ready::names().any(|known| known == name) {
        true => ready::file(name)?,
        false if path.exists() => read(path)?,
        false => {
            let known: Vec<&str> = ready::names().collect();
            bail!(
                "'{name}' is neither a file nor a path that comes with coho; of these there are: {}",
                known.join(", ")
            );
        }
    };
    let profile = profile.or(file.profile()).map(one).transpose()?;
    let passes = profile.as_ref().map(|profile| file.by_pass(profile)).unwrap_or_default();
    match file.resolve(profile.as_ref()) {
        Ok(path) => Ok((path, passes)),
        // All missing figures, each with the command that adds it.
        Err(error) => match file.lacking(profile.as_ref()).as_slice() {
            [] => Err(error.into()),
            [only] => Err(only.clone().into()),
            several => {
                let each: Vec<String> = several.iter().map(ToString::to_string).collect();
                bail!("{} rates or costs have no figure: {}", several.len(), each.join("; "))
            }
        },
    }
}

/// Reads a file. What it includes is beside it or comes with the program.
fn read(path: &FilePath) -> anyhow::Result<PathFile> {
    let text = read_text(path)?;
    let beside = |name: &str| {
        let folder = path.parent().unwrap_or(FilePath::new(""));
        ready::load(name).or_else(|_| read_text(&folder.join(name)))
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
