//! The clock's step: the smallest difference that it can show.

use std::hint::black_box;

use super::Ticks;

const READINGS: usize = 4096;
/// The finest difference between steps that can be found, in ticks.
const GRAIN: f64 = 1.0 / 16.0;
/// Gaps up to this many times the smallest are considered; larger ones were interrupted and add nothing.
const REACH: u64 = 8;
/// A gap of more ticks than this is taken as the step itself: no counter advances so rarely.
const LARGEST: u64 = 1 << 20;

/// The step of a clock, in its ticks.
pub(super) fn measure(now: impl Fn() -> Ticks) -> f64 {
    let readings: Vec<_> = (0..READINGS as u64)
        .map(|i| {
            // Readings in lock-step would all show the same gap.
            (0..i * 7919 % 64).for_each(|turn| _ = black_box(turn));
            now()
        })
        .collect();
    from_gaps(readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect())
}

/// The largest step such that every gap is a multiple of it, apart from rounding to whole ticks at both ends.
///
/// A virtual machine's counter may advance by 22.5 ticks at a time, so that gaps of 22, 23 and 45 occur. Steps below
/// two ticks cannot be distinguished from one.
fn from_gaps(mut gaps: Vec<Ticks>) -> f64 {
    gaps.retain(|&gap| gap > 0);
    gaps.sort_unstable();
    gaps.dedup();
    let Some(&smallest) = gaps.first() else { return 0.0 };
    gaps.retain(|&gap| gap <= REACH.saturating_mul(smallest));
    let fits = |step: f64| {
        gaps.iter().all(|&gap| {
            let gap = gap as f64;
            (gap - (gap / step).round().max(1.0) * step).abs() < 1.0
        })
    };
    if smallest > LARGEST {
        return smallest as f64;
    }
    let mut candidates =
        (0..).map(|i| (smallest + 1) as f64 - f64::from(i) * GRAIN).take_while(|&step| step >= 2.0);
    let Some(high) = candidates.by_ref().find(|&step| fits(step)) else { return 1.0 };
    let low = candidates.take_while(|&step| fits(step)).last().unwrap_or(high);
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[test]
    fn a_step_of_half_ticks_is_found() {
        assert_eq!(from_gaps(vec![22, 23, 45, 23, 22]), 22.5);
        assert_eq!(from_gaps(vec![22, 23, 45, 68, 112, 113, 1_000_003]), 22.5);
    }

    #[test]
    fn no_gaps_no_step() {
        assert_eq!(from_gaps(vec![]), 0.0);
        assert_eq!(from_gaps(vec![0, 0]), 0.0);
        assert_eq!(from_gaps(vec![1 << 40, u64::MAX]), (1u64 << 40) as f64);
    }

    #[test]
    fn a_clock_of_single_ticks_has_a_step_of_one() {
        assert_eq!(from_gaps((30..70).collect()), 1.0);
        assert_eq!(from_gaps(vec![1, 2, 3]), 1.0);
    }

    #[test]
    fn no_readings_differ_by_less_than_the_step() {
        let clock = crate::clock::Clock::get();
        let readings: Vec<_> = (0..1000).map(|_| clock.now()).collect();
        let gaps = readings.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0);
        // Rounding to whole ticks may take one.
        let least = clock.ns(gaps.min().unwrap() + 1);
        eprintln!("step {:.2} ns, {least:.2} ns between readings", clock.step_ns());
        assert!(clock.step_ns() <= least);
    }

    proptest! {
        // The same cases each time, so that the test's outcome does not depend on chance.
        #![proptest_config(ProptestConfig {
            cases: 64,
            rng_seed: RngSeed::Fixed(7),
            ..ProptestConfig::default()
        })]
        #[test]
        fn the_step_of_a_made_up_clock_is_found(quarters in 12..4000u64, work in 1..2000u64) {
            let step = quarters as f64 / 4.0;
            // The time goes on by an irregular amount at every reading; the clock shows whole steps, in whole ticks.
            let time = Cell::new(0u64);
            let state = Cell::new(work);
            let found = measure(|| {
                state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
                time.set(time.get() + (state.get() >> 33) % (8 * step as u64));
                ((time.get() as f64 / step).floor() * step) as u64
            });
            prop_assert!((found - step).abs() <= 0.25, "{found} for {step}");
        }
    }
}
