//! A path's file as written: TOML in which every figure knows its line.

use std::collections::BTreeMap;
use std::sync::Arc;

use coho_profile::{BlockState, CacheType, Fence, Operation};
use serde::Deserialize;
use toml::Spanned;

use super::error::{Error, Place};
use super::stage::{Kind, Side};

/// The most bytes of one file, the most files that one may include, and the most entries of any list in it.
const MAX_TEXT: usize = 1 << 20;
const MAX_FILES: usize = 16;
const MAX_ENTRIES: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    include: Vec<Spanned<String>>,
    profile: Option<Spanned<String>>,
    #[serde(default)]
    instructions: Vec<Spanned<String>>,
    #[serde(default)]
    bytes: Vec<Spanned<f64>>,
    gap_ns: Option<Spanned<Sweep>>,
    #[serde(default)]
    rates: BTreeMap<Spanned<String>, RawRate>,
    #[serde(default)]
    costs: BTreeMap<Spanned<String>, RawCost>,
    #[serde(default)]
    stage: Vec<Spanned<RawStage>>,
    #[serde(default)]
    variant: Vec<Spanned<RawVariant>>,
    #[serde(default)]
    figure: Vec<Spanned<RawFigure>>,
    #[serde(default)]
    crossover: Vec<Spanned<RawCrossover>>,
}

/// Values from one to another, evenly spaced in their logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    pub from: f64,
    pub to: f64,
    pub points: usize,
}

/// The smallest and the largest size; with `points`, the sizes are those of a grid, as in a publication.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Span {
    pub from: f64,
    pub to: f64,
    pub points: Option<usize>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRate {
    pub bytes_per_s: Option<Spanned<f64>>,
    pub start_ns: Option<Spanned<f64>>,
    pub table: Option<Spanned<Vec<(f64, f64)>>>,
    pub profile: Option<Query>,
    pub transfer: Option<TransferQuery>,
    pub of: Option<Spanned<String>>,
    pub times: Option<Spanned<f64>>,
    pub from_bytes: Option<Spanned<f64>>,
}

/// Which of a profile's rates. What is not named may be anything, and the quickest rate counts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    pub op: Operation,
    /// One instruction, or with a leading `*` all that end so: `*-nt`.
    pub instruction: Option<String>,
    #[serde(rename = "type", default)]
    pub cache_type: CacheType,
    pub state: Option<BlockState>,
    pub fence: Option<Fence>,
    #[serde(default = "one")]
    pub threads: u32,
}

fn one() -> u32 {
    1
}

/// Which of a profile's messages between two processes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransferQuery {
    pub path: String,
    pub part: TransferPart,
}

/// The whole message, or what one of its ends does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TransferPart {
    Whole,
    Send,
    Receive,
    /// The receiver's part after a flag that it polls; the first line of a short message arrives with the flag.
    #[serde(rename = "receive-behind-flag")]
    ReceiveBehindFlag,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCost {
    pub ns: Option<Spanned<f64>>,
    pub call: Option<String>,
    pub message: Option<Message>,
    /// What remains of the smallest message on this path without the work of its ends.
    pub transfer: Option<String>,
    pub times: Option<Spanned<f64>>,
}

