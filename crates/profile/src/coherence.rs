//! What it costs CPUs to share a line: section `coherence`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, always, lower, neither, parameters};
use crate::{Estimate, LineSpread, Method, TimeMatrix};

/// Cache-coherence times between CPUs. What follows from them, such as classes, is not kept: the model judges it anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Coherence {
    /// How it was measured.
    pub method: Method,
    /// The CPUs measured, by operating-system number.
    pub cpus: Vec<u32>,
    /// One CPU alone (Kawabe & Furuya, measurement 1).
    pub singles: Vec<Single>,
    /// Pairs of CPUs on one line, by method.
    pub pairs: Vec<Pair>,
    /// The single times of all pairs of [`cpus`](Self::cpus), in place of `pairs`, of a matrix of more than
    /// [`TimeMatrix::MOST_LISTED`] CPUs that was read, or that was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<TimeMatrix>,
    /// What was done to the lines of [`matrix`](Self::matrix).
    #[serde(skip_serializing_if = "PairMethod::is_unknown")]
    pub matrix_method: PairMethod,
    /// Loads of lines that another CPU has put in a known state.
    pub reads: Vec<StateRead>,
    /// What was noticed while it was measured: figures that jumped, CPUs and quotas that are not this process's, and what
    /// earlier surveys of this host say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Coherence time by claimed class after the paper: mean of pairs less the baseline.
    pub coherence_times: Vec<CoherenceTime>,
    /// Whether a paper published the figures: single values of some pairs, in which nothing more is to be found.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub published: bool,
    /// One pair watched over time.
    pub timeline: Option<Timeline>,
    /// What earlier surveys of this host found; absent where none were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Coherence);

/// Times of one pair that are less than this ratio apart are of one place of its CPUs: one mode.
pub const SAME_MODE: f64 = 1.5;

/// The least share of a watch in which a time counts as seen.
const SEEN: f64 = 0.05;

/// Share of a machine's figures that may jump before the run as a whole counts as unstable.
const UNSTABLE: f64 = 0.02;

impl Coherence {
    /// Random pairs among which a class of at least a hundredth of all pairs shows, but for one run in a thousand:
    /// 0.99^688 < 0.001.
    pub const ENOUGH_DRAWS: usize = 688;

    /// How many pairs were drawn at random, if a sample of the pairs was measured that stands for all.
    pub fn random_pairs(&self) -> Option<usize> {
        self.method.parameters.get("random_pairs")?.as_u64()?.try_into().ok()
    }

    /// How many pairs have a time, and how many there are, if a sample stands for all.
    pub fn sampled(&self) -> Option<(usize, usize)> {
        self.random_pairs()?;
        let pairs: BTreeSet<(u32, u32)> = self.times().map(|(a, b, ..)| (a.min(b), a.max(b))).collect();
        let all = self.cpus.len() * self.cpus.len().saturating_sub(1) / 2;
        (pairs.len() < all).then_some((pairs.len(), all))
    }

    /// Whether all figures are of the same two CPUs, so that no distance stands beside another.
    pub fn is_one_pair(&self) -> bool {
        let mut pairs = self.times().map(|(a, b, ..)| (a.min(b), a.max(b)));
        pairs.next().is_some_and(|first| pairs.all(|pair| pair == first))
    }

    /// The CPU that all figures have in common, where they are of several pairs: none is of two other CPUs.
    pub fn common_cpu(&self) -> Option<u32> {
        let (a, b, ..) = self.times().next()?;
        let is_common = |cpu: &u32| self.times().all(|(a, b, ..)| [a, b].contains(cpu));
        [a, b].into_iter().filter(|_| !self.is_one_pair()).find(is_common)
    }

    /// The figures by which a run is judged stable: those of strict alternation. How many increments a free-running CPU
    /// gets done in one ownership is chance, so those count only where there are no others.
    pub fn judged(&self) -> Vec<&Pair> {
        let strict: Vec<&Pair> = self.pairs.iter().filter(|pair| pair.method.is_strict()).collect();
        if strict.is_empty() { self.pairs.iter().collect() } else { strict }
    }

