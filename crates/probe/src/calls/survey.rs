//! A run over all calls.

use std::collections::BTreeMap;
use std::time::Instant;

use coho_profile::{CallMethod, Calls};

use super::caches::Caches;
use super::catalogue::Subjects;
use super::floor::Comparison;
use super::lab::Lab;
use super::pmu::{Counted, Hardware, Source};
use super::record::{Record, Scale, middle};
use super::scratch::Scratch;
use super::stage::Stage;
use super::subject::{Subject, nothing};
use super::visit::{Doses, VISIT};
use super::{Options, Set, catalogue, footprint, mpi};
use crate::frame::{Frame, Progress};
use crate::step::Steps;
use crate::tries::Tries;
use crate::{Error, clock, statistics, step};

/// The share of a time limit for everything but the curves.
const PART_BEFORE_CURVES: f64 = 0.4;

/// Measures what calls cost and evict, as `options` request.
///
/// A stop ([`coho_platform::stop`]) or the time limit ends it early: it then returns what it has, marked as
/// interrupted. A call that cannot be made is left out and named in `conditions.not_available`.
///
/// # Errors
/// If the CPU cannot be used, its caches are not known, memory is short, or no folder can be written for the calls'
/// files.
pub fn measure(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Calls, Error> {
    let started = Instant::now();
    // The curves come last, and have their part of the time.
    let part = if options.curves.is_some() { PART_BEFORE_CURVES } else { 1.0 };
    let limited = |limit| Options { course: options.course.clone().within(limit), ..options.clone() };
    let limit = options.course.time_limit;
    let own = limited(limit.map(|limit| limit.mul_f64(part)));
    let mut calls = of(&own, |scratch| catalogue::subjects(options, scratch), progress)?;
    if options.sets.contains(&Set::Mpi) {
        mpi::add(&mut calls, &own, progress);
    }
    if let Some(curves) = &options.curves {
        let left = limit.map(|limit| limit.saturating_sub(started.elapsed()));
        footprint::add(&mut calls, &limited(left), curves, progress);
    }
    Ok(calls)
}

/// Measures the calls that `make` sets up.
///
/// # Errors
/// As for [`measure`].
pub(super) fn of(
    options: &Options,
    make: impl FnOnce(&Scratch) -> Subjects,
    progress: &mut dyn FnMut(Progress),
) -> Result<Calls, Error> {
    let hardware = || Hardware::find().map(|hardware| Box::new(hardware) as Box<dyn Source>);
    counted_by(options, hardware, make, progress)
}

/// As [`of`], with the counters that `find` finds on the measuring CPU, if counters may be used.
fn counted_by(
    options: &Options,
    find: impl FnOnce() -> Result<Box<dyn Source>, String> + Send,
    make: impl FnOnce(&Scratch) -> Subjects,
    progress: &mut dyn FnMut(Progress),
) -> Result<Calls, Error> {
    let mut survey = Survey::start(options, find, make, progress)?;
    survey.measure_clock();
    survey.rounds();
    survey.measure_clock();
    survey.step();
    Ok(survey.finish())
}

/// A run in progress.
pub(super) struct Survey<'a> {
    pub(super) options: &'a Options,
    pub(super) cpu: u32,
    pub(super) caches: Caches,
    pub(super) lab: Lab,
    pub(super) subjects: Vec<Subject>,
    pub(super) records: Vec<Record>,
    /// Calls in a warm batch; `None` before the first visit, and if the call has failed.
    pub(super) batches: Vec<Option<usize>>,
    pub(super) failed: Vec<bool>,
    pub(super) victims: Vec<Vec<f64>>,
    /// Times of the clock alone, cold and right after, by round.
    pub(super) cold_nothing: Vec<Vec<f64>>,
    pub(super) second_nothing: Vec<Vec<f64>>,
    /// The CPU's measured frequency.
    pub(super) clock: Tries,
    pub(super) penalties: BTreeMap<Option<usize>, Vec<f64>>,
    pub(super) floors: [Vec<Comparison>; 2],
    /// Counters, if there are any and they may be used.
    pub(super) source: Option<Box<dyn Source>>,
    /// The events that stand for the columns.
    pub(super) events: BTreeMap<&'static str, String>,
    /// What reading a counter counts when nothing is called.
    pub(super) empty: Counted,
    pub(super) scratch: Scratch,
    pub(super) frame: Frame<'a>,
}

