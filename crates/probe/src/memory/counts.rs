//! Bursts and partials by counter: whole lines that are read or written, and lines that are written in pieces.
//!
//! AMD's cores since Zen count when a write-combining buffer is closed, full or not (PMCx050); a core's fills from
//! outside its caches are lines read. Both are used only after they have counted stores and loads of known effect
//! correctly.

use coho_counters::tables::{Candidate, Identity, Vendor};
use coho_counters::{Column, Counter, Error as CounterError, Event, Mode, selftest};
use coho_profile::{BlockState, CacheType, Estimate, LinesLeft, MemoryRate, Operation};

use super::lines::{self, LINE};
use super::loops::{Loop, fence};
use super::rates::Typed;
use super::survey::Survey;
use super::{Options, Region};
use crate::{Error, statistics};

/// Calls that are counted together.
const CALLS: u64 = 16;
/// Samples of a figure.
const SAMPLES: usize = 9;
/// The largest block that is counted.
const LARGEST: u64 = 1 << 20;
/// Lines of the self-test, and how far a count may be off: buffers that are still open when it begins or ends.
const TRIED: usize = 1024;
const SLACK: f64 = 24.0;

/// Events that are being counted for the calling thread.
pub(super) trait Count {
    /// The count so far.
    fn so_far(&self) -> Result<u64, CounterError>;
}

impl Count for Counter {
    fn so_far(&self) -> Result<u64, CounterError> {
        self.read_by_kernel()
    }
}

/// The counters of lines on this CPU.
struct Counters<C> {
    full: Option<C>,
    partial: Option<C>,
    read: Vec<C>,
}

/// The blocks whose lines are counted: those of the rate itself.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    op: Operation,
    instruction: String,
    bytes: usize,
    state: BlockState,
    /// Type of the destination, and of the source.
    to: CacheType,
    from: CacheType,
}

impl Wanted {
    /// `None` if one thread cannot prepare such blocks between two readings of a counter: the counts would then be of
    /// other blocks than the rates.
    fn of(rate: &MemoryRate) -> Option<Self> {
        let state = rate.state?;
        let alone = matches!(state, BlockState::Warm | BlockState::Dirty | BlockState::Flushed);
        let counted = alone && rate.bytes <= LARGEST && rate.threads == 1;
        counted.then(|| Self {
            op: rate.op,
            instruction: rate.instruction.clone(),
            bytes: rate.bytes as usize,
            state,
            to: match rate.op {
                Operation::Write => rate.cache_type,
                _ => rate.destination_type.unwrap_or_default(),
            },
            from: if rate.op == Operation::Write { CacheType::WriteBack } else { rate.cache_type },
        })
    }
}

/// Adds bursts and partials to the rates of one thread, each counted on memory of the rate's own type and on blocks in its
/// own state, or the reason why there are none.
pub(super) fn add(survey: &mut Survey<'_>, typed: &[Typed]) -> Result<(), Error> {
    let end = survey.frame.end().clone();
    let Options { paging, node, .. } = *survey.options;
    let rates: Vec<Option<Wanted>> = survey.memory.rates.iter().map(Wanted::of).collect();
    let left_out = survey.memory.rates.iter().zip(&rates).any(|(_, wanted)| wanted.is_none());
    let counted = survey.on_first(move || -> Result<_, Error> {
        let counters = match Counters::open() {
            Ok(counters) => counters,
            Err(why) => return Ok(Err(why)),
        };
        let region = || Region::write_back_on(LARGEST as usize, paging, node);
        let (to, from) = (region()?, region()?);
        let of_type = |cache_type: CacheType, usual| match cache_type {
            CacheType::WriteBack => Some(usual),
            other => typed.iter().find(|typed| typed.cache_type == other).map(|typed| &typed.region),
        };
        let figures = rates.iter().map(|wanted| {
            let wanted = wanted.as_ref().filter(|_| !end.has_come())?;
            let one = Loop::find(wanted.op, &wanted.instruction)?;
            let (to, from) = (of_type(wanted.to, &to)?, of_type(wanted.from, &from)?);
            Some(counters.of(one, to, from, wanted.bytes, wanted.state))
        });
        let figures = figures.map(Option::unwrap_or_default);
        Ok(Ok(figures.collect::<Vec<_>>()))
    })??;
    match counted {
        Ok(figures) => {
            for (rate, (bursts, partials)) in survey.memory.rates.iter_mut().zip(figures) {
                (rate.bursts, rate.partials) = (bursts, partials);
            }
            survey.lacks("partials of reads", "no event is known that counts reads of less than a line");
            if left_out {
                let why = "counted only for one thread's warm, dirty and flushed blocks of up to 1 MiB: \
                           others cannot be brought about between two readings of a counter";
                survey.lacks("bursts and partials of other blocks", why);
            }
        }
        Err(why) => survey.lacks("bursts and partials", why),
    }
    Ok(())
}

