//! `coho path NAME|FILE`: a path's times, gains and crossovers.

use std::path::Path as FilePath;

use anyhow::{Context, bail};
use coho_model::path::dimmnet::{self, READINGS, Statement};
use coho_model::path::{self, Crossing, LogGp, Path, PathFile, Spread, VALIDITY, ready};
use coho_profile::{Profile, read_text};
use serde::{Serialize, Serializer};

use crate::arguments::WrongUsage;
use crate::report::subject::Subject;
use crate::terminal;

#[derive(Debug, clap::Args)]
#[group(id = "shown")]
pub struct Args {
    /// A path of `coho path list`, or a file
    #[arg(value_name = "NAME|FILE")]
    path: String,
    /// Take this machine's figures from a profile, or from `published:NAME`
    #[arg(short, long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Only these figures (of dimmnet: 4, 5, 6, 8, 9, 10, 11)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    figure: Vec<String>,
    /// Readings of the paper's path: H1, H2, H3 [default: H1]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    reading: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The name that stands for a reading of the paper's path.
const DIMMNET: &str = "dimmnet";

pub fn run(args: &Args) -> anyhow::Result<()> {
    let shown = Shown::of(args)?;
    terminal::print(args.json, &shown, terminal::path::write)
}

/// What is shown of one path, or of several readings of it.
#[derive(Debug, Serialize)]
pub struct Shown {
    pub path: String,
    pub about: String,
    pub source: String,
    /// How far the model holds.
    pub validity: &'static str,
    /// Points of figures: gains of one variant over another.
    pub points: Vec<Point>,
    /// From which size on another protocol is the quickest.
    pub crossovers: Vec<Crossover>,
    /// Times of each variant by size, without varied gaps.
    pub times: Vec<Time>,
    pub loggp: Vec<View>,
    /// What the paper states, of its own path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Met>,
    /// Titles of the figures, by name.
    #[serde(skip)]
    pub titles: Vec<(String, String)>,
}

#[derive(Debug, Serialize)]
pub struct Point {
    pub reading: Option<String>,
    pub figure: String,
    pub bus: String,
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    pub instruction: String,
    pub gap_ns: f64,
    pub time_a_ns: f64,
    pub time_b_ns: f64,
    /// Share of the second variant's time that the first saves.
    pub gain: f64,
    pub a: String,
    pub b: String,
}

#[derive(Debug, Serialize)]
pub struct Crossover {
    pub reading: Option<String>,
    pub name: String,
    pub instruction: String,
    /// The quickest below; the only one where nothing crosses.
    pub from: String,
    /// The quickest from here on; `null` where nothing crosses.
    pub to: Option<String>,
    /// The least whole number of bytes; of a publication's grid the least size of that.
    #[serde(serialize_with = "whole_or_none")]
    pub bytes: Option<f64>,
    /// How many sizes that grid has; `null` where there is none.
    pub grid_points: Option<usize>,
    /// The intersection itself.
    pub exact_bytes: Option<f64>,
    /// Where single passes of the messages that it rests on have it: least and greatest, in bytes.
    pub by_pass_bytes: Option<(f64, f64)>,
    /// In how many passes of how many they cross at all.
    pub by_pass: Option<(usize, usize)>,
}

#[derive(Debug, Serialize)]
pub struct Time {
    pub reading: Option<String>,
    pub variant: String,
    pub instruction: String,
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    /// `null` where so large a transfer cannot go this way.
    pub ns: Option<f64>,
}

/// LogGP's parameters of a variant.
#[derive(Debug, Serialize)]
#[allow(non_snake_case)]
pub struct View {
    pub reading: Option<String>,
    pub variant: String,
    pub instruction: String,
    /// Size of the small message.
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    pub o_send_ns: f64,
    pub o_receive_ns: f64,
    pub L_ns: f64,
    pub g_ns: f64,
    pub G_ns_per_byte: f64,
}

#[derive(Debug, Serialize)]
pub struct Met {
    pub reading: String,
    pub figure: &'static str,
    pub text: &'static str,
    pub met: bool,
}

/// A size in bytes, without a point where it has no fraction.
fn whole<S: Serializer>(bytes: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if bytes.fract() == 0.0 && (0.0..=EXACT).contains(bytes) {
        serializer.serialize_u64(*bytes as u64)
    } else {
        serializer.serialize_f64(*bytes)
    }
}

/// Up to here every whole number is one of `f64`.
const EXACT: f64 = (1u64 << 53) as f64;

fn whole_or_none<S: Serializer>(bytes: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match bytes {
        Some(bytes) => whole(bytes, serializer),
        None => serializer.serialize_none(),
    }
}

impl Shown {
    fn of(args: &Args) -> anyhow::Result<Self> {
        let readings = readings(args)?;
        let mut shown: Option<Self> = None;
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
            let shown = shown.get_or_insert_with(|| Self::begin(&args.path, &path));
            shown.add(&path, &passes, reading.as_deref(), &args.figure);
        }
        shown.context("no reading was asked for")
    }