    /// Whether all but a few of the figures by which a run is judged kept to one value, and so did the pair that was watched,
    /// if one was. Of figures that were not repeated nothing is known.
    pub fn keeps_to_its_values(&self) -> Option<bool> {
        let judged = self.judged();
        let told = judged.iter().filter_map(|pair| pair.ns.is_known_to_stay());
        let (told, jumped) = (told.clone().count(), told.filter(|stable| !stable).count());
        let pairs = (told > 0).then_some(jumped as f64 <= UNSTABLE * told as f64);
        let counts =
            |method: PairMethod| method.is_strict() || !judged.iter().any(|pair| pair.method.is_strict());
        let watched = self.timeline.as_ref().filter(|timeline| counts(timeline.method));
        match (pairs, watched.and_then(Timeline::kept_to_one_value)) {
            (_, Some(false)) => Some(false),
            _ if self.watched_elsewhere().is_some() => Some(false),
            (None, watched) if judged.is_empty() => watched,
            (pairs, _) => pairs,
        }
    }

    /// The watched pair, if its time was for a while more than 1.5 times off what it was when all pairs were measured by the
    /// same method.
    pub fn watched_elsewhere(&self) -> Option<Elsewhere> {
        let timeline = self.timeline.as_ref().filter(|all| all.samples.len() >= Timeline::FEWEST_TOLD)?;
        let is_same = |pair: &&Pair| {
            (pair.a.min(pair.b), pair.a.max(pair.b))
                == (timeline.a.min(timeline.b), timeline.a.max(timeline.b))
                && pair.method == timeline.method
        };
        // Lines at home with either CPU: a sample must be far off the nearest of these times.
        let before: Vec<f64> = self.pairs.iter().filter(is_same).map(|pair| pair.ns.median).collect();
        let off = |sample: f64, before: f64| (before / sample).max(sample / before);
        let nearest =
            |sample: f64| before.iter().copied().min_by(|a, b| off(sample, *a).total_cmp(&off(sample, *b)));
        let samples = timeline.samples.iter().map(|sample| sample.ns);
        let mut elsewhere: Vec<f64> =
            samples.filter(|ns| nearest(*ns).is_some_and(|before| off(*ns, before) > SAME_MODE)).collect();
        let share = elsewhere.len() as f64 / timeline.samples.len() as f64;
        let watched_ns = crate::order::median_of(&mut elsewhere);
        (share >= SEEN).then_some(Elsewhere {
            a: timeline.a,
            b: timeline.b,
            before_ns: nearest(watched_ns)?,
            watched_ns,
            share,
            window_s: timeline.samples.last()?.at_s,
        })
    }

    /// The time of every pair with a figure, listed or in columns: two CPUs, how and where it was measured, ns.
    pub fn times(&self) -> impl Iterator<Item = (u32, u32, PairMethod, Home, f64)> + '_ {
        let listed = self.pairs.iter().map(|pair| (pair.a, pair.b, pair.method, pair.home, pair.ns.median));
        let cpu = |index: usize| self.cpus.get(index).copied();
        let columns = self.matrix.iter().flat_map(TimeMatrix::pairs).filter_map(move |(a, b, ns)| {
            let (a, b) = (cpu(a)?, cpu(b)?);
            Some((a.min(b), a.max(b), self.matrix_method, Home::Unknown, ns))
        });
        listed.chain(columns)
    }
}

/// Locked and unlocked increments of a line that one CPU keeps to itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Single {
    /// The CPU.
    pub cpu: u32,
    /// The papers' name of it.
    pub name: String,
    /// Time of `lock inc`, in ns.
    pub locked_ns: Estimate,
    /// Time of `inc`, in ns.
    pub unlocked_ns: Estimate,
}

/// What is done to the shared line; each counts something else, never compare across.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PairMethod {
    /// Strict alternation by compare-and-swap on one line: one ownership transfer a step.
    Turn,
    /// Strict alternation by plain stores on two lines, one for each direction: two transfers a step.
    Flags,
    /// Both CPUs run `lock inc` on one line as fast as they can (Kawabe & Furuya): time per increment and CPU; many
    /// increments may happen in one ownership.
    FreeRunning,
    /// Read from a file that does not say.
    #[default]
    Unknown,
}

impl PairMethod {
    fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// The name as it stands in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Flags => "flags",
            Self::FreeRunning => "free-running",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the two CPUs alternate strictly.
    pub fn is_strict(self) -> bool {
        matches!(self, Self::Turn | Self::Flags)
    }
}