/// Lines that a second plain read brings in again after each of these first reads of a flushed block, by the counters of
/// [`lines_read`].
pub(super) fn gone(
    counters: &[impl Count],
    region: &Region,
    bytes: usize,
    first: &[(&str, &str)],
) -> Vec<LinesLeft> {
    let again = Loop::find(Operation::Read, "plain-8").expect("every architecture has it");
    let count = |instruction: &str| {
        let one = Loop::find(Operation::Read, instruction)?;
        let samples = (0..SAMPLES).filter_map(|_| {
            lines::flush(region, 0, bytes);
            lines::wait();
            one.run(region, region, bytes, 0);
            lines::wait();
            counted(counters, || again.run(region, region, bytes, 0)).ok()
        });
        statistics::estimate(&[samples.collect()])
    };
    first
        .iter()
        .map(|(name, instruction)| LinesLeft {
            first: (*name).into(),
            bytes: bytes as u64,
            lines: (bytes / LINE) as u64,
            method: "counter".into(),
            cache: "bus".into(),
            gone: count(instruction),
            ns: None,
        })
        .collect()
}

/// The counters of lines that a core reads from outside its caches, for the calling thread, if they have passed their
/// test; otherwise the reason.
pub(super) fn lines_read() -> Result<Vec<Counter>, String> {
    let set = selftest::choose(&[Column::L3Misses]).map_err(|error| error.to_string())?;
    if let Some(chosen) = set.chosen.get(&Column::L3Misses) {
        return open(chosen).map_err(|error| error.to_string());
    }
    let tried = set.tests.iter().map(|test| format!("{}: {}", test.candidate, test.verdict.why));
    let first = tried.take(1).next();
    Err(first.unwrap_or_else(|| "no event of this CPU is known to count lines read from memory".to_owned()))
}

impl Counters<Counter> {
    /// The counters that have passed their tests, for the calling thread; the reason, if there are none.
    fn open() -> Result<Self, String> {
        let read = lines_read().unwrap_or_default();
        let stores = combining_events(&Identity::here()).ok_or_else(|| {
            "this CPU has no event that tells full from partial writes of a line; AMD CPUs since Zen have one"
                .to_owned()
        });
        let opened = |event: &Event| Counter::open(event, Mode::User).map_err(|error| error.to_string());
        let (full, partial) =
            match stores.and_then(|[full, partial]| tried(opened(&full)?, opened(&partial)?)) {
                Ok((full, partial)) => (Some(full), Some(partial)),
                Err(why) if read.is_empty() => return Err(why),
                Err(_) => (None, None),
            };
        Ok(Self { full, partial, read })
    }
}

