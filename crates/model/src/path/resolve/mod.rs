//! Gives the figures of a path's file their values: constants directly, the rest from a profile.

mod figures;
mod rates;
mod sweeps;

use coho_profile::{Estimate, Ns, Profile};

use super::error::Error;
use super::file::{Entry, PathFile, RawOverlap, RawStage, RawVariant};
use super::stage::{Overlap, Side, Stage};
use super::{Path, Variant};
use sweeps::within;

/// The largest transfer, in bytes, and the longest time, in ns, that a file may state.
const MAX_BYTES: f64 = (1u64 << 50) as f64;
const MAX_NS: f64 = 1e15;
/// The most points of all figures together.
const MAX_POINTS: usize = 100_000;
/// The most stages of a variant.
const MAX_STAGES: usize = 32;
/// Placeholder for the instruction in the name of a stage's rate.
const INSTRUCTION: &str = "{instruction}";

impl PathFile {
    /// The path with a value for every figure; the machine's come from `profile`.
    ///
    /// # Errors
    /// With file and line, if a figure is negative or not a number, a name leads nowhere or in a circle, or the
    /// profile lacks a figure; the message then says what to measure.
    pub fn resolve(&self, profile: Option<&Profile>) -> Result<Path, Error> {
        let resolver = Resolver { file: self, profile };
        let instructions: Vec<String> = match self.instructions.as_slice() {
            [] => vec![String::new()],
            some => some.iter().map(|entry| entry.value.clone()).collect(),
        };
        let mut bytes = Vec::new();
        for entry in &self.bytes {
            bytes.push(within(&self.place(entry), "a size in bytes", entry.value, 1.0, MAX_BYTES)?);
        }
        let gaps = match &self.gap_ns {
            Some(sweep) => resolver.sweep(&self.place(sweep), &sweep.value)?,
            None => vec![Ns::ZERO],
        };
        for (name, entry) in &self.rates {
            resolver.rate(name, entry)?;
        }
        let stages: Vec<Stage> =
            self.stages.iter().map(|entry| resolver.stage(entry, &instructions)).collect::<Result<_, _>>()?;
        let variants = resolver.variants(&stages)?;
        let figures = resolver.figures(&variants)?;
        let crossovers = resolver.crossovers(&variants)?;
        let points = figures.len() * instructions.len() * bytes.len() * gaps.len();
        if points > MAX_POINTS {
            return Err(
                self.error(format!("its figures have {points} points; at most {MAX_POINTS} are drawn"))
            );
        }
        Ok(Path {
            name: self.name.clone(),
            about: self.about.clone(),
            source: self.source.clone(),
            instructions,
            bytes,
            gaps,
            variants,
            figures,
            crossovers,
        })
    }

    /// The path as each pass of a profile's messages has it; empty where it uses no messages, or they have no passes.
    pub fn by_pass(&self, profile: &Profile) -> Vec<Path> {
        let takes = self.rates.values().any(|rate| rate.value.transfer.is_some());
        let Some(memory) = profile.memory.as_ref().filter(|_| takes) else { return Vec::new() };
        let passes = memory.transfers.iter().map(|transfer| transfer.passes.len()).max().unwrap_or(0);
        let of_pass = |at: usize| {
            let mut memory = memory.clone();
            memory.transfers.retain_mut(|transfer| {
                let Some(pass) = transfer.passes.get(at).copied() else { return false };
                let exact = |ns| Some(Estimate::exact(ns));
                (transfer.ns, transfer.send_ns, transfer.receive_ns) =
                    (exact(pass.ns), exact(pass.send_ns), exact(pass.receive_ns));
                true
            });
            self.resolve(Some(&Profile { memory: Some(memory), ..Profile::default() })).ok()
        };
        (0..passes).filter_map(of_pass).collect()
    }

    /// What is wrong with each of the file's rates and costs, by line: above all what `profile` lacks, so that all of
    /// it can be measured before the next attempt.
    pub fn lacking(&self, profile: Option<&Profile>) -> Vec<Error> {
        let resolver = Resolver { file: self, profile };
        let rates = self.rates.iter().filter_map(|(name, entry)| resolver.rate(name, entry).err());
        let costs = self.costs.values().filter_map(|entry| resolver.cost(entry).err());
        let mut lacking: Vec<Error> = rates.chain(costs).collect();
        lacking.sort_by(|a, b| (a.file(), a.line()).cmp(&(b.file(), b.line())));
        // A rate that several others refer to is missing once.
        lacking.dedup();
        lacking
    }
}

struct Resolver<'a> {
    file: &'a PathFile,
    profile: Option<&'a Profile>,
}