/// Whose first touch placed the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// The node of CPU `a`.
    A,
    /// The node of CPU `b`.
    B,
    /// A node of neither.
    Third,
    /// Not known.
    Unknown,
}

impl Home {
    /// The name as it stands in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::Third => "third",
            Self::Unknown => "unknown",
        }
    }
}

/// The time of two CPUs sharing a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// One CPU; the smaller number.
    pub a: u32,
    /// The other CPU.
    pub b: u32,
    /// What was done.
    pub method: PairMethod,
    /// Where the line lives.
    pub home: Home,
    /// Time per step (`turn`, `flags`) or per increment and CPU (`free-running`), in ns.
    pub ns: Estimate,
    /// Ownership changes per increment, for `free-running`: 1 means that the line moved each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership_changes_per_op: Option<Estimate>,
    /// Batches in which a CPU was preempted: counted here and kept out of the figure.
    #[serde(default)]
    pub preempted_batches: u64,
    /// The claimed level that both CPUs share ("core", "L3", "package", …; "system" where none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
    /// How far the time depends on the line; only of `turn`, and only of a few pairs of each claimed level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineSpread>,
}

impl Pair {
    /// A pair of which nothing but its time is known.
    #[must_use]
    pub fn new(a: u32, b: u32, method: PairMethod, home: Home, ns: Estimate) -> Self {
        let (ownership_changes_per_op, lines, claimed) = (None, None, None);
        Self { a, b, method, home, ns, ownership_changes_per_op, lines, preempted_batches: 0, claimed }
    }
}

/// The state of a line before it is read (MESI, with AMD's Owned and Intel's Forward).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum LineState {
    Modified,
    Exclusive,
    Shared,
    Owned,
    Forward,
}

/// Load latency, by a dependent chain over many lines that another CPU has prepared (Molka et al., PACT 2009).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateRead {
    /// The CPU that reads.
    pub reader: u32,
    /// The CPU that prepared the lines; the reader itself for the local reference.
    pub owner: u32,
    /// The state they were put in.
    pub state: LineState,
    /// Size of the buffer, in bytes.
    pub bytes: u64,
    /// Whose first touch placed the buffer: `a` is the reader, `b` the owner.
    pub home: Home,
    /// Time per load, in ns.
    pub ns: Estimate,
}

/// The paper's coherence time of a class of pairs (Kawabe & Furuya, tables 1 and 2): mean of its pairs less the
/// baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoherenceTime {
    /// The class: `smt`, `on-die`, `1-hop`, `2-hop`, or a claimed level.
    pub class: String,
    /// Which method's pairs.
    pub method: PairMethod,
    /// Mean over the class's pairs of their medians, in ns.
    pub mean_ns: f64,
    /// What was subtracted, in ns.
    pub baseline_ns: f64,
    /// What that is: `smt pair`, or `locked single CPU` where no SMT sibling exists.
    pub baseline: String,
    /// Mean less baseline, in ns. Where that is no more than their intervals leave open, there is no time.
    pub coherence_ns: f64,
    /// The least and the most that it can be by the intervals of its pairs and of the baseline; absent where those tell none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<(f64, f64)>,
    /// The same in cycles, where the clock is known.
    pub coherence_cycles: Option<f64>,
    /// Number of pairs of CPUs, whatever the homes of their lines.
    pub pairs: u64,
}

/// One pair's time over a while, from `coho coherence --watch-for`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// One CPU.
    pub a: u32,
    /// The other CPU.
    pub b: u32,
    /// What was done.
    pub method: PairMethod,
    /// Samples in order.
    pub samples: Vec<TimelineSample>,
    /// When the figure changed for good, in seconds from the start.
    pub change_points_s: Vec<f64>,
    /// The values between which it jumped.
    pub modes: Vec<crate::Mode>,
}

/// A pair whose time was another while it was watched than while all pairs were measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elsewhere {
    /// One CPU.
    pub a: u32,
    /// The other CPU.
    pub b: u32,
    /// The time while all pairs were measured, in ns.
    pub before_ns: f64,
    /// The other time, in ns.
    pub watched_ns: f64,
    /// Its share of the watch, 0 to 1.
    pub share: f64,
    /// How long the watch was, in s.
    pub window_s: f64,
}

