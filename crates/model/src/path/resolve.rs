//! Joins the entries of a path's file: names lead to what they name, and a profile gives the figures that the file
//! leaves to it.

use coho_profile::{Estimate, Ns, Profile};
use toml::Spanned;

use super::entries::{
    CostEntry, CrossoverEntry, FigureEntry, GapOf, MAX_BYTES, MAX_NS, OverlapEntry, RateEntry, RateSource,
    Span, StageEntry, VariantEntry, within,
};
use super::file::{PathFile, Place, chain};
use super::measured::Measured;
use super::{Crossover, Error, Figure, Overlap, Path, Rate, Reason, Stage, Variant};

/// The most sizes, the most points of all figures together, and the most values of a sweep.
const MAX_SIZES: usize = 256;
const MAX_POINTS: usize = 100_000;
const MAX_SWEEP: usize = 10_000;
/// The most stages of a variant, the most protocols of a crossover, and the most sizes at which their times have a
/// corner.
const MAX_STAGES: usize = 32;
const MAX_PROTOCOLS: usize = 8;
const MAX_CORNERS: usize = 2000;
/// Placeholder for the instruction in the name of a stage's rate.
const INSTRUCTION: &str = "{instruction}";

impl PathFile {
    /// The path with a value for every figure; the machine's come from `profile`.
    ///
    /// # Errors
    /// With file and line, if a name leads nowhere or in a circle, or the profile lacks a figure; the message then says
    /// what to measure.
    pub fn resolve(&self, profile: Option<&Profile>) -> Result<Path, Error> {
        let resolver = Resolver { file: self, measured: Measured(profile) };
        let mut instructions: Vec<String> =
            self.list(|entries| &entries.instructions).map(|(_, name)| name.clone()).collect();
        if instructions.is_empty() {
            instructions.push(String::new());
        }
        let bytes: Vec<f64> = self.list(|entries| &entries.bytes).map(|(_, size)| size.0).collect();
        let gaps = match self.last(|entries| entries.gap_ns.as_ref()) {
            Some((place, sweep)) => sweep_of_gaps(place.of(sweep), sweep.get_ref())?,
            None => vec![Ns::ZERO],
        };
        for (place, name, entry) in self.named(|entries| &entries.rates) {
            resolver.rate(name, place, entry)?;
        }
        let stages = self.list(|entries| &entries.stage);
        let stages = stages.map(|(place, entry)| resolver.stage(place, entry, &instructions));
        let variants = resolver.variants(&stages.collect::<Result<Vec<_>, _>>()?)?;
        let figures = self.list(|entries| &entries.figure);
        let figures: Vec<Figure> = figures
            .map(|(place, entry)| resolver.figure(place, entry, &variants))
            .collect::<Result<_, _>>()?;
        let crossovers = self.list(|entries| &entries.crossover);
        let crossovers = crossovers.map(|(place, entry)| crossover(place, entry, &variants));
        let crossovers = crossovers.collect::<Result<_, _>>()?;
        let mut statements = Vec::new();
        for (place, statement) in self.list(|entries| &entries.statement) {
            for name in statement.figures() {
                find(name, "figure", place, &figures, |figure| &figure.name)?;
            }
            statements.push(statement.clone());
        }
        if bytes.len() > MAX_SIZES {
            return Err(
                self.error(Reason::TooMany(format!("it has {} sizes; at most {MAX_SIZES}", bytes.len())))
            );
        }
        let points = figures.len() * instructions.len() * bytes.len() * gaps.len();
        if points > MAX_POINTS {
            let message = format!("its figures have {points} points; at most {MAX_POINTS} are drawn");
            return Err(self.error(Reason::TooMany(message)));
        }
        let own = self.own();
        Ok(Path {
            name: own.name.clone(),
            about: own.about.clone(),
            source: own.source.clone(),
            reading: own.reading.clone(),
            instructions,
            bytes,
            gaps,
            variants,
            figures,
            crossovers,
            statements,
        })
    }

