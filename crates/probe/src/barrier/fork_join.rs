//! Fork and join of an empty parallel region, as Nakamura et al. time it: the region's caller comes from a serial part,
//! and all others wait. A region works in the team's own way, or by a barrier at either end.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use coho_sync::{Algorithm, Barrier, Team};

use super::burst::{Bursts, on_each};
use super::serial::Serial;
use crate::clock::{Clock, Ticks};
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// Regions that are timed one by one, and regions of a burst whose number all threads must know.
const REGIONS: u64 = 64;
/// Regions before a burst, which wake threads that sleep by now or look only rarely.
const WARM_UP: u64 = 16;
/// Readings in a row; their mean is the time of one.
const READINGS: usize = 64;

/// How a region begins and ends.
pub(super) enum ForkJoin {
    /// A persistent team of threads: one flag forks, and a flag of each member joins.
    Team(Box<Mutex<Team>>),
    /// All meet at a barrier at the beginning of the region and at its end.
    TwoBarriers(Box<Barrier>),
}

/// The times of bursts of regions, in ns a region.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Taken {
    /// From the leader's start until it goes on: regions timed together, each after a serial part, minus the same
    /// number of serial parts alone.
    pub(super) total: Vec<f64>,
    /// Until the last member has begun: regions timed one by one, without the time of reading the clock.
    pub(super) fork: Vec<f64>,
    /// From then (the region is empty) until the leader goes on; likewise.
    pub(super) join: Vec<f64>,
}

impl ForkJoin {
    /// For these CPUs: a team if `algorithm` is [`Algorithm::Auto`], otherwise two barriers.
    pub(super) fn new(algorithm: Algorithm, cpus: &[u32]) -> Result<Self, Error> {
        Ok(match algorithm {
            Algorithm::Auto => {
                Self::Team(Box::new(Mutex::new(Team::builder(cpus.len()).cpus(cpus).start()?)))
            }
            other => Self::TwoBarriers(Box::new(Barrier::new(other, cpus.len())?)),
        })
    }

    /// Bursts of empty regions.
    pub(super) fn bursts(&self, workers: &Workers, cpus: &[u32], bursts: Bursts) -> Result<Taken, Error> {
        let stamps = bursts.count * REGIONS as usize;
        let (led, begun) = match self {
            Self::Team(team) => {
                let begun: Vec<_> = cpus.iter().map(|_| Mutex::new(Begins::default())).collect();
                let job: Job<'_, Led> = Box::new(|| {
                    let mut team = team.lock().unwrap_or_else(PoisonError::into_inner);
                    team.run(|_| make_room(stamps));
                    // The members need to read no data of the leader's in either region.
                    let mut region = |timed: bool| match timed {
                        false => team.run(|_| ()),
                        true => team.run(|_| stamp()),
                    };
                    let serial = Serial::before(back_to_back(&mut region));
                    let regions = bursts.fill(|regions| together(&mut region, serial, regions));
                    let led = lead(&mut region, serial, bursts.count, regions);
                    team.run(|member| {
                        let mut place = begun[member.rank()].lock().unwrap_or_else(PoisonError::into_inner);
                        *place = begins();
                    });
                    led
                });
                let led = workers.run(vec![(cpus[0], job)]).remove(0)?.value;
                let taken_out =
                    begun.into_iter().map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
                (led, taken_out.collect())
            }
            Self::TwoBarriers(barrier) => {
                // All threads count regions in the same way, so none needs to be told which are timed.
                let rank = |rank: usize| {
                    make_room(stamps);
                    let mut region = |timed: bool| {
                        barrier.wait(rank);
                        if timed {
                            stamp();
                        }
                        barrier.wait(rank);
                    };
                    let region_ns = back_to_back(&mut region);
                    // The others run no serial part: they should wait.
                    let serial = if rank == 0 { Serial::before(region_ns) } else { Serial::of_turns(0) };
                    (lead(&mut region, serial, bursts.count, REGIONS), begins())
                };
                let (mut led, begun): (Vec<_>, Vec<_>) = on_each(workers, cpus, &rank)?.into_iter().unzip();
                (led.swap_remove(0), begun)
            }
        };
        Ok(led.apart(&begun))
    }
}

