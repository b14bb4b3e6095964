//! Passes over all cells in random order, and their results.

use std::time::Duration;

use coho_platform::load::Busy;
use coho_profile::{Estimate, WithoutIdle, WorkloadPeer, Workloads};
use coho_topology::CpuSet;
use coho_workloads::unixbench::{BUILD_FLAGS, COMPILER_FLAGS, Outcome, Peer, Seat, Stage, Test, rate};
use serde_json::json;

use super::clocks::{self, Clocks};
use super::forbidding::Forbidding;
use super::plan;
use super::row::{Row, Sample};
use super::witness::Witness;
use super::{Options, pairs, sharing};
use crate::frame::{End, Frame};
use crate::{Around, Error, statistics};

/// Runs of each sharing kernel on a pair, for each pass.
const SHARING_RUNS: usize = 2;
/// The relative tolerance for agreement with another build, if its results scatter less.
const TOLERANCE: f64 = 0.03;

/// Another build's test and ours, pass by pass.
struct Pair {
    test: Test,
    theirs: Vec<f64>,
    ours: Vec<f64>,
    failed: Option<String>,
}

/// What a step of a pass visits.
enum Subject<'a> {
    Row(Row),
    Pair(Pair, &'a Peer),
}

pub(super) fn run(options: &Options, around: &mut Around<'_>) -> Result<Workloads, Error> {
    let topology = around.topology;
    let mut forbidding = Forbidding::of(options)?;
    let mut frame = Frame::on(&options.course, around.progress)?;
    let allowed: CpuSet = frame.cpus.iter().copied().collect();
    frame.parameter("busy_before", Busy::look().of(allowed.iter()));
    let copies = match &options.copies[..] {
        [] => vec![1, allowed.len() as u32],
        copies => copies.to_vec(),
    };
    let copies = distinct(copies);
    let stage = Stage::set(&options.tests, options.folder.as_deref(), options.source.as_deref())?;
    let peer = options.peer.as_deref().map(|tree| Peer::open(tree, stage.folder())).transpose()?;
    let (cells, left_out) = plan::cells(&options.tests, &options.placements, &copies, topology, &allowed);
    frame.method.not_available.extend(left_out);
    let bench = Bench { options, allowed: &allowed, stage, end: frame.end().clone() };
    let rows = cells.into_iter().map(|cell| Subject::Row(Row::new(cell, &bench.stage, options)));
    let beside = peer
        .iter()
        .flat_map(|peer| options.tests.iter().map(move |&test| Subject::Pair(Pair::new(test), peer)));
    let mut subjects: Vec<Subject<'_>> = rows.chain(beside).collect();
    let mut clocks = Clocks::default();
    frame.visit_all("tests", options.passes as usize, &mut subjects, |frame, subject, _| match subject {
        Subject::Row(row) => bench.visit(row, forbidding.as_mut(), &mut clocks, &mut frame.random),
        Subject::Pair(pair, peer) => {
            bench.beside(pair, peer, &mut frame.random);
            Ok(())
        }
    })?;
    let mut workloads = Workloads::default();
    if options.sharing && !frame.end().has_come() {
        let classes = pairs::classes(topology, &allowed);
        let runs = options.passes as usize * SHARING_RUNS;
        workloads.sharing = sharing::measure(&mut frame, topology, &classes, runs)?;
    }
    bench.describe(&mut frame, &clocks);
    workloads.method = frame.finish(DESCRIPTION);
    let mut without = forbidding.map(|forbidding| WithoutIdle {
        states: options.without_idle.clone(),
        status: forbidding.status(),
        ..WithoutIdle::default()
    });
    for subject in subjects {
        match subject {
            Subject::Row(row) => {
                workloads.results.push(row.result());
                if let Some(without) = &mut without {
                    let (result, gain) = row.without_idle();
                    without.results.push(result);
                    without.gains.push(gain);
                }
            }
            Subject::Pair(pair, _) => workloads.peers.push(pair.result()),
        }
    }
    workloads.without_idle = without;
    workloads.score();
    workloads.clock = clocks.points;
    workloads.temperature = clocks.temperatures;
    Ok(workloads)
}

const DESCRIPTION: &str = "Passes over all tests, placements and numbers of copies in random order, a sample each. The \
    clock is that of the CPUs that were used, every tenth of a second during the sample, by two kinds of dependent \
    chains that must agree and that hold up the work for a thousandth of its time.";

