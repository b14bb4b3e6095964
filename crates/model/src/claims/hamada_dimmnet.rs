//! Hamada et al.: rates by memory type and instruction, and what it costs to keep caches coherent by hand.

use coho_profile::{
    BlockState, CacheType, CoherenceCost, DmaRate, LinesLeft, Memory, MemoryRate, Method, Operation,
};

use super::Figure;
use super::evidence::{Context, Evidence, Lack, Part, Range, divided};

/// The paper's sizes, in bytes: two that fit into its caches and one that does not.
const SIZES: [u64; 3] = [512, 64 << 10, 1 << 20];
const CACHED: [u64; 2] = [512, 64 << 10];
/// Plain moves; the paper's have 4 bytes.
const PLAIN: [&str; 3] = ["plain", "plain-4", "plain-8"];
/// The widest first.
const SIMD: [&str; 5] = ["simd", "avx512", "avx2", "sse2", "neon"];
const LINE: f64 = 64.0;

/// What this paper's claims rest on, by name.
pub(super) const FIGURES: &[Figure] = &[
    ("rates", |context, of| by_size(context, &SIZES, &Wish::of(&of[0]), &Wish::of(&of[1]))),
    ("rates-cached", |context, of| by_size(context, &CACHED, &Wish::of(&of[0]), &Wish::of(&of[1]))),
    ("rates-beyond-caches", |context, _| beyond_caches(context)),
    ("non-temporal-beyond-caches", |context, _| past_caches(context)),
    ("read-bursts", |context, _| {
        counted(context, Operation::Read, |rate| rate.bursts.as_ref(), "bursts of reads")
    }),
    ("write-partials", |context, _| {
        counted(context, Operation::Write, |rate| rate.partials.as_ref(), "partials of stores")
    }),
    ("lines-gone", |context, of| gone(context, &of[0])),
    ("write-backs", |context, _| write_backs(context)),
    ("line-by-line", |context, _| line_by_line(context)),
    ("dirty-dma", |context, _| dirty_dma(context)),
];

/// Where the paper's blocks were, as its burst counts show: read from memory each time.
const FROM_MEMORY: &[BlockState] = &[BlockState::Fresh, BlockState::Flushed];

/// Which rate is wanted.
#[derive(Clone, Copy)]
struct Wish<'a> {
    op: Operation,
    by: &'a [&'static str],
    suffix: &'a str,
    cache_type: CacheType,
    /// The first of these that was measured is used.
    states: &'a [BlockState],
}

impl<'a> Wish<'a> {
    /// `write simd-nt WB`. WB memory is read from memory, as in the paper; the other types always are.
    fn of(words: &'a str) -> Self {
        let mut words = words.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let (op, instruction, cache_type) = (next(), next(), next());
        let op = [Operation::Read, Operation::Write, Operation::Copy]
            .into_iter()
            .find(|one| one.to_string() == op);
        let op = op.expect("a claim names an operation");
        let known = CacheType::ALL.into_iter().find(|one| one.name() == cache_type);
        let cache_type = known.expect("a claim names a type of memory");
        let (by, suffix) = match instruction.strip_prefix("simd") {
            Some(suffix) => (SIMD.as_slice(), suffix),
            None => (PLAIN.as_slice(), ""),
        };
        let states = match (op, cache_type) {
            (Operation::Read | Operation::Copy, CacheType::WriteBack) => FROM_MEMORY,
            _ => &[BlockState::Warm],
        };
        Self { op, by, suffix, cache_type, states }
    }

    fn words(&self, bytes: u64) -> String {
        format!("{} of {} memory, {bytes} B,", self.op, self.cache_type)
    }

    /// The rate of one thread at a size, with its instruction.
    fn find<'m>(&self, memory: &'m Memory, bytes: u64) -> Option<&'m MemoryRate> {
        let is = |rate: &&MemoryRate, by: &str, state: Option<BlockState>| {
            rate.op == self.op
                && rate.instruction.strip_suffix(self.suffix) == Some(by)
                && rate.cache_type == self.cache_type
                && rate.destination_type.unwrap_or_default() == CacheType::WriteBack
                && rate.threads == 1
                && rate.bytes == bytes
                && (rate.state.is_none() || rate.state == state)
                && rate.bytes_per_s.is_some()
        };
        self.by.iter().find_map(|by| {
            self.states.iter().find_map(|state| memory.rates.iter().find(|rate| is(rate, by, Some(*state))))
        })
    }
}

fn section<'a>(context: &Context<'a>) -> Result<&'a Memory, Lack> {
    context.profile.memory.as_ref().ok_or_else(|| "the profile has no section memory".into())
}

/// How a part of the section was measured, possibly by an earlier run than its other parts.
fn method<'m>(memory: &'m Memory, part: &str) -> &'m Method {
    let earlier = memory.earlier.iter().find(|earlier| earlier.parts.iter().any(|one| one == part));
    earlier.map_or(&memory.method, |earlier| &earlier.method)
}