    fn begin(name: &str, path: &Path) -> Self {
        Self {
            path: name.to_owned(),
            about: path.about.trim().replace('\n', " "),
            source: path.source.clone(),
            validity: VALIDITY,
            points: Vec::new(),
            crossovers: Vec::new(),
            times: Vec::new(),
            loggp: Vec::new(),
            statements: Vec::new(),
            titles: path.figures.iter().map(|figure| (figure.name.clone(), figure.title.clone())).collect(),
        }
    }

    fn add(&mut self, path: &Path, passes: &[Path], reading: Option<&str>, figures: &[String]) {
        let own = || reading.map(str::to_owned);
        for figure in
            path.figures.iter().filter(|figure| figures.is_empty() || figures.contains(&figure.name))
        {
            let [a, b] = path.ways(figure).map(|way| way.name.clone());
            self.points.extend(path.points(figure).into_iter().map(|point| Point {
                reading: own(),
                figure: figure.name.clone(),
                bus: figure.bus.clone(),
                bytes: point.bytes,
                instruction: path.instructions[point.instruction].clone(),
                gap_ns: point.gap_ns,
                time_a_ns: point.time_a_ns,
                time_b_ns: point.time_b_ns,
                gain: point.gain(),
                a: a.clone(),
                b: b.clone(),
            }));
        }
        for (index, instruction) in path.instructions.iter().enumerate() {
            for (at, crossover) in path.crossovers.iter().enumerate() {
                let spread = |crossing: &Crossing| Spread::of(passes, at, index, crossing);
                let row = |from: &str, crossing: Option<&Crossing>| Crossover {
                    reading: own(),
                    name: crossover.name.clone(),
                    instruction: instruction.clone(),
                    from: from.to_owned(),
                    to: crossing.map(|crossing| path.variants[crossing.to].name.clone()),
                    bytes: crossing.map(|crossing| crossing.bytes),
                    grid_points: crossing.and(crossover.grid_points()),
                    exact_bytes: crossing.map(|crossing| crossing.exact_bytes),
                    by_pass_bytes: crossing
                        .and_then(spread)
                        .map(|spread| (spread.least_bytes, spread.greatest_bytes)),
                    by_pass: crossing.and_then(spread).map(|spread| (spread.crossed, spread.passes)),
                };
                let found = path.crossings(crossover, index);
                self.crossovers.extend(found.iter().map(|one| row(&path.variants[one.from].name, Some(one))));
                if found.is_empty()
                    && let Some(only) = path.quickest_at_first(crossover, index)
                {
                    self.crossovers.push(row(&only.name, None));
                }
            }
            for variant in &path.variants {
                self.times.extend(path.bytes.iter().map(|&bytes| Time {
                    reading: own(),
                    variant: variant.name.clone(),
                    instruction: instruction.clone(),
                    bytes,
                    ns: variant.takes(bytes).then(|| variant.time_ns(bytes, 0.0, index)),
                }));
                let LogGp { bytes, o_send_ns, o_receive_ns, latency_ns, gap_ns, gap_per_byte_ns } =
                    path.loggp(variant, index);
                self.loggp.push(View {
                    reading: own(),
                    variant: variant.name.clone(),
                    instruction: instruction.clone(),
                    bytes,
                    o_send_ns,
                    o_receive_ns,
                    L_ns: latency_ns,
                    g_ns: gap_ns,
                    G_ns_per_byte: gap_per_byte_ns,
                });
            }
        }
        if let Some(reading) = reading {
            let met =
                |Statement { figure, text, met }| Met { reading: reading.to_owned(), figure, text, met };
            let wanted = |statement: &Statement| {
                figures.is_empty() || figures.iter().any(|figure| figure == statement.figure)
            };
            self.statements.extend(dimmnet::statements(path).into_iter().filter(wanted).map(met));
        }
    }
}

/// The readings asked for; `None` for a path that has none.
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
        let found = READINGS.into_iter().find(|known| known.eq_ignore_ascii_case(name));
        let none = || WrongUsage::new(format!("no reading '{name}'; there are: {}", READINGS.join(", ")));
        Ok(Some(found.ok_or_else(none)?.to_owned()))
    };
    args.reading.iter().map(known).collect()
}

/// A ready path, or one of a file, with the figures of a profile; and as each pass of its messages has it.
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

/// Fails if figures are missing, with each of them and what adds it.
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

/// Reads a file; what it includes lies beside it or comes with the program.
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