    /// The path as each pass of a profile's messages has it; empty where it uses no messages, or they have no passes.
    pub fn by_pass(&self, profile: &Profile) -> Vec<Path> {
        let takes = |entry: &RateEntry| matches!(entry.source, RateSource::Messages(_));
        let takes = self.named(|entries| &entries.rates).any(|(_, _, entry)| takes(entry));
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

    /// What each of the file's rates and costs lacks, by line: above all figures of `profile`, so that all of them can
    /// be measured before the next attempt.
    pub fn lacking(&self, profile: Option<&Profile>) -> Vec<Error> {
        let resolver = Resolver { file: self, measured: Measured(profile) };
        let rates = self.named(|entries| &entries.rates);
        let rates = rates.filter_map(|(place, name, entry)| resolver.rate(name, place, entry).err());
        let costs = self.named(|entries| &entries.costs);
        let costs = costs.filter_map(|(place, _, entry)| resolver.cost(place, entry).err());
        let mut lacking: Vec<Error> = rates.chain(costs).collect();
        lacking.sort_by(|a, b| (a.file(), a.line()).cmp(&(b.file(), b.line())));
        // A rate that several others refer to is missing once.
        lacking.dedup();
        lacking
    }
}

struct Resolver<'a> {
    file: &'a PathFile,
    measured: Measured<'a>,
}

impl<'a> Resolver<'a> {
    /// The rate of this name, wanted at `place`.
    fn rate_named(&self, name: &str, place: Place<'_>) -> Result<(Place<'a>, &'a RateEntry), Error> {
        let found = self.file.named(|entries| &entries.rates).find(|(_, other, _)| *other == name);
        let missing = || place.error(Reason::Unknown { what: "rate", name: name.to_owned() });
        let (place, _, entry) = found.ok_or_else(missing)?;
        Ok((place, entry))
    }

    /// Follows a rate to the one that has figures.
    fn rate(&self, name: &str, mut place: Place<'a>, mut entry: &'a RateEntry) -> Result<Rate, Error> {
        let mut seen = vec![name.to_owned()];
        let mut factors = Vec::new();
        loop {
            factors.extend(entry.factor);
            let rate = match &entry.source {
                RateSource::Stated(rate) => rate.clone(),
                RateSource::Memory(query) => self.measured.rate(query, place)?,
                RateSource::Messages(query) => self.measured.rate_of_messages(query, place)?,
                RateSource::Of(name) => {
                    (place, entry) = self.rate_named(name.get_ref(), place.of(name))?;
                    if seen.contains(name.get_ref()) {
                        let circle = chain(&seen, name.get_ref());
                        return Err(place.error(Reason::Cycle(format!("rates {circle} refer to"))));
                    }
                    seen.push(name.get_ref().clone());
                    continue;
                }
            };
            return Ok(rate.with(factors));
        }
    }

    fn cost(&self, place: Place<'_>, entry: &CostEntry) -> Result<Ns, Error> {
        Ok(self.measured.cost(&entry.source, place)? * entry.times)
    }

    /// A time in ns plus costs by name.
    fn costs(&self, stated: f64, place: Place<'_>, names: &[Spanned<String>]) -> Result<Ns, Error> {
        names.iter().try_fold(Ns(stated), |sum, name| {
            let wanted = name.get_ref();
            let found = self.file.named(|entries| &entries.costs).find(|(_, other, _)| *other == wanted);
            let missing = || place.of(name).error(Reason::Unknown { what: "cost", name: wanted.clone() });
            let (place, _, entry) = found.ok_or_else(missing)?;
            Ok(sum + self.cost(place, entry)?)
        })
    }

