//! Order statistics.

use coho_profile::{Estimate, Mode, order};

pub(crate) use coho_profile::order::{median_of as median, middle_of as middle};

/// Which values to keep when odd ones are left out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keep {
    Low,
    High,
}

/// The largest of the low values or the smallest of the high ones, leaving out a tenth of them or half the square
/// root of their number, whichever is more: none of 3, one of 4, ten of 100. Reorders the slice.
///
/// # Panics
/// If the slice is empty.
pub(crate) fn without_odd(values: &mut [f64], keep: Keep) -> f64 {
    let n = values.len() as f64;
    let out = f64::max((n / 10.0).round(), n.sqrt() / 2.0) as usize;
    let rank = match keep {
        Keep::Low => values.len() - 1 - out,
        Keep::High => out,
    };
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

/// The median of times with its distribution-free 95 % interval; `None` if there are none.
pub(crate) fn estimate(mut values: Vec<f64>) -> Option<Estimate> {
    values.sort_unstable_by(f64::total_cmp);
    let min = *values.first()?;
    let (median, (low, high)) = (order::median(&values), order::interval(&values));
    let modes = vec![Mode { value: median, share: 1.0 }];
    Some(Estimate { median, low, high, min, n: values.len() as u64, passes: 0, modes, stable: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_of_few_are_none() {
        assert_eq!(without_odd(&mut [3.0, 1.0, 2.0], Keep::Low), 3.0);
        assert_eq!(without_odd(&mut [3.0, 1.0, 2.0, 9.0], Keep::Low), 3.0);
        assert_eq!(without_odd(&mut [3.0, 1.0, 2.0, 9.0], Keep::High), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn the_interval_of_a_median_narrows_with_the_number() {
        assert_eq!(estimate(Vec::new()), None);
        let few = estimate(vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((few.min, few.low, few.median, few.high, few.n), (1.0, 1.0, 2.5, 4.0, 4));
        let many = estimate((0..=1000).map(f64::from).collect()).unwrap();
        assert_eq!(many.median, 500.0);
        assert!(many.low > 460.0 && many.high < 540.0, "{many:?}");
    }
}