impl<'a> Survey<'a> {
    fn start(
        options: &'a Options,
        find: impl FnOnce() -> Result<Box<dyn Source>, String> + Send,
        make: impl FnOnce(&Scratch) -> Subjects,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let cpu = options.course.first()?;
        if options.damage_bytes.iter().any(|&bytes| !(1 << 10..=1 << 28).contains(&bytes)) {
            return Err(Error::argument("a working set has from 1 KiB to 256 MiB"));
        }
        let mut frame = Frame::on(&options.course.moved([cpu]), progress)?;
        let topology = coho_topology::detect()?;
        let caches = Caches::of(&topology, cpu)?;
        let scratch = Scratch::create()?;
        let (subjects, refused) = make(&scratch);
        let lab = frame.run(cpu, || Lab::new(caches, &options.damage_bytes, options.course.seed))??;
        frame.method.not_available.extend(refused);
        let source = if options.pmu {
            frame.run(cpu, find)?
        } else {
            Err("performance counters were not to be used".into())
        };
        if let Err(why) = &source {
            frame.lacks("pmu", format!("not available: {why}"));
        }
        if let Some(why) = source.as_ref().ok().and_then(|source| source.no_kernel()) {
            frame.lacks("kernel side", format!("not available: {why}"));
        }
        if !scratch.is_in_memory() {
            let why = format!("no tmpfs is writable; the files lie on {}", scratch.filesystem());
            frame.lacks("tmpfs", why);
        }
        Ok(Self {
            options,
            cpu,
            caches,
            records: subjects.iter().map(|_| Record::new(lab.damage.len())).collect(),
            batches: vec![None; subjects.len()],
            failed: vec![false; subjects.len()],
            victims: vec![Vec::new(); lab.victims.len()],
            cold_nothing: Vec::new(),
            second_nothing: Vec::new(),
            clock: Tries::default(),
            penalties: BTreeMap::new(),
            floors: [Vec::new(), Vec::new()],
            events: source.as_ref().map(|source| source.names()).unwrap_or_default(),
            source: source.ok(),
            empty: Counted::default(),
            lab,
            subjects,
            scratch,
            frame,
        })
    }

    /// Measures the CPU's frequency once more; takes about 1 ms.
    fn measure_clock(&mut self) {
        let result = self.frame.run(self.cpu, clock::effective_ghz);
        if let Some(result) = self.value(result) {
            self.clock.add(result);
        }
    }

    /// Rounds over all visits.
    fn rounds(&mut self) {
        let rounds = u64::from(self.options.repeats).div_ceil(VISIT as u64).max(1);
        let visits = self.visits();
        let doses = self.doses();
        let mut walk = self.frame.passes("calls", rounds as usize, visits.len());
        while let Some(step) = self.frame.next(&mut walk) {
            self.visit(visits[step.at], doses.of_round(step.pass as u64, rounds));
        }
    }

    /// Cold calls of all rounds: the caches are cleared for every call, and once more for no call at all.
    pub(super) fn doses(&self) -> Doses {
        let Options { repeats, course, .. } = self.options;
        Doses::of(*repeats, self.subjects.len() + 1, self.lab.clear_time, course.time_limit)
    }

