//! A run over all calls: what is measured, and what comes of it.

use std::collections::BTreeMap;
use std::time::Instant;

use coho_profile::{CallMethod, Calls, Method};
use coho_topology::CpuSet;
use serde_json::json;

use super::caches::Caches;
use super::catalogue::Subjects;
use super::floor::{self, Comparison};
use super::lab::Lab;
use super::record::{Record, Scale, middle};
use super::scratch::Scratch;
use super::subject::Subject;
use super::{Options, Set};
use super::{catalogue, cold, mpi};
use crate::clock::Clock;
use crate::stop::End;
use crate::workers::{Job, Workers};
use crate::{Error, Progress, limits, pin, step};

/// Samples of a visit, but for cold calls.
const VISIT: usize = 25;
/// Warm repetitions to one cold one.
const COLD_SHARE: u32 = 4;
/// Walks each way that tell what a miss costs, in a visit.
const PENALTY: usize = 8;

/// Measures what calls cost and evict, as `options` say.
///
/// A stop ([`crate::stop`]) or the time limit ends it early: what it has is returned, marked as interrupted. A call
/// that cannot be made is left out and named in `conditions.not_available`.
///
/// # Errors
/// If the CPU cannot be used, its caches are not known, memory is short, or no folder can be written for the calls'
/// files.
pub fn measure(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Calls, Error> {
    let mut calls = of(options, |scratch| catalogue::subjects(options, scratch), progress)?;
    if options.sets.contains(&Set::Mpi) {
        mpi::add(&mut calls, options, progress);
    }
    Ok(calls)
}

/// Measures the calls that `make` sets up.
///
/// # Errors
/// As [`measure`].
pub(super) fn of(
    options: &Options,
    make: impl FnOnce(&Scratch) -> Subjects,
    progress: &mut dyn FnMut(Progress),
) -> Result<Calls, Error> {
    let mut survey = Survey::start(options, make)?;
    survey.rounds(progress);
    survey.step();
    Ok(survey.finish())
}

/// One visit of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    Warm(usize),
    Cold(usize),
    ColdNothing,
    Evicted(usize),
    Victim(usize),
    Damage {
        subject: usize,
        set: usize,
    },
    /// Of a damaged set, or of the footprint's.
    Penalty(Option<usize>),
    FloorL1i,
    FloorL2,
}

struct Survey<'a> {
    options: &'a Options,
    cpu: u32,
    workers: Workers,
    lab: Lab,
    subjects: Vec<Subject>,
    records: Vec<Record>,
    /// Calls in a warm batch; `None` before the first visit, and where the call has failed.
    batches: Vec<Option<usize>>,
    failed: Vec<bool>,
    victims: Vec<Vec<f64>>,
    cold_nothing: Vec<f64>,
    penalties: BTreeMap<Option<usize>, Vec<f64>>,
    floors: [Vec<Comparison>; 2],
    scratch: Scratch,
    not_available: BTreeMap<String, String>,
    rounds: u64,
    involuntary_switches: u64,
    interrupted: bool,
    started: Instant,
    steal_before: Option<f64>,
}

impl<'a> Survey<'a> {
    fn start(options: &'a Options, make: impl FnOnce(&Scratch) -> Subjects) -> Result<Self, Error> {
        let started = Instant::now();
        let cpu = match options.cpu {
            Some(cpu) => cpu,
            None => pin::allowed()?.first().ok_or_else(|| Error::other("the process may use no CPU"))?,
        };
        if options.damage_bytes.iter().any(|&bytes| !(1 << 10..=1 << 28).contains(&bytes)) {
            return Err(Error::other("a working set has from 1 KiB to 256 MiB"));
        }
        let workers = Workers::start(&[cpu])?;
        let topology = coho_topology::detect().map_err(|error| Error::other(error.to_string()))?;
        let caches = Caches::of(&topology, cpu)?;
        let scratch = Scratch::create()?;
        let (subjects, refused) = make(&scratch);
        let set_up: Job<'_, _> = Box::new(|| Lab::new(caches, &options.damage_bytes, options.seed));
        let lab = workers.run(vec![(cpu, set_up)]).remove(0)?.value?;
        let mut not_available: BTreeMap<_, _> = refused.into_iter().collect();
        if !scratch.is_in_memory() {
            let why = format!("no tmpfs can be written; the files lie on {}", scratch.filesystem());
            not_available.insert("tmpfs".into(), why);
        }
        Ok(Self {
            options,
            cpu,
            records: subjects.iter().map(|_| Record::new(lab.damage.len())).collect(),
            batches: vec![None; subjects.len()],
            failed: vec![false; subjects.len()],
            victims: vec![Vec::new(); lab.victims.len()],
            cold_nothing: Vec::new(),
            penalties: BTreeMap::new(),
            floors: [Vec::new(), Vec::new()],
            workers,
            lab,
            subjects,
            scratch,
            not_available,
            rounds: 0,
            involuntary_switches: 0,
            interrupted: false,
            started,
            steal_before: limits::steal_s(&CpuSet::from_iter([cpu])),
        })
    }