thread_local! {
    /// When this thread began each region that was timed by itself. It is kept in the thread's own memory until all are
    /// timed: if the leader read it meanwhile, the next stamp would have to wait for the line, and the region's time
    /// would include that.
    static BEGUN: RefCell<Vec<Ticks>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for this thread's stamps, and touches it before they are taken.
fn make_room(stamps: usize) {
    BEGUN.with_borrow_mut(|begun| {
        begun.clear();
        begun.resize(stamps.max(READINGS), 0);
        begun.clear();
    });
}

/// Records that this thread begins a region.
fn stamp() {
    let now = Clock::get().now();
    BEGUN.with_borrow_mut(|begun| begun.push(now));
}

/// When a thread began each region.
#[derive(Debug, Default)]
struct Begins {
    at: Vec<Ticks>,
    /// The time that a stamp takes the thread.
    stamp_ticks: f64,
}

/// This thread's stamps, and the time that one takes.
fn begins() -> Begins {
    let at = BEGUN.take();
    make_room(READINGS);
    let series = || {
        BEGUN.with_borrow_mut(Vec::clear);
        (0..READINGS).for_each(|_| stamp());
        BEGUN.with_borrow(|stamps| apart(stamps[0], stamps[READINGS - 1]) / (READINGS - 1) as f64)
    };
    Begins { at, stamp_ticks: quickest(series) }
}

/// The time of one reading of the clock on this thread, in ticks.
fn reading_ticks() -> f64 {
    let clock = Clock::get();
    quickest(|| {
        let first = clock.now();
        let last = (1..READINGS).fold(first, |_, _| clock.now());
        apart(first, last) / (READINGS - 1) as f64
    })
}

/// The quickest of a few series, which nothing has interrupted.
fn quickest(series: impl FnMut() -> f64) -> f64 {
    const SERIES: usize = 8;
    std::iter::repeat_with(series).take(SERIES).fold(f64::INFINITY, f64::min)
}

/// Ticks from one reading to another; below 0 if the second is from a CPU whose clock is behind.
fn apart(from: Ticks, to: Ticks) -> f64 {
    to.wrapping_sub(from).cast_signed() as f64
}

/// The leader's observations.
#[derive(Default)]
struct Led {
    /// Times of regions timed together, in ns a region.
    total: Vec<f64>,
    /// Beginning and end of each region that was timed by itself.
    regions: Vec<(Ticks, Ticks)>,
    /// The time of one reading of the clock.
    reading_ticks: f64,
}

/// Runs bursts of regions, each after a serial part, alternately timed together and one by one.
fn lead(region: &mut dyn FnMut(bool), serial: Serial, bursts: usize, regions: u64) -> Led {
    let clock = Clock::get();
    let mut led = Led {
        total: Vec::new(),
        regions: Vec::with_capacity(bursts * REGIONS as usize),
        reading_ticks: reading_ticks(),
    };
    for _ in 0..bursts {
        let both = together(region, serial, regions);
        led.total.push((both - serial.alone_ns(regions)) / regions as f64);
        for number in 0..REGIONS {
            serial.run(number);
            let start = clock.now();
            region(true);
            led.regions.push((start, clock.now()));
        }
    }
    led
}

impl Led {
    /// Separates fork from join by the moments when members began each region, with the middle of every burst. One
    /// reading lies between a reading and the next; the stamp of the last member lies between its beginning and the
    /// end.
    fn apart(self, begun: &[Begins]) -> Taken {
        let clock = Clock::get();
        let mut taken = Taken { total: self.total, ..Taken::default() };
        let last = |at: usize| {
            let begins = begun.iter().filter_map(|member| Some((*member.at.get(at)?, member.stamp_ticks)));
            begins.max_by_key(|(begin, _)| *begin)
        };
        let ns = |ticks: f64| ticks * clock.ns(1 << 32) / (1u64 << 32) as f64;
        let parts = self.regions.iter().enumerate().map(|(at, &(start, end))| {
            let (last, stamp_ticks) = last(at).unwrap_or((start, self.reading_ticks));
            [ns(apart(start, last) - self.reading_ticks), ns(apart(last, end) - stamp_ticks)]
        });
        for burst in parts.collect::<Vec<_>>().chunks(REGIONS as usize) {
            for (all, part) in [(&mut taken.fork, 0), (&mut taken.join, 1)] {
                all.push(middle(burst.iter().map(|parts| parts[part]).collect()));
            }
        }
        taken
    }
}

/// The mean of the middle half: the clock's step hides less in it than in the median.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let half = &values[quarter..values.len() - quarter];
    if half.is_empty() { statistics::median(&values) } else { half.iter().sum::<f64>() / half.len() as f64 }
}

