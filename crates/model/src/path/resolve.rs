//! Gives the figures of a path's file their values: constants directly, the rest from a profile.

use coho_profile::{CacheType, Estimate, MemoryRate, Profile, Transfer};

use super::error::{Error, Place};
use super::figure::{Crossover, Figure};
use super::file::{
    Entry, Gap, PathFile, Query, RawCost, RawCrossover, RawFigure, RawOverlap, RawRate, RawStage, RawVariant,
    Span, Sweep, TransferPart, TransferQuery, chain,
};
use super::rate::{Factor, Rate};
use super::stage::{Overlap, Side, Stage};
use super::{Path, Variant};
use crate::delegation;

/// The largest transfer, in bytes, the longest time, in ns, and the quickest rate, in bytes per second, that a file
/// may state.
const MAX_BYTES: f64 = (1u64 << 50) as f64;
const MAX_NS: f64 = 1e15;
const MAX_RATE: f64 = 1e15;
/// The most values of a sweep, and the most points of all figures together.
const MAX_SWEEP: usize = 10_000;
const MAX_POINTS: usize = 100_000;
/// The most stages of a variant, protocols of a crossover, and sizes at which their times have a corner.
const MAX_STAGES: usize = 32;
const MAX_PROTOCOLS: usize = 8;
const MAX_CORNERS: usize = 2000;
/// A line, and the longest message whose first line arrives with the flag, in bytes. The CPU loads as far ahead as it
/// looks before it knows that the flag has come: on a Zen 3, a message of 64 B took 6 ns more than the flag alone,
/// one of 256 B 70 ns, and from 1 KiB on as much as the receiver's copy takes by itself.
const LINE_BYTES: u64 = 64;
const SHORT_BYTES: u64 = 512;
/// The least that a copy of some bytes can take, in ns.
const LEAST_NS: f64 = 0.1;
const ONE_SOURCE: &str = "a rate has one of: bytes_per_s, table, profile, transfer, of";
const ONE_COST: &str = "a cost has one of: ns, call, message, transfer";
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
        let gaps_ns = match &self.gap_ns {
            Some(sweep) => resolver.sweep(&self.place(sweep), &sweep.value, MAX_NS)?,
            None => vec![0.0],
        };
        for (name, entry) in &self.rates {
            resolver.rate(name, entry)?;
        }
        let stages: Vec<Stage> =
            self.stages.iter().map(|entry| resolver.stage(entry, &instructions)).collect::<Result<_, _>>()?;
        let variants = resolver.variants(&stages)?;
        let figures = resolver.figures(&variants)?;
        let crossovers = resolver.crossovers(&variants)?;
        let points = figures.len() * instructions.len() * bytes.len() * gaps_ns.len();
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
            gaps_ns,
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
        let costs = self.costs.values().filter_map(|entry| resolver.cost_ns(entry).err());
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
    fn sweep(&self, place: &Place, sweep: &Sweep, most: f64) -> Result<Vec<f64>, Error> {
        let (from, to) = self.span(place, sweep.from, sweep.to, f64::MIN_POSITIVE, most)?;
        self.grid(place, from, to, sweep.points)
    }

    fn span(&self, place: &Place, from: f64, to: f64, least: f64, most: f64) -> Result<(f64, f64), Error> {
        let from = within(place, "the least value of a sweep", from, least, most)?;
        Ok((from, within(place, "the greatest value of a sweep", to, from, most)?))
    }

    fn grid(&self, place: &Place, from: f64, to: f64, points: usize) -> Result<Vec<f64>, Error> {
        if !(2..=MAX_SWEEP).contains(&points) {
            return Err(place.error(format!("a sweep has 2 to {MAX_SWEEP} points, not {points}")));
        }
        Ok(geometric(from, to, points))
    }

    /// Follows `of` to the rate that has figures of its own.
    fn rate(&self, name: &str, entry: &Entry<RawRate>) -> Result<Rate, Error> {
        let (mut at, mut entry) = (name.to_owned(), entry);
        let mut seen: Vec<String> = Vec::new();
        let mut factors = Vec::new();
        loop {
            let raw = &entry.value;
            let place = self.file.place(entry);
            if seen.contains(&at) {
                return Err(place.error(format!("rates {} stand for each other: a cycle", chain(&seen, &at))));
            }
            seen.push(at);
            factors.extend(self.factor(entry)?);
            let Some(target) = &raw.of else {
                return Ok(self.own_figures(entry, &place)?.with(factors));
            };
            if raw.bytes_per_s.is_some()
                || raw.table.is_some()
                || raw.profile.is_some()
                || raw.transfer.is_some()
                || raw.start_ns.is_some()
            {
                return Err(
                    place.error("a rate of another has no figures of its own; leave out 'of' or the figures")
                );
            }
            let wanted = target.get_ref();
            let place = self.file.place_in(entry, target);
            entry = self
                .file
                .rates
                .get(wanted)
                .ok_or_else(|| place.error(format!("no rate '{wanted}'; add it to [rates]")))?;
            at = wanted.clone();
        }
    }

    fn factor(&self, entry: &Entry<RawRate>) -> Result<Option<Factor>, Error> {
        let raw = &entry.value;
        let from_bytes = match &raw.from_bytes {
            Some(from) => {
                let place = self.file.place_in(entry, from);
                within(&place, "a size in bytes", *from.get_ref(), 0.0, MAX_BYTES)?
            }
            None => 0.0,
        };
        let Some(times) = &raw.times else {
            return match raw.from_bytes {
                Some(_) => Err(self
                    .file
                    .place(entry)
                    .error("'from_bytes' says from where on 'times' holds; add 'times'")),
                None => Ok(None),
            };
        };
        let place = self.file.place_in(entry, times);
        let times = within(&place, "a factor", *times.get_ref(), 1e-6, 1e6)?;
        Ok(Some(Factor { times, from_bytes }))
    }

    fn own_figures(&self, entry: &Entry<RawRate>, place: &Place) -> Result<Rate, Error> {
        let raw = &entry.value;
        let start_ns = match &raw.start_ns {
            Some(start) => within(
                &self.file.place_in(entry, start),
                "a start-up time in ns",
                *start.get_ref(),
                0.0,
                MAX_NS,
            )?,
            None => 0.0,
        };
        if let Some(query) = &raw.transfer {
            return match (&raw.bytes_per_s, &raw.table, &raw.profile, &raw.start_ns) {
                (None, None, None, None) => self.of_messages(query, place),
                _ => Err(place.error(ONE_SOURCE)),
            };
        }
        match (&raw.bytes_per_s, &raw.table, &raw.profile) {
            (Some(rate), None, None) => {
                let place = self.file.place_in(entry, rate);
                Ok(Rate::start_up(start_ns, positive_rate(&place, *rate.get_ref())?))
            }
            (None, ..) if raw.start_ns.is_some() => {
                Err(place.error("'start_ns' goes with 'bytes_per_s' alone"))
            }
            (None, Some(table), None) => {
                let place = self.file.place_in(entry, table);
                let mut points = Vec::new();
                for &(bytes, rate) in table.get_ref() {
                    points.push((
                        within(&place, "a size in bytes", bytes, 1.0, MAX_BYTES)?,
                        positive_rate(&place, rate)?,
                    ));
                }
                if points.is_empty() {
                    return Err(place.error("an empty table; add pairs of bytes and bytes a second"));
                }
                let sizes = points.len();
                let table = Rate::table(points);
                if table.corners().count() < sizes {
                    return Err(place.error("a table has each size once"));
                }
                Ok(table)
            }
            (None, None, Some(query)) => self.measured(query, place),
            _ => Err(place.error(ONE_SOURCE)),
        }
    }

    /// The profile's messages on a path.
    fn messages(&self, path: &str) -> impl Iterator<Item = &Transfer> {
        let memory = self.profile.and_then(|profile| profile.memory.as_ref());
        let path = path.to_owned();
        memory.into_iter().flat_map(|memory| &memory.transfers).filter(move |transfer| transfer.path == path)
    }

    /// The rate of messages by size, or of what one of their ends takes.
    fn of_messages(&self, query: &TransferQuery, place: &Place) -> Result<Rate, Error> {
        let receive = |bytes: u64| {
            let mut of_size = self.messages(&query.path).filter(move |transfer| transfer.bytes == bytes);
            of_size.find_map(|transfer| median(&transfer.receive_ns))
        };
        // Without its overhead, which the empty message also has.
        let line_ns = receive(LINE_BYTES).map_or(0.0, |line| line - receive(0).unwrap_or(0.0)).max(0.0);
        let part = |transfer: &Transfer| match query.part {
            TransferPart::Whole => median(&transfer.ns),
            TransferPart::Send => median(&transfer.send_ns),
            TransferPart::ReceiveBehindFlag if transfer.bytes <= SHORT_BYTES => {
                median(&transfer.receive_ns).map(|ns| ns - line_ns)
            }
            TransferPart::Receive | TransferPart::ReceiveBehindFlag => median(&transfer.receive_ns),
        };
        let points =
            self.messages(&query.path).filter(|transfer| transfer.bytes > 0).filter_map(|transfer| {
                // Less than the clock's step is not nothing.
                let ns = part(transfer)?.max(LEAST_NS);
                Some((transfer.bytes as f64, transfer.bytes as f64 / ns * 1e9))
            });
        let points: Vec<(f64, f64)> = points.collect();
        if points.is_empty() {
            return Err(self.lacks_messages(&query.path, place));
        }
        Ok(Rate::table(points).of_messages())
    }

    fn lacks_messages(&self, path: &str, place: &Place) -> Error {
        place.error(format!(
            "{} parts of messages by {path}; add them with `coho memory --parts transfers -o profile.json` and name the \
             profile",
            self.lacks()
        ))
    }

    /// What remains of the smallest message on a path without the work of its ends: the lines that announce it, minus
    /// what both ends do at the same time, and minus the cost of timing them. It may be below 0.
    fn handover_ns(&self, path: &str, place: &Place) -> Result<f64, Error> {
        let least = self.messages(path).min_by_key(|transfer| transfer.bytes);
        let flag_ns = least.and_then(|transfer| {
            Some(median(&transfer.ns)? - median(&transfer.send_ns)? - median(&transfer.receive_ns)?)
        });
        flag_ns.ok_or_else(|| self.lacks_messages(path, place))
    }

    /// The quickest at each size of the profile's rates that match the query.
    fn measured(&self, query: &Query, place: &Place) -> Result<Rate, Error> {
        let rates =
            self.profile.and_then(|profile| profile.memory.as_ref()).map_or(&[][..], |memory| &memory.rates);
        let answers = |rate: &&MemoryRate| {
            rate.op == query.op
                && rate.cache_type == query.cache_type
                && rate.threads == query.threads
                && rate.destination_type.unwrap_or_default() == CacheType::WriteBack
                && query.instruction.as_ref().is_none_or(|wanted| is_named(&rate.instruction, wanted))
                && query.state.is_none_or(|wanted| Some(wanted) == rate.state)
                && query.fence.is_none_or(|wanted| Some(wanted) == rate.fence)
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for rate in rates.iter().filter(answers) {
            let Some(median) = rate.bytes_per_s.as_ref().map(|estimate| estimate.median) else { continue };
            let bytes = rate.bytes as f64;
            let usable = (1.0..=MAX_BYTES).contains(&bytes) && median > 0.0 && median <= MAX_RATE;
            if !usable {
                continue;
            }
            match points.iter_mut().find(|point| point.0 == bytes) {
                Some(point) => point.1 = point.1.max(median),
                None => points.push((bytes, median)),
            }
        }
        if !points.is_empty() {
            return Ok(Rate::table(points));
        }
        let mut wanted = format!("{} rates of type {}", query.op, query.cache_type);
        for (name, value) in [
            ("instruction", query.instruction.clone()),
            ("state", query.state.map(|state| state.to_string())),
            ("fence", query.fence.map(|fence| fence.to_string())),
        ] {
            if let Some(value) = value {
                wanted += &format!(", {name} {value}");
            }
        }
        Err(place.error(format!(
            "{} {wanted}; add them with `coho memory -o profile.json` and name the profile, or state 'table' or \
             'bytes_per_s' here",
            self.lacks()
        )))
    }

    /// The beginning of an error about a missing figure.
    fn lacks(&self) -> &'static str {
        if self.profile.is_some() { "the profile has no" } else { "no profile was given that has" }
    }

    fn cost(&self, entry: &Entry<RawStage>, name: &toml::Spanned<String>) -> Result<f64, Error> {
        let wanted = name.get_ref();
        let Some(cost) = self.file.costs.get(wanted) else {
            let place = self.file.place_in(entry, name);
            return Err(place.error(format!("no cost '{wanted}'; add it to [costs]")));
        };
        self.cost_ns(cost)
    }

    fn cost_ns(&self, cost: &Entry<RawCost>) -> Result<f64, Error> {
        let place = self.file.place(cost);
        let raw = &cost.value;
        let times = match &raw.times {
            Some(times) => within(&self.file.place_in(cost, times), "a factor", *times.get_ref(), 0.0, 1e6)?,
            None => 1.0,
        };
        if let Some(path) = &raw.transfer {
            return match (&raw.ns, &raw.call, raw.message) {
                (None, None, None) => Ok(self.handover_ns(path, &place)? * times),
                _ => Err(place.error(ONE_COST)),
            };
        }
        let ns = match (&raw.ns, &raw.call, raw.message) {
            (Some(ns), None, None) => {
                within(&self.file.place_in(cost, ns), "a time in ns", *ns.get_ref(), 0.0, MAX_NS)?
            }
            (None, Some(call), None) => {
                let calls = self.profile.and_then(|profile| profile.calls.as_ref());
                calls.and_then(|calls| delegation::issued_ns(calls, call)).ok_or_else(|| {
                    place.error(format!(
                        "{} time of call '{call}'; add it with `coho calls --call '{call}' -o profile.json`, or \
                         state 'ns' here",
                        self.lacks()
                    ))
                })?
            }
            (None, None, Some(_)) => {
                let coherence = self.profile.and_then(|profile| profile.coherence.as_ref());
                coherence.and_then(delegation::channel_ns).map(|ns| ns / 2.0).ok_or_else(|| {
                    place.error(format!(
                        "{} times of flags or turn; add them with `coho coherence -o profile.json`, or state 'ns' here",
                        self.lacks()
                    ))
                })?
            }
            _ => return Err(place.error(ONE_COST)),
        };
        Ok(ns * times)
    }

    fn stage(&self, entry: &Entry<RawStage>, instructions: &[String]) -> Result<Stage, Error> {
        let raw = &entry.value;
        // A time in ns plus costs by name.
        let time = |value: &Option<toml::Spanned<f64>>, costs: &[toml::Spanned<String>], what| {
            let stated = match value {
                Some(ns) => within(&self.file.place_in(entry, ns), what, *ns.get_ref(), 0.0, MAX_NS)?,
                None => 0.0,
            };
            costs.iter().try_fold(stated, |sum, name| Ok(sum + self.cost(entry, name)?))
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
            gap_ns: time(&raw.gap_ns, &raw.gap, "a start-up gap in ns")?,
            gaps: raw.gaps.min(1000),
            fixed_ns: time(&raw.fixed_ns, &raw.fixed, "a fixed cost in ns")?,
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

    fn find<T>(
        &self,
        entry: &Entry<T>,
        name: &toml::Spanned<String>,
        variants: &[Variant],
    ) -> Result<usize, Error> {
        let wanted = name.get_ref();
        variants.iter().position(|variant| variant.name == *wanted).ok_or_else(|| {
            self.file.place_in(entry, name).error(format!("no variant '{wanted}'; add it as [[variant]]"))
        })
    }

    fn figures(&self, variants: &[Variant]) -> Result<Vec<Figure>, Error> {
        let figure = |entry: &Entry<RawFigure>| {
            let raw = &entry.value;
            let (a, b) = (self.find(entry, &raw.a, variants)?, self.find(entry, &raw.b, variants)?);
            let summed = raw.gap == Gap::Sum;
            for index in [a, b] {
                if summed && self.file.gap_ns.is_some() && variants[index].gaps() == 0 {
                    let message = format!(
                        "variant '{}' has no gap to vary; add 'gaps' to a stage",
                        variants[index].name
                    );
                    return Err(self.file.place(entry).error(message));
                }
            }
            Ok(Figure {
                name: raw.name.clone(),
                title: raw.title.clone(),
                bus: raw.bus.clone(),
                a,
                b,
                sum_of_gaps: summed,
            })
        };
        self.file.figures.iter().map(figure).collect()
    }

    fn crossovers(&self, variants: &[Variant]) -> Result<Vec<Crossover>, Error> {
        let crossover = |entry: &Entry<RawCrossover>| {
            let raw = &entry.value;
            let protocols: Vec<usize> = raw
                .protocols
                .iter()
                .map(|name| self.find(entry, name, variants))
                .collect::<Result<_, _>>()?;
            if !(2..=MAX_PROTOCOLS).contains(&protocols.len()) {
                let message = format!("a crossover is between 2 to {MAX_PROTOCOLS} protocols");
                return Err(self.file.place(entry).error(message));
            }
            let corners: usize = protocols.iter().map(|&index| variants[index].corners(0).len()).sum();
            if corners > MAX_CORNERS {
                let message = format!("its tables have {corners} points; at most {MAX_CORNERS} are compared");
                return Err(self.file.place(entry).error(message));
            }
            let (place, &Span { from, to, points }) =
                (self.file.place_in(entry, &raw.bytes), raw.bytes.get_ref());
            if from < 1.0 {
                return Err(place.error("sizes begin at 1 byte"));
            }
            let (least, greatest) = self.span(&place, from, to, 1.0, MAX_BYTES)?;
            let grid = points.map(|points| self.grid(&place, least, greatest, points)).transpose()?;
            Ok(Crossover { name: raw.name.clone(), protocols, least, greatest, grid })
        };
        self.file.crossovers.iter().map(crossover).collect()
    }
}

/// `points` values from one to another, evenly spaced in their logarithms and rounded to twelve digits, so that 1000
/// is 1000.
fn geometric(from: f64, to: f64, points: usize) -> Vec<f64> {
    let step = (to / from).ln() / (points - 1) as f64;
    let rounded = |value: f64| {
        let scale = 10f64.powi(11 - value.log10().floor() as i32);
        if scale.is_normal() { (value * scale).round() / scale } else { value }
    };
    let mut values: Vec<f64> = (0..points).map(|at| rounded(from * (step * at as f64).exp())).collect();
    values[points - 1] = to;
    values
}

fn median(estimate: &Option<Estimate>) -> Option<f64> {
    let median = estimate.as_ref()?.median;
    (median.is_finite() && (0.0..=MAX_NS).contains(&median)).then_some(median)
}

fn positive_rate(place: &Place, value: f64) -> Result<f64, Error> {
    within(place, "a rate in bytes a second", value, 1e-3, MAX_RATE)
}

fn within(place: &Place, what: &str, value: f64, least: f64, most: f64) -> Result<f64, Error> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else if value.is_finite() {
        let bound = if value < least { format!("at least {least}") } else { format!("at most {most:e}") };
        Err(place.error(format!("{what} is {bound}, not {value}")))
    } else {
        Err(place.error(format!("{what} is a number, not {value}")))
    }
}

/// Whether an instruction is the wanted one, or matches `*-nt`, which stands for all that end so.
fn is_named(instruction: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(end) => instruction.ends_with(end),
        None => instruction == wanted,
    }
}
