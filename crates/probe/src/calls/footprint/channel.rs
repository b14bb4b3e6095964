//! The channel alone: the cost of a message to a host without a call.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use coho_platform::pages::Pages;
use coho_profile::{Batch, Channel, ChannelPayload};

use super::super::caches::LINE;
use super::super::record::figure;
use super::super::subject::Buffer;
use super::record::{Mode, kept};
use super::remote::{Remote, do_nothing};
use super::stand::median;
use crate::clock::Clock;
use crate::{Error, statistics};

/// Requests posted together.
const BATCHES: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Lines that a caller needs for the largest batch.
pub(super) const LINES: usize = BATCHES[BATCHES.len() - 1];
/// Payloads, in bytes.
const PAYLOADS: [usize; 5] = [64, 512, 4 << 10, 16 << 10, 64 << 10];
/// Messages that are timed together, so that the clock's step does not matter.
const MESSAGES: usize = 32;
/// How many samples there are; their median is a pass's figure.
const SAMPLES: usize = 15;
/// How many samples there are; their median is a distance.
const LOOKS: usize = 3;
/// For how long a host is kept busy.
const BUSY: Duration = Duration::from_nanos(500);

/// Two flags for a step there and back, each on a line of its own.
#[repr(align(128))]
struct Flag(AtomicU64);

/// The figures of the channel to one host, by pass.
#[derive(Default)]
pub(super) struct Times {
    /// All samples of each pass; their modes are those of the CPUs' distance.
    one_way: Vec<Vec<f64>>,
    post: Vec<f64>,
    round_trip: Vec<f64>,
    busy: Vec<f64>,
    batches: [Vec<f64>; BATCHES.len()],
    in_place: [Vec<f64>; PAYLOADS.len()],
    copied: [Vec<f64>; PAYLOADS.len()],
}

/// The memory that messages move.
pub(super) struct Parcels {
    own: Pages,
    slot: Pages,
}

impl Parcels {
    /// Touched by the calling thread.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn new() -> Result<Self, Error> {
        let map = || Pages::map(PAYLOADS[PAYLOADS.len() - 1].max(LINE));
        let (own, slot) = (map()?, map()?);
        own.touch();
        slot.touch();
        Ok(Self { own, slot })
    }
}

/// How far apart the two CPUs are now, in ns one way.
pub(super) fn distance(remote: &mut Remote, clock: &Clock) -> f64 {
    median((0..LOOKS).map(|_| one_way(remote, clock)).collect())
}

/// What is timed.
#[derive(Clone, Copy)]
enum What {
    OneWay,
    Post,
    RoundTrip,
    Busy,
    Batch(usize),
    InPlace(usize),
    Copied(usize),
}

impl Times {
    /// A pass over everything, in random order.
    pub(super) fn pass(
        &mut self,
        remote: &mut Remote,
        parcels: &Parcels,
        clock: &Clock,
        random: &mut fastrand::Rng,
    ) {
        let mut all = vec![What::OneWay, What::Post, What::RoundTrip, What::Busy];
        all.extend((0..BATCHES.len()).map(What::Batch));
        all.extend((0..PAYLOADS.len()).flat_map(|size| [What::InPlace(size), What::Copied(size)]));
        random.shuffle(&mut all);
        for what in all {
            let samples: Vec<f64> = (0..SAMPLES).map(|_| time(what, remote, parcels, clock)).collect();
            let ns = median(samples.clone());
            match what {
                What::OneWay => self.one_way.push(samples),
                What::Post => self.post.push(ns),
                What::RoundTrip => self.round_trip.push(ns),
                What::Busy => self.busy.push(ns),
                What::Batch(index) => self.batches[index].push(ns),
                What::InPlace(index) => self.in_place[index].push(ns),
                What::Copied(index) => self.copied[index].push(ns),
            }
        }
    }

    /// The passes made at this distance.
    pub(super) fn at(&self, mode: Mode) -> Self {
        let counts: Vec<bool> =
            self.one_way.iter().map(|samples| mode.holds(median(samples.clone()))).collect();
        let of = |samples: &Vec<f64>| kept(samples, &counts);
        Self {
            one_way: kept(&self.one_way, &counts),
            post: of(&self.post),
            round_trip: of(&self.round_trip),
            busy: of(&self.busy),
            batches: self.batches.each_ref().map(of),
            in_place: self.in_place.each_ref().map(of),
            copied: self.copied.each_ref().map(of),
        }
    }

