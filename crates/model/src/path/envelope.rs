//! The lower envelope of several protocols by size: which one is the quickest from which size on.

use coho_profile::Ns;

use super::Variant;

/// Number of parts in which a stretch without corners is searched.
const PARTS: usize = 64;

/// A size from which on a protocol is the quickest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Kind, Overlap, Rate, Stage};
    use super::*;

    fn line(fixed: Ns, bytes_per_s: f64) -> Variant {
        let stage = Stage {
            name: String::new(),
            kind: Kind::Dma,
            side: None,
            rates: vec![Some(Rate::constant(bytes_per_s))],
            gap: Ns::ZERO,
            gaps: 0,
            fixed,
            overlap: Overlap::StoreAndForward,
        };
        Variant::new(String::new(), vec![stage], None)
    }

    proptest! {
        /// The intersections of straight lines are known.
        #[test]
        fn lines_cross_where_they_must(
            parts in proptest::collection::vec((0.0f64..1e5, 1e7f64..1e11), 2..6),
        ) {
            let lines: Vec<Variant> = parts.iter().map(|&(fixed, rate)| line(Ns(fixed), rate)).collect();
            let refs: Vec<&Variant> = lines.iter().collect();
            let thresholds = envelope(&refs, 1.0, 1e8, 0);
            for threshold in &thresholds[1..] {
                let (a, b) = (parts[threshold.from.unwrap()], parts[threshold.to]);
                let exact = (b.0 - a.0) / (1e9 / a.1 - 1e9 / b.1);
                prop_assert!((threshold.bytes / exact - 1.0).abs() < 1e-9, "{} {exact}", threshold.bytes);
            }
            for bytes in [1.0, 10.0, 1e3, 1e5, 3e7, 1e8] {
                let holds = thresholds.iter().rev().find(|threshold| threshold.bytes <= bytes).unwrap();
                let time = |variant: &Variant| variant.time(bytes, Ns::ZERO, 0);
                let least = lines.iter().map(time).fold(Ns::INFINITY, Ns::min);
                prop_assert!(time(&lines[holds.to]) <= least * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn a_protocol_ends_at_its_greatest_size() {
        let mut inline = line(Ns(1.0), 1e9);
        inline.max_bytes = Some(220.0);
        let all = [inline, line(Ns(500.0), 1e9)];
        let thresholds = envelope(&all.iter().collect::<Vec<_>>(), 1.0, 1e6, 0);
        assert_eq!(thresholds.len(), 2);
        assert!((thresholds[1].bytes - 220.0).abs() < 1e-9 && thresholds[1].bytes > 220.0, "{thresholds:?}");
    }
}
