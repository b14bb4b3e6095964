//! The visits of a round, in random order.

use std::io;
use std::time::Duration;

use coho_counters::{Column, Mode};
use coho_profile::CacheState;

use super::lab::Lab;
use super::pmu::{self, Count, Key, Nth, Source, Tried};
use super::subject::{Subject, nothing};
use super::survey::Survey;
use crate::clock::Clock;

/// Samples of a visit, except for cold calls.
pub(super) const VISIT: usize = 25;
/// Warm repetitions for each cold one, if no time limit is set.
const COLD_SHARE: u32 = 4;
/// Warm repetitions for each cold one that is counted: the caches are cleared for each column and side.
const COLD_COUNTED_SHARE: u32 = 25;
/// The fewest cold repetitions, whatever time is left: fewer than six have no interval.
const COLD_FEWEST: u32 = 8;
/// With this many, more than the share are not worth their time.
const COLD_ENOUGH: u32 = 100;
/// The share of a time limit that clearing the caches may take.
const COLD_PART: f64 = 0.4;
/// Walks each way in a visit that measure the cost of a miss.
const PENALTY: usize = 8;

/// One visit of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visit {
    Warm(usize),
    Cold(usize),
    ColdNothing,
    Evicted(usize),
    Victim(usize),
    Damage {
        subject: usize,
        set: usize,
    },
    /// The cost of a miss in a damaged set, or in the footprint's.
    Penalty(Option<usize>),
    FloorL1i,
    FloorL2,
    /// A column, by counter.
    Counted {
        subject: usize,
        key: Key,
    },
    /// What reading that column's counter counts.
    Empty(Key),
    /// Lines fetched, by counter.
    Fetched(usize),
}

/// Cold calls of all rounds, and of a visit in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doses {
    pub(super) timed: u32,
    pub(super) counted: u32,
}

impl Doses {
    /// The doses for this many warm repetitions. With a time limit, as many as fit into the share for clearing the
    /// caches for `calls`.
    pub(super) fn of(repeats: u32, calls: usize, clear: Duration, limit: Option<Duration>) -> Self {
        let counted = repeats.div_ceil(COLD_COUNTED_SHARE);
        let Some(limit) = limit else {
            return Self { timed: repeats.div_ceil(COLD_SHARE), counted };
        };
        let fit = COLD_PART * limit.as_secs_f64() / (clear.as_secs_f64() * calls.max(1) as f64).max(1e-9);
        let most = repeats.div_ceil(COLD_SHARE).max(repeats.min(COLD_ENOUGH));
        Self { timed: (fit as u32).clamp(COLD_FEWEST.min(repeats), most), counted }
    }

    /// The doses of one round.
    pub(super) fn of_round(self, round: u64, rounds: u64) -> Self {
        let part =
            |all: u32| ((round + 1) * u64::from(all) / rounds - round * u64::from(all) / rounds) as u32;
        Self { timed: part(self.timed), counted: part(self.counted) }
    }
}