    fn must_end(&mut self) -> bool {
        self.interrupted |= End::after(self.started, self.options.time_limit).has_come();
        self.interrupted
    }

    /// Rounds over all visits, each in an order of its own.
    fn rounds(&mut self, progress: &mut dyn FnMut(Progress)) {
        let mut random = fastrand::Rng::with_seed(self.options.seed);
        let rounds = u64::from(self.options.repeats).div_ceil(VISIT as u64).max(1);
        let mut visits = self.visits();
        let (mut done, total) = (0, rounds * visits.len() as u64);
        let began = Instant::now();
        for round in 0..rounds {
            random.shuffle(&mut visits);
            for &visit in &visits {
                if self.must_end() {
                    return;
                }
                self.visit(visit, self.cold_calls(round, rounds));
                done += 1;
                let left = began.elapsed().mul_f64((total - done) as f64 / done as f64);
                progress(Progress { phase: "calls", done, total, left: Some(left) });
            }
            self.rounds = round + 1;
        }
    }

    /// Cold calls of a visit in this round: all rounds together make a quarter of the repetitions.
    fn cold_calls(&self, round: u64, rounds: u64) -> usize {
        let all = u64::from(self.options.repeats.div_ceil(COLD_SHARE));
        ((round + 1) * all / rounds - round * all / rounds) as usize
    }

    fn visits(&self) -> Vec<Visit> {
        let mut visits = vec![Visit::ColdNothing, Visit::Penalty(None), Visit::FloorL1i, Visit::FloorL2];
        visits.extend((0..self.lab.victims.len()).map(Visit::Victim));
        visits.extend((0..self.lab.damage.len()).map(|set| Visit::Penalty(Some(set))));
        for subject in 0..self.subjects.len() {
            visits.extend([Visit::Warm(subject), Visit::Cold(subject), Visit::Evicted(subject)]);
            if self.stands_for_its_name(subject) {
                visits.extend((0..self.lab.damage.len()).map(|set| Visit::Damage { subject, set }));
            }
        }
        visits
    }

    /// What a call evicts hardly depends on its form: damage is measured of the first, the instruction itself where
    /// there is one.
    fn stands_for_its_name(&self, subject: usize) -> bool {
        let first = |other: &Subject| other.name == self.subjects[subject].name;
        self.subjects.iter().position(first) == Some(subject)
    }