    fn stage(&self, place: Place<'a>, entry: &StageEntry, instructions: &[String]) -> Result<Stage, Error> {
        let overlap = match (entry.overlap, &entry.chunk_bytes) {
            (OverlapEntry::StoreAndForward, None) => Overlap::StoreAndForward,
            (OverlapEntry::CutThrough, None) => Overlap::CutThrough,
            (OverlapEntry::Pipelined, Some(chunk)) => Overlap::Pipelined { chunk_bytes: chunk.get_ref().0 },
            (OverlapEntry::Pipelined, None) => {
                return Err(place.unfit("a pipelined stage has fragments; add 'chunk_bytes'"));
            }
            (_, Some(chunk)) => {
                return Err(place.of(chunk).unfit("'chunk_bytes' goes with overlap = \"pipelined\""));
            }
        };
        if let Some(side) = entry.side.as_ref().filter(|_| !entry.kind.is_cpu()) {
            let message = "'side' says whose CPU is busy; it goes with kind \"copy\" or \"status\"";
            return Err(place.of(side).unfit(message));
        }
        let rates = instructions.iter().map(|instruction| {
            let Some(named) = &entry.rate else { return Ok(None) };
            let name = named.get_ref().replace(INSTRUCTION, instruction);
            let (place, entry) = self.rate_named(&name, place.of(named))?;
            self.rate(&name, place, entry).map(Some)
        });
        Ok(Stage {
            name: entry.name.clone(),
            kind: entry.kind,
            side: entry.side.as_ref().map(|side| *side.get_ref()),
            rates: rates.collect::<Result<_, _>>()?,
            gap: self.costs(entry.gap_ns.map_or(0.0, |gap| gap.0), place, &entry.gap)?,
            gaps: entry.gaps.min(1000),
            fixed: self.costs(entry.fixed_ns.map_or(0.0, |fixed| fixed.0), place, &entry.fixed)?,
            overlap,
        })
    }

    fn variants(&self, stages: &[Stage]) -> Result<Vec<Variant>, Error> {
        let variant = |(place, entry): (Place<'_>, &VariantEntry)| {
            let find = |name| find_spanned(name, "stage", place, stages, |stage| &stage.name);
            let own = entry.stages.iter().map(|name| Ok(stages[find(name)?].clone()));
            let own: Vec<Stage> = own.collect::<Result<_, Error>>()?;
            if !(1..=MAX_STAGES).contains(&own.len()) {
                let message = format!("a variant has 1 to {MAX_STAGES} stages, not {}", own.len());
                return Err(place.error(Reason::TooMany(message)));
            }
            let max_bytes = entry.max_bytes.map(|most| most.0);
            let variant = Variant { name: entry.name.clone(), stages: own, max_bytes };
            if !variant.has_one_fragment_size_a_pipeline() {
                return Err(place.unfit("stages of one pipeline have one size of fragments"));
            }
            Ok(variant)
        };
        let variants: Vec<Variant> =
            self.file.list(|entries| &entries.variant).map(variant).collect::<Result<_, _>>()?;
        match stages.len() {
            _ if !variants.is_empty() => Ok(variants),
            0 => Err(self
                .file
                .error(Reason::Entries("has no stage; add [[stage]] with a name and a kind".into()))),
            1..=MAX_STAGES => {
                let name = self.file.own().name.clone();
                Ok(vec![Variant { name, stages: stages.to_vec(), max_bytes: None }])
            }
            _ => Err(self.file.error(Reason::TooMany(format!("more than {MAX_STAGES} stages in a row")))),
        }
    }

    fn figure(&self, place: Place<'_>, entry: &FigureEntry, variants: &[Variant]) -> Result<Figure, Error> {
        let find = |name| find_spanned(name, "variant", place, variants, |variant| &variant.name);
        let (a, b) = (find(&entry.a)?, find(&entry.b)?);
        let sum_of_gaps = entry.gap == GapOf::Sum;
        let varied = sum_of_gaps && self.file.last(|entries| entries.gap_ns.as_ref()).is_some();
        if let Some(fixed) = [a, b].map(|at| &variants[at]).into_iter().find(|one| varied && one.gaps() == 0)
        {
            let message = format!("variant '{}' has no gap to vary; add 'gaps' to a stage", fixed.name);
            return Err(place.unfit(message));
        }
        let FigureEntry { name, title, bus, .. } = entry;
        Ok(Figure { name: name.clone(), title: title.clone(), bus: bus.clone(), a, b, sum_of_gaps })
    }
}