/// The lack of a measurement in a part; final if this run says why it is missing, since no other run changes that.
fn lack(memory: &Memory, part: &str, what: &str, reasons: &[&str]) -> Lack {
    let method = method(memory, part);
    match reasons.iter().find_map(|reason| method.not_available.get(*reason)) {
        Some(why) => Lack::Unmeasurable(format!("{what}: {}", why.split(" (").next().unwrap_or(why))),
        None => Lack::Unmeasured(what.to_owned()),
    }
}

/// The size of the largest cache, in bytes; for the paper's machine, the size in its text.
pub(super) fn largest_cache(context: &Context<'_>) -> Option<u64> {
    let topology = context.profile.topology.as_ref();
    let largest =
        topology.and_then(|section| section.topology.caches.iter().map(|cache| cache.size_bytes).max());
    largest.filter(|bytes| *bytes > 0).or(context.published.then_some(256 << 10))
}

/// A rate's range with its instruction, or why the profile has none.
fn rate(context: &Context<'_>, wish: &Wish<'_>, bytes: u64) -> Result<(Range, String), Lack> {
    let memory = section(context)?;
    let Some(row) = wish.find(memory, bytes) else {
        let what = format!("the {} was not measured", wish.words(bytes).trim_end_matches(','));
        return Err(lack(memory, "rates", &what, &[&format!("rates of {}", wish.cache_type)]));
    };
    let state = row.state.map_or(String::new(), |state| format!(", {state}"));
    let range = context.range(&format!("the {}", wish.words(bytes)), row.bytes_per_s.as_ref())?;
    Ok((range, format!("{}{state}", row.instruction)))
}

fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

/// One rate over another at each of the sizes that both have.
fn by_size(context: &Context<'_>, sizes: &[u64], a: &Wish<'_>, b: &Wish<'_>) -> Result<Evidence, Lack> {
    let mut by = String::new();
    let mut part = |bytes: u64| {
        let ((over, how_a), (under, how_b)) = match (rate(context, a, bytes), rate(context, b, bytes)) {
            // If one of the two cannot be measured here at all, give that reason.
            (Err(_), Err(lack @ Lack::Unmeasurable(_))) => return Err(lack),
            (a, b) => (a?, b?),
        };
        by = format!("{how_a} over {how_b}");
        Ok(Part::new(size(bytes), divided(over, under)?))
    };
    let parts: Vec<_> = sizes.iter().map(|&bytes| part(bytes)).collect();
    Ok(Evidence::of(parts, format!("{by}; {}", how(context, "rates")?)))
}

/// How a part of the section was measured, in words.
fn how(context: &Context<'_>, part: &str) -> Result<String, Lack> {
    Ok(context.how(method(section(context)?, part)))
}

/// The largest block of WB memory that was written again and again, if it exceeds the caches.
fn beyond(context: &Context<'_>, wish: &Wish<'_>) -> Result<(Range, String, u64), Lack> {
    let memory = section(context)?;
    let cache = largest_cache(context).ok_or("the profile lists no caches")?;
    let bytes = memory.rates.iter().map(|rate| rate.bytes).max().unwrap_or(0);
    if bytes <= cache {
        return Err(format!("the largest block has {bytes} bytes, and the largest cache {cache}").into());
    }
    let (range, by) = rate(context, wish, bytes)?;
    Ok((range, by, bytes))
}

fn beyond_caches(context: &Context<'_>) -> Result<Evidence, Lack> {
    let (wc, wc_by) = rate(context, &Wish::of("write simd WC"), 1 << 20)?;
    let (wb, wb_by, bytes) = beyond(context, &Wish::of("write simd WB"))?;
    let how = format!("{wb_by}, {} over {wc_by}, 1 MiB; {}", size(bytes), how(context, "rates")?);
    Ok(Evidence::one(divided(wb, wc)?, how))
}

fn past_caches(context: &Context<'_>) -> Result<Evidence, Lack> {
    let (past, past_by, bytes) = beyond(context, &Wish::of("write simd-nt WB"))?;
    let (usual, usual_by, _) = beyond(context, &Wish::of("write simd WB"))?;
    let how = format!("{past_by} over {usual_by}, {}; {}", size(bytes), how(context, "rates")?);
    Ok(Evidence::one(divided(past, usual)?, how))
}

/// Bus transactions of an operation on WC memory as a share of its lines.
fn counted(
    context: &Context<'_>,
    op: Operation,
    of: fn(&MemoryRate) -> Option<&coho_profile::Estimate>,
    what: &str,
) -> Result<Evidence, Lack> {
    let memory = section(context)?;
    let line = if context.published { 32.0 } else { LINE };
    let mine = |rate: &&MemoryRate| {
        rate.op == op && rate.cache_type == CacheType::WriteCombining && of(rate).is_some()
    };
    let share = |rate: &MemoryRate| {
        let what = format!("{}, {}", rate.instruction, size(rate.bytes));
        let range = context.range(&format!("{op} of WC memory by {what}"), of(rate))?;
        Ok(Part::new(what, range.times(line / rate.bytes as f64)))
    };
    let parts: Vec<_> = memory.rates.iter().filter(mine).map(share).collect();
    if parts.is_empty() {
        let what = format!("no {what} of WC memory were counted");
        return Err(lack(memory, "rates", &what, &["bursts and partials", "rates of WC"]));
    }
    Ok(Evidence::of(parts, how(context, "rates")?))
}