impl<C: Count> Counters<C> {
    /// Bursts and partials of one call on blocks in a state.
    fn of(
        &self,
        one: &Loop,
        to: &Region,
        from: &Region,
        bytes: usize,
        state: BlockState,
    ) -> (Option<Estimate>, Option<Estimate>) {
        let prepare = || {
            let own = [(Operation::Read, to), (Operation::Write, from)];
            for (_, region) in own.into_iter().filter(|(without, _)| *without != one.op()) {
                region.dirty(0, bytes);
                if state == BlockState::Flushed {
                    lines::flush(region, 0, bytes);
                }
            }
            lines::wait();
        };
        // Each call on a block that was just prepared, or all on the one that they leave.
        let (rounds, calls) = if state == BlockState::Warm { (1, CALLS) } else { (CALLS, 1) };
        let figure = |counters: &[&C]| {
            let sample = || {
                let mut counted = 0;
                for _ in 0..rounds {
                    if state != BlockState::Warm {
                        prepare();
                    }
                    let before = sum(counters)?;
                    for _ in 0..calls {
                        one.run(to, from, bytes, 1);
                    }
                    counted += sum(counters)?.wrapping_sub(before);
                }
                Ok::<_, CounterError>(counted as f64 / CALLS as f64)
            };
            if state == BlockState::Warm {
                one.run(to, from, bytes, 1);
            }
            let samples: Vec<f64> = (0..SAMPLES).filter_map(|_| sample().ok()).collect();
            statistics::estimate(&[samples])
        };
        let reads: Vec<&C> =
            if one.op() == Operation::Write { Vec::new() } else { self.read.iter().collect() };
        let writes: Vec<&C> =
            if one.op() == Operation::Read { Vec::new() } else { self.full.iter().collect() };
        let known = (one.op() == Operation::Write || !reads.is_empty())
            && (one.op() == Operation::Read || !writes.is_empty());
        let bursts = known.then(|| figure(&[reads, writes].concat())).flatten();
        let partials = self.partial.as_ref().filter(|_| one.op() != Operation::Read);
        (bursts, partials.and_then(|partial| figure(&[partial])))
    }
}

fn open(candidate: &Candidate) -> Result<Vec<Counter>, CounterError> {
    candidate.events.iter().map(|event| Counter::open(event, Mode::User)).collect()
}

fn sum(counters: &[&impl Count]) -> Result<u64, CounterError> {
    counters.iter().map(|counter| counter.so_far()).sum()
}

fn counted(counters: &[impl Count], work: impl FnOnce()) -> Result<f64, CounterError> {
    let counters: Vec<_> = counters.iter().collect();
    let before = sum(&counters)?;
    work();
    Ok(sum(&counters)?.wrapping_sub(before) as f64)
}

/// Write-combining buffers that were closed full, and partly filled; on AMD since Zen (likwid's perfmon_zen3_events.txt
/// names them).
fn combining_events(identity: &Identity) -> Option<[Event; 2]> {
    let zen = identity.vendor == Vendor::Amd && (0x17..=0x1A).contains(&identity.family);
    let event = |name: &str, unit_mask: u64| Event {
        name: name.into(),
        kind: identity.raw_kind,
        config: 0x50 | unit_mask << 8,
        config1: 0,
    };
    zen.then(|| [event("full write-combining buffers", 0x01), event("partial write-combining buffers", 0x10)])
}

/// The two counters, if they count known stores correctly.
fn tried<C: Count>(full: C, partial: C) -> Result<(C, C), String> {
    let region = Region::write_back(TRIED * LINE).map_err(|error| error.to_string())?;
    region.touch();
    let count = |work: &dyn Fn()| -> Result<(f64, f64), String> {
        let read = || Ok::<_, CounterError>((full.so_far()?, partial.so_far()?));
        let told = |error: CounterError| error.to_string();
        fence();
        let before = read().map_err(told)?;
        work();
        fence();
        let after = read().map_err(told)?;
        Ok(((after.0 - before.0) as f64, (after.1 - before.1) as f64))
    };
    let whole = Loop::find(Operation::Write, "sse2-nt").ok_or("this architecture has none")?;
    let of_lines = count(&|| whole.run(&region, &region, TRIED * LINE, 1))?;
    let of_words = count(&|| words(&region))?;
    let of_usual = count(&|| region.dirty(0, TRIED * LINE))?;
    judge(of_lines, of_words, of_usual)?;
    Ok((full, partial))
}

