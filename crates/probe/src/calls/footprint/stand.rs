//! Makes calls between walks of a caller's working set: by itself, through its host, and through its host while it
//! keeps working.

use std::io;

use coho_platform::pages::Pages;

use super::super::caches::{Caches, LINE};
use super::super::pmu::Count;
use super::super::subject::Act;
use super::super::subject::{Buffer, Payload};
use super::deed::Deed;
use super::ground::{Ground, Point};
use super::remote::Remote;
use crate::Error;
use crate::clock::{Clock, Ticks};
use crate::statistics;

/// How a call is made, if at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Way {
    /// Not at all, which gives the time of the walk alone.
    None,
    Home,
    Away,
    /// By the host, while the caller works for this long, in ns.
    Async(f64),
}

/// The medians of a block of calls, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Time of the call and of the walk after it, minus the work that overlapped.
    pub(super) ns: f64,
    /// Time of that work.
    pub(super) work_ns: f64,
    /// Events that were counted meanwhile; `NaN` if none were counted.
    pub(super) events: f64,
}

/// What one call took.
struct One {
    ticks: Ticks,
    work: Ticks,
    events: Option<f64>,
}

/// A caller, on its thread.
pub(super) struct Stand {
    pub(super) clock: Clock,
    pub(super) ground: Ground,
    /// The channel to its host, if it has one.
    pub(super) remote: Option<Remote>,
    /// What an asynchronous payload is copied from.
    source: Pages,
}

/// The largest payload, in bytes.
const MOST_MOVED: usize = 1 << 20;

impl Stand {
    /// Sets up a caller; the calling thread touches its memory first.
    ///
    /// # Errors
    /// If memory is short or the system forbids generated code.
    pub(super) fn new(
        points: &[Point],
        caches: Caches,
        remote: Option<Remote>,
        seed: u64,
    ) -> Result<Self, Error> {
        let ground = Ground::new(points, caches, &mut fastrand::Rng::with_seed(seed))?;
        let source = Pages::map(MOST_MOVED)?;
        source.touch();
        Ok(Self { clock: Clock::get(), ground, remote, source })
    }

    /// Makes this many calls in one way, each between two walks, after one that brings everything into place. `count`
    /// is read around each call and the walk after it.
    ///
    /// # Errors
    /// If a call fails, or the counter.
    pub(super) fn block(
        &mut self,
        deed: &mut Deed,
        way: Way,
        point: Point,
        calls: usize,
        mut count: Option<&mut dyn Count>,
    ) -> io::Result<Cost> {
        let away = matches!(way, Way::Away | Way::Async(_));
        let act = if away { &mut deed.away } else { &mut deed.home };
        let source = Buffer::of(&self.source, deed.payload_bytes.clamp(LINE, MOST_MOVED));
        let mut all = Vec::with_capacity(calls + 1);
        while all.len() <= calls {
            let batch = (calls + 1 - all.len()).min(act.most);
            self.ready(act, away, batch)?;
            let mut made = Ok(());
            for index in 0..batch {
                match self.once(act, way, point, index, source, &mut count) {
                    Ok(one) => all.push(one),
                    Err(error) => {
                        made = Err(error);
                        break;
                    }
                }
            }
            self.clean(act, away)?;
            made?;
        }
        let middle = |part: &dyn Fn(&One) -> f64| median(all[1..].iter().map(part).collect());
        Ok(Cost {
            ns: middle(&|one| self.clock.ns(one.ticks)),
            work_ns: middle(&|one| self.clock.ns(one.work)),
            events: middle(&|one| one.events.unwrap_or(f64::NAN)),
        })
    }

    /// The time of a walk, in ns.
    pub(super) fn time_walk(&self, point: Point) -> f64 {
        self.ground.walk(point);
        let start = self.clock.now();
        self.ground.walk(point);
        self.clock.ns(self.clock.now() - start)
    }

    fn ready(&mut self, act: &mut Act, away: bool, calls: usize) -> io::Result<()> {
        match &mut self.remote {
            Some(remote) if away => remote.ready(act, calls),
            _ => act.body.ready(calls),
        }
    }

    fn clean(&mut self, act: &mut Act, away: bool) -> io::Result<()> {
        match &mut self.remote {
            Some(remote) if away => remote.clean(act),
            _ => act.body.clean(),
        }
    }

    /// Walks, makes the call and walks again; returns the time of the latter two, without the work between them.
    fn once(
        &mut self,
        act: &mut Act,
        way: Way,
        point: Point,
        index: usize,
        source: Buffer,
        count: &mut Option<&mut dyn Count>,
    ) -> io::Result<One> {
        let (clock, payload) = (self.clock, act.body.payload());
        self.ground.walk(point);
        match (payload, way) {
            (Payload::Given(_), Way::Async(_)) => source.write(),
            (Payload::Given(buffer), _) => buffer.write(),
            _ => {}
        }
        let before = read(count)?;
        let start = clock.now();
        let (result, posted, worked) = match (way, &mut self.remote) {
            (Way::Home, _) => {
                let result = act.body.one(index);
                let now = clock.now();
                (result, now, now)
            }
            (Way::Away, Some(remote)) => {
                let result = remote.one(act, index);
                let now = clock.now();
                (result, now, now)
            }
            (Way::Async(work_ns), Some(remote)) => {
                if let Payload::Given(buffer) = payload {
                    buffer.copy_from(source);
                }
                // SAFETY: the body is borrowed, and waited for here.
                let ticket = unsafe { remote.post(&raw mut act.body, index) };
                let posted = clock.now();
                let worked = work(&clock, posted, work_ns);
                (remote.wait(ticket), posted, worked)
            }
            _ => {
                let now = clock.now();
                (0, now, now)
            }
        };
        if let Payload::Taken(buffer) = payload
            && way != Way::None
        {
            buffer.read();
        }
        self.ground.again(point);
        let end = clock.now();
        if result < 0 {
            return Err(io::Error::from_raw_os_error(-result as i32));
        }
        let events = before.zip(read(count)?).map(|(before, after)| (after - before) as f64);
        Ok(One { ticks: (posted - start) + (end - worked), work: worked - posted, events })
    }
}

/// A counter's reading, if there is a counter.
fn read(count: &mut Option<&mut dyn Count>) -> io::Result<Option<u64>> {
    count.as_mut().map(|count| count.read().map_err(io::Error::other)).transpose()
}

/// Works in registers for this long, counted from a reading of the clock; returns the reading at the end.
#[inline(always)]
fn work(clock: &Clock, from: Ticks, ns: f64) -> Ticks {
    let mut now = from;
    while clock.ns(now - from) < ns {
        now = clock.now();
    }
    now
}

/// `NaN` without samples.
pub(super) fn median(samples: Vec<f64>) -> f64 {
    statistics::median_of(samples).unwrap_or(f64::NAN)
}