fn distinct(mut copies: Vec<u32>) -> Vec<u32> {
    copies.sort_unstable();
    copies.dedup();
    copies
}

struct Bench<'a> {
    options: &'a Options,
    allowed: &'a CpuSet,
    stage: Stage,
    end: End,
}

impl Bench<'_> {
    /// One sample of a cell; with idle states to forbid a second one, before or after it.
    fn visit(
        &self,
        row: &mut Row,
        forbidding: Option<&mut Forbidding>,
        clocks: &mut Clocks,
        random: &mut fastrand::Rng,
    ) -> Result<(), Error> {
        if row.failed.is_some() {
            return Ok(());
        }
        let choices = row.cell.choices.len();
        let choice = if choices == 0 { 0 } else { random.usize(..choices) };
        let mut sample = || self.sample(row, choice, clocks);
        let (with, without) = match forbidding {
            None => (sample(), None),
            Some(states) if random.bool() => {
                let with = states.with(&mut sample);
                (with, states.without(&mut sample)?)
            }
            Some(states) => {
                let without = states.without(&mut sample)?;
                (states.with(&mut sample), without)
            }
        };
        row.add(with, without);
        Ok(())
    }

    /// One sample, with its conditions; `None` if there is none.
    fn sample(&self, row: &mut Row, choice: usize, clocks: &mut Clocks) -> Option<Sample> {
        let cell = &row.cell;
        let seats: &[Seat] = cell.choices.get(choice).map_or(&[], Vec::as_slice);
        let witness = Witness::begin(self.allowed);
        // If the scheduler chooses, any CPU may be used.
        let held = seats.iter().fold(CpuSet::default(), |all, seat| all.union(&seat.cpus()));
        let watched = if held.is_empty() { self.allowed.clone() } else { held.intersection(self.allowed) };
        let run = || self.stage.run(cell.test, cell.copies, seats, self.options.sample);
        match clocks.during(&watched, run) {
            (Ok(outcomes), seen, celsius) => {
                let cpus = used(&outcomes, seats);
                let ghz = seen.ghz(if cpus.is_empty() { &watched } else { &cpus }).collect();
                let (value, idle) = (value(&outcomes), seen.idle.ok());
                Some(Sample { value, ghz, celsius, idle, cpus, seen: witness.end() })
            }
            // A sample that a stop or the time limit cut short has not failed.
            (Err(_), ..) if self.end.has_come() => None,
            (Err(error), ..) => {
                row.failed = Some(error.to_string());
                None
            }
        }
    }

    /// Ours and theirs, one after the other, on the first CPU alone: there both do the same.
    fn beside(&self, pair: &mut Pair, peer: &Peer, random: &mut fastrand::Rng) {
        if pair.failed.is_some() {
            return;
        }
        if let Some(why) = self.stage.missing.get(&pair.test) {
            pair.failed = Some(why.clone());
            return;
        }
        let seconds = (self.options.sample.as_secs_f64().ceil() as u64).max(1);
        let seat = Seat { first: self.allowed.first().into_iter().collect(), second: None };
        let seats = std::slice::from_ref(&seat);
        let ours = || self.stage.run(pair.test, 1, seats, Duration::from_secs(seconds));
        let theirs = || self.stage.run_peer(peer, pair.test, Some(&seat), seconds);
        let (ours, theirs) = if random.bool() {
            let ours = ours();
            (ours, theirs())
        } else {
            let theirs = theirs();
            (ours(), theirs)
        };
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                // Both by the time that passed: a program that sleeps in between, like UnixBench's fstime, reports the
                // rate of only what it timed itself.
                if let Some((ours, theirs)) = value(&ours).zip(value(&theirs)) {
                    pair.ours.push(ours);
                    pair.theirs.push(theirs);
                }
            }
            _ if self.end.has_come() => {}
            (Err(error), _) => pair.failed = Some(format!("ours: {error}")),
            (_, Err(error)) => pair.failed = Some(error.to_string()),
        }
    }

    fn describe(&self, frame: &mut Frame<'_>, clocks: &Clocks) {
        let filesystem = self.stage.folder().filesystem();
        frame.parameter("sample_s", self.options.sample.as_secs_f64());
        frame.parameter("filesystem", filesystem);
        if let Some(compiler) = self.stage.compiler() {
            frame.parameter("compiler", json!(compiler));
            frame.parameter("compiler_flags", COMPILER_FLAGS.join(" "));
            frame.parameter("build_flags", json!(BUILD_FLAGS));
        }
        match clocks::proof(&frame.workers, frame.cpus[0]) {
            Ok((by_chains, by_counter)) => {
                frame.parameter("clock_ghz_by_chains", by_chains);
                frame.parameter("clock_ghz_by_counter", by_counter);
            }
            Err(why) => frame.lacks("clock by a counter of cycles", why),
        }
        if let (true, Some(why)) = (clocks.points.is_empty(), &clocks.refused) {
            frame.lacks("clock", why.clone());
        }
        if let Some(why) = &clocks.no_idle {
            frame.lacks("time in idle states", why.clone());
        }
        if let Some(why) = clocks.no_temperature() {
            frame.lacks("temperature", why);
        }
        if !self.stage.folder().is_in_memory() {
            frame.lacks("tmpfs", format!("the files lie on {filesystem}"));
        }
    }
}