/// One word of each line, past the caches.
fn words(region: &Region) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..TRIED {
        // SAFETY: within the region; MOVNTI exists on every x86-64 CPU.
        unsafe { std::arch::x86_64::_mm_stream_si64(region.start().add(line * LINE).cast().as_ptr(), 1) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = region;
}

/// Compares (full, partial) with the known counts of stores of whole lines, of a word in each line, and through the
/// caches.
fn judge(of_lines: (f64, f64), of_words: (f64, f64), of_usual: (f64, f64)) -> Result<(), String> {
    let lines = TRIED as f64;
    let near = |seen: f64, expected: f64| (seen - expected).abs() <= SLACK;
    let honest = near(of_lines.0, lines)
        && near(of_lines.1, 0.0)
        && near(of_words.0, 0.0)
        && near(of_words.1, lines)
        && near(of_usual.0, 0.0)
        && near(of_usual.1, 0.0);
    if honest {
        return Ok(());
    }
    Err(format!(
        "the events for full and partial writes of a line failed their test: full/partial {:?} of {TRIED} whole lines, \
         {:?} of a word of each, {:?} of stores through the caches",
        of_lines, of_words, of_usual
    ))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use coho_testing::{Capability, needs};

    use super::*;

    #[test]
    fn counts_as_seen_on_a_zen_3_pass_and_others_do_not() {
        // 14 of the last buffers are closed by the fence.
        assert_eq!(judge((1022.0, 0.0), (0.0, 1010.0), (0.0, 0.0)), Ok(()));
        assert!(judge((0.0, 0.0), (0.0, 0.0), (0.0, 0.0)).unwrap_err().contains("failed their test"));
        assert!(judge((2048.0, 0.0), (0.0, 1024.0), (0.0, 0.0)).is_err());
        assert!(judge((1024.0, 0.0), (1024.0, 1024.0), (0.0, 0.0)).is_err());
    }

    #[test]
    fn only_cpus_that_are_known_to_have_the_events_are_asked() {
        let zen_3 = Identity::from_signature(Vendor::Amd, 0x00A0_0F11);
        let [full, partial] = combining_events(&zen_3).unwrap();
        assert_eq!((full.config, partial.config), (0x150, 0x1050));
        assert!(combining_events(&Identity::from_signature(Vendor::Intel, 0x000C_06F2)).is_none());
        assert!(
            combining_events(&Identity::from_signature(Vendor::Amd, 0x0061_0F31)).is_none(),
            "Piledriver"
        );
    }

    #[test]
    fn what_counts_here_counts_each_call() {
        needs!(Capability::HardwareCounters);
        // Not every CPU has events for it, and none on others than x86-64.
        let counters = match Counters::open() {
            Ok(counters) => counters,
            Err(why) => return assert!(!why.is_empty()),
        };
        let region = Region::write_back(64 << 10).unwrap();
        region.touch();
        let Some(one) = Loop::find(Operation::Write, "sse2-nt") else { return };
        let (bursts, partials) = counters.of(one, &region, &region, 64 << 10, BlockState::Warm);
        if let (Some(bursts), Some(partials)) = (bursts, partials) {
            assert!((bursts.median - 1024.0).abs() < SLACK && partials.median < SLACK, "{bursts:?}");
        }
    }

    /// A counter that goes on by these steps, from one reading to the next and round again; it is lost where there are
    /// none.
    struct Script(&'static [u64], Cell<usize>, Cell<u64>);

    impl Script {
        fn of(steps: &'static [u64]) -> Self {
            Self(steps, Cell::new(0), Cell::new(1 << 40))
        }
    }

    impl Count for Script {
        fn so_far(&self) -> Result<u64, CounterError> {
            let Self(steps, reads, count) = self;
            let Some(step) = steps.get(reads.get() % steps.len().max(1)) else {
                return Err(CounterError::NotScheduled { events: 1 });
            };
            reads.set(reads.get() + 1);
            Ok(count.replace(count.get() + step))
        }
    }

    fn block() -> Region {
        let region = Region::write_back(TRIED * LINE).unwrap();
        region.touch();
        region
    }

    #[test]
    fn bursts_and_partials_are_those_of_one_call() {
        let region = block();
        let [read, write, copy] = [Operation::Read, Operation::Write, Operation::Copy]
            .map(|operation| Loop::find(operation, "plain-8").unwrap());
        // Of a sample, the first of two readings to the second.
        let counters = Counters {
            full: Some(Script::of(&[16 * 1000, 7])),
            partial: Some(Script::of(&[16 * 3, 7])),
            read: vec![Script::of(&[16 * 200, 7]), Script::of(&[16 * 50, 7])],
        };
        let of = |one: &Loop, counters: &Counters<Script>| {
            let (bursts, partials) = counters.of(one, &region, &region, 4096, BlockState::Warm);
            (bursts.map(|bursts| bursts.median), partials.map(|partials| partials.median))
        };
        assert_eq!(of(read, &counters), (Some(250.0), None));
        assert_eq!(of(write, &counters), (Some(1000.0), Some(3.0)));
        assert_eq!(of(copy, &counters), (Some(1250.0), Some(3.0)));
        // A copy whose lines are counted on only one side has no figure.
        let half = Counters { full: None, partial: None, read: vec![Script::of(&[16, 0])] };
        assert_eq!(of(read, &half), (Some(1.0), None));
        assert_eq!((of(copy, &half), of(write, &half)), ((None, None), (None, None)));
        let lost = Counters { full: Some(Script::of(&[])), partial: None, read: vec![] };
        assert_eq!(of(write, &lost), (None, None));
    }

    #[test]
    fn a_prepared_block_is_counted_call_by_call() {
        let region = block();
        let write = Loop::find(Operation::Write, "plain-8").unwrap();
        // Of a call 64 lines, and what happens between the readings of two calls is not counted.
        let counters = Counters {
            full: Some(Script::of(&[64, 1000])),
            partial: Some(Script::of(&[2, 1000])),
            read: vec![],
        };
        let (bursts, partials) = counters.of(write, &region, &region, 4096, BlockState::Flushed);
        assert_eq!((bursts.unwrap().median, partials.unwrap().median), (64.0, 2.0));
    }

    /// A count is attached to the rate whose blocks it was counted on, or to none.
    #[test]
    fn lines_are_counted_on_the_type_and_state_of_their_rate() {
        use CacheType::{Uncached, WriteBack, WriteCombining};
        let rate = |op, cache_type, state| MemoryRate {
            op,
            cache_type,
            instruction: "plain-8".into(),
            bytes: 4096,
            threads: 1,
            state: Some(state),
            ..MemoryRate::default()
        };
        let types = |rate: &MemoryRate| Wanted::of(rate).map(|wanted| (wanted.to, wanted.from));
        assert_eq!(types(&rate(Operation::Write, Uncached, BlockState::Warm)), Some((Uncached, WriteBack)));
        assert_eq!(types(&rate(Operation::Read, Uncached, BlockState::Warm)), Some((WriteBack, Uncached)));
        let copy = rate(Operation::Copy, WriteCombining, BlockState::Warm);
        assert_eq!(types(&copy), Some((WriteBack, WriteCombining)));
        let into =
            MemoryRate { cache_type: WriteBack, destination_type: Some(WriteCombining), ..copy.clone() };
        assert_eq!(types(&into), Some((WriteCombining, WriteBack)));
        for state in [BlockState::Fresh, BlockState::Shared, BlockState::Remote] {
            assert_eq!(Wanted::of(&rate(Operation::Copy, WriteBack, state)), None, "{state}");
        }
        assert_eq!(Wanted::of(&MemoryRate { threads: 2, ..copy.clone() }), None);
        assert_eq!(Wanted::of(&MemoryRate { bytes: 2 << 20, ..copy }), None);
        let flushed = Wanted::of(&rate(Operation::Read, WriteBack, BlockState::Flushed)).unwrap();
        assert_eq!(flushed.state, BlockState::Flushed);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn two_counters_are_tried_on_known_stores() {
        // Before and after stores of whole lines, of a word of each, and through the caches.
        let (whole, words) = (Script::of(&[1024, 0, 0, 0, 0, 0]), Script::of(&[0, 0, 1024, 0, 0, 0]));
        assert!(tried(whole, words).is_ok());
        let dead = [(); 2].map(|()| Script::of(&[0]));
        let [full, partial] = dead;
        assert!(tried(full, partial).err().unwrap().contains("failed their test"));
        assert!(tried(Script::of(&[]), Script::of(&[0])).is_err());
    }

    #[test]
    fn lines_that_are_read_again_are_those_that_are_gone() {
        let region = block();
        let counters = [Script::of(&[40, 0]), Script::of(&[2, 0])];
        let left = gone(&counters, &region, 4096, &[("plain", "plain-8"), ("none", "no such")]);
        assert_eq!(left.len(), 2);
        assert_eq!((left[0].gone.as_ref().unwrap().median, left[0].lines), (42.0, 64));
        assert_eq!(left[1].gone, None);
        assert_eq!(gone(&[Script::of(&[])], &region, 4096, &[("plain", "plain-8")])[0].gone, None);
    }
}
