//! A visit of a curve: one call with one working set, made in all ways.

use coho_counters::Mode;

use super::super::pmu::Source;
use super::MISSES;
use super::channel;
use super::deed::Deed;
use super::ground::Point;
use super::record::{Mode as Distances, Posted, Record, WORKS};
use super::stand::{Cost, Stand, Way};

/// The result of a visit: the excess over the walk alone.
pub(super) struct Found {
    /// How far apart the CPUs were, in ns one way; `NaN` if that changed meanwhile, `None` without a host.
    pub(super) one_way: Option<f64>,
    home: f64,
    away: Option<f64>,
    posted: Vec<(usize, Cost)>,
    home_misses: Option<f64>,
    away_misses: Option<f64>,
}

/// One call with one working set in all ways, a block each, in random order.
pub(super) fn curve(
    stand: &mut Stand,
    deed: &mut Deed,
    point: Point,
    calls: usize,
    mut ways: Vec<Way>,
    source: Option<&dyn Source>,
    random: &mut fastrand::Rng,
) -> std::io::Result<Found> {
    random.shuffle(&mut ways);
    let clock = stand.clock;
    let before = stand.remote.as_mut().map(|remote| channel::distance(remote, &clock));
    let mut costs = Vec::with_capacity(ways.len());
    for &way in &ways {
        costs.push((way, stand.block(deed, way, point, calls, None)?));
    }
    let after = stand.remote.as_mut().map(|remote| channel::distance(remote, &clock));
    let cost_of = |wanted: Way| costs.iter().find(|(way, _)| *way == wanted).map(|(_, cost)| *cost);
    let alone = cost_of(Way::None).map_or(f64::NAN, |cost| cost.ns);
    let excess = |way| cost_of(way).map(|cost| cost.ns - alone);
    // One mode that contains both.
    let one = |(before, after): (f64, f64)| {
        let stayed = Distances::of_most([before, after].into_iter()).is_some_and(|mode| mode.high > mode.low);
        if stayed || before == after { f64::midpoint(before, after) } else { f64::NAN }
    };
    let mut found = Found {
        one_way: before.zip(after).map(one),
        home: excess(Way::Home).unwrap_or(f64::NAN),
        away: excess(Way::Away),
        posted: Vec::new(),
        home_misses: None,
        away_misses: None,
    };
    for (index, work) in WORKS.iter().enumerate() {
        let cost = cost_of(Way::Async(*work)).map(|cost| Cost { ns: cost.ns - alone, ..cost });
        found.posted.extend(cost.map(|cost| (index, cost)));
    }
    if let Some(source) = source {
        let mut count = |way| {
            let mut count = source.open(MISSES, Mode::Both).map_err(std::io::Error::other)?;
            stand.block(deed, way, point, calls, Some(&mut *count)).map(|cost| cost.events)
        };
        let alone = count(Way::None)?;
        found.home_misses = Some(count(Way::Home)? - alone);
        found.away_misses = found.away.map(|_| count(Way::Away)).transpose()?.map(|away| away - alone);
    }
    Ok(found)
}

impl Record {
    pub(super) fn add(&mut self, found: &Found) {
        self.one_way.extend(found.one_way);
        self.home.push(found.home);
        self.home_misses.extend(found.home_misses);
        self.away_misses.extend(found.away_misses);
        let Some(away) = found.away else { return };
        self.away.push(away);
        self.gain.push(found.home - away);
        for (index, cost) in &found.posted {
            let Posted { cost: costs, work, gain } = &mut self.posted[*index];
            costs.push(cost.ns);
            work.push(cost.work_ns);
            gain.push(found.home - cost.ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use coho_counters::Column;

    use super::super::super::caches::Caches;
    use super::super::super::pmu::Count;
    use super::super::super::subject::Act;
    use super::super::super::subject::plain;
    use super::super::record::Callers;
    use super::*;

    /// A counter that counts a fixed number of lines for each call at home, and some for everything else.
    struct Script(Arc<AtomicU64>);

    const OF_A_CALL: u64 = 40;
    const OF_A_WALK: u64 = 9;

    impl Source for Script {
        fn open(&self, column: Column, _: Mode) -> Result<Box<dyn Count>, String> {
            assert_eq!(column, MISSES);
            Ok(Box::new(Counting { calls: Arc::clone(&self.0), walks: 0 }))
        }

        fn has(&self, _: Column) -> bool {
            true
        }

        fn modes(&self) -> &[Mode] {
            &[Mode::Both]
        }

        fn no_kernel(&self) -> Option<&str> {
            None
        }

        fn names(&self) -> BTreeMap<&'static str, String> {
            BTreeMap::new()
        }

        fn disturbs(&self) -> bool {
            false
        }
    }

    struct Counting {
        calls: Arc<AtomicU64>,
        walks: u64,
    }

    impl Count for Counting {
        fn read(&mut self) -> Result<u64, String> {
            self.walks += OF_A_WALK;
            Ok(self.calls.load(Relaxed) * OF_A_CALL + self.walks)
        }
    }

    fn caches() -> Caches {
        Caches { l1d: 32 << 10, l1d_ways: 8, l1i: 32 << 10, l2: 256 << 10, last: 1 << 20 }
    }

    #[test]
    fn what_a_counter_sees_of_the_call_stands_beside_its_time() {
        let calls = Arc::new(AtomicU64::new(0));
        let act = || {
            let calls = Arc::clone(&calls);
            let call = move || {
                calls.fetch_add(1, Relaxed);
                0
            };
            Act { body: plain(call), most: 3 }
        };
        let mut deed =
            Deed { call: "scripted", payload_bytes: 0, filesystem: None, home: act(), away: act() };
        let point = Point { bytes: 8 << 10, code: 4096 };
        let mut stand = Stand::new(&[point], caches(), None, 1).unwrap();
        let source = Script(Arc::clone(&calls));
        let mut random = fastrand::Rng::with_seed(1);
        let ways = vec![Way::None, Way::Home];
        let found = curve(&mut stand, &mut deed, point, 4, ways, Some(&source), &mut random).unwrap();
        assert_eq!((found.home_misses, found.away_misses), (Some(OF_A_CALL as f64), None));
        // Blocks of five calls, whose first does not count, in time and once more for the counter.
        assert_eq!(calls.load(Relaxed), 10);
        let mut record = Record::default();
        record.add(&found);
        let rows = record.rows(&deed, point, Callers::ONE);
        assert_eq!(rows[0].home_misses.as_ref().unwrap().median, OF_A_CALL as f64);
        assert!(rows[0].away_misses.is_none() && rows[0].away_ns.is_none());
    }

    #[test]
    fn a_call_that_fails_is_an_error_with_its_number() {
        let act = || Act { body: plain(|| -(libc::ENOSPC as isize)), most: 64 };
        let mut deed = Deed { call: "full", payload_bytes: 0, filesystem: None, home: act(), away: act() };
        let point = Point { bytes: 8 << 10, code: 0 };
        let mut stand = Stand::new(&[point], caches(), None, 1).unwrap();
        let error = stand.block(&mut deed, Way::Home, point, 3, None).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        assert!(stand.block(&mut deed, Way::None, point, 3, None).is_ok());
    }
}
