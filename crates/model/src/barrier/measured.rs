//! What a profile's measurements say about a team.

use coho_profile::{Estimate, Sync};

use crate::stability::reach;

/// The name of the quickest measured barrier for this many threads, as [`coho_sync::Algorithm`] parses it; `None`
/// where no other was slower beyond chance, or there are no figures.
pub fn quickest_measured(sync: &Sync, threads: u32) -> Option<String> {
    let mut measured: Vec<_> = sync
        .barriers
        .iter()
        .filter(|barrier| barrier.threads == threads && barrier.algorithm != "auto")
        .filter_map(|barrier| Some((barrier, barrier.ns.as_ref()?)))
        .collect();
    measured.sort_by(|(_, one), (_, other)| one.median.total_cmp(&other.median));
    let (best, ns) = *measured.first()?;
    let slower = measured.iter().skip(1).all(|(other, other_ns)| {
        is_slower(ns, other_ns) || (&other.algorithm, &other.layout) == (&best.algorithm, &best.layout)
    });
    (slower && measured.len() > 1).then(|| best.name())
}

/// Times within this ratio count as alike, whatever their intervals, which do not include the next run's noise.
const ALIKE: f64 = 1.1;

/// Whether a time exceeds another by more than chance and the next run explain: beyond the intervals of both, or all
/// values between which they jumped, and by more than a tenth.
pub fn is_slower(quick: &Estimate, other: &Estimate) -> bool {
    let (Some((_, most)), Some((least, _))) = (reach(quick), reach(other)) else { return false };
    least > most && other.median > ALIKE * quick.median
}

#[cfg(test)]
mod tests {
    use coho_profile::BarrierTime;

    use super::*;

    fn barrier(algorithm: &str, layout: &str, low: f64, high: f64) -> BarrierTime {
        let ns = Estimate { low, high, n: 40, ..Estimate::exact(f64::midpoint(low, high)) };
        BarrierTime {
            algorithm: algorithm.into(),
            layout: layout.into(),
            threads: 4,
            ns: Some(ns),
            ..BarrierTime::default()
        }
    }

    #[test]
    fn only_what_is_beyond_chance_is_chosen() {
        let quickest_of = |barriers: &[BarrierTime]| {
            quickest_measured(&Sync { barriers: barriers.to_vec(), ..Sync::default() }, 4)
        };
        let quick = barrier("fbs", "one-line", 30.0, 32.0);
        let name = quickest_of(&[barrier("central", "", 60.0, 70.0), quick.clone()]);
        assert_eq!(name.as_deref(), Some("fbs-one-line"));
        assert!(name.unwrap().parse::<coho_sync::Algorithm>().is_ok());
        assert_eq!(quickest_of(&[barrier("central", "", 31.0, 70.0), quick.clone()]), None);
        assert_eq!(quickest_of(&[barrier("central", "", 33.0, 34.0), quick.clone()]), None, "within a tenth");
        assert_eq!(quickest_of(std::slice::from_ref(&quick)), None);
        let few = |mut row: BarrierTime, n| {
            row.ns.as_mut().unwrap().n = n;
            row
        };
        for n in [1, 3, 5] {
            let slow = barrier("central", "", 60.0, 70.0);
            assert_eq!(
                quickest_of(&[slow.clone(), few(quick.clone(), n)]),
                None,
                "{n} samples are no interval"
            );
            assert_eq!(quickest_of(&[few(slow, n), quick.clone()]), None, "{n} samples are no interval");
        }
        assert_eq!(quickest_of(&[]), None);
    }
}
