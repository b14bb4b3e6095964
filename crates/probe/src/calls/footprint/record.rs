//! The passes' figures for each call and working set, and the rows made from them.

use coho_profile::{Files, Footprint, HostLast};

use super::super::record::figure;
use super::deed::Deed;
use super::ground::Point;

/// Work that overlaps with a call, in ns.
pub(super) const WORKS: [f64; 4] = [0.0, 500.0, 2000.0, 10_000.0];

/// One call with one working set: one figure per pass, in ns.
#[derive(Debug, Default, Clone)]
pub(super) struct Record {
    /// How far apart the two CPUs were, in ns one way; `NaN` if that changed during the visit. Empty without a host.
    pub(super) one_way: Vec<f64>,
    pub(super) home: Vec<f64>,
    pub(super) away: Vec<f64>,
    pub(super) gain: Vec<f64>,
    pub(super) posted: [Posted; WORKS.len()],
    pub(super) home_misses: Vec<f64>,
    pub(super) away_misses: Vec<f64>,
}

/// The same call posted, with work of one length.
#[derive(Debug, Default, Clone)]
pub(super) struct Posted {
    pub(super) cost: Vec<f64>,
    pub(super) work: Vec<f64>,
    pub(super) gain: Vec<f64>,
}

/// Who makes the calls of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Callers {
    pub(super) number: u32,
    pub(super) files: Option<Files>,
}

impl Callers {
    pub(super) const ONE: Self = Self { number: 1, files: None };
}

/// Distances between two CPUs that count as one, in ns one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mode {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The factor between the ends of a mode: noise changes a distance by no more, and a host that moves the CPUs by more
/// than this.
const SPREAD: f64 = 1.5;

impl Mode {
    /// The mode that contains most of these distances; `None` if there are none.
    pub(super) fn of_most(distances: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = distances.filter(|ns| ns.is_finite() && *ns > 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        let held = |first: usize| sorted.partition_point(|ns| *ns <= SPREAD * sorted[first]) - first;
        let first = (0..sorted.len()).max_by_key(|first| held(*first))?;
        Some(Self { low: sorted[first], high: sorted[first + held(first) - 1] })
    }

    pub(super) fn holds(self, ns: f64) -> bool {
        (self.low..=self.high).contains(&ns)
    }
}

/// The samples (one for each visit) whose visit counts.
pub(super) fn kept<T: Clone>(samples: &[T], counts: &[bool]) -> Vec<T> {
    samples.iter().zip(counts).filter(|(_, counts)| **counts).map(|(sample, _)| sample.clone()).collect()
}

impl Record {
    /// The visits made at this distance.
    pub(super) fn at(&self, mode: Mode) -> Self {
        let counts: Vec<bool> = self.one_way.iter().map(|ns| mode.holds(*ns)).collect();
        let of = |samples: &Vec<f64>| kept(samples, &counts);
        Self {
            one_way: of(&self.one_way),
            home: of(&self.home),
            away: of(&self.away),
            gain: of(&self.gain),
            posted: self.posted.each_ref().map(|posted| Posted {
                cost: of(&posted.cost),
                work: of(&posted.work),
                gain: of(&posted.gain),
            }),
            home_misses: of(&self.home_misses),
            away_misses: of(&self.away_misses),
        }
    }

    /// A row for each length of work, or one row without work.
    pub(super) fn rows(&self, deed: &Deed, point: Point, callers: Callers) -> Vec<Footprint> {
        let row = Footprint {
            call: deed.call.to_owned(),
            payload_bytes: deed.payload_bytes as u64,
            filesystem: deed.filesystem.clone(),
            bytes: point.bytes as u64,
            instruction_bytes: point.code as u64,
            callers: callers.number,
            files: callers.files.filter(|_| deed.filesystem.is_some()),
            host_last: (!self.away.is_empty()).then_some(HostLast::Same),
            home_ns: figure(&self.home),
            away_ns: figure(&self.away),
            gain_ns: figure(&self.gain),
            home_misses: figure(&self.home_misses),
            away_misses: figure(&self.away_misses),
            ..Footprint::default()
        };
        let posted: Vec<Footprint> = self
            .posted
            .iter()
            .filter(|posted| !posted.cost.is_empty())
            .map(|posted| Footprint {
                async_ns: figure(&posted.cost),
                work_ns: figure(&posted.work),
                async_gain_ns: figure(&posted.gain),
                ..row.clone()
            })
            .collect();
        if posted.is_empty() && row.home_ns.is_some() { vec![row] } else { posted }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scratch::Scratch;
    use super::super::deed::act;
    use super::*;

    #[test]
    fn the_distance_at_which_most_visits_were_made_counts_and_no_other() {
        let near = [26.0, 25.0, 27.5, 26.2, 30.0];
        let far = [118.0, 121.0, 105.0];
        let all = || near.iter().chain(&far).copied();
        let mode = Mode::of_most(all().chain([f64::NAN])).unwrap();
        assert_eq!(mode, Mode { low: 25.0, high: 30.0 });
        let record = Record {
            one_way: all().chain([f64::NAN]).collect(),
            home: (0..9).map(f64::from).collect(),
            ..Record::default()
        };
        assert_eq!(record.at(mode).home, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert!(record.at(mode).away.is_empty());
        assert_eq!(Mode::of_most(std::iter::empty()), None);
    }

    #[test]
    fn each_length_of_work_has_a_row_and_repeats_what_does_not_depend_on_it() {
        let scratch = Scratch::create().unwrap();
        let act = || act("write(1)".parse().unwrap(), &scratch).unwrap();
        let filesystem = Some("tmpfs".to_owned());
        let deed = Deed { call: "write", payload_bytes: 1, filesystem, home: act(), away: act() };
        let point = Point { bytes: 8192, code: 4096 };
        let mut record = Record { home: vec![900.0; 8], ..Record::default() };
        let alone = record.rows(&deed, point, Callers { number: 2, files: Some(Files::Same) });
        assert_eq!(alone.len(), 1);
        assert_eq!((alone[0].callers, alone[0].files, alone[0].host_last), (2, Some(Files::Same), None));
        record.away = vec![700.0; 8];
        record.gain = vec![200.0; 8];
        for (index, posted) in record.posted.iter_mut().take(2).enumerate() {
            *posted = Posted { cost: vec![400.0; 8], work: vec![WORKS[index]; 8], gain: vec![500.0; 8] };
        }
        let rows = record.rows(&deed, point, Callers::ONE);
        let works: Vec<_> = rows.iter().map(|row| row.work_ns.as_ref().unwrap().median).collect();
        assert_eq!(works, WORKS[..2]);
        for row in rows {
            assert_eq!((row.call.as_str(), row.bytes, row.instruction_bytes), ("write", 8192, 4096));
            assert_eq!(row.home_ns.unwrap().median, 900.0);
            assert_eq!(row.gain_ns.unwrap().low, 200.0);
            assert_eq!(row.host_last, Some(HostLast::Same));
        }
        assert!(Record::default().rows(&deed, point, Callers::ONE).is_empty());
    }
}