/// A word sent from one CPU to another.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Message {
    OneWay,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStage {
    pub name: String,
    pub kind: Kind,
    pub side: Option<Spanned<Side>>,
    pub rate: Option<Spanned<String>>,
    pub gap_ns: Option<Spanned<f64>>,
    #[serde(default)]
    pub gap: Vec<Spanned<String>>,
    #[serde(default)]
    pub gaps: u32,
    pub fixed_ns: Option<Spanned<f64>>,
    #[serde(default)]
    pub fixed: Vec<Spanned<String>>,
    #[serde(default)]
    pub overlap: RawOverlap,
    pub chunk_bytes: Option<Spanned<f64>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawOverlap {
    #[default]
    StoreAndForward,
    CutThrough,
    Pipelined,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVariant {
    pub name: String,
    pub stages: Vec<Spanned<String>>,
    pub max_bytes: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFigure {
    pub name: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub bus: String,
    pub a: Spanned<String>,
    pub b: Spanned<String>,
    #[serde(default)]
    pub gap: Gap,
}

/// What a figure's gap is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Gap {
    /// The sum of all of a variant's gaps.
    #[default]
    Sum,
    /// The length of each.
    Each,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCrossover {
    pub name: String,
    pub protocols: Vec<Spanned<String>>,
    pub bytes: Spanned<Span>,
}

/// An entry and where it is.
#[derive(Debug)]
pub(super) struct Entry<T> {
    pub value: T,
    pub source: usize,
    line: usize,
}

/// A file that was read.
#[derive(Debug)]
struct Source {
    name: Arc<str>,
    text: String,
}

/// A path's file with those that it includes, read but not yet resolved against a profile.
#[derive(Debug, Default)]
pub struct PathFile {
    sources: Vec<Source>,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) source: String,
    pub(super) profile: Option<Entry<String>>,
    pub(super) instructions: Vec<Entry<String>>,
    pub(super) bytes: Vec<Entry<f64>>,
    pub(super) gap_ns: Option<Entry<Sweep>>,
    pub(super) rates: BTreeMap<String, Entry<RawRate>>,
    pub(super) costs: BTreeMap<String, Entry<RawCost>>,
    pub(super) stages: Vec<Entry<RawStage>>,
    pub(super) variants: Vec<Entry<RawVariant>>,
    pub(super) figures: Vec<Entry<RawFigure>>,
    pub(super) crossovers: Vec<Entry<RawCrossover>>,
}

impl PathFile {
    /// Parses a path's text; `load` returns the text of each file that it includes, by name.
    ///
    /// # Errors
    /// With file and line, if it is not TOML, has a key that paths do not have, names a thing twice, or includes a
    /// file that `load` does not return or that includes it.
    pub fn parse(
        name: &str,
        text: &str,
        load: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, Error> {
        let mut file = Self::default();
        file.add(name, text, load, &mut vec![name.to_owned()])?;
        Ok(file)
    }

    /// What the path describes.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Where its figures come from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The profile whose figures it uses where no other is named.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_ref().map(|entry| entry.value.as_str())
    }

    /// Whether some of its figures come from a profile.
    pub fn needs_profile(&self) -> bool {
        self.rates.values().any(|rate| rate.value.profile.is_some() || rate.value.transfer.is_some())
            || self.costs.values().any(|cost| cost.value.ns.is_none())
    }

    fn add(
        &mut self,
        name: &str,
        text: &str,
        load: &dyn Fn(&str) -> Result<String, String>,
        within: &mut Vec<String>,
    ) -> Result<(), Error> {
        if text.len() > MAX_TEXT {
            return Err(Error::of_file(name, format!("{} bytes; a path has at most {MAX_TEXT}", text.len())));
        }
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            Place { file: name.into(), line }.error(error.message())
        })?;
        let source = self.sources.len();
        self.sources.push(Source { name: name.into(), text: text.to_owned() });
        for include in &raw.include {
            let entry = self.entry(source, include.span().start, include.get_ref().clone());
            let place = self.place(&entry);
            let other = &entry.value;
            if within.contains(other) {
                return Err(place.error(format!("'{}' include each other: a cycle", chain(within, other))));
            }
            if self.sources.len() >= MAX_FILES {
                return Err(place.error(format!("more than {MAX_FILES} files")));
            }
            let text = load(other).map_err(|why| place.error(format!("cannot include '{other}': {why}")))?;
            within.push(other.clone());
            self.add(other, &text, load, within)?;
            within.pop();
        }
        self.take(source, raw)
    }

    /// Takes over the entries; for what there can be only one of, the including file has the last word.
    fn take(&mut self, source: usize, raw: Raw) -> Result<(), Error> {
        (self.name, self.about, self.source) = (raw.name, raw.about, raw.source);
        if let Some(profile) = raw.profile {
            let at = profile.span().start;
            self.profile = Some(self.entry(source, at, profile.into_inner()));
        }
        if let Some(sweep) = raw.gap_ns {
            let at = sweep.span().start;
            self.gap_ns = Some(self.entry(source, at, sweep.into_inner()));
        }
        let mut instructions = std::mem::take(&mut self.instructions);
        let mut bytes = std::mem::take(&mut self.bytes);
        self.append(source, &mut instructions, raw.instructions, |name| Some(name), "instruction")?;
        self.append(source, &mut bytes, raw.bytes, |_| None, "size")?;
        (self.instructions, self.bytes) = (instructions, bytes);

        let (mut rates, mut costs) = (std::mem::take(&mut self.rates), std::mem::take(&mut self.costs));
        self.insert(source, &mut rates, raw.rates, "rate")?;
        self.insert(source, &mut costs, raw.costs, "cost")?;
        (self.rates, self.costs) = (rates, costs);

        let mut stages = std::mem::take(&mut self.stages);
        self.append(source, &mut stages, raw.stage, |stage| Some(&stage.name), "stage")?;
        self.stages = stages;
        let mut variants = std::mem::take(&mut self.variants);
        self.append(source, &mut variants, raw.variant, |variant| Some(&variant.name), "variant")?;
        self.variants = variants;
        let mut figures = std::mem::take(&mut self.figures);
        self.append(source, &mut figures, raw.figure, |figure| Some(&figure.name), "figure")?;
        self.figures = figures;
        let mut crossovers = std::mem::take(&mut self.crossovers);
        self.append(source, &mut crossovers, raw.crossover, |crossover| Some(&crossover.name), "crossover")?;
        self.crossovers = crossovers;
        Ok(())
    }

    fn append<T>(
        &self,
        source: usize,
        all: &mut Vec<Entry<T>>,
        more: Vec<Spanned<T>>,
        name: impl Fn(&T) -> Option<&String>,
        what: &str,
    ) -> Result<(), Error> {
        for value in more {
            let at = value.span().start;
            let entry = self.entry(source, at, value.into_inner());
            let own = name(&entry.value);
            if let Some(own) = own
                && let Some(first) = all.iter().find(|other| name(&other.value) == Some(own))
            {
                let first = self.place(first);
                let message =
                    format!("a second {what} '{own}'; the first is in {}, line {}", first.file, first.line);
                return Err(self.place(&entry).error(message));
            }
            if all.len() >= MAX_ENTRIES {
                return Err(self
                    .place(&entry)
                    .error(format!("more than {MAX_ENTRIES} entries of kind {what}")));
            }
            all.push(entry);
        }
        Ok(())
    }

    fn insert<T>(
        &self,
        source: usize,
        all: &mut BTreeMap<String, Entry<T>>,
        more: BTreeMap<Spanned<String>, T>,
        what: &str,
    ) -> Result<(), Error> {
        for (name, value) in more {
            let entry = self.entry(source, name.span().start, value);
            let place = self.place(&entry);
            let name = name.into_inner();
            if all.len() >= MAX_ENTRIES {
                return Err(place.error(format!("more than {MAX_ENTRIES} entries of kind {what}")));
            }
            if let Some(first) = all.get(&name).map(|first| self.place(first)) {
                let message =
                    format!("a second {what} '{name}'; the first is in {}, line {}", first.file, first.line);
                return Err(place.error(message));
            }
            all.insert(name, entry);
        }
        Ok(())
    }

    fn entry<T>(&self, source: usize, at: usize, value: T) -> Entry<T> {
        Entry { value, source, line: line_of(&self.sources[source].text, at) }
    }

    /// Where an entry is.
    pub(super) fn place<T>(&self, entry: &Entry<T>) -> Place {
        Place { file: self.sources[entry.source].name.clone(), line: entry.line }
    }

    /// Where something inside an entry is.
    pub(super) fn place_in<T, U>(&self, entry: &Entry<T>, inner: &Spanned<U>) -> Place {
        let source = &self.sources[entry.source];
        Place { file: source.name.clone(), line: line_of(&source.text, inner.span().start) }
    }

    /// An error about the file as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::of_file(self.sources.first().map_or("", |source| &source.name), message)
    }
}

/// The line of a byte, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// `a → b → a`.
pub(super) fn chain(before: &[String], last: &str) -> String {
    let from = before.iter().position(|name| name == last).unwrap_or(0);
    let mut names: Vec<&str> = before[from..].iter().map(String::as_str).collect();
    names.push(last);
    names.join(" → ")
}