/// The share of a block's lines that the second read does not find in the caches, at the paper's sizes.
fn gone(context: &Context<'_>, first: &str) -> Result<Evidence, Lack> {
    let memory = section(context)?;
    let by_method = |method: &str| -> Vec<&LinesLeft> {
        let mine = |row: &&LinesLeft| {
            row.first == first && row.method == method && CACHED.contains(&row.bytes) && row.gone.is_some()
        };
        memory.prefetchnta.iter().filter(mine).collect()
    };
    let counted = by_method("counter");
    let (rows, by) = match counted.is_empty() {
        true => (by_method("timing"), "by timing, where the paper counts bursts"),
        false => (counted, "by counter, as in the paper"),
    };
    let part = |bytes: u64| {
        let row = rows.iter().find(|row| row.bytes == bytes);
        let what = format!("what a read of {} leaves", size(bytes));
        let gone = context.range(&what, row.and_then(|row| row.gone.as_ref()))?;
        Ok(Part::new(size(bytes), gone.times(1.0 / row.map_or(1, |row| row.lines.max(1)) as f64)))
    };
    Ok(Evidence::of(CACHED.map(part), format!("{by}; {}", how(context, "prefetchnta")?)))
}

fn costs<'a>(memory: &'a Memory, operation: &'a str) -> impl Iterator<Item = &'a CoherenceCost> {
    memory.coherence_cost.iter().filter(move |cost| cost.operation == operation && cost.ns.is_some())
}

fn wbinvd(memory: &Memory) -> Lack {
    lack(memory, "coherence_cost", "WBINVD was not measured", &["WBINVD"])
}

fn write_backs(context: &Context<'_>) -> Result<Evidence, Lack> {
    let memory = section(context)?;
    let by = |cost: &&CoherenceCost| cost.dirty;
    let (least, most) = (costs(memory, "WBINVD").min_by_key(by), costs(memory, "WBINVD").max_by_key(by));
    let (Some(least), Some(most)) = (least, most) else { return Err(wbinvd(memory)) };
    if least.dirty == most.dirty {
        return Err(
            "WBINVD was measured with only one number of modified lines, so its growth is unknown".into()
        );
    }
    let time = |cost: &CoherenceCost| context.range("WBINVD", cost.ns.as_ref());
    let how = how(context, "coherence_cost")?;
    let basis = format!("{} modified lines over {}; {how}", most.dirty, least.dirty);
    Ok(Evidence::one(divided(time(most)?, time(least)?)?, basis))
}

/// A block of the paper's smallest size, all of it modified.
fn line_by_line(context: &Context<'_>) -> Result<Evidence, Lack> {
    let memory = section(context)?;
    let all = costs(memory, "WBINVD").min_by_key(|cost| cost.dirty).ok_or_else(|| wbinvd(memory))?;
    let small = costs(memory, "CLFLUSH").find(|cost| cost.lines == 8 && cost.dirty == 8);
    let small = context.range("CLFLUSH of 8 lines", small.and_then(|cost| cost.ns.as_ref()))?;
    let all = context.range("WBINVD", all.ns.as_ref())?;
    let how = how(context, "coherence_cost")?;
    Ok(Evidence::one(divided(small, all)?, format!("CLFLUSH of 8 modified lines; {how}")))
}

fn dirty_dma(context: &Context<'_>) -> Result<Evidence, Lack> {
    let memory = section(context)?;
    let is_clean_of = |dirty: &DmaRate, row: &DmaRate| {
        (&row.engine, &row.direction, row.bytes) == (&dirty.engine, &dirty.direction, dirty.bytes)
            && row.source == "clean"
    };
    let part = |dirty: &DmaRate| {
        let clean = memory.dma.iter().find(|row| is_clean_of(dirty, row))?;
        let what = format!("{}, {}", dirty.engine, size(dirty.bytes));
        let rate = |row: &DmaRate| context.range(&format!("DMA by {what}"), row.bytes_per_s.as_ref());
        let ratio = rate(dirty).and_then(|dirty| divided(dirty, rate(clean)?));
        Some(ratio.map(|ratio| Part::new(what.clone(), ratio)))
    };
    let parts: Vec<_> = memory.dma.iter().filter(|row| row.source == "dirty").filter_map(part).collect();
    if parts.is_empty() {
        // Every run of this part looks for an engine.
        let looked = method(memory, "dma").not_available.keys().any(|what| what.starts_with("DMA by "));
        let why =
            "no engine other than the CPU was found that moves data out of both clean and modified lines";
        return Err(if looked { Lack::Unmeasurable(why.into()) } else { "DMA was not measured".into() });
    }
    Ok(Evidence::of(parts, how(context, "dma")?))
}