impl Survey<'_> {
    /// All visits of a round.
    pub(super) fn visits(&self) -> Vec<Visit> {
        let mut visits = vec![Visit::ColdNothing, Visit::Penalty(None)];
        visits.extend((0..self.lab.victims.len()).map(Visit::Victim));
        visits.extend((0..self.lab.damage.len()).map(|set| Visit::Penalty(Some(set))));
        for subject in 0..self.subjects.len() {
            visits.extend([Visit::Warm(subject), Visit::Cold(subject), Visit::Evicted(subject)]);
            if self.stands_for_its_name(subject) {
                visits.extend((0..self.lab.damage.len()).map(|set| Visit::Damage { subject, set }));
            }
        }
        match &self.source {
            Some(source) => visits.extend(self.counting(&**source)),
            None => visits.extend([Visit::FloorL1i, Visit::FloorL2]),
        }
        visits
    }

    /// The visits that count: the kernel's side of a bare instruction, both sides of a function.
    fn counting(&self, source: &dyn Source) -> Vec<Visit> {
        let columns: Vec<_> = Column::ALL.into_iter().filter(|&column| source.has(column)).collect();
        let mut visits = Vec::new();
        for &mode in source.modes() {
            for &column in &columns {
                visits.push(Visit::Empty(Key { state: CacheState::Cold, mode, column }));
                visits.push(Visit::Empty(Key { state: CacheState::Second, mode, column }));
                for state in [CacheState::Cold, CacheState::Second, CacheState::Warm] {
                    let seen = |subject: &Subject| subject.wrapped || mode == Mode::Kernel;
                    let subjects = (0..self.subjects.len()).filter(|&index| seen(&self.subjects[index]));
                    let key = Key { state, mode, column };
                    visits.extend(subjects.map(|subject| Visit::Counted { subject, key }));
                }
            }
        }
        if source.has(Column::L1dMisses) && source.modes().contains(&Mode::Kernel) {
            visits.extend((0..self.subjects.len()).map(Visit::Fetched));
        }
        visits
    }

    /// What a call evicts hardly depends on its form: damage is measured for the first form only, the bare instruction
    /// if there is one.
    fn stands_for_its_name(&self, subject: usize) -> bool {
        let first = |other: &Subject| other.name == self.subjects[subject].name;
        self.subjects.iter().position(first) == Some(subject)
    }

    /// Makes a visit and records its results.
    pub(super) fn visit(&mut self, visit: Visit, doses: Doses) {
        match visit {
            Visit::Warm(index) => self.warm(index),
            Visit::Cold(index) => {
                let times = self.with(index, |lab, subject, _| {
                    lab.cold(&mut *subject.body, subject.most, doses.timed as usize)
                });
                if let Some(times) = times {
                    self.records[index].cold.push(times.first);
                    self.records[index].second.push(times.second);
                }
            }
            Visit::Evicted(index) => {
                let excess = self.with(index, |lab, subject, _| lab.evicted(&mut *subject.body, VISIT));
                self.records[index].evicted.extend(excess);
            }
            Visit::Damage { subject, set } => self.damage(subject, set),
            Visit::ColdNothing => {
                let times = self.alone(|lab, _| lab.cold_nothing(doses.timed as usize)).unwrap_or_default();
                self.cold_nothing.push(times.first);
                self.second_nothing.push(times.second);
            }
            Visit::Victim(index) => {
                let excess = self.alone(|lab, _| lab.calibrate(index, VISIT));
                self.victims[index].extend(excess);
            }
            Visit::Penalty(set) => {
                let penalty = self.alone(|lab, _| lab.penalty(set, PENALTY)).flatten();
                self.penalties.entry(set).or_default().extend(penalty);
            }
            Visit::FloorL1i => {
                let found =
                    self.alone(|lab, _| Some(lab.floors.as_ref().ok()?.l1i(VISIT, &Clock::get()))).flatten();
                self.floors[0].extend(found);
            }
            Visit::FloorL2 => {
                let found =
                    self.alone(|lab, _| Some(lab.floors.as_ref().ok()?.l2(PENALTY, &Clock::get()))).flatten();
                self.floors[1].extend(found);
            }
            Visit::Counted { subject, key } => self.count(subject, key, doses.counted as usize),
            Visit::Empty(key) => {
                let counted = self.alone(|lab, source| {
                    let mut count = source?.open(key.column, key.mode).ok()?;
                    let clear = || lab.clear.run();
                    let nth = if key.state == CacheState::Second { Nth::Second } else { Nth::First };
                    let calls = doses.counted as usize;
                    pmu::single(nth, &mut *count, &mut *nothing(), &clear, (calls, 2)).ok()?.ok()
                });
                if let Some(samples) = counted.flatten() {
                    self.empty.add(key, samples);
                }
            }
            Visit::Fetched(index) => {
                let fetched = self.with(index, |lab, subject, source| {
                    counting(source, Column::L1dMisses, Mode::Both, |count| {
                        lab.fetched(&mut *subject.body, VISIT, count)
                    })
                });
                if let Some(lines) = self.counted(Column::L1dMisses, fetched) {
                    self.records[index].fetched.push(lines);
                }
            }
        }
    }

    fn warm(&mut self, index: usize) {
        let known = self.batches[index];
        let warm = self.with(index, |lab, subject, _| {
            let most = subject.most;
            let calls = known.map_or_else(|| lab.batch(&mut *subject.body, most), Ok)?;
            Ok((calls, lab.warm(&mut *subject.body, calls, VISIT)?))
        });
        if let Some((calls, times)) = warm {
            self.batches[index] = Some(calls);
            self.records[index].warm.push(times);
        }
    }

    /// By time, and by a counter of the cache's misses if reading it disturbs nothing.
    fn damage(&mut self, index: usize, set: usize) {
        let column = if self.lab.damage[set].1.is_small() { Column::L1dMisses } else { Column::L2Misses };
        let counts = !self.lab.damage[set].1.fills();
        let excess = self.with(index, |lab, subject, source| {
            let body = &mut *subject.body;
            match source.filter(|source| counts && source.has(column) && !source.disturbs()) {
                None => lab.damage(set, body, VISIT, None),
                some => counting(some, column, Mode::User, |count| lab.damage(set, body, VISIT, Some(count))),
            }
        });
        if let Some(excess) = self.counted(column, excess) {
            self.records[index].damage[set].push(excess.ns);
            self.records[index].missed[set].push(excess.misses);
        }
    }

    fn count(&mut self, index: usize, key: Key, cold: usize) {
        let known = self.batches[index];
        let counted = self.with(index, |lab, subject, source| {
            let (body, most) = (&mut *subject.body, subject.most);
            let calls = known.map_or_else(|| lab.batch(body, most), Ok)?;
            counting(source, key.column, key.mode, |count| match key.state {
                CacheState::Warm => pmu::warm(count, body, calls, VISIT),
                CacheState::Cold => pmu::single(Nth::First, count, body, &|| lab.clear.run(), (cold, most)),
                CacheState::Second => {
                    pmu::single(Nth::Second, count, body, &|| lab.clear.run(), (cold, most))
                }
            })
        });
        if let Some(samples) = self.counted(key.column, counted) {
            self.records[index].counted.add(key, samples);
        }
    }

    /// The count, if there is one; otherwise records why there is none.
    fn counted<T>(&mut self, column: Column, outcome: Option<Result<T, String>>) -> Option<T> {
        match outcome? {
            Ok(value) => Some(value),
            Err(why) => {
                self.frame
                    .method
                    .not_available
                    .entry(column.name().into())
                    .or_insert(format!("not available: {why}"));
                None
            }
        }
    }

    /// Does something with a call on the measuring CPU; a call that fails is not visited again.
    pub(super) fn with<T: Send>(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut Lab, &mut Subject, Option<&dyn Source>) -> io::Result<T> + Send,
    ) -> Option<T> {
        if self.failed[index] {
            return None;
        }
        let (lab, subject) = (&mut self.lab, &mut self.subjects[index]);
        let source = self.source.as_deref();
        let result = self.frame.run(self.cpu, move || work(lab, subject, source));
        match self.value(result)? {
            Ok(value) => Some(value),
            Err(error) => {
                self.failed[index] = true;
                let name = self.subjects[index].name.clone();
                self.frame.lacks(name, format!("the call failed: {error}"));
                None
            }
        }
    }

    /// Does something without a call on the measuring CPU.
    fn alone<T: Send>(&mut self, work: impl FnOnce(&mut Lab, Option<&dyn Source>) -> T + Send) -> Option<T> {
        let (lab, source) = (&mut self.lab, self.source.as_deref());
        let result = self.frame.run(self.cpu, move || work(lab, source));
        self.value(result)
    }
}

