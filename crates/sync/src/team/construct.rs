//! What the members share while they are in the same loop or `single`.
//!
//! Members meet constructs in the same order, but not at the same time. A few places are used in turn; a construct
//! whose place still holds an earlier one is allocated separately, so that a member can be any number of constructs
//! ahead of the others.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::ranges::{self, Ranges};
use crate::padded::Padded;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicUsize, Mutex, MutexGuard};
use crate::wait::{Bell, Crowding};

/// What a team's members share in its constructs. A member can be `places` constructs ahead of another before each
/// further one costs an allocation.
#[derive(Debug)]
pub(crate) struct Constructs<const PLACES: usize = { ranges::MOST_PLACES }> {
    places: Box<[Padded<Place>; PLACES]>,
    ranges: Ranges,
    /// Separately allocated constructs, by their numbers.
    apart: Mutex<BTreeMap<usize, Arc<Construct>>>,
    crowding: Crowding,
}

#[derive(Debug)]
struct Place {
    /// Twice the number of constructs that have ended in this place or were allocated separately meanwhile; plus one
    /// while the constructs after the present one are allocated separately.
    turn: AtomicUsize,
    construct: Construct,
}

#[derive(Debug)]
pub(crate) struct Construct {
    left: AtomicUsize,
    /// What has been taken: iterations, chunks, or the `single`.
    pub(crate) taken: AtomicUsize,
    /// The iteration whose turn it is in an ordered loop.
    pub(crate) turn: AtomicUsize,
    /// Rung at each turn.
    pub(crate) bell: Bell,
}

/// A construct that a member is in.
#[derive(Debug)]
pub(crate) enum Entered<'a> {
    /// In a place, with the part of a loop that the member has in hand.
    InPlace(&'a Construct, &'a AtomicUsize),
    Apart(Arc<Construct>),
}

impl Entered<'_> {
    pub(crate) fn construct(&self) -> &Construct {
        match self {
            Self::InPlace(construct, _) => construct,
            Self::Apart(construct) => construct,
        }
    }
}

impl<const PLACES: usize> Constructs<PLACES> {
    /// For a team of this size.
    pub(crate) fn new(size: usize, crowding: Crowding) -> Self {
        let place = || Place { turn: AtomicUsize::new(0), construct: Construct::new(crowding) };
        Self {
            places: Box::new(std::array::from_fn(|_| Padded(place()))),
            ranges: Ranges::new(size),
            apart: Mutex::new(BTreeMap::new()),
            crowding,
        }
    }

    /// Enters a member into its next construct, which has this number.
    #[inline]
    pub(crate) fn enter(&self, number: usize, rank: usize) -> Entered<'_> {
        let (place, turn) = self.place(number);
        if place.turn.load(Acquire) / 2 == turn {
            return self.in_place(number, rank);
        }
        self.enter_ahead(number, rank)
    }

    #[inline]
    fn in_place(&self, number: usize, rank: usize) -> Entered<'_> {
        Entered::InPlace(&self.place(number).0.construct, self.ranges.of(rank, number % PLACES))
    }

    #[cold]
    fn enter_ahead(&self, number: usize, rank: usize) -> Entered<'_> {
        let (place, turn) = self.place(number);
        let mut apart = self.lock_apart();
        loop {
            let seen = place.turn.load(Acquire);
            if seen / 2 == turn {
                return self.in_place(number, rank);
            }
            // The last to leave the construct in this place sees this, or has already handed the place on.
            let is_announced = seen % 2 == 1;
            if is_announced || place.turn.compare_exchange(seen, seen + 1, Relaxed, Relaxed).is_ok() {
                let construct =
                    apart.entry(number).or_insert_with(|| Arc::new(Construct::new(self.crowding)));
                return Entered::Apart(Arc::clone(construct));
            }
        }
    }

    /// The next chunk for a member in the loop with this number.
    #[inline(always)]
    pub(crate) fn take(
        &self,
        entered: &Entered<'_>,
        number: usize,
        rank: usize,
        chunks: usize,
    ) -> Option<usize> {
        if let Entered::InPlace(_, own) = entered
            && let Some(chunk) = ranges::next_in_hand(own)
        {
            return Some(chunk);
        }
        self.take_more(entered, number, rank, chunks)
    }

    #[inline(never)]
    fn take_more(&self, entered: &Entered<'_>, number: usize, rank: usize, chunks: usize) -> Option<usize> {
        let taken = &entered.construct().taken;
        match entered {
            Entered::InPlace(..) => self.ranges.take_more(number % PLACES, rank, taken, chunks),
            Entered::Apart(_) => ranges::one_by_one(taken, chunks),
        }
    }

    /// Lets one of `size` members leave the construct with this number; the last hands the place on.
    pub(crate) fn leave(&self, entered: Entered<'_>, number: usize, size: usize) {
        if !entered.construct().is_last(size) {
            return;
        }
        let (place, turn) = self.place(number);
        match entered {
            Entered::InPlace(construct, _) => {
                construct.clear();
                // If the next construct is allocated separately, the members that leave it hand the place on.
                let _ = place.turn.compare_exchange(2 * turn, 2 * turn + 2, Release, Relaxed);
            }
            Entered::Apart(_) => {
                let mut apart = self.lock_apart();
                apart.remove(&number);
                if !apart.contains_key(&(number + PLACES)) {
                    place.turn.store(2 * turn + 2, Release);
                }
            }
        }
    }

    /// Wakes all sleepers.
    pub(crate) fn wake(&self) {
        self.places.iter().for_each(|place| place.construct.bell.wake());
        self.lock_apart().values().for_each(|construct| construct.bell.wake());
    }

    /// The place of a construct, and how many constructs have used it before.
    fn place(&self, number: usize) -> (&Place, usize) {
        (&self.places[number % PLACES], number / PLACES)
    }

    fn lock_apart(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<Construct>>> {
        self.apart.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Construct {
    fn new(crowding: Crowding) -> Self {
        Self {
            left: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            bell: Bell::new(crowding),
        }
    }

    /// Whether the member that leaves is the last of `size`.
    fn is_last(&self, size: usize) -> bool {
        self.left.fetch_add(1, AcqRel) + 1 == size
    }

    fn clear(&self) {
        self.left.store(0, Relaxed);
        self.taken.store(0, Relaxed);
        self.turn.store(0, Relaxed);
    }
}
