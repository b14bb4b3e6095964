//! What an operation executes: by the CPU's counters if they count, otherwise by single steps.

use std::collections::BTreeMap;

use coho_counters::tables::Candidate;
use coho_counters::{Column, Counter, Error, Mode};
use coho_profile::{Counts, Estimate};

use super::tools::{Repeat, repeat};
use crate::{statistics, step};

/// Repetitions for one sample: the difference between twice as many and this many leaves out what surrounds them.
const REPEATS: u64 = 64;
const SAMPLES: usize = 15;

/// Counts the events of an operation, per repetition, minus those of an empty one.
///
/// A counter runs all the time and is read by the kernel at both ends. So it is not the counter under test, and if
/// reads are trapped, none comes in between.
pub(super) fn by_counters(
    run: &mut Repeat,
    mode: Mode,
    events: &BTreeMap<Column, Candidate>,
) -> Result<Counts, Error> {
    by_reads(run, events, |candidate| {
        let counters =
            candidate.events.iter().map(|event| Counter::open(event, mode)).collect::<Result<Vec<_>, _>>()?;
        Ok(move || counters.iter().map(Counter::read_by_kernel).sum())
    })
}

/// The same with readings from what `open` makes of a candidate.
fn by_reads<R: FnMut() -> Result<u64, Error>>(
    run: &mut Repeat,
    events: &BTreeMap<Column, Candidate>,
    open: impl Fn(&Candidate) -> Result<R, Error>,
) -> Result<Counts, Error> {
    let mut nothing = repeat(|| ());
    let mut counts = Counts::default();
    let mut inactive = None;
    for (&column, candidate) in events {
        let mut read = open(candidate)?;
        let empty = median(&samples(&mut nothing, &mut read)?);
        let figure: Vec<f64> = samples(run, &mut read)?.iter().map(|sample| sample - empty).collect();
        let figure = statistics::estimate(&[figure]);
        match column {
            Column::L1dReferences => counts.L1DR = figure,
            Column::L1dMisses => counts.L1DM = figure,
            Column::L1iMisses => counts.L1IM = figure,
            Column::L2Misses => counts.L2M = figure,
            Column::L3Misses => counts.L3M = figure,
            Column::Instructions => counts.INS = figure,
            Column::Inactive => inactive = figure,
            Column::Cycles => counts.CYCLE = figure,
        }
    }
    counts.STALL = inactive.zip(counts.CYCLE.as_ref()).and_then(|(inactive, cycles)| {
        (cycles.median > 0.0).then(|| Estimate::exact(inactive.median / cycles.median))
    });
    Ok(counts)
}

fn samples(run: &mut Repeat, read: &mut impl FnMut() -> Result<u64, Error>) -> Result<Vec<f64>, Error> {
    let mut counted = |times| -> Result<f64, Error> {
        let before = read()?;
        run(times);
        Ok(read()?.wrapping_sub(before) as f64)
    };
    counted(REPEATS)?;
    (0..SAMPLES).map(|_| Ok((counted(2 * REPEATS)? - counted(REPEATS)?) / REPEATS as f64)).collect()
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    statistics::median(&sorted)
}

/// What single steps show about an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stepped {
    /// User instructions.
    pub(super) instructions: u64,
    /// Entries to the kernel.
    pub(super) kernel_entries: u64,
}

/// Follows an operation step by step: two of them minus one, minus the same for an empty operation.
pub(super) fn by_steps(run: &mut Repeat) -> Result<Stepped, crate::Error> {
    let options = step::Options { emulate_rdpmc: true, ..step::Options::default() };
    let steps = |run: &mut Repeat, times| step::count_with(&options, || run(times));
    let mut nothing = repeat(|| ());
    let empty = steps(&mut nothing, 2)?.instructions - steps(&mut nothing, 1)?.instructions;
    let (one, two) = (steps(run, 1)?, steps(run, 2)?);
    Ok(Stepped {
        instructions: two.instructions.saturating_sub(one.instructions).saturating_sub(empty),
        kernel_entries: two.kernel_entries.saturating_sub(one.kernel_entries),
    })
}

