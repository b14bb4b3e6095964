//! Several variants compared by size: from which size on which of them is the quickest.

use serde::Serialize;

use super::envelope::envelope;
use super::figure::whole_or_none;
use super::{Path, Variant};

/// A comparison of several variants by size.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    /// What is compared.
    pub name: String,
    pub(super) protocols: Vec<usize>,
    /// Smallest and largest size, in bytes.
    pub(super) least: f64,
    pub(super) greatest: f64,
    /// The sizes on which a publication gives the comparison; without one, the intersection itself counts.
    pub(super) grid: Option<Vec<f64>>,
}

/// A size from which on another protocol is the quickest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Index of the variant that was the quickest below.
    pub from: usize,
    /// Index of the variant that is the quickest from here on.
    pub to: usize,
    /// The smallest whole number of bytes at which it is; on a publication's grid, the smallest such size of the grid.
    pub bytes: f64,
    /// The intersection itself, in bytes.
    pub exact_bytes: f64,
}

/// From which size on another variant is the quickest, with what that rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Takeover {
    /// The reading of the paper, where there are several.
    pub reading: Option<String>,
    /// What is compared.
    pub name: String,
    /// The instructions with which a CPU copies.
    pub instruction: String,
    /// The quickest below; the only one where nothing crosses.
    pub from: String,
    /// The quickest from here on; `null` where nothing crosses.
    pub to: Option<String>,
    /// The smallest whole number of bytes; on a publication's grid, the smallest such size of the grid.
    #[serde(serialize_with = "whole_or_none")]
    pub bytes: Option<f64>,
    /// How many sizes that grid has; `null` where there is none.
    pub grid_points: Option<usize>,
    /// The intersection itself.
    pub exact_bytes: Option<f64>,
    /// Where it lies in the medians and the single passes of the messages that it rests on: its smallest and its largest
    /// intersection, in bytes. Of a pass that does not agree, all crossings of these two variants count.
    pub by_pass_bytes: Option<(f64, f64)>,
    /// In how many passes the same variants take over from one another, in the same order, as in the medians; and the
    /// number of all passes.
    pub by_pass: Option<(usize, usize)>,
}

impl Takeover {
    /// What it is about: all crossings of one comparison share it.
    pub fn subject(&self) -> (Option<&str>, &str, &str) {
        (self.reading.as_deref(), &self.name, &self.instruction)
    }

    /// Whether the single passes show what their medians do; `true` where there are none.
    pub fn is_of_all_passes(&self) -> bool {
        self.by_pass.is_none_or(|(agreeing, passes)| agreeing == passes)
    }
}

impl Path {
    /// The crossings of a comparison by size, for one instruction. A gap that a figure sweeps counts as 0.
    pub fn crossings(&self, crossover: &Crossover, instruction: usize) -> Vec<Crossing> {
        self.order(crossover, instruction).1
    }

    /// The quickest variant at the smallest size, and who takes over from whom at which size.
    fn order(&self, crossover: &Crossover, instruction: usize) -> (Option<usize>, Vec<Crossing>) {
        let Crossover { protocols, least, greatest, grid, .. } = crossover;
        let variants: Vec<&Variant> = protocols.iter().map(|&index| &self.variants[index]).collect();
        let thresholds = envelope(&variants, *least, *greatest, instruction);
        let on_grid = |sizes: &Vec<f64>, bytes: f64| {
            let at = sizes.partition_point(|size| *size < bytes);
            sizes[at.min(sizes.len() - 1)].round()
        };
        let crossings = thresholds.iter().filter_map(|threshold| {
            let exact_bytes = threshold.bytes;
            Some(Crossing {
                from: protocols[threshold.from?],
                to: protocols[threshold.to],
                bytes: grid.as_ref().map_or(exact_bytes.ceil(), |sizes| on_grid(sizes, exact_bytes)),
                exact_bytes,
            })
        });
        (thresholds.first().map(|first| protocols[first.to]), crossings.collect())
    }

    /// Who takes over from whom in the comparison of this index, and whether the path of each pass agrees; one row that
    /// names the quickest where nobody takes over.
    pub(super) fn takeovers(&self, passes: &[Path], crossover: usize, instruction: usize) -> Vec<Takeover> {
        let order = |path: &Path| path.order(&path.crossovers[crossover], instruction);
        let (first, crossings) = order(self);
        let pair = |one: &Crossing| (one.from, one.to);
        let mut ranges: Vec<(f64, f64)> =
            crossings.iter().map(|one| (one.exact_bytes, one.exact_bytes)).collect();
        let mut agreeing = 0;
        for (first_of_pass, of_pass) in passes.iter().map(order) {
            let agrees = first_of_pass == first && of_pass.iter().map(pair).eq(crossings.iter().map(pair));
            agreeing += usize::from(agrees);
            for (at, (least, greatest)) in ranges.iter_mut().enumerate() {
                let is_same = |(other, one): &(usize, &Crossing)| match agrees {
                    true => *other == at,
                    false => pair(one) == pair(&crossings[at]),
                };
                for (_, one) in of_pass.iter().enumerate().filter(is_same) {
                    (*least, *greatest) = (least.min(one.exact_bytes), greatest.max(one.exact_bytes));
                }
            }
        }
        let own = &self.crossovers[crossover];
        let has_passes = !passes.is_empty();
        let row = |from: usize, crossing: Option<(&Crossing, (f64, f64))>| Takeover {
            reading: self.reading.clone(),
            name: own.name.clone(),
            instruction: self.instructions[instruction].clone(),
            from: self.variants[from].name.clone(),
            to: crossing.map(|(one, _)| self.variants[one.to].name.clone()),
            bytes: crossing.map(|(one, _)| one.bytes),
            grid_points: crossing.and(own.grid.as_ref()).map(Vec::len),
            exact_bytes: crossing.map(|(one, _)| one.exact_bytes),
            by_pass_bytes: crossing.map(|(_, range)| range).filter(|_| has_passes),
            by_pass: has_passes.then_some((agreeing, passes.len())),
        };
        if crossings.is_empty() {
            return first.map(|only| row(only, None)).into_iter().collect();
        }
        crossings.iter().zip(ranges).map(|(one, range)| row(one.from, Some((one, range)))).collect()
    }
}
