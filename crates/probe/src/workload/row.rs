//! A cell's samples, and the rows of the profile that they become.

use std::collections::BTreeMap;

use coho_profile::{Estimate, IdleGain, WorkloadResult};
use coho_topology::CpuSet;
use coho_workloads::unixbench::{Stage, Test, Unit};

use super::Options;
use super::plan::Cell;
use super::witness::Seen;
use crate::{meanwhile, statistics};

/// A cell's figures so far.
pub(super) struct Row {
    pub(super) cell: Cell,
    /// The test's name in the profile: another program's build is another test.
    name: String,
    pub(super) samples: Samples,
    /// Those with idle states forbidden, and how many times as fast the test was, pass by pass.
    pub(super) without: Samples,
    gains: Vec<f64>,
    pub(super) failed: Option<String>,
}

/// A sample and its conditions.
pub(super) struct Sample {
    pub(super) value: Option<f64>,
    pub(super) ghz: Vec<f64>,
    pub(super) celsius: Vec<f64>,
    /// As in [`meanwhile::Seen::idle`].
    pub(super) idle: Option<BTreeMap<u32, BTreeMap<String, f64>>>,
    pub(super) cpus: CpuSet,
    pub(super) seen: Seen,
}

/// Samples under the same conditions.
#[derive(Default)]
pub(super) struct Samples(Vec<Sample>);

impl Row {
    pub(super) fn new(cell: Cell, stage: &Stage, options: &Options) -> Self {
        let failed = stage.missing.get(&cell.test).cloned();
        let name = match &options.source {
            Some(source) if cell.test == Test::Build => {
                let folder = source.file_name().unwrap_or(source.as_os_str());
                format!("build of {}", folder.to_string_lossy())
            }
            _ => cell.test.name().to_owned(),
        };
        Self {
            cell,
            name,
            samples: Samples::default(),
            without: Samples::default(),
            gains: Vec::new(),
            failed,
        }
    }

    /// Takes a sample, or one with idle states allowed and one with them forbidden.
    pub(super) fn add(&mut self, with: Option<Sample>, without: Option<Sample>) {
        let values = [&with, &without].map(|sample| sample.as_ref()?.value);
        if let [Some(with), Some(without)] = values {
            let is_time = self.cell.test.unit() == Unit::Seconds;
            self.gains.push(if is_time { with / without } else { without / with });
        }
        self.samples.0.extend(with);
        self.without.0.extend(without);
    }

    /// The row with nothing set.
    pub(super) fn result(&self) -> WorkloadResult {
        self.samples.result(&self.cell, &self.name, self.failed.as_ref())
    }

    /// The row with idle states forbidden, and what that gains.
    pub(super) fn without_idle(&self) -> (WorkloadResult, IdleGain) {
        let row = self.without.result(&self.cell, &self.name, self.failed.as_ref());
        let gain = IdleGain {
            test: row.test.clone(),
            placement: row.placement.clone(),
            pair_class: row.pair_class.clone(),
            copies: row.copies,
            speed: statistics::estimate_of_passes(self.gains.iter().copied()),
        };
        (row, gain)
    }
}

impl Samples {
    fn result(&self, cell: &Cell, name: &str, failed: Option<&String>) -> WorkloadResult {
        let of_each =
            |of: fn(&Sample) -> Vec<f64>| statistics::estimate(&self.0.iter().map(of).collect::<Vec<_>>());
        let sum = |of: fn(&Seen) -> Option<f64>| -> Option<f64> {
            self.0.iter().map(|sample| of(&sample.seen)).sum::<Option<f64>>().filter(|_| !self.0.is_empty())
        };
        let cpus = self.0.iter().fold(CpuSet::default(), |all, sample| all.union(&sample.cpus));
        let idle: Vec<_> = self.0.iter().filter_map(|sample| sample.idle.clone()).collect();
        let value: Option<Estimate> =
            statistics::estimate_of_passes(self.0.iter().filter_map(|sample| sample.value));
        let none = value.is_none();
        WorkloadResult {
            test: name.into(),
            placement: cell.placement.clone(),
            pair_class: cell.pair_class.clone(),
            copies: cell.copies,
            value,
            unit: cell.test.unit().name().into(),
            clock_ghz: of_each(|sample| sample.ghz.clone()),
            celsius: of_each(|sample| sample.celsius.clone()),
            idle_share: meanwhile::mean_shares(&idle, &cpus),
            cpus: cpus.iter().collect(),
            steal_s: sum(|seen| seen.steal_s),
            psi_cpu_some: sum(|seen| seen.waiting).map(|sum| sum / self.0.len() as f64),
            not_available: failed
                .cloned()
                .or_else(|| none.then(|| "it was stopped before its first sample".into())),
            ..WorkloadResult::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::witness::Witness;

    fn sample(value: f64) -> Sample {
        let seen = Witness::begin(&CpuSet::default()).end();
        let (ghz, celsius) = (vec![2.0], vec![value / 10.0]);
        Sample { value: Some(value), ghz, celsius, idle: None, cpus: CpuSet::default(), seen }
    }

    fn row(test: Test) -> Row {
        let cell = Cell { test, placement: "none".into(), pair_class: None, copies: 1, choices: Vec::new() };
        Row {
            name: test.name().into(),
            cell,
            samples: Samples::default(),
            without: Samples::default(),
            gains: Vec::new(),
            failed: None,
        }
    }

    #[test]
    fn a_gain_is_a_ratio_of_speeds_of_samples_of_one_pass() {
        let mut rate = row(Test::Dhrystone2);
        for (with, without) in [(100.0, 120.0), (200.0, 260.0), (300.0, 330.0)] {
            rate.add(Some(sample(with)), Some(sample(without)));
        }
        // A sample that a stop cut short has no partner.
        rate.add(Some(sample(1.0)), None);
        let (without, gain) = rate.without_idle();
        assert_eq!(gain.speed.unwrap().median, 1.2);
        assert_eq!(without.value.unwrap().median, 260.0);
        assert_eq!(without.celsius.unwrap().median, 26.0);
        assert_eq!(rate.result().value.unwrap().n, 4);
        let mut time = row(Test::Build);
        time.add(Some(sample(100.0)), Some(sample(50.0)));
        assert_eq!(time.without_idle().1.speed.unwrap().median, 2.0, "half the time is twice the speed");
    }
}
