//! Everything that a path predicts, in one value: points of figures, crossovers, times by size, LogGP's parameters,
//! and what the paper states.

use coho_profile::{Ns, Profile};
use serde::{Serialize, Serializer};

use super::dimmnet::{self, Statement};
use super::{ByPass, Crossing, Error, LogGp, Path, VALIDITY, ready};

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
    pub crossovers: Vec<Crossover>,
    /// Times of each variant by size. A gap that a figure sweeps counts as 0.
    pub times: Vec<Time>,
    /// LogGP's parameters of each variant.
    pub loggp: Vec<View>,
    /// What the paper states about its own path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Met>,
    /// Titles of the figures, by name.
    #[serde(skip)]
    pub titles: Vec<(String, String)>,
}

/// A point of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The reading of the paper, where there are several.
    pub reading: Option<String>,
    /// The figure's name.
    pub figure: String,
    /// The bus that it is drawn for.
    pub bus: String,
    /// Size of the transfer.
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    /// The instructions with which a CPU copies.
    pub instruction: String,
    /// The start-up gap.
    pub gap_ns: Ns,
    /// Time of the first variant.
    pub time_a_ns: Ns,
    /// Time of the second one.
    pub time_b_ns: Ns,
    /// Share of the second variant's time that the first saves.
    pub gain: f64,
    /// The first variant.
    pub a: String,
    /// The second one.
    pub b: String,
}

/// From which size on another variant is the quickest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crossover {
    /// The reading of the paper, where there are several.
    pub reading: Option<String>,
    /// What is compared.
    pub name: String,
    /// The instructions with which a CPU copies.
    pub instruction: String,
    /// The quickest below; the only one where nothing crosses.
    pub from: String,
    /// The quickest from here on; `null` where nothing crosses.
    pub to: Option<String>,
    /// The smallest whole number of bytes; on a publication's grid, the smallest such size of the grid.
    #[serde(serialize_with = "whole_or_none")]
    pub bytes: Option<f64>,
    /// How many sizes that grid has; `null` where there is none.
    pub grid_points: Option<usize>,
    /// The intersection itself.
    pub exact_bytes: Option<f64>,
    /// The range over the single passes of the messages that it rests on and their medians, smallest and largest, in
    /// bytes.
    pub by_pass_bytes: Option<(f64, f64)>,
    /// The number of passes whose crossings in this comparison are those of their medians, and of all passes.
    pub by_pass: Option<(usize, usize)>,
}

impl Crossover {
    /// What it is about: all crossings of one comparison share it.
    pub fn subject(&self) -> (Option<&str>, &str, &str) {
        (self.reading.as_deref(), &self.name, &self.instruction)
    }

    /// Whether the single passes show what their medians do; `true` where there are none.
    pub fn is_of_all_passes(&self) -> bool {
        self.by_pass.is_none_or(|(agreeing, passes)| agreeing == passes)
    }
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

/// LogGP's parameters of a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(non_snake_case)]
pub struct View {
    /// The reading of the paper, where there are several.
    pub reading: Option<String>,
    /// The variant.
    pub variant: String,
    /// The instructions with which a CPU copies.
    pub instruction: String,
    /// Size of the small message.
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    /// The sender's overhead; `null` where the path does not say what CPUs do.
    pub o_send_ns: Option<Ns>,
    /// The receiver's overhead; likewise.
    pub o_receive_ns: Option<Ns>,
    /// Latency; `null` without overheads, and where they overlap.
    pub L_ns: Option<Ns>,
    /// Gap between messages.
    pub g_ns: Ns,
    /// Gap per byte.
    pub G_ns_per_byte: Ns,
}

impl View {
    /// Whether the two ends overlap: their overheads together take longer than the message, which leaves no latency.
    pub fn ends_overlap(&self) -> bool {
        self.o_send_ns.is_some() && self.L_ns.is_none()
    }
}

/// A statement of the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Met {
    /// The reading.
    pub reading: String,
    /// The figure that it is about.
    pub figure: &'static str,
    /// The statement.
    pub text: &'static str,
    /// Whether the reading agrees.
    pub met: bool,
}

/// A size in bytes, without a decimal point where it is a whole number.
fn whole<S: Serializer>(bytes: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if bytes.fract() == 0.0 && (0.0..=EXACT).contains(bytes) {
        serializer.serialize_u64(*bytes as u64)
    } else {
        serializer.serialize_f64(*bytes)
    }
}

/// Every whole number up to this one is exact in `f64`.
const EXACT: f64 = (1u64 << 53) as f64;

fn whole_or_none<S: Serializer>(bytes: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match bytes {
        Some(bytes) => whole(bytes, serializer),
        None => serializer.serialize_none(),
    }
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
        summary.add(&path, &file.by_pass(profile), None, &[]);
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

    /// Adds what the path predicts, and its figures under `reading`: all, or only those named. `passes` are the path
    /// as each pass of its messages has it.
    pub fn add(&mut self, path: &Path, passes: &[Path], reading: Option<&str>, figures: &[String]) {
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
                gap_ns: point.gap,
                time_a_ns: point.time_a,
                time_b_ns: point.time_b,
                gain: point.gain(),
                a: a.clone(),
                b: b.clone(),
            }));
        }
        for (index, instruction) in path.instructions.iter().enumerate() {
            for (at, crossover) in path.crossovers.iter().enumerate() {
                let by_pass = ByPass::of(path, passes, at, index);
                let row = |from: &str, crossing: Option<&Crossing>, range: Option<(f64, f64)>| Crossover {
                    reading: own(),
                    name: crossover.name.clone(),
                    instruction: instruction.clone(),
                    from: from.to_owned(),
                    to: crossing.map(|crossing| path.variants[crossing.to].name.clone()),
                    bytes: crossing.map(|crossing| crossing.bytes),
                    grid_points: crossing.and(crossover.grid_points()),
                    exact_bytes: crossing.map(|crossing| crossing.exact_bytes),
                    by_pass_bytes: range,
                    by_pass: by_pass.as_ref().map(|all| (all.agreeing, all.passes)),
                };
                let crossings = path.crossings(crossover, index);
                self.crossovers.extend(crossings.iter().enumerate().map(|(nth, one)| {
                    let range = by_pass.as_ref().map(|all| all.ranges[nth]);
                    row(&path.variants[one.from].name, Some(one), range)
                }));
                if crossings.is_empty()
                    && let Some(only) = path.quickest_at_first(crossover, index)
                {
                    self.crossovers.push(row(&only.name, None, None));
                }
            }
            for variant in &path.variants {
                self.times.extend(path.bytes.iter().map(|&bytes| Time {
                    reading: own(),
                    variant: variant.name.clone(),
                    instruction: instruction.clone(),
                    bytes,
                    ns: variant.takes(bytes).then(|| variant.time(bytes, Ns::ZERO, index)),
                }));
                let LogGp { bytes, o_send, o_receive, latency, gap, gap_per_byte } =
                    path.loggp(variant, index);
                self.loggp.push(View {
                    reading: own(),
                    variant: variant.name.clone(),
                    instruction: instruction.clone(),
                    bytes,
                    o_send_ns: o_send,
                    o_receive_ns: o_receive,
                    L_ns: latency,
                    g_ns: gap,
                    G_ns_per_byte: gap_per_byte,
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
