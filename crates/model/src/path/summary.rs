//! Everything that a path predicts, in one value.

use coho_profile::{Ns, Profile};
use serde::Serialize;

use super::figure::whole;
use super::{Error, LogGp, Met, Path, Point, Takeover, VALIDITY, ready};

/// What one path predicts, or several readings of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Its name, as requested.
    pub path: String,
    /// What it describes.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Under which conditions the model holds.
    pub validity: &'static str,
    /// Points of figures: gains of one variant over another.
    pub points: Vec<Point>,
    /// From which size on another protocol is the quickest.
    pub crossovers: Vec<Takeover>,
    /// Times of each variant by size. A gap that a figure sweeps counts as 0.
    pub times: Vec<Time>,
    /// LogGP's parameters of each variant.
    pub loggp: Vec<LogGp>,
    /// What the paper states about its own path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Met>,
    /// Titles of the figures, by name.
    #[serde(skip)]
    pub titles: Vec<(String, String)>,
}

/// How long a transfer takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Time {
    /// The reading of the paper, where there are several.
    pub reading: Option<String>,
    /// The variant.
    pub variant: String,
    /// The instructions with which a CPU copies.
    pub instruction: String,
    /// Size of the transfer.
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    /// `null` where the variant cannot carry so large a transfer.
    pub ns: Option<Ns>,
}

impl Summary {
    /// A path that comes with the program, with a profile's figures.
    ///
    /// # Errors
    /// If the profile lacks figures that the path needs.
    pub fn of(name: &str, profile: &Profile) -> Result<Self, Error> {
        let file = ready::file(name)?;
        let path = file.resolve(Some(profile))?;
        let mut summary = Self::begin(name, &path);
        summary.add(&path, &file.by_pass(profile), &[]);
        Ok(summary)
    }

    /// An empty summary of a path under this name.
    pub fn begin(name: &str, path: &Path) -> Self {
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

    /// Adds what the path predicts, and its figures: all, or only those named. `passes` are the path as each pass of its
    /// messages has it.
    pub fn add(&mut self, path: &Path, passes: &[Path], figures: &[String]) {
        let is_wanted = |name: &String| figures.is_empty() || figures.contains(name);
        for figure in path.figures.iter().filter(|figure| is_wanted(&figure.name)) {
            self.points.append(&mut path.points(figure));
        }
        for (index, instruction) in path.instructions.iter().enumerate() {
            for crossover in 0..path.crossovers.len() {
                self.crossovers.append(&mut path.takeovers(passes, crossover, index));
            }
            for variant in &path.variants {
                self.times.extend(path.bytes.iter().map(|&bytes| Time {
                    reading: path.reading.clone(),
                    variant: variant.name.clone(),
                    instruction: instruction.clone(),
                    bytes,
                    ns: variant.takes(bytes).then(|| variant.time(bytes, Ns::ZERO, index)),
                }));
                self.loggp.push(path.loggp(variant, index));
            }
        }
        self.statements.extend(path.stated().filter(|statement| is_wanted(&statement.figure)));
    }
}
