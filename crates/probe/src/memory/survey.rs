//! The parts of the section, one after the other.

use std::time::Duration;

use coho_platform::pages::Pages;
use coho_profile::{CacheType, Memory};
use coho_topology::Topology;

use super::loops::Loop;
use super::provider::{self, Offer, Wish};
use super::rates::Typed;
use super::{Options, Part, costs, counts, dma, latency, leavings, rates, transfers, wbinvd};
use crate::coherence::nearness;
use crate::frame::Frame;
use crate::{Around, Error};

/// Bytes of memory of other types than write-back: the paper's largest block.
const TYPED: usize = 1 << 20;
/// How long transfers by engines may take at most.
const ENGINES: Duration = Duration::from_secs(20);
const QUICK_ENGINES: Duration = Duration::from_secs(1);

/// What the other parts share.
pub(super) struct Survey<'a> {
    pub(super) options: &'a Options,
    pub(super) topology: &'a Topology,
    pub(super) frame: Frame<'a>,
    pub(super) memory: Memory,
}

impl Survey<'_> {
    /// Records why something is missing.
    pub(super) fn lacks(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.frame.lacks(what, why);
    }

    /// Records why a part has failed, so that the other parts' results are not lost if, say, one has no room.
    ///
    /// # Errors
    /// The part's own error, if nothing else was asked for.
    fn part(&mut self, part: Part, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(error) if self.options.parts.len() > 1 => {
                self.lacks(format!("part {part:?}").to_lowercase(), error.to_string());
                Ok(())
            }
            done => done,
        }
    }

    /// Runs work on the first CPU's worker.
    pub(super) fn on_first<'w, T: Send + 'w>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'w,
    ) -> Result<T, Error> {
        self.frame.run(self.frame.cpus[0], work)
    }

    /// The first CPU and the one nearest to it by the topology; `None` if there is only one.
    pub(super) fn pair(&self) -> Option<[u32; 2]> {
        let (&first, others) = self.frame.cpus.split_first()?;
        let nearest = others.iter().min_by_key(|&&other| nearness(self.topology, first, other))?;
        Some([first, *nearest])
    }

    /// The size of the largest cache, in bytes.
    pub(super) fn cache(&self) -> usize {
        rates::largest_cache(self.topology)
    }
}

pub(super) fn run(options: &Options, around: &mut Around<'_>) -> Result<Memory, Error> {
    check(options)?;
    let frame = Frame::on(&options.course, around.progress)?;
    let mut survey = Survey { options, topology: around.topology, frame, memory: Memory::default() };

    let typed = types(&mut survey)?;
    let wants = |part| options.parts.contains(&part);
    if wants(Part::Rates) {
        let done = rates::measure(&mut survey, &typed).and_then(|()| counts::add(&mut survey, &typed));
        survey.part(Part::Rates, done)?;
    }
    for (part, measure) in [
        (Part::Latency, latency::measure as fn(&mut Survey<'_>) -> Result<(), Error>),
        (Part::Coherence, costs::measure),
        (Part::Coherence, wbinvd::measure),
        (Part::Prefetchnta, leavings::measure),
        (Part::Dma, engines),
        (Part::Transfers, transfers::measure),
    ] {
        if wants(part) && is_left_out(options, part) {
            survey
                .lacks(format!("part {part:?}").to_lowercase(), "it needs write-back memory: add --type WB");
        } else if wants(part) && !survey.frame.end().has_come() {
            let done = measure(&mut survey);
            survey.part(part, done)?;
        }
    }

    Ok(Memory { method: survey.frame.finish(DESCRIPTION), ..survey.memory })
}

/// Whether a part concerns only write-back memory while other types are asked for. Lines written back explicitly stay:
/// memory of other types makes them unnecessary.
fn is_left_out(options: &Options, part: Part) -> bool {
    part == Part::Latency && !options.types.is_empty() && !options.types.contains(&CacheType::WriteBack)
}

const DESCRIPTION: &str = "Windows of some 100 us, all operations in turn in passes of random order; \
    windows in which a thread was interrupted are dropped. Pages are written beforehand. Each call moves \
    one block, of which each thread has its own; a warm block is the same each time, a fresh one lies on \
    the least recently used pages of a pool larger than the caches, and a dirty or flushed one is made so \
    before each call, source and destination alike. With several threads all move data as long as one is \
    timed.";

/// Unknown names are refused, and so are pages or a node that are not available, before anything is measured, whatever
/// the parts.
fn check(options: &Options) -> Result<(), Error> {
    Pages::map_at(1, options.paging, options.node)?;
    for name in &options.instructions {
        let known = |one: &Loop| {
            let op = options.operations.is_empty() || options.operations.contains(&one.op());
            op && one.is_named(name)
        };
        if !Loop::all().iter().any(known) {
            let mut names: Vec<_> = Loop::all().iter().map(Loop::instruction).collect();
            names.sort_unstable();
            names.dedup();
            return Err(Error::argument(format!(
                "no loop of these operations has the instruction '{name}'; there are: {}",
                names.join(", ")
            )));
        }
    }
    Ok(())
}

/// Lists the memory types that exist, and returns those to measure: for each type, the memory of the first provider
/// whose self-test proved it; otherwise, if the type was named, of the first that has any.
fn types(survey: &mut Survey<'_>) -> Result<Vec<Typed>, Error> {
    let options = survey.options;
    let wish = Wish {
        bytes: TYPED,
        node: options.node,
        pci_bars: options.pci_bars.clone(),
        physical: options.physical.clone(),
    };
    // A thread that tests memory by time must not be moved meanwhile.
    let mut offers = survey.on_first(move || provider::offers(&wish))??;
    survey.memory.types = offers.iter().map(|offer| offer.row.clone()).collect();
    let mut typed = Vec::new();
    if !options.parts.contains(&Part::Rates) {
        return Ok(typed);
    }
    for cache_type in [CacheType::WriteCombining, CacheType::Uncached] {
        let named = options.types.contains(&cache_type);
        if !named && !options.types.is_empty() {
            continue;
        }
        let is = |offer: &Offer, proven| {
            offer.row.name == cache_type && offer.row.available && offer.row.proven == proven
        };
        let first = offers.iter().position(|offer| is(offer, true));
        let first = first.or_else(|| offers.iter().position(|offer| named && is(offer, false)));
        let Some(offer) = first.map(|at| &mut offers[at]) else {
            let reasons: Vec<String> = offers
                .iter()
                .filter(|offer| offer.row.name == cache_type)
                .map(|offer| format!("{}: {}", offer.row.provider, offer.row.why))
                .collect();
            let why = format!("no provider has any that passes its self-test ({})", reasons.join("; "));
            survey.lacks(format!("rates of {cache_type}"), why);
            continue;
        };
        typed.extend(offer.region.take().map(|region| Typed { cache_type, region }));
        survey.frame.parameter(&format!("{cache_type}_provider"), offer.row.provider.clone());
    }
    Ok(typed)
}

/// Transfers by engines, or why there are none.
fn engines(survey: &mut Survey<'_>) -> Result<(), Error> {
    let (cache, end) = (survey.cache(), survey.frame.end().clone());
    let (passes, time) = if survey.options.quick { (3, QUICK_ENGINES) } else { (6, ENGINES) };
    let mut random = survey.frame.random.fork();
    let (rates, why_not) = survey.on_first(move || dma::measure(cache, (passes, time), &mut random, &end))?;
    survey.memory.dma = rates;
    survey.frame.method.not_available.extend(why_not);
    Ok(())
}
