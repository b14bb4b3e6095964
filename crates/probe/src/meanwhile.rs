//! The frequency of CPUs while something else runs on them. They are observed during the work, as boost and idle states
//! change right after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use coho_platform::pin;
use coho_topology::CpuSet;

use crate::clock::glimpse_ghz;
use crate::{Error, idle};

/// The time before the first look: work that ends earlier is not observed.
const FIRST: Duration = Duration::from_millis(30);
/// The time between two looks, each of which takes its CPU from the work for about a tenth of a millisecond.
const BETWEEN: Duration = Duration::from_millis(100);
/// The most CPUs that are observed.
const MOST: usize = 16;

/// A CPU's clock at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// When.
    pub at: Instant,
    /// The CPU.
    pub cpu: u32,
    /// Its clock, in GHz.
    pub ghz: f64,
}

/// What was observed during the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// In the order of time.
    pub looks: Vec<Look>,
    /// Why there is no look, or fewer.
    pub no_clock: Option<String>,
    /// The share of the time for which each CPU was asked to be in each idle state, by the state's name, or why it is
    /// unknown.
    pub idle: Result<BTreeMap<u32, BTreeMap<String, f64>>, Error>,
}

impl Seen {
    /// The clocks of these CPUs, in GHz.
    pub fn ghz<'a>(&'a self, cpus: &'a CpuSet) -> impl Iterator<Item = f64> + 'a {
        self.looks.iter().filter(|look| cpus.contains(look.cpu)).map(|look| look.ghz)
    }
}

/// Does work, and meanwhile observes the first sixteen of some CPUs, every tenth of a second by a thread on each; the
/// first of these threads also calls `also`.
///
/// ```
/// use std::{thread::sleep, time::Duration};
/// let cpus = coho_platform::pin::allowed()?;
/// let (_, seen) = coho_probe::meanwhile::during(&cpus, &|| (), || sleep(Duration::from_millis(200)));
/// assert!(!seen.looks.is_empty() || seen.no_clock.is_some());
/// # Ok::<(), coho_probe::Error>(())
/// ```
pub fn during<T>(cpus: &CpuSet, also: &(dyn Fn() + Sync), work: impl FnOnce() -> T) -> (T, Seen) {
    let over = (Mutex::new(false), Condvar::new());
    let looks = Mutex::new((Vec::new(), None));
    let note = |cpu: u32, result: Result<f64, String>| {
        let mut looks = looks.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(ghz) => looks.0.push(Look { at: Instant::now(), cpu, ghz }),
            Err(why) => looks.1 = Some(why),
        }
    };
    let watch = |cpu: u32| {
        if let Err(error) = pin::to(cpu) {
            return note(cpu, Err(error.to_string()));
        }
        let mut pause = FIRST;
        loop {
            let ended = over.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = over.1.wait_timeout_while(ended, pause, |ended| !*ended);
            if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                return;
            }
            note(cpu, glimpse_ghz().map_err(|why| why.to_string()));
            if Some(cpu) == cpus.first() {
                also();
            }
            pause = BETWEEN;
        }
    };
    let idle_before = idle::residency(cpus);
    let started = Instant::now();
    let value = thread::scope(|scope| {
        for cpu in cpus.iter().take(MOST) {
            let watch = &watch;
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, move || watch(cpu)) {
                note(cpu, Err(format!("a thread to look at it: {error}")));
            }
        }
        let end = End(&over);
        let value = work();
        drop(end);
        value
    });
    let elapsed_us = started.elapsed().as_secs_f64() * 1e6;
    let idle = idle_before.and_then(|before| Ok(shares(&before, &idle::residency(cpus)?, elapsed_us)));
    let idle = idle.map_err(Error::NotAvailable);
    let (mut looks, mut no_clock) = looks.into_inner().unwrap_or_else(PoisonError::into_inner);
    looks.sort_by_key(|look: &Look| look.at);
    if looks.is_empty() && no_clock.is_none() {
        no_clock = Some(format!("the work was over in less than {} ms", FIRST.as_millis()));
    }
    (value, Seen { looks, no_clock, idle })
}

/// Ends the looks, also if the work panics.
struct End<'a>(&'a (Mutex<bool>, Condvar));

impl Drop for End<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }
}

/// Time in each state, in us, by CPU and name; as shares of the time between.
fn shares(
    before: &idle::Residency,
    after: &idle::Residency,
    elapsed_us: f64,
) -> BTreeMap<u32, BTreeMap<String, f64>> {
    let mut shares: BTreeMap<u32, BTreeMap<String, f64>> = BTreeMap::new();
    for (key, after) in after {
        let Some(before) = before.get(key) else { continue };
        // A stay that began before counts at its end.
        let share = (after.saturating_sub(*before) as f64 / elapsed_us.max(1.0)).min(1.0);
        *shares.entry(key.0).or_default().entry(key.1.clone()).or_default() += share;
    }
    shares
}

/// The mean over some CPUs of the share of each state; empty if none is known.
pub fn mean_shares(all: &[BTreeMap<u32, BTreeMap<String, f64>>], cpus: &CpuSet) -> BTreeMap<String, f64> {
    let (mut sums, mut n) = (BTreeMap::<String, f64>::new(), 0.0);
    for (_, states) in all.iter().flatten().filter(|(cpu, _)| cpus.contains(**cpu)) {
        n += 1.0;
        states.iter().for_each(|(name, share)| *sums.entry(name.clone()).or_default() += share);
    }
    let names: BTreeSet<_> = sums.keys().cloned().collect();
    names.into_iter().map(|name| (name.clone(), sums[&name] / n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_looked_at_while_it_lasts_and_not_behind_it() {
        let cpus = CpuSet::from_iter(pin::allowed().unwrap().first());
        let begun = Instant::now();
        let (ended, seen) = during(&cpus, &|| (), || {
            thread::sleep(4 * BETWEEN);
            Instant::now()
        });
        assert!(seen.looks.iter().all(|look| look.at > begun + FIRST), "{seen:?}");
        // At most one look, the last, may end after the work.
        assert!(seen.looks.iter().filter(|look| look.at > ended).count() <= 1, "{seen:?}");
        assert!(!seen.looks.is_empty() || seen.no_clock.is_some(), "{seen:?}");
        let (_, brief) = during(&cpus, &|| (), || ());
        assert!(brief.looks.is_empty() && brief.no_clock.unwrap().contains("over in less than"));
    }

    #[test]
    fn shares_are_of_the_time_between_and_of_the_cpus_asked_for() {
        let residency = |poll, halt| {
            idle::Residency::from([
                ((0, "POLL".to_owned()), poll),
                ((0, "haltpoll".to_owned()), halt),
                ((1, "POLL".to_owned()), 7),
            ])
        };
        let found = shares(&residency(100, 0), &residency(350, 900), 1000.0);
        assert_eq!((found[&0]["POLL"], found[&0]["haltpoll"], found[&1]["POLL"]), (0.25, 0.9, 0.0));
        let mean = mean_shares(&[found.clone(), found], &CpuSet::from_iter([0, 1]));
        assert_eq!((mean["POLL"], mean["haltpoll"]), (0.125, 0.45));
        assert!(mean_shares(&[], &CpuSet::up_to(2)).is_empty());
    }
}