    /// The value of a job that ran on the measuring CPU. There is only one: without it the run ends, with what it has.
    pub(super) fn value<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        let lost = |error: Error| {
            self.frame.lacks(format!("CPU {}", self.cpu), error.to_string());
            self.frame.end().come();
        };
        result.map_err(lost).ok()
    }

    /// Single-steps each call that goes through the C library.
    fn step(&mut self) {
        // The calls of the rounds have bound every symbol; a warm-up would close a file twice.
        let options = step::Options { warm_ups: 0, ..step::Options::default() };
        let mut none = nothing();
        let loop_alone = step::count_with(&options, || {
            none.run(1);
        });
        for index in 0..self.subjects.len() {
            if self.frame.end().has_come() {
                return;
            }
            if !self.subjects[index].wrapped {
                continue;
            }
            let steps = self.with(index, |_, subject, _| {
                subject.body.ready_for_copy(1)?;
                let body = &mut subject.body;
                let steps = step::count_with(&options, || {
                    body.run(1);
                });
                subject.body.clean()?;
                Ok(steps)
            });
            match steps {
                Some(Ok(steps)) => {
                    // The call uses the stack as well, so its lines of data are not subtracted.
                    let alone = loop_alone.as_ref().copied().unwrap_or_default();
                    self.records[index].steps = Some(Steps {
                        instructions: steps.instructions.saturating_sub(alone.instructions),
                        code_lines: steps.code_lines.saturating_sub(alone.code_lines),
                        ..steps
                    });
                }
                Some(Err(error)) => {
                    let name = format!("{} user side", self.subjects[index].name);
                    self.frame.lacks(name, error.to_string());
                }
                None => {}
            }
        }
    }

    fn finish(mut self) -> Calls {
        let sets: Vec<usize> = self.lab.damage.iter().map(|(bytes, _)| *bytes).collect();
        let mut scale = self.scale();
        let sizes = self.lab.victims.iter().map(|(lines, _)| *lines);
        let victims: Vec<_> = sizes.zip(std::mem::take(&mut self.victims)).collect();
        let calibration = scale.calibrate(&victims);
        let method = if self.source.is_some() { CallMethod::Pmu } else { CallMethod::Timing };
        let measured = || {
            let all = self.subjects.iter().zip(&self.records).zip(&self.failed);
            all.filter(|(_, failed)| !**failed).map(|(pair, _)| pair)
        };
        let mut hidden = Vec::new();
        let rows = measured().flat_map(|(subject, record)| {
            let (rows, why) = record.rows(subject, &scale, method);
            hidden.extend(why);
            rows
        });
        let calls = rows.collect();
        let damage =
            measured().flat_map(|(subject, record)| record.damages(&subject.name, &sets, &scale)).collect();
        self.frame.method.not_available.extend(hidden);
        let conditions = self.conditions(&scale);
        Calls { method, conditions, calls, damage, calibration, ..Calls::default() }
    }

    /// The scale for reading the samples.
    fn scale(&mut self) -> Scale {
        let penalty =
            |set| self.penalties.get(&set).and_then(|samples| middle(samples)).filter(|ns| *ns > 0.0);
        let of_set = |(set, (_, stage)): (usize, &(usize, Stage))| {
            // The cost of a line of the level-1 data cache is the same in every set.
            penalty(Some(set)).or_else(|| penalty(None).filter(|_| stage.is_small()))
        };
        Scale {
            cold_ns: statistics::estimate(&[self.cold_nothing.concat()]),
            second_ns: statistics::estimate(&[self.second_nothing.concat()]),
            clock_ghz: self.clock.median(),
            footprint_ns: penalty(None),
            damage_ns: self.lab.damage.iter().enumerate().map(of_set).collect(),
            empty: std::mem::take(&mut self.empty),
            curves: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use coho_counters::{Column, Mode};
    use coho_profile::{CacheState, Call, Side};

    use super::super::pmu::Count;
    use super::super::subject::plain;
    use super::*;

    /// Counters that follow a script: a number of events for each call, and some for each reading.
    struct Script {
        calls: Arc<AtomicU64>,
    }

    const READING: u64 = 37;

    /// Events of a call, by column and mode.
    fn events(column: Column, mode: Mode) -> u64 {
        match (column, mode) {
            (Column::Instructions, Mode::Kernel) => 300,
            (Column::Cycles, Mode::Kernel) => 450,
            (Column::Instructions, Mode::User) => 20,
            (Column::L1dMisses, Mode::Kernel) => 5,
            // What the call fetches.
            (Column::L1dMisses, Mode::Both) => 22,
            _ => 0,
        }
    }

    impl Source for Script {
        fn open(&self, column: Column, mode: Mode) -> Result<Box<dyn Count>, String> {
            if column == Column::L3Misses {
                return Err("another process has the counter".into());
            }
            Ok(Box::new(Running { calls: Arc::clone(&self.calls), each: events(column, mode), reads: 0 }))
        }

        fn has(&self, column: Column) -> bool {
            !matches!(column, Column::L2Misses | Column::Inactive)
        }

        fn modes(&self) -> &[Mode] {
            &[Mode::User, Mode::Kernel]
        }

        fn no_kernel(&self) -> Option<&str> {
            None
        }

        fn names(&self) -> BTreeMap<&'static str, String> {
            [("INS", "of the script".to_owned())].into()
        }

        fn disturbs(&self) -> bool {
            false
        }
    }

    struct Running {
        calls: Arc<AtomicU64>,
        each: u64,
        reads: u64,
    }

    impl Count for Running {
        fn read(&mut self) -> Result<u64, String> {
            self.reads += 1;
            Ok(self.calls.load(Relaxed) * self.each + self.reads * READING)
        }
    }

    fn options() -> Options {
        Options { repeats: 50, damage_bytes: vec![8 << 10], ..Options::quick() }
    }

    /// A call that the script knows.
    fn subject(calls: &Arc<AtomicU64>) -> Subjects {
        let calls = Arc::clone(calls);
        let body = plain(move || {
            calls.fetch_add(1, Relaxed);
            0
        });
        let subject = Subject { name: "scripted".into(), set: None, wrapped: true, most: 64, body };
        (vec![subject], Vec::new())
    }

    #[test]
    fn what_a_source_counts_becomes_rows() {
        let calls = Arc::new(AtomicU64::new(0));
        let source = Script { calls: Arc::clone(&calls) };
        let find = move || Ok(Box::new(source) as Box<dyn Source>);
        let measured = counted_by(&options(), find, |_| subject(&calls), &mut |_| ()).unwrap();
        assert_eq!(measured.method, CallMethod::Pmu);
        let row = |state, side| -> &Call {
            let mut rows = measured.calls.iter().filter(|row| (row.state, row.side) == (state, side));
            rows.next().unwrap_or_else(|| panic!("no row: {measured:?}"))
        };
        for state in [CacheState::Cold, CacheState::Warm] {
            let kernel = row(state, Side::Kernel);
            assert_eq!(kernel.counts.INS.as_ref().unwrap().median, 300.0);
            assert_eq!(kernel.counts.CYCLE.as_ref().unwrap().median, 450.0);
            assert_eq!(kernel.counts.L1DM.as_ref().unwrap().median, 5.0);
            assert_eq!(kernel.CPI.as_ref().unwrap().median, 1.5);
            assert_eq!((&kernel.counts.L2M, &kernel.counts.STALL), (&None, &None));
            assert_eq!(row(state, Side::User).counts.INS.as_ref().unwrap().median, 20.0);
            // Counted, and not read from a curve.
            assert_eq!(row(state, Side::Both).footprint_lines.as_ref().unwrap().median, 22.0);
        }
        // The walks after the call count nothing but their reading.
        let lines = measured.damage.iter().filter_map(|damage| damage.lines.as_ref());
        assert!(lines.into_iter().all(|lines| lines.median == 0.0), "{:?}", measured.damage);
        let conditions = &measured.conditions;
        assert_eq!(conditions.parameters["events"]["INS"], "of the script");
        assert_eq!(conditions.parameters["reading_disturbs"], false);
        assert!(conditions.not_available["L2M"].contains("no event for it passed its self-test"));
        assert!(conditions.not_available["L3M"].contains("another process has the counter"));
        assert!(!conditions.not_available.contains_key("pmu") && !conditions.interrupted);
    }

    #[test]
    fn without_a_source_time_alone_is_left_and_the_reason_said() {
        let calls = Arc::new(AtomicU64::new(0));
        let none = || Err("no event passed its self-test on this CPU".to_owned());
        let measured = counted_by(&options(), none, |_| subject(&calls), &mut |_| ()).unwrap();
        assert_eq!(measured.method, CallMethod::Timing);
        assert!(measured.conditions.not_available["pmu"].contains("no event passed"));
        // Figures of user mode that were computed from the clock are marked as not counted.
        let counted = |row: &Call| (row.counts.CYCLE.is_some() || row.CPI.is_some()) && !row.by_clock;
        assert!(!measured.calls.iter().any(counted), "{:?}", measured.calls);
        let forbidden = Options { pmu: false, ..options() };
        let find = || unreachable!("counters were not to be used");
        let measured = counted_by(&forbidden, find, |_| subject(&calls), &mut |_| ()).unwrap();
        assert!(measured.conditions.not_available["pmu"].contains("were not to be used"));
    }
}
