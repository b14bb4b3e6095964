//! Two variants compared by size, instruction and gap.

use coho_profile::Ns;
use serde::{Serialize, Serializer};

use super::{Path, Variant};

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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The reading of the paper, where there are several.
    pub reading: Option<String>,
    /// The figure's name.
    pub figure: String,
    /// The bus that it is drawn for.
    pub bus: String,
    /// Size of the transfer, in bytes.
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    /// The instructions with which a CPU copies.
    pub instruction: String,
    /// The gap: the sum of all gaps or the length of each, as the figure defines it.
    pub gap_ns: Ns,
    /// Time of the first variant.
    pub time_a_ns: Ns,
    /// Time of the second one.
    pub time_b_ns: Ns,
    /// The share of the second variant's time that the first saves; negative if it is slower.
    pub gain: f64,
    /// The first variant.
    pub a: String,
    /// The second one.
    pub b: String,
}

impl Path {
    /// The first and the second variant of a figure.
    pub fn ways(&self, figure: &Figure) -> [&Variant; 2] {
        [figure.a, figure.b].map(|index| &self.variants[index])
    }

    /// All points of a figure: by size, instruction and gap.
    pub fn points(&self, figure: &Figure) -> Vec<Point> {
        let [a, b] = self.ways(figure);
        let mut points = Vec::new();
        for &bytes in &self.bytes {
            for (index, instruction) in self.instructions.iter().enumerate() {
                points.extend(self.gaps.iter().map(|&gap_ns| {
                    let [time_a_ns, time_b_ns] = [a, b].map(|way| {
                        let parts = if figure.sum_of_gaps { way.gaps().max(1) } else { 1 };
                        way.time(bytes, gap_ns / f64::from(parts), index)
                    });
                    Point {
                        reading: self.reading.clone(),
                        figure: figure.name.clone(),
                        bus: figure.bus.clone(),
                        bytes,
                        instruction: instruction.clone(),
                        gap_ns,
                        time_a_ns,
                        time_b_ns,
                        gain: 1.0 - time_a_ns / time_b_ns,
                        a: a.name.clone(),
                        b: b.name.clone(),
                    }
                }));
            }
        }
        points
    }
}

/// Every whole number up to this one is exact in `f64`.
const EXACT: f64 = (1u64 << 53) as f64;

/// A size in bytes, without a decimal point where it is a whole number.
pub(super) fn whole<S: Serializer>(bytes: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if bytes.fract() == 0.0 && (0.0..=EXACT).contains(bytes) {
        serializer.serialize_u64(*bytes as u64)
    } else {
        serializer.serialize_f64(*bytes)
    }
}

pub(super) fn whole_or_none<S: Serializer>(bytes: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match bytes {
        Some(bytes) => whole(bytes, serializer),
        None => serializer.serialize_none(),
    }
}
