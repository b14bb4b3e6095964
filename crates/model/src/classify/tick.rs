//! Times in steps of a coarse clock.

/// Whether the gap between two times is one step of the clock, if all times are multiples of that step: they gather
/// in at least four narrow heaps at 1, 2, 3, 4 … steps. A time between two steps is read sometimes as one, sometimes
/// as the other, so such a gap means nothing.
pub(super) fn is_one_step(sorted: &[f64], inside: f64, across: f64) -> bool {
    let gap = across - inside;
    let near = sorted.partition_point(|&ns| ns <= 6.0 * across);
    let heaps: Vec<(f64, f64)> = sorted[..near]
        .chunk_by(|a, b| b - a < 0.4 * gap)
        .filter(|heap| heap.len() * 200 >= near)
        .map(|heap| (heap[0], heap[heap.len() - 1]))
        .collect();
    let centre = |ns: f64| {
        let heap = heaps.iter().find(|heap| heap.0 <= ns && ns <= heap.1);
        heap.map_or(ns, |heap| (heap.0 + heap.1) / 2.0)
    };
    let step = centre(across) - centre(inside);
    let within: Vec<f64> =
        heaps.iter().filter(|heap| heap.0 <= 6.0 * step).map(|heap| (heap.0 + heap.1) / 2.0 / step).collect();
    heaps.iter().all(|heap| heap.0 > 6.0 * step || heap.1 - heap.0 < 0.35 * step)
        && within.len() >= 4
        && within.iter().all(|multiple| (multiple - multiple.round()).abs() < 0.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_of_a_coarse_clock_is_told_from_a_level() {
        let quantised: Vec<f64> =
            [5.0, 5.3, 10.3, 10.7, 15.3, 15.7, 20.7, 21.0].into_iter().flat_map(|ns| [ns; 20]).collect();
        assert!(is_one_step(&quantised, 5.3, 10.3));
        assert!(!is_one_step(&quantised, 5.3, 15.3));
        let levels: Vec<f64> = [8.0, 20.0, 85.0].into_iter().flat_map(|ns| [ns, ns + 0.4]).collect();
        assert!(!is_one_step(&levels, 8.4, 20.0));
    }
}
