//! How far the way to memory can be loaded before loads wait: the knee of latency over rate.

use coho_profile::{Estimate, Loaded, LoadedRow, Traffic};

/// A load that takes this many times the idle one is beyond the knee.
pub const RISE: f64 = 1.5;

/// Where latency rises under one kind of traffic, on one node's memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Knee<'a> {
    /// The row of the same reader and memory while the others did nothing.
    pub idle: &'a LoadedRow,
    /// The most that the others moved with loads sure to stay below [`RISE`] times the idle ones; `None` if not even the
    /// slowest traffic left them there.
    pub below: Option<&'a LoadedRow>,
    /// The least that they moved with loads sure to take longer than that; `None` if none was.
    pub above: Option<&'a LoadedRow>,
    /// The most that they moved.
    pub most: &'a LoadedRow,
}

fn figures(row: &LoadedRow) -> Option<(&Estimate, &Estimate)> {
    let (rate, ns) = (row.bytes_per_s.as_ref()?, row.latency_ns.as_ref()?);
    (rate.median > 0.0 && ns.median > 0.0).then_some((rate, ns))
}

/// The knee under this traffic of the first reader and memory; `None` without an idle time, or with fewer than two rates.
///
/// ```
/// use coho_profile::{Estimate, Loaded, LoadedRow, Traffic};
/// let row = |traffic, gb: f64, ns: f64| LoadedRow {
///     traffic,
///     bytes_per_s: Some(Estimate::exact(gb * 1e9)),
///     latency_ns: Some(Estimate::exact(ns)),
///     ..LoadedRow::default()
/// };
/// let rows = vec![
///     row(Traffic::None, 0.0, 90.0),
///     row(Traffic::Read, 2.0, 95.0),
///     row(Traffic::Read, 9.0, 120.0),
///     row(Traffic::Read, 14.0, 260.0),
/// ];
/// let loaded = Loaded { rows, ..Loaded::default() };
/// let knee = coho_model::loaded::knee(&loaded, Traffic::Read).unwrap();
/// assert_eq!(knee.below.unwrap().bytes_per_s.as_ref().unwrap().median, 9e9);
/// assert_eq!(knee.above.unwrap().latency_ns.as_ref().unwrap().median, 260.0);
/// ```
pub fn knee(loaded: &Loaded, traffic: Traffic) -> Option<Knee<'_>> {
    let first = loaded.rows.first()?;
    let here = || loaded.rows.iter().filter(|row| (row.reader, row.node) == (first.reader, first.node));
    let idle = here().find(|row| row.traffic == Traffic::None && row.latency_ns.is_some())?;
    let mut rows: Vec<&LoadedRow> =
        here().filter(|row| row.traffic == traffic && figures(row).is_some()).collect();
    let rate = |row: &LoadedRow| figures(row).map_or(0.0, |(rate, _)| rate.median);
    rows.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let most = *rows.last().filter(|_| rows.len() > 1)?;
    let idle_ns = idle.latency_ns.as_ref()?;
    let ns = |row: &LoadedRow| figures(row).map_or((0.0, f64::INFINITY), |(_, ns)| (ns.low, ns.high));
    let stays = |row: &&&LoadedRow| ns(row).1 < RISE * idle_ns.low;
    let below = rows.iter().take_while(stays).last().copied();
    let above = rows.iter().find(|row| ns(row).0 > RISE * idle_ns.high).copied();
    Some(Knee { idle, below, above, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(traffic: Traffic, gb: f64, ns: f64) -> LoadedRow {
        let estimate =
            |value: f64| Estimate { low: 0.98 * value, high: 1.02 * value, ..Estimate::exact(value) };
        LoadedRow {
            traffic,
            bytes_per_s: Some(estimate(gb * 1e9)),
            latency_ns: Some(estimate(ns)),
            ..LoadedRow::default()
        }
    }

    #[test]
    fn a_load_that_may_be_beyond_the_knee_is_not_below_it() {
        let loaded = |ns: f64| Loaded {
            rows: vec![
                row(Traffic::None, 0.0, 100.0),
                row(Traffic::Read, 4.0, ns),
                row(Traffic::Read, 9.0, 300.0),
            ],
            ..Loaded::default()
        };
        let sides = |ns: f64| {
            let loaded = loaded(ns);
            let knee = knee(&loaded, Traffic::Read).unwrap();
            (knee.below.is_some(), knee.above.map(|row| row.latency_ns.as_ref().unwrap().median))
        };
        let expected = [(true, Some(300.0)), (false, Some(300.0)), (false, Some(160.0))];
        assert_eq!([140.0, 146.0, 160.0].map(sides), expected);
    }

    #[test]
    fn a_slower_rate_beyond_the_knee_ends_it() {
        let rows = vec![
            row(Traffic::None, 0.0, 100.0),
            row(Traffic::OneToOne, 2.0, 200.0),
            row(Traffic::OneToOne, 4.0, 110.0),
        ];
        let loaded = Loaded { rows, ..Loaded::default() };
        assert_eq!(knee(&loaded, Traffic::OneToOne).unwrap().below, None);
        assert_eq!(knee(&loaded, Traffic::Read), None);
        assert_eq!(knee(&Loaded::default(), Traffic::Read), None);
    }
}
