//! Two ways compared by gap, and several by size.

use super::{Path, Threshold, Variant, envelope};

/// A comparison of two variants.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name: `4` for the paper's Fig. 4.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The bus that it is about, where there is one.
    pub bus: String,
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) sum_of_gaps: bool,
}

/// One point of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Size of the transfer, in bytes.
    pub bytes: f64,
    /// Place of the instruction among the path's.
    pub instruction: usize,
    /// The gap, in ns: the sum of all, or each, as the figure has it.
    pub gap_ns: f64,
    /// Time of the first way, in ns.
    pub time_a_ns: f64,
    /// Time of the second way, in ns.
    pub time_b_ns: f64,
}

impl Point {
    /// The share of the second way's time that the first saves: below 0, it loses.
    pub fn gain(&self) -> f64 {
        1.0 - self.time_a_ns / self.time_b_ns
    }
}

impl Path {
    /// The first and the second way of a figure.
    pub fn ways(&self, figure: &Figure) -> [&Variant; 2] {
        [figure.a, figure.b].map(|index| &self.variants[index])
    }

    /// All points of a figure: by size, instruction and gap.
    pub fn points(&self, figure: &Figure) -> Vec<Point> {
        let ways = self.ways(figure);
        let mut points = Vec::new();
        for &bytes in &self.bytes {
            for instruction in 0..self.instructions.len() {
                for &gap_ns in &self.gaps_ns {
                    let [time_a_ns, time_b_ns] = ways.map(|way| {
                        let parts = if figure.sum_of_gaps { way.gaps().max(1) } else { 1 };
                        way.time_ns(bytes, gap_ns / f64::from(parts), instruction)
                    });
                    points.push(Point { bytes, instruction, gap_ns, time_a_ns, time_b_ns });
                }
            }
        }
        points
    }

    /// The crossings of a comparison by size, for one instruction, without varied gaps.
    pub fn crossings(&self, crossover: &Crossover, instruction: usize) -> Vec<Crossing> {
        let protocols: Vec<&Variant> =
            crossover.protocols.iter().map(|&index| &self.variants[index]).collect();
        let sizes = &crossover.sizes;
        let thresholds = envelope::envelope(&protocols, sizes[0], sizes[sizes.len() - 1], 0.0, instruction);
        let crossing = |threshold: &Threshold| {
            let on_sweep = sizes.partition_point(|size| *size < threshold.bytes);
            Some(Crossing {
                from: crossover.protocols[threshold.from?],
                to: crossover.protocols[threshold.to],
                bytes: sizes[on_sweep.min(sizes.len() - 1)].round(),
                exact_bytes: threshold.bytes,
            })
        };
        thresholds.iter().filter_map(crossing).collect()
    }

    /// The quickest protocol at the least size of a comparison.
    pub fn quickest_at_first(&self, crossover: &Crossover, instruction: usize) -> Option<&Variant> {
        let protocols: Vec<&Variant> =
            crossover.protocols.iter().map(|&index| &self.variants[index]).collect();
        let least = crossover.sizes[0];
        let first = envelope::envelope(&protocols, least, least * 2.0, 0.0, instruction);
        Some(protocols[first.first()?.to])
    }
}

/// A comparison of several variants by size.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    /// What is compared.
    pub name: String,
    pub(super) protocols: Vec<usize>,
    pub(super) sizes: Vec<f64>,
}

/// A size from which on another protocol is the quickest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Place of the variant that was the quickest below.
    pub from: usize,
    /// Place of the variant that is the quickest from here on.
    pub to: usize,
    /// The least size of the sweep at which it is, in whole bytes.
    pub bytes: f64,
    /// The intersection itself, in bytes.
    pub exact_bytes: f64,
}
