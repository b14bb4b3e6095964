//! What the members share while they are in the same loop or `single`. Members meet constructs in the same order, but
//! not at the same time, so there are several places, used in turn.

use crate::padded::Padded;
use crate::sync::AtomicUsize;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::wait::{Bell, Crowding};

/// A member can be so many constructs ahead of another.
const PLACES: usize = 8;

#[derive(Debug)]
pub(crate) struct Constructs(Box<[Padded<Construct>]>);

#[derive(Debug)]
pub(crate) struct Construct {
    /// How many constructs this place has seen the end of.
    generation: AtomicUsize,
    left: AtomicUsize,
    /// What has been taken: iterations, chunks, or the `single`.
    pub(crate) taken: AtomicUsize,
    /// The iteration whose turn it is in an ordered loop.
    pub(crate) turn: AtomicUsize,
    /// Rung when the place becomes free and at each turn.
    pub(crate) bell: Bell,
}

impl Constructs {
    pub(crate) fn new(crowding: Crowding) -> Self {
        Self::with_places(PLACES, crowding)
    }

    pub(crate) fn with_places(places: usize, crowding: Crowding) -> Self {
        let place = || Construct {
            generation: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            bell: Bell::new(crowding),
        };
        Self((0..places).map(|_| Padded(place())).collect())
    }

    pub(crate) fn place(&self, number: usize) -> &Construct {
        &self.0[number % self.0.len()]
    }

    /// Whether the construct that had the place of this one before is over for all.
    pub(crate) fn is_free(&self, number: usize) -> bool {
        self.place(number).generation.load(Acquire) == number / self.0.len()
    }

    pub(crate) fn wake(&self) {
        self.0.iter().for_each(|place| place.bell.wake());
    }
}

impl Construct {
    /// A member of `size` leaves; the last clears the place for the next construct.
    pub(crate) fn leave(&self, size: usize) {
        if self.left.fetch_add(1, AcqRel) + 1 == size {
            self.left.store(0, Relaxed);
            self.taken.store(0, Relaxed);
            self.turn.store(0, Relaxed);
            self.generation.store(self.generation.load(Relaxed) + 1, Release);
            self.bell.ring();
        }
    }
}