/// Ns of a region without a serial part before it.
fn back_to_back(region: &mut dyn FnMut(bool)) -> f64 {
    together(region, Serial::of_turns(0), REGIONS) / REGIONS as f64
}

/// Ns that this many regions took, one after the other, each after a serial part.
fn together(region: &mut dyn FnMut(bool), serial: Serial, regions: u64) -> f64 {
    let clock = Clock::get();
    (0..WARM_UP).for_each(|_| region(false));
    let start = clock.now();
    for number in 0..regions {
        serial.run(number);
        region(false);
    }
    clock.ns(clock.now() - start)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coho_testing::{Capability, needs};

    use super::*;
    use coho_platform::pin;

    /// Both parts include a reading, which their sum must not include.
    #[test]
    fn parts_are_told_apart_by_the_last_to_begin_without_the_readings() {
        let regions = vec![(1000, 1100), (2000, 2100)];
        let led = Led { total: vec![7.0], regions, reading_ticks: 12.0 };
        let member = |at: [Ticks; 2], stamp_ticks| Begins { at: at.to_vec(), stamp_ticks };
        let taken =
            led.apart(&[member([1010, 2020], 1.0), member([1040, 2040], 15.0), member([1030, 2030], 1.0)]);
        let near = |ns: f64, ticks: Ticks| (ns / Clock::get().ns(ticks) - 1.0).abs() < 1e-6;
        assert_eq!(taken.total, [7.0]);
        assert!(near(taken.fork[0], 40 - 12) && near(taken.join[0], 60 - 15), "{taken:?}");
    }

    #[test]
    fn a_clock_that_is_behind_moves_the_border_and_not_the_sum() {
        let led = Led { total: vec![], regions: vec![(1000, 1100)], reading_ticks: 0.0 };
        let taken = led.apart(&[Begins { at: vec![990], stamp_ticks: 0.0 }]);
        let sum = taken.fork[0] + taken.join[0];
        assert!(taken.fork[0] < 0.0 && (sum / Clock::get().ns(100) - 1.0).abs() < 1e-6, "{taken:?}");
        assert_eq!(middle(vec![9e9, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn every_burst_has_a_whole_and_its_parts() {
        needs!(Capability::TwoCpus);
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let workers = Workers::start(&cpus).unwrap();
        let short = Bursts { count: 5, length: Duration::from_micros(30) };
        for algorithm in [Algorithm::Auto, Algorithm::FbsOneLine] {
            let way = ForkJoin::new(algorithm, &cpus).unwrap();
            let taken = way.bursts(&workers, &cpus, short).unwrap();
            assert_eq!((taken.total.len(), taken.fork.len(), taken.join.len()), (5, 5, 5));
            // If the serial part alone was interrupted, a burst may come out below 0.
            assert!(taken.total.iter().all(|ns| ns.is_finite()), "{algorithm}: {taken:?}");
            assert!(taken.total.iter().any(|ns| *ns > 0.0), "{algorithm}: {taken:?}");
            // If the CPUs' clocks are some ns apart, the parts are off by as much, but not their sum.
            let sums: Vec<f64> = taken.fork.iter().zip(&taken.join).map(|(fork, join)| fork + join).collect();
            assert!(sums.iter().any(|ns| *ns > 0.0), "{algorithm}: {taken:?}");
        }
    }
}