    fn visit(&mut self, visit: Visit, cold: usize) {
        match visit {
            Visit::Warm(index) => {
                let known = self.batches[index];
                let most = self.subjects[index].most;
                let warm = self.with(index, |lab, subject| {
                    let calls = known.map_or_else(|| lab.batch(&mut *subject.body, most), Ok)?;
                    Ok((calls, lab.warm(&mut *subject.body, calls, VISIT)?))
                });
                if let Some((calls, times)) = warm {
                    self.batches[index] = Some(calls);
                    self.records[index].warm.push(times);
                }
            }
            Visit::Cold(index) => {
                let times = self.with(index, |lab, subject| lab.cold(&mut *subject.body, cold));
                self.records[index].cold.extend(times);
            }
            Visit::Evicted(index) => {
                let excess = self.with(index, |lab, subject| lab.evicted(&mut *subject.body, VISIT));
                self.records[index].evicted.extend(excess);
            }
            Visit::Damage { subject: index, set } => {
                let excess = self.with(index, |lab, subject| lab.damage(set, &mut *subject.body, VISIT));
                self.records[index].damage[set].extend(excess);
            }
            Visit::ColdNothing => {
                let times = self.alone(|lab| lab.cold_nothing(cold));
                self.cold_nothing.extend(times.unwrap_or_default());
            }
            Visit::Victim(index) => {
                let excess = self.alone(|lab| lab.calibrate(index, VISIT));
                self.victims[index].extend(excess);
            }
            Visit::Penalty(set) => {
                let penalty = self.alone(|lab| lab.penalty(set, PENALTY)).flatten();
                self.penalties.entry(set).or_default().extend(penalty);
            }
            Visit::FloorL1i => {
                let found =
                    self.alone(|lab| lab.floors.as_ref().ok().map(|floors| floors.l1i(VISIT, &Clock::get())));
                self.floors[0].extend(found.flatten());
            }
            Visit::FloorL2 => {
                let found = self
                    .alone(|lab| lab.floors.as_ref().ok().map(|floors| floors.l2(PENALTY, &Clock::get())));
                self.floors[1].extend(found.flatten());
            }
        }
    }

