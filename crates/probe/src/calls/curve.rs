//! How many lines a call uses, derived from how many it evicts: a curve measured with victims of known size, made
//! monotone and read in reverse.

/// Lines evicted against lines touched; both rise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// The monotone curve nearest to these (touched, evicted), which are in the order of `touched`; `None` for fewer
    /// than two points.
    pub(super) fn through(measured: &[(f64, f64)]) -> Option<Self> {
        if measured.len() < 2 {
            return None;
        }
        let evicted: Vec<f64> = measured.iter().map(|(_, evicted)| *evicted).collect();
        let points = measured.iter().map(|(touched, _)| *touched).zip(isotonic(&evicted)).collect();
        Some(Self { points })
    }

    /// How many lines were touched if this many were evicted: interpolated between two points, the middle of a flat
    /// stretch, or the curve's end outside it.
    pub(super) fn touched(&self, evicted: f64) -> f64 {
        let below = self.points.partition_point(|(_, y)| *y < evicted);
        let not_above = self.points.partition_point(|(_, y)| *y <= evicted);
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        if below < not_above {
            return f64::midpoint(self.points[below].0, self.points[not_above - 1].0);
        }
        if below == 0 {
            return first.0;
        }
        if below == self.points.len() {
            return last.0;
        }
        let ((x0, y0), (x1, y1)) = (self.points[below - 1], self.points[below]);
        x0 + (x1 - x0) * (evicted - y0) / (y1 - y0)
    }
}

/// The non-decreasing sequence with the least squared distance (pool adjacent violators; Barlow et al. 1972).
fn isotonic(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &value in values {
        pools.push((value, 1));
        while let [.., (before, n), (mean, m)] = pools[..] {
            if before <= mean {
                break;
            }
            pools.truncate(pools.len() - 2);
            pools.push(((before * n as f64 + mean * m as f64) / (n + m) as f64, n + m));
        }
    }
    pools.into_iter().flat_map(|(mean, n)| std::iter::repeat_n(mean, n)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_backwards_what_a_victim_evicted() {
        let curve = Curve::through(&[(0.0, 1.0), (8.0, 20.0), (16.0, 18.0), (64.0, 99.0)]).unwrap();
        // 20 and 18 make 19.
        assert_eq!(curve.points[1..3], [(8.0, 19.0), (16.0, 19.0)]);
        assert_eq!(curve.touched(10.0), 4.0);
        assert_eq!(curve.touched(19.0), 12.0);
        assert_eq!(curve.touched(59.0), 40.0);
        assert_eq!((curve.touched(-5.0), curve.touched(500.0)), (0.0, 64.0));
        assert_eq!(Curve::through(&[(0.0, 1.0)]), None);
    }

    proptest! {
        #[test]
        fn is_monotone_and_keeps_the_sum(values in prop::collection::vec(-50.0f64..500.0, 1..30)) {
            let smooth = isotonic(&values);
            prop_assert!(smooth.is_sorted());
            prop_assert!((smooth.iter().sum::<f64>() - values.iter().sum::<f64>()).abs() < 1e-6);
            let sorted = { let mut sorted = values.clone(); sorted.sort_by(f64::total_cmp); sorted };
            prop_assert_eq!(isotonic(&sorted), sorted);
        }

        #[test]
        fn more_evicted_is_more_touched(
            evicted in prop::collection::vec(0.0f64..100.0, 2..20), a in -10.0f64..120.0, b in -10.0f64..120.0,
        ) {
            let measured: Vec<_> = evicted.iter().enumerate().map(|(i, e)| (i as f64 * 8.0, *e)).collect();
            let curve = Curve::through(&measured).unwrap();
            prop_assert!(curve.touched(a.min(b)) <= curve.touched(a.max(b)) + 1e-9);
        }
    }
}