impl Timeline {
    /// The fewest samples of which two values could be told apart.
    pub const FEWEST_TOLD: usize = 16;

    /// Whether the pair kept to one value while it was watched; `None` of too few samples for two values to be told apart.
    pub fn kept_to_one_value(&self) -> Option<bool> {
        let jumped = self.modes.len() > 1 || !self.change_points_s.is_empty();
        (self.samples.len() >= Self::FEWEST_TOLD || jumped).then_some(!jumped)
    }
}

/// The present figures beside those of earlier surveys of the same pairs of CPUs since the same boot, by the same method
/// and with the lines at the same home. Two values differ if they are 1.5 times apart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct History {
    /// How many earlier surveys were compared: those that have a claimed level of the present one.
    pub surveys: u64,
    /// The distinct values of a step between CPUs in them and now, in ns, ascending: of the claimed level at which most
    /// surveys differ, else of the nearest.
    pub modes_ns: Vec<f64>,
    /// How many of the earlier surveys differ from the present one at any claimed level.
    pub disagree: u64,
}

/// One sample of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineSample {
    /// Time from the start, in seconds.
    pub at_s: f64,
    /// Median of the sample's batches, in ns.
    pub ns: f64,
}

const SINGLES: &[Column<Single>] = &[
    lower("coherence.single.locked", "atomic increment by one CPU alone", "ns", |one: &Single| {
        always(&one.locked_ns)
    })
    .headline(),
    lower("coherence.single.unlocked", "increment by one CPU alone", "ns", |one| always(&one.unlocked_ns)),
];

/// Each method counts something else.
const PAIRS: &[Column<Pair>] = &[
    lower("coherence.turn", "step of two CPUs that alternate on one line", "ns", |pair: &Pair| {
        pair.by(PairMethod::Turn)
    })
    .headline(),
    lower("coherence.flags", "step of two CPUs that alternate by a line each", "ns", |pair: &Pair| {
        pair.by(PairMethod::Flags)
    })
    .headline(),
    lower("coherence.free-running", "atomic increment of a line by two CPUs at once", "ns", |pair| {
        pair.by(PairMethod::FreeRunning)
    }),
    lower("coherence.unknown", "time between two CPUs by an unknown method", "ns", |pair| {
        pair.by(PairMethod::Unknown)
    }),
    neither("coherence.ownership-changes", "moves of the line per increment", "", |pair| {
        pair.ownership_changes_per_op.as_ref().map(Cow::Borrowed)
    }),
];

const READS: &[Column<StateRead>] =
    &[lower("coherence.read", "load of a line in a known state", "ns", |read| always(&read.ns))];

const CLASSES: &[Column<CoherenceTime>] = &[lower(
    "coherence.time",
    "coherence time of a class: the mean of its pairs less the baseline",
    "ns",
    |time| {
        let (low, high) = time.interval_ns.unwrap_or((time.coherence_ns, time.coherence_ns));
        Some(Cow::Owned(Estimate { low, high, n: time.pairs, ..Estimate::exact(time.coherence_ns) }))
    },
)];

impl Pair {
    /// Its time, if it was measured by that method.
    fn by(&self, method: PairMethod) -> Option<Cow<'_, Estimate>> {
        (self.method == method).then_some(Cow::Borrowed(&self.ns))
    }
}

impl Section for Coherence {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let pairs = self.pairs.iter().flat_map(|pair| [pair.a, pair.b]);
        let reads = self.reads.iter().flat_map(|read| [read.reader, read.owner]);
        let watched = self.timeline.iter().flat_map(|timeline| [timeline.a, timeline.b]);
        let singles = self.singles.iter().map(|single| single.cpu);
        Box::new(self.cpus.iter().copied().chain(pairs).chain(reads).chain(watched).chain(singles))
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        all.rows(SINGLES, self.singles.iter().map(|one| (parameters![one; cpu, name], one)));
        all.rows(PAIRS, self.pairs.iter().map(|pair| (parameters![pair; a, b, home, claimed], pair)));
        all.rows(
            READS,
            self.reads.iter().map(|read| (parameters![read; reader, owner, state, bytes, home], read)),
        );
        all.rows(CLASSES, self.coherence_times.iter().map(|time| (parameters![time; class, method], time)));
    }
}