    /// Does something with a call on the measuring CPU; a call that fails is not visited again.
    fn with<T: Send>(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut Lab, &mut Subject) -> std::io::Result<T> + Send,
    ) -> Option<T> {
        if self.failed[index] {
            return None;
        }
        let (lab, subject) = (&mut self.lab, &mut self.subjects[index]);
        let job: Job<'_, _> = Box::new(move || work(lab, subject));
        match self.workers.run(vec![(self.cpu, job)]).remove(0) {
            Ok(done) => {
                self.involuntary_switches += done.involuntary_switches;
                match done.value {
                    Ok(value) => return Some(value),
                    Err(error) => {
                        self.failed[index] = true;
                        let name = self.subjects[index].name.clone();
                        self.not_available.insert(name, format!("the call failed: {error}"));
                    }
                }
            }
            Err(error) => self.lost(&error),
        }
        None
    }

    fn alone<T: Send>(&mut self, work: impl FnOnce(&mut Lab) -> T + Send) -> Option<T> {
        let lab = &mut self.lab;
        let job: Job<'_, _> = Box::new(move || work(lab));
        match self.workers.run(vec![(self.cpu, job)]).remove(0) {
            Ok(done) => {
                self.involuntary_switches += done.involuntary_switches;
                Some(done.value)
            }
            Err(error) => {
                self.lost(&error);
                None
            }
        }
    }

    /// There is only one CPU: without it the run ends, with what it has.
    fn lost(&mut self, error: &Error) {
        self.not_available.insert(format!("CPU {}", self.cpu), error.to_string());
        self.interrupted = true;
    }

    /// Follows each call that goes through the C library by single steps.
    fn step(&mut self) {
        let options = step::Options { warm_ups: 0, ..step::Options::default() };
        for index in 0..self.subjects.len() {
            if self.must_end() {
                return;
            }
            if !self.subjects[index].wrapped {
                continue;
            }
            // The calls of the rounds have bound every symbol; a warm-up would close a file twice.
            let steps = self.with(index, |_, subject| {
                subject.body.ready(1)?;
                let body = &mut subject.body;
                let steps = step::count_with(&options, || {
                    body.run(1);
                });
                subject.body.clean()?;
                Ok(steps)
            });
            match steps {
                Some(Ok(steps)) => self.records[index].steps = Some(steps),
                Some(Err(error)) => {
                    let name = format!("{} user side", self.subjects[index].name);
                    self.not_available.insert(name, error.to_string());
                }
                None => {}
            }
        }
    }

    fn finish(mut self) -> Calls {
        let penalty =
            |set| self.penalties.get(&set).and_then(|samples| middle(samples)).filter(|ns| *ns > 0.0);
        let sets: Vec<usize> = self.lab.damage.iter().map(|(bytes, _)| *bytes).collect();
        let mut scale = Scale {
            cold_ns: middle(&self.cold_nothing).unwrap_or(0.0),
            footprint_ns: penalty(None),
            damage_ns: (0..sets.len()).map(|set| penalty(Some(set))).collect(),
            ..Scale::default()
        };
        let sizes = self.lab.victims.iter().map(|(lines, _)| *lines);
        let victims: Vec<_> = sizes.zip(std::mem::take(&mut self.victims)).collect();
        let calibration = scale.calibrate(&victims);
        let measured = || {
            let all = self.subjects.iter().zip(&self.records).zip(&self.failed);
            all.filter(|(_, failed)| !**failed).map(|(pair, _)| pair)
        };
        let calls = measured().flat_map(|(subject, record)| record.rows(subject, &scale)).collect();
        let damage =
            measured().flat_map(|(subject, record)| record.damages(&subject.name, &sets, &scale)).collect();
        Calls {
            method: CallMethod::Timing,
            conditions: self.conditions(&scale),
            calls,
            damage,
            calibration,
            ..Calls::default()
        }
    }

    fn conditions(&mut self, scale: &Scale) -> Method {
        let mut not_available = std::mem::take(&mut self.not_available);
        if scale.footprint_ns.is_none() {
            let why = "a line that was pushed out costs no more than one that is there".to_owned();
            not_available.insert("footprint_lines".into(), why);
        }
        for (name, floor) in [("L1IM", &self.floors[0]), ("L2M", &self.floors[1])] {
            not_available.insert(name.into(), self.floor(floor));
        }
        for name in ["L1DR", "L3M", "CYCLE", "STALL", "CPI"] {
            not_available.insert(name.into(), "not available: time alone does not tell it".into());
        }
        let cpus = CpuSet::from_iter([self.cpu]);
        let steal = limits::steal_s(&cpus).zip(self.steal_before).map(|(now, before)| now - before);
        if steal.is_none() {
            not_available.insert("steal".into(), "/proc/stat does not tell it".into());
        }
        let options = self.options;
        let parameters = [
            ("seed", json!(options.seed)),
            ("cpu", json!(self.cpu)),
            ("sets", json!(options.sets.iter().map(|set| set.name()).collect::<Vec<_>>())),
            ("repeats_warm", json!(options.repeats)),
            ("repeats_cold", json!(options.repeats.div_ceil(COLD_SHARE))),
            ("filesystem", json!(self.scratch.filesystem())),
            ("clear_code_bytes", json!(cold::CODE)),
            ("clear_data_bytes", json!(cold::DATA)),
            ("footprint_set_bytes", json!(self.lab.footprint.lines() * super::caches::LINE)),
            ("footprint_disturbed_share", json!(self.lab.footprint.disturbed_share())),
            ("footprint_line_ns", json!(scale.footprint_ns)),
            ("cold_clock_ns", json!(scale.cold_ns)),
            ("timer_step_ns", json!(Clock::get().step_ns())),
        ];
        Method {
            description: "Batches of calls timed on a pinned thread, in rounds of random order, each call as an \
                          instruction in the loop and through the C library; cold after 64 KiB of nops and a walk of \
                          64 MiB. Damage: walks of a set with and without the call before, in turn; lines are the \
                          extra time over a miss's. Footprint, and L1DM of cold calls, which is the same figure: what \
                          a call evicts of a set that fills 7/8 of the level-1 data cache, read from the curve of \
                          victims that touch a known number of lines at random places. Instructions and lines of \
                          the user's side by single steps."
                .into(),
            parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            passes: self.rounds,
            duration_s: self.started.elapsed().as_secs_f64(),
            interrupted: self.interrupted,
            involuntary_switches: self.involuntary_switches,
            steal_s: steal.unwrap_or(0.0),
            not_available,
        }
    }

    fn floor(&self, comparisons: &[Comparison]) -> String {
        if let Err(error) = &self.lab.floors {
            return format!("not available: {error}");
        }
        match floor::lines(comparisons) {
            Some(lines) => format!(
                "not available: noise floor {lines:.0} lines, and victims of known size do not calibrate it alike twice"
            ),
            None => "not available: a missed line cannot be told from a hit by time".into(),
        }
    }
}
