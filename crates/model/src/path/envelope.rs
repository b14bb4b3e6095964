//! The lower envelope of several protocols by size: which one is the quickest from which size on.

use coho_profile::Ns;

use super::Variant;

/// Number of parts in which a stretch without corners is searched.
const PARTS: usize = 64;

/// A size from which on a protocol is the quickest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Threshold {
    /// The size at which it overtakes the previous one, in bytes: exact up to floating-point rounding.
    pub bytes: f64,
    /// The previous protocol, by its index; `None` at the smallest size.
    pub from: Option<usize>,
    /// The quickest from here on, by its index.
    pub to: usize,
}

/// The thresholds between `least` and `greatest` bytes, in ascending order; the first is at the smallest size. A gap
/// that a figure sweeps counts as 0.
///
/// Times are smooth between two corners (sizes at which a rate's table has a point, a fragment ends, or a protocol
/// reaches its limit). Where rates are constant they are straight lines, which cross at most once. The stretch is
/// searched in 64 parts, and where the quickest protocol changes, bisection finds the intersection to the last bit.
pub(super) fn envelope(
    protocols: &[&Variant],
    least: f64,
    greatest: f64,
    instruction: usize,
) -> Vec<Threshold> {
    let quickest = |bytes: f64| {
        let able = protocols.iter().enumerate().filter(|(_, variant)| variant.takes(bytes));
        let times = able.map(|(at, variant)| (at, variant.time(bytes, Ns::ZERO, instruction)));
        times.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    };
    let mut thresholds: Vec<Threshold> = Vec::new();
    let mut current = quickest(least);
    thresholds.extend(current.map(|to| Threshold { bytes: least, from: None, to }));
    for (from, to) in stretches(protocols, least, greatest, instruction) {
        let ratio = (to / from).powf(1.0 / PARTS as f64);
        let mut below = from;
        for part in 1..=PARTS {
            let above = if part == PARTS { to } else { from * ratio.powi(part as i32) };
            // Several may take their turn within a part.
            while quickest(above) != current {
                let (mut low, mut high) = (below, above);
                loop {
                    let middle = f64::midpoint(low, high);
                    if middle <= low || middle >= high {
                        break;
                    }
                    *(if quickest(middle) == current { &mut low } else { &mut high }) = middle;
                }
                let next = quickest(high);
                thresholds.extend(next.map(|to| Threshold { bytes: high, from: current, to }));
                (current, below) = (next, high);
                if high >= above {
                    break;
                }
            }
            below = above;
        }
    }
    thresholds
}

/// From corner to corner.
fn stretches(protocols: &[&Variant], least: f64, greatest: f64, instruction: usize) -> Vec<(f64, f64)> {
    let corners = protocols.iter().flat_map(|variant| variant.corners(instruction));
    let mut ends: Vec<f64> = corners.filter(|&at| at > least && at < greatest).collect();
    ends.extend([least, greatest]);
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    ends.windows(2).map(|pair| (pair[0], pair[1])).collect()
}