impl Resolver<'_> {
    fn stage(&self, entry: &Entry<RawStage>, instructions: &[String]) -> Result<Stage, Error> {
        let raw = &entry.value;
        // A time in ns plus costs by name.
        let time = |value: &Option<toml::Spanned<f64>>, costs: &[toml::Spanned<String>], what| {
            let stated = match value {
                Some(ns) => self.time(entry, ns, what)?,
                None => Ns::ZERO,
            };
            costs.iter().try_fold(stated, |sum, name| Ok(sum + self.named_cost(entry, name)?))
        };
        let overlap = match (raw.overlap, &raw.chunk_bytes) {
            (RawOverlap::StoreAndForward, None) => Overlap::StoreAndForward,
            (RawOverlap::CutThrough, None) => Overlap::CutThrough,
            (RawOverlap::Pipelined, Some(chunk)) => {
                let place = self.file.place_in(entry, chunk);
                let chunk_bytes = within(&place, "a fragment in bytes", *chunk.get_ref(), 1.0, MAX_BYTES)?;
                Overlap::Pipelined { chunk_bytes }
            }
            (RawOverlap::Pipelined, None) => {
                return Err(self
                    .file
                    .place(entry)
                    .error("a pipelined stage has fragments; add 'chunk_bytes'"));
            }
            (_, Some(chunk)) => {
                return Err(self
                    .file
                    .place_in(entry, chunk)
                    .error("'chunk_bytes' goes with overlap = \"pipelined\""));
            }
        };
        let rates = instructions.iter().map(|instruction| {
            let Some(named) = &raw.rate else { return Ok(None) };
            let name = named.get_ref().replace(INSTRUCTION, instruction);
            let rate = self.file.rates.get(&name).ok_or_else(|| {
                self.file.place_in(entry, named).error(format!("no rate '{name}'; add it to [rates]"))
            })?;
            self.rate(&name, rate).map(Some)
        });
        Ok(Stage {
            name: raw.name.clone(),
            kind: raw.kind,
            side: self.side(entry)?,
            rates: rates.collect::<Result<_, _>>()?,
            gap: time(&raw.gap_ns, &raw.gap, "a start-up gap in ns")?,
            gaps: raw.gaps.min(1000),
            fixed: time(&raw.fixed_ns, &raw.fixed, "a fixed cost in ns")?,
            overlap,
        })
    }

    fn side(&self, entry: &Entry<RawStage>) -> Result<Option<Side>, Error> {
        match &entry.value.side {
            Some(side) if !entry.value.kind.is_cpu() => {
                let place = self.file.place_in(entry, side);
                Err(place.error("'side' says whose CPU is busy; it goes with kind \"copy\" or \"status\""))
            }
            side => Ok(side.as_ref().map(|side| *side.get_ref())),
        }
    }

    fn variants(&self, stages: &[Stage]) -> Result<Vec<Variant>, Error> {
        if self.file.variants.is_empty() {
            return match stages {
                [] => Err(self.file.error("has no stage; add [[stage]] with a name and a kind")),
                many if many.len() > MAX_STAGES => {
                    Err(self.file.error(format!("more than {MAX_STAGES} stages in a row")))
                }
                _ => Ok(vec![Variant::new(self.file.name.clone(), stages.to_vec(), None)]),
            };
        }
        let variant = |entry: &Entry<RawVariant>| {
            let raw = &entry.value;
            let mut own = Vec::new();
            for name in &raw.stages {
                let wanted = name.get_ref();
                let stage = stages.iter().find(|stage| stage.name == *wanted).ok_or_else(|| {
                    self.file.place_in(entry, name).error(format!("no stage '{wanted}'; add it as [[stage]]"))
                })?;
                own.push(stage.clone());
            }
            if !(1..=MAX_STAGES).contains(&own.len()) {
                let message = format!("a variant has 1 to {MAX_STAGES} stages, not {}", own.len());
                return Err(self.file.place(entry).error(message));
            }
            let max_bytes = match &raw.max_bytes {
                Some(most) => Some(within(
                    &self.file.place_in(entry, most),
                    "a size in bytes",
                    *most.get_ref(),
                    1.0,
                    MAX_BYTES,
                )?),
                None => None,
            };
            let variant = Variant::new(raw.name.clone(), own, max_bytes);
            if !variant.has_one_fragment_size_a_pipeline() {
                return Err(self
                    .file
                    .place(entry)
                    .error("stages of one pipeline have one size of fragments"));
            }
            Ok(variant)
        };
        self.file.variants.iter().map(variant).collect()
    }
}