#[cfg(test)]
mod tests {
    use coho_counters::Event;
    use coho_testing::{Capability, needs};

    use super::*;

    #[inline(never)]
    extern "C" fn called(x: u64) -> u64 {
        std::hint::black_box(x) + 1
    }

    /// Each repetition causes a number of events of a column, and each reading some itself.
    #[test]
    fn columns_are_what_a_repetition_counts_without_the_readings() {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        const READING: u64 = 1234;
        static DONE: AtomicU64 = AtomicU64::new(0);
        let of = |column| match column {
            Column::Cycles => 400,
            Column::Inactive => 100,
            Column::Instructions => 300,
            column => 10 + column as u64,
        };
        let named = |column: Column| Event { name: column.name().into(), ..Event::dummy() };
        let events: BTreeMap<_, _> =
            Column::ALL.into_iter().map(|column| (column, Candidate::from(named(column)))).collect();
        let mut run = repeat(|| DONE.fetch_add(1, Relaxed));
        // A counter may have come round meanwhile.
        let open = |candidate: &Candidate| {
            let column = Column::ALL.into_iter().find(|column| column.name() == candidate.events[0].name);
            let (each, mut reads) = (of(column.unwrap()), 0u64);
            Ok(move || {
                reads += 1;
                Ok((u64::MAX - 5000).wrapping_add(DONE.load(Relaxed) * each + reads * READING))
            })
        };
        let counts = by_reads(&mut run, &events, open).unwrap();
        let of_columns = [
            (Column::L1dReferences, &counts.L1DR),
            (Column::L1dMisses, &counts.L1DM),
            (Column::L1iMisses, &counts.L1IM),
            (Column::L2Misses, &counts.L2M),
            (Column::L3Misses, &counts.L3M),
            (Column::Instructions, &counts.INS),
            (Column::Cycles, &counts.CYCLE),
        ];
        for (column, figure) in of_columns {
            let figure = figure.as_ref().unwrap();
            assert_eq!((figure.low, figure.median), (of(column) as f64, of(column) as f64), "{column}");
        }
        assert_eq!(counts.STALL.unwrap().median, 0.25);
        let lost = by_reads(&mut run, &events, |_| Ok(|| Err(Error::NotScheduled { events: 1 })));
        assert_eq!(lost, Err(Error::NotScheduled { events: 1 }));
    }

    #[test]
    fn a_counter_counts_what_each_repetition_does() {
        needs!(Capability::PerfEvents);
        // A breakpoint stands in for a hardware counter: it counts exactly, on every machine.
        let calls = Candidate::from(Event::executions(called as *const ()));
        let events = BTreeMap::from([(Column::Instructions, calls)]);
        let mut twice = repeat(|| called(1) + called(2));
        let counts = by_counters(&mut twice, Mode::User, &events).unwrap();
        let calls = counts.INS.unwrap();
        assert_eq!((calls.low, calls.median, calls.high), (2.0, 2.0, 2.0));
        assert_eq!((counts.CYCLE, counts.STALL), (None, None));
    }

    #[test]
    fn steps_leave_out_what_surrounds_an_operation() {
        needs!(Capability::Tracing);
        // SAFETY: no arguments.
        let mut getppid = repeat(|| unsafe { libc::syscall(libc::SYS_getppid) });
        let mut nothing = repeat(|| ());
        let (getppid, nothing) = (by_steps(&mut getppid).unwrap(), by_steps(&mut nothing).unwrap());
        assert_eq!((nothing.instructions, nothing.kernel_entries), (0, 0));
        assert_eq!(getppid.kernel_entries, 1);
        assert!((2..500).contains(&getppid.instructions), "{getppid:?}");
    }
}
