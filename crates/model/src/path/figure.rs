//! Two variants compared by gap, and several by size.

use coho_profile::Ns;

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
    /// Index of the instruction among the path's.
    pub instruction: usize,
    /// The gap: the sum of all gaps or the length of each, as the figure defines it.
    pub gap: Ns,
    /// Time of the first variant.
    pub time_a: Ns,
    /// Time of the second variant.
    pub time_b: Ns,
}

impl Point {
    /// The share of the second variant's time that the first one saves; negative if it is slower.
    pub fn gain(&self) -> f64 {
        1.0 - self.time_a / self.time_b
    }
}

impl Path {
    /// The first and the second variant of a figure.
    pub fn ways(&self, figure: &Figure) -> [&Variant; 2] {
        [figure.a, figure.b].map(|index| &self.variants[index])
    }

    /// All points of a figure: by size, instruction and gap.
    pub fn points(&self, figure: &Figure) -> Vec<Point> {
        let ways = self.ways(figure);
        let mut points = Vec::new();
        for &bytes in &self.bytes {
            for instruction in 0..self.instructions.len() {
                for &gap in &self.gaps {
                    let [time_a, time_b] = ways.map(|way| {
                        let parts = if figure.sum_of_gaps { way.gaps().max(1) } else { 1 };
                        way.time(bytes, gap / f64::from(parts), instruction)
                    });
                    points.push(Point { bytes, instruction, gap, time_a, time_b });
                }
            }
        }
        points
    }

    /// The crossings of a comparison by size, for one instruction. A gap that the figure sweeps counts as 0.
    pub fn crossings(&self, crossover: &Crossover, instruction: usize) -> Vec<Crossing> {
        let protocols: Vec<&Variant> =
            crossover.protocols.iter().map(|&index| &self.variants[index]).collect();
        let Crossover { least, greatest, ref grid, .. } = *crossover;
        let thresholds = envelope::envelope(&protocols, least, greatest, instruction);
        let crossing = |threshold: &Threshold| {
            let on_grid = |sizes: &Vec<f64>| {
                let at = sizes.partition_point(|size| *size < threshold.bytes);
                sizes[at.min(sizes.len() - 1)].round()
            };
            Some(Crossing {
                from: crossover.protocols[threshold.from?],
                to: crossover.protocols[threshold.to],
                bytes: grid.as_ref().map_or(threshold.bytes.ceil(), on_grid),
                exact_bytes: threshold.bytes,
            })
        };
        thresholds.iter().filter_map(crossing).collect()
    }

    /// The quickest protocol at the least size of a comparison.
    pub fn quickest_at_first(&self, crossover: &Crossover, instruction: usize) -> Option<&Variant> {
        let protocols: Vec<&Variant> =
            crossover.protocols.iter().map(|&index| &self.variants[index]).collect();
        let least = crossover.least;
        let first = envelope::envelope(&protocols, least, least * 2.0, instruction);
        Some(protocols[first.first()?.to])
    }
}

/// What the single passes of the messages that a comparison by size rests on have of its crossings.
#[derive(Debug, Clone, PartialEq)]
pub struct ByPass {
    /// Number of passes in which the same protocols take over from one another, in the same order, as in the medians.
    pub agreeing: usize,
    /// Number of all passes.
    pub passes: usize,
    /// Where each crossing lies in the medians and the passes: its smallest and its largest intersection, in bytes. Of a
    /// pass that does not agree, all crossings of these two count.
    pub ranges: Vec<(f64, f64)>,
}

impl ByPass {
    /// Sets the crossings of a comparison, by its index, beside those of the path of each pass; `None` without passes.
    pub fn of(path: &Path, passes: &[Path], crossover: usize, instruction: usize) -> Option<Self> {
        let crossings_of = |path: &Path| path.crossings(&path.crossovers[crossover], instruction);
        let takes_over = |one: &Crossing| (one.from, one.to);
        let order_of = |path: &Path, crossings: &[Crossing]| {
            let first = path.quickest_at_first(&path.crossovers[crossover], instruction);
            (first.map(|way| way.name.clone()), Vec::from_iter(crossings.iter().map(takes_over)))
        };
        let own = crossings_of(path);
        let order = order_of(path, &own);
        let mut by_pass = Self {
            agreeing: 0,
            passes: passes.len(),
            ranges: own.iter().map(|one| (one.exact_bytes, one.exact_bytes)).collect(),
        };
        for pass in passes {
            let crossings = crossings_of(pass);
            let agrees = order_of(pass, &crossings) == order;
            by_pass.agreeing += usize::from(agrees);
            for (at, (least, greatest)) in by_pass.ranges.iter_mut().enumerate() {
                let is = |(other, one): &(usize, &Crossing)| match agrees {
                    true => *other == at,
                    false => takes_over(one) == takes_over(&own[at]),
                };
                for (_, one) in crossings.iter().enumerate().filter(is) {
                    (*least, *greatest) = (least.min(one.exact_bytes), greatest.max(one.exact_bytes));
                }
            }
        }
        (!passes.is_empty()).then_some(by_pass)
    }
}

/// A comparison of several variants by size.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    /// What is compared.
    pub name: String,
    pub(super) protocols: Vec<usize>,
    /// Smallest and largest size, in bytes.
    pub(super) least: f64,
    pub(super) greatest: f64,
    pub(super) grid: Option<Vec<f64>>,
}

impl Crossover {
    /// How many sizes the grid has on which a publication gives this comparison; `None` where there is no grid, and
    /// the intersection itself counts.
    pub fn grid_points(&self) -> Option<usize> {
        self.grid.as_ref().map(Vec::len)
    }
}

/// A size from which on another protocol is the quickest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Index of the variant that was the quickest below.
    pub from: usize,
    /// Index of the variant that is the quickest from here on.
    pub to: usize,
    /// The smallest whole number of bytes at which it is; on a publication's grid, the smallest such size of the
    /// grid.
    pub bytes: f64,
    /// The intersection itself, in bytes.
    pub exact_bytes: f64,
}
