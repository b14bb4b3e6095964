//! What a profile's measurements say about a team.

use std::collections::BTreeSet;

use coho_profile::{BarrierTime, Estimate, Sync};

use crate::chance::{BETWEEN_RUNS, Family, Order};

/// The barrier with the shortest median among all of one number of threads, but for `auto`, which is one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortest {
    /// Its row.
    pub row: BarrierTime,
    /// Its time.
    pub ns: Estimate,
    /// The names of other barriers that are not slower beyond chance. Mappings of ranks to CPUs do not make two barriers.
    pub rivals: Vec<String>,
    /// Whether it is the quickest: others were measured, and each is slower.
    pub is_quickest: bool,
}

/// The barrier with the shortest median for this many threads; `None` without figures.
pub fn shortest(sync: &Sync, threads: u32) -> Option<Shortest> {
    let of_team = sync.barriers.iter().filter(|row| row.threads == threads && row.algorithm != "auto");
    let measured: Vec<_> = of_team.filter_map(|row| Some((row, row.ns.as_ref()?))).collect();
    let (row, ns) = *measured.iter().min_by(|(_, one), (_, other)| one.median.total_cmp(&other.median))?;
    let search = search(measured.len());
    let mut others = measured.iter().filter(|(other, _)| other.name() != row.name()).peekable();
    let has_others = others.peek().is_some();
    let rivals: BTreeSet<String> = others
        .filter(|(_, other)| search.compare(ns, other) != Order::Less)
        .map(|(other, _)| other.name())
        .collect();
    let is_quickest = has_others && rivals.is_empty();
    Some(Shortest { row: row.clone(), ns: ns.clone(), rivals: rivals.into_iter().collect(), is_quickest })
}

/// The name of the quickest measured barrier for this many threads, as [`coho_sync::Algorithm`] parses it; `None` unless
/// it is [the quickest](Shortest::is_quickest).
pub fn quickest_measured(sync: &Sync, threads: u32) -> Option<String> {
    shortest(sync, threads).filter(|shortest| shortest.is_quickest).map(|shortest| shortest.row.name())
}

/// How many times its limit a time is, where that means something. It does not for a time that jumped, whose median lies
/// between its values, nor far below the limit, which nothing is: the CPUs were nearer by then, or it was timed amiss.
///
/// ```
/// use coho_model::barrier::times_limit;
/// use coho_profile::Estimate;
/// let jumped = Estimate { stable: Some(false), ..Estimate::exact(60.0) };
/// let told = [Some(1.2), Some(0.78), None].map(|times| times_limit(times, &Estimate::exact(60.0)));
/// assert_eq!((told, times_limit(Some(1.2), &jumped)), ([Some(1.2), None, None], None));
/// ```
pub fn times_limit(times: Option<f64>, ns: &Estimate) -> Option<f64> {
    times.filter(|times| ns.stable != Some(false) && BETWEEN_RUNS * times >= 1.0)
}

/// The search for the quickest of so many times, for this run and the next.
pub(crate) fn search(times: usize) -> Family {
    Family::among(times).of_different_runs()
}

#[cfg(test)]
mod tests {
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
        let mapped = BarrierTime { mapping: "binary-tree".into(), ..barrier("fbs", "one-line", 60.0, 70.0) };
        assert_eq!(
            quickest_of(&[mapped.clone(), quick.clone()]),
            None,
            "another mapping is no other barrier"
        );
        let all =
            [mapped, barrier("auto", "", 30.0, 32.0), barrier("central", "", 60.0, 70.0), quick.clone()];
        assert_eq!(quickest_of(&all).as_deref(), Some("fbs-one-line"), "auto is one of them");
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