/// The CPUs that a run used: those that were seen or, for pinned processes too short-lived to be seen, those that they
/// were confined to.
fn used(outcomes: &[Outcome], seats: &[Seat]) -> CpuSet {
    let seen = outcomes.iter().fold(CpuSet::default(), |all, outcome| all.union(&outcome.seen));
    if !seen.is_empty() {
        return seen;
    }
    seats.iter().fold(CpuSet::default(), |all, seat| all.union(&seat.cpus()))
}

/// A run's result in its test's unit.
fn value(outcomes: &[Outcome]) -> Option<f64> {
    let copies: Vec<_> = outcomes.iter().map(|outcome| (outcome.report, outcome.elapsed_s)).collect();
    rate(&copies)
}

impl Pair {
    fn new(test: Test) -> Self {
        Self { test, theirs: Vec::new(), ours: Vec::new(), failed: None }
    }

    fn result(self) -> WorkloadPeer {
        let [value, ours] =
            [&self.theirs, &self.ours].map(|values| statistics::estimate_of_passes(values.iter().copied()));
        let ratios = self.theirs.iter().zip(&self.ours).map(|(theirs, ours)| theirs / ours);
        let ratio = statistics::estimate_of_passes(ratios);
        let tolerance = value.as_ref().zip(ours.as_ref()).map(|(value, ours)| {
            let scatter =
                [(&self.theirs, value), (&self.ours, ours)].map(|(values, all)| deviation(values, all));
            TOLERANCE.max(2.0 * scatter[0].max(scatter[1]))
        });
        WorkloadPeer {
            test: self.test.name().into(),
            agrees: ratio.as_ref().zip(tolerance).and_then(|(ratio, tolerance)| agrees(ratio, tolerance)),
            value,
            ours,
            ratio: ratio.map(|ratio| ratio.median),
            tolerance,
            not_available: self.failed,
        }
    }
}

/// Whether a ratio is 1 within the tolerance; `None` if it is not but may be by its interval, or has too few values for
/// an interval.
fn agrees(ratio: &Estimate, tolerance: f64) -> Option<bool> {
    /// The fewest values whose extremes form a 95 % interval.
    const FEWEST: u64 = 6;
    let apart = ratio.low > 1.0 + tolerance || ratio.high < 1.0 - tolerance;
    match (ratio.median - 1.0).abs() <= tolerance {
        true => Some(true),
        false => (ratio.n >= FEWEST && apart).then_some(false),
    }
}

/// The median absolute deviation, relative to the median.
fn deviation(values: &[f64], all: &Estimate) -> f64 {
    let mut deviations: Vec<f64> = values.iter().map(|value| (value / all.median - 1.0).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    statistics::median(&deviations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_builds_differ_only_beyond_chance() {
        let ratio = |median: f64, low, high, n| Estimate { median, low, high, n, ..Estimate::exact(median) };
        assert_eq!(agrees(&ratio(1.02, 0.9, 1.2, 3), 0.03), Some(true));
        assert_eq!(agrees(&ratio(0.88, 0.86, 0.9, 3), 0.06), None, "three passes have no interval");
        assert_eq!(agrees(&ratio(0.88, 0.7, 1.1, 10), 0.06), None);
        assert_eq!(agrees(&ratio(3.0, 2.8, 3.1, 10), 0.06), Some(false));
    }
}