fn crossover(place: Place<'_>, entry: &CrossoverEntry, variants: &[Variant]) -> Result<Crossover, Error> {
    let find = |name| find_spanned(name, "variant", place, variants, |variant| &variant.name);
    let protocols: Vec<usize> = entry.protocols.iter().map(find).collect::<Result<_, _>>()?;
    if !(2..=MAX_PROTOCOLS).contains(&protocols.len()) {
        return Err(
            place.error(Reason::TooMany(format!("a crossover is between 2 to {MAX_PROTOCOLS} protocols")))
        );
    }
    let corners: usize = protocols.iter().map(|&index| variants[index].corners(0).len()).sum();
    if corners > MAX_CORNERS {
        let message = format!("its tables have {corners} points; at most {MAX_CORNERS} are compared");
        return Err(place.error(Reason::TooMany(message)));
    }
    let (place, span) = (place.of(&entry.bytes), entry.bytes.get_ref());
    if span.from < 1.0 {
        return Err(place.error(Reason::Value("sizes begin at 1 byte".into())));
    }
    let (least, greatest) = ends(place, span, 1.0, MAX_BYTES)?;
    let grid = span.points.map(|points| grid(place, (least, greatest), points)).transpose()?;
    Ok(Crossover { name: entry.name.clone(), protocols, least, greatest, grid })
}

/// The index of what has this name.
fn find<T>(
    name: &str,
    what: &'static str,
    place: Place<'_>,
    all: &[T],
    name_of: impl Fn(&T) -> &String,
) -> Result<usize, Error> {
    let missing = || place.error(Reason::Unknown { what, name: name.to_owned() });
    all.iter().position(|one| name_of(one) == name).ok_or_else(missing)
}

fn find_spanned<T>(
    name: &Spanned<String>,
    what: &'static str,
    place: Place<'_>,
    all: &[T],
    name_of: impl Fn(&T) -> &String,
) -> Result<usize, Error> {
    find(name.get_ref(), what, place.of(name), all, name_of)
}

fn sweep_of_gaps(place: Place<'_>, span: &Span) -> Result<Vec<Ns>, Error> {
    let ends = ends(place, span, f64::MIN_POSITIVE, MAX_NS)?;
    let points = span.points.ok_or_else(|| place.unfit("missing field `points`"))?;
    Ok(grid(place, ends, points)?.into_iter().map(Ns).collect())
}

fn ends(place: Place<'_>, span: &Span, least: f64, most: f64) -> Result<(f64, f64), Error> {
    let error = |message| place.error(Reason::Value(message));
    let from = within("the least value of a sweep", span.from, least, most).map_err(error)?;
    Ok((from, within("the greatest value of a sweep", span.to, from, most).map_err(error)?))
}

/// `points` values from one to another, evenly spaced in their logarithms and rounded to twelve digits, so that 1000
/// is 1000.
fn grid(place: Place<'_>, (from, to): (f64, f64), points: usize) -> Result<Vec<f64>, Error> {
    if !(2..=MAX_SWEEP).contains(&points) {
        return Err(place.error(Reason::Value(format!("a sweep has 2 to {MAX_SWEEP} points, not {points}"))));
    }
    let step = (to / from).ln() / (points - 1) as f64;
    let rounded = |value: f64| {
        let scale = 10f64.powi(11 - value.log10().floor() as i32);
        if scale.is_normal() { (value * scale).round() / scale } else { value }
    };
    let mut values: Vec<f64> = (0..points).map(|at| rounded(from * (step * at as f64).exp())).collect();
    values[points - 1] = to;
    Ok(values)
}