/// Opens a counter, on the CPU that measures, and works with it.
fn counting<T>(
    source: Option<&dyn Source>,
    column: Column,
    mode: Mode,
    work: impl FnOnce(&mut dyn Count) -> Tried<T>,
) -> Tried<T> {
    let opened = source.ok_or_else(|| "there is no counter".to_owned()).and_then(|it| it.open(column, mode));
    match opened {
        Ok(mut count) => work(&mut *count),
        Err(why) => Ok(Err(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounds_doses_make_the_whole() {
        for (repeats, rounds) in [(1000, 40), (200, 8), (7, 1), (30, 2)] {
            let all = Doses::of(repeats, 15, Duration::from_millis(8), None);
            assert_eq!((all.timed, all.counted), (repeats.div_ceil(4), repeats.div_ceil(25)));
            let doses: Vec<_> = (0..rounds).map(|round| all.of_round(round, rounds)).collect();
            let sum = |of: fn(&Doses) -> u32| doses.iter().map(of).sum::<u32>();
            assert_eq!((sum(|dose| dose.timed), sum(|dose| dose.counted)), (all.timed, all.counted));
        }
    }

    #[test]
    fn a_time_limit_bounds_what_clearing_takes() {
        let ms = Duration::from_millis;
        let timed = |clear, limit| Doses::of(50, 15, clear, Some(limit)).timed;
        assert_eq!(timed(ms(8), ms(10_000)), 33);
        assert_eq!(timed(ms(1), ms(10_000)), 50, "no more than warm ones");
        assert_eq!(timed(ms(100), ms(10_000)), 8, "and never too few for an interval");
        assert_eq!(Doses::of(1000, 5, ms(8), Some(ms(600_000))).timed, 250);
        assert_eq!(Doses::of(5, 15, ms(100), Some(ms(10))).timed, 5);
    }
}