    /// The figures as a part of the section.
    pub(super) fn channel(&self, caller: u32, host: u32, claimed: String) -> Channel {
        let batch =
            |(requests, times): (&usize, &Vec<f64>)| Batch { requests: *requests as u32, ns: figure(times) };
        let payload = |index: usize| ChannelPayload {
            bytes: PAYLOADS[index] as u64,
            in_place_ns: figure(&self.in_place[index]),
            copied_ns: figure(&self.copied[index]),
        };
        Channel {
            caller,
            host,
            claimed,
            one_way_ns: statistics::estimate(&self.one_way),
            post_ns: figure(&self.post),
            round_trip_ns: figure(&self.round_trip),
            busy_round_trip_ns: figure(&self.busy),
            batches: BATCHES.iter().zip(&self.batches).map(batch).collect(),
            payloads: (0..PAYLOADS.len()).map(payload).collect(),
        }
    }
}

/// Time of one message, in ns.
fn time(what: What, remote: &mut Remote, parcels: &Parcels, clock: &Clock) -> f64 {
    match what {
        What::OneWay => one_way(remote, clock),
        What::Post => post(remote, clock),
        What::RoundTrip => batch(remote, clock, 1),
        What::Busy => busy(remote, clock),
        What::Batch(index) => batch(remote, clock, BATCHES[index]),
        What::InPlace(index) => payload(remote, parcels, clock, PAYLOADS[index], false),
        What::Copied(index) => payload(remote, parcels, clock, PAYLOADS[index], true),
    }
}

/// Half of a step there and back: each side waits for the other's store to a flag of its own.
fn one_way(remote: &mut Remote, clock: &Clock) -> f64 {
    let (here, there) = (Flag(AtomicU64::new(0)), Flag(AtomicU64::new(0)));
    let steps = MESSAGES as u64;
    let mut ns = 0.0;
    let answers = || {
        for step in 0..=steps {
            while here.0.load(Acquire) <= step {
                std::hint::spin_loop();
            }
            there.0.store(step + 1, Release);
        }
    };
    let mut asks = || {
        let mut start = 0;
        for step in 0..=steps {
            // The first step waits for the other to begin.
            if step == 1 {
                start = clock.now();
            }
            here.0.store(step + 1, Release);
            while there.0.load(Acquire) <= step {
                std::hint::spin_loop();
            }
        }
        ns = clock.ns(clock.now() - start) / (2 * steps) as f64;
    };
    remote.beside(answers, &mut asks);
    ns
}

/// How long the caller takes to post, minus a reading of the clock.
fn post(remote: &mut Remote, clock: &Clock) -> f64 {
    let (mut posts, mut empty) = (0, 0);
    for _ in 0..MESSAGES {
        let start = clock.now();
        let ticket = remote.post_nothing();
        let posted = clock.now();
        posts += posted - start;
        empty += clock.now() - posted;
        remote.wait(ticket);
    }
    (clock.ns(posts) - clock.ns(empty)) / MESSAGES as f64
}

/// Time of one request if this many are posted together.
fn batch(remote: &mut Remote, clock: &Clock, requests: usize) -> f64 {
    let together = [do_nothing(); LINES];
    let rounds = MESSAGES.div_ceil(requests);
    let start = clock.now();
    for _ in 0..rounds {
        remote.nothing(&together[..requests]);
    }
    clock.ns(clock.now() - start) / (rounds * requests) as f64
}

/// Time of a request that keeps the host busy, minus the busy time: the caller looks for the answer meanwhile, and so
/// takes away the line to which the host must write it.
fn busy(remote: &mut Remote, clock: &Clock) -> f64 {
    let mut ns = 0.0;
    for _ in 0..MESSAGES {
        let start = clock.now();
        let kept = remote.keep_busy(BUSY);
        ns += clock.ns(clock.now() - start) - kept;
    }
    ns / MESSAGES as f64
}

/// Time of a request whose payload the caller has written: the host reads it in place, or from a copy.
fn payload(remote: &mut Remote, parcels: &Parcels, clock: &Clock, bytes: usize, copied: bool) -> f64 {
    let (own, slot) = (Buffer::of(&parcels.own, bytes), Buffer::of(&parcels.slot, bytes));
    own.write();
    let start = clock.now();
    if copied {
        slot.copy_from(own);
        remote.read(slot);
    } else {
        remote.read(own);
    }
    clock.ns(clock.now() - start)
}
