//! Which place each member of a region is bound to.

use std::cell::Cell;
use std::io;

use coho_preload::{Mask, line};

use crate::settings::{Bind, settings};

/// How a region distributes places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    policy: Bind,
    /// The opener's part of the places.
    from: Share,
    size: u32,
}

/// What a team's members have to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Where they are bound.
    pub places: Option<Places>,
    /// How many teams share the CPUs: as many as enclosing regions have members.
    pub teams: u32,
}

impl Room {
    /// How many members can run at once, each on a CPU of its own.
    pub fn at_once(&self) -> usize {
        let bound = self.places.map_or(usize::MAX, |places| places.at_once());
        bound.min((settings().processors / self.teams).max(1) as usize)
    }
}

/// A thread's place, and those that regions inside may use: `count` places from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub place: u32,
    pub first: u32,
    pub count: u32,
}

impl Places {
    /// For a region of `size` members, opened by a thread with this share, if threads are bound.
    pub fn of(policy: Bind, from: Option<Share>, size: u32) -> Option<Self> {
        let places = settings().places.as_ref()?;
        let all = Share { place: 0, first: 0, count: u32::try_from(places.len()).ok()? };
        (policy != Bind::False).then(|| Self { policy, from: from.unwrap_or(all), size })
    }

    /// How many members can run at once if no others do.
    fn at_once(&self) -> usize {
        let places = settings().places.as_deref().unwrap_or(&[]);
        let place = |rank| places.get(self.share(rank).place as usize);
        at_once((0..self.size).filter_map(place).collect())
    }

    /// The CPUs of a member's place.
    pub fn cpus(&self, rank: u32) -> Option<Vec<u32>> {
        let place = settings().places.as_ref()?.get(self.share(rank).place as usize)?;
        Some(place.iter().collect())
    }

    /// A member's.
    pub fn share(&self, rank: u32) -> Share {
        let Self { policy, from, size } = *self;
        let own = from.place.saturating_sub(from.first);
        // Member by member, or blocks of as many as each place has room for, and then the rest member by member.
        let each = (size / from.count).max(1);
        let in_blocks = size - size % from.count;
        let step = match rank {
            _ if size <= from.count => rank,
            _ if rank < in_blocks => rank / each,
            _ => rank - in_blocks,
        };
        let at = |offset: u32| from.first + (own + offset) % from.count;
        match policy {
            Bind::False | Bind::Primary => from,
            Bind::True | Bind::Close => Share { place: at(step), ..from },
            Bind::Spread if size >= from.count => Share { place: at(step), first: at(step), count: 1 },
            Bind::Spread => {
                // The part that contains the opener's place comes first.
                let bound = |part: u32| (u64::from(part) * u64::from(from.count) / u64::from(size)) as u32;
                let mine = (0..size).rev().find(|&part| bound(part) <= own).unwrap_or(0);
                let part = (mine + rank) % size;
                let (begin, end) = (bound(part), bound(part + 1));
                let place = if rank == 0 { from.place } else { from.first + begin };
                Share { place, first: from.first + begin, count: end - begin }
            }
        }
    }
}

/// Ends the program if a member other than the opener cannot be bound to its place, as libgomp does, which cannot create a
/// thread there.
pub fn demand(places: &Places) {
    let all = settings().places.as_deref().unwrap_or(&[]);
    let mut usable = None;
    for rank in 1..places.size {
        let Some(mask) = all.get(places.share(rank).place as usize) else { continue };
        let has_one = |cpus: &Mask| cpus.iter().any(|cpu| mask.contains(cpu));
        if has_one(&settings().allowed) {
            continue;
        }
        let error = match usable.get_or_insert_with(|| can_be_had(all)) {
            Ok(usable) if has_one(usable) => continue,
            Ok(_) => io::Error::from_raw_os_error(libc::EINVAL),
            Err(error) => io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EINVAL)),
        };
        let cpus: Vec<_> = mask.iter().map(|cpu| cpu.to_string()).collect();
        let cpus = cpus.join(",");
        line("openmp", format_args!("thread {rank} cannot be bound to the place {{{cpus}}}: {error}"));
        // SAFETY: the process ends.
        unsafe { libc::exit(libc::EXIT_FAILURE) };
    }
}

/// The CPUs of these places, and the calling thread's, that threads can be bound to: those that the kernel leaves in a mask
/// of all. The thread stays where it is meanwhile, as moving to each place and back would take most of a team's start.
fn can_be_had(places: &[Mask]) -> io::Result<Mask> {
    let before = Mask::current().ok_or_else(io::Error::last_os_error)?;
    let all: Mask = before.iter().chain(places.iter().flat_map(Mask::iter)).collect();
    if !all.apply() {
        return Err(io::Error::last_os_error());
    }
    let usable = Mask::current();
    before.apply();
    usable.ok_or_else(io::Error::last_os_error)
}

/// How many threads bound to these places can run at once. The smallest places are served first: what they need, no
/// other place can spare. Where places overlap without one holding the other, it may be one more.
fn at_once(mut places: Vec<&Mask>) -> usize {
    places.sort_by_cached_key(|place| place.iter().count());
    let mut taken = Mask::new();
    for place in &places {
        if let Some(cpu) = place.iter().find(|&cpu| !taken.contains(cpu)) {
            taken.insert(cpu);
        }
    }
    taken.iter().count()
}

/// Binds the calling thread to a place; returns whether it was elsewhere. If the kernel refuses that to the initial thread,
/// its binding stays as it was, without a word, as with libgomp.
pub fn bind(place: u32) -> bool {
    thread_local! {
        static BOUND: Cell<Option<u32>> = const { Cell::new(None) };
    }
    let is_new = BOUND.replace(Some(place)) != Some(place);
    if is_new && let Some(mask) = settings().places.as_ref().and_then(|places| places.get(place as usize)) {
        mask.apply();
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(policy: Bind, place: u32, count: u32, size: u32) -> Vec<Share> {
        let places = Places { policy, from: Share { place, first: 0, count }, size };
        (0..size).map(|rank| places.share(rank)).collect()
    }

    fn only(shares: &[Share]) -> Vec<u32> {
        shares.iter().map(|share| share.place).collect()
    }

    #[test]
    fn close_takes_the_next_places_and_spread_parts_them() {
        assert_eq!(only(&places(Bind::Close, 2, 4, 3)), [2, 3, 0]);
        assert_eq!(only(&places(Bind::Close, 0, 2, 5)), [0, 0, 1, 1, 0]);
        assert_eq!(only(&places(Bind::Primary, 2, 4, 3)), [2, 2, 2]);
        let spread = places(Bind::Spread, 0, 8, 2);
        assert_eq!(spread[0], Share { place: 0, first: 0, count: 4 });
        assert_eq!(spread[1], Share { place: 4, first: 4, count: 4 });
        assert_eq!(only(&places(Bind::Spread, 5, 8, 2)), [5, 0]);
        assert_eq!(places(Bind::Spread, 0, 2, 2)[1], Share { place: 1, first: 1, count: 1 });
    }

    #[test]
    fn threads_run_at_once_on_as_many_cpus_as_their_places_have_for_them() {
        let at_once = |places: &[&[u32]]| {
            let masks: Vec<Mask> = places.iter().map(|cpus| cpus.iter().copied().collect()).collect();
            super::at_once(masks.iter().collect())
        };
        assert_eq!(at_once(&[&[0], &[1]]), 2);
        assert_eq!(at_once(&[&[0], &[1], &[0]]), 2);
        assert_eq!(at_once(&[&[0, 1], &[0, 1], &[0, 1]]), 2);
        assert_eq!(at_once(&[&[0], &[1, 2, 3], &[0]]), 2, "the CPUs of one place are of no use to another");
        assert_eq!(at_once(&[&[0, 1], &[0]]), 2);
    }

    #[test]
    fn the_parts_of_a_spread_are_all_places() {
        for count in 1..20 {
            for size in 1..count {
                let parts = places(Bind::Spread, 0, count, size);
                assert_eq!(parts.iter().map(|share| share.count).sum::<u32>(), count);
                assert!(
                    parts.iter().all(|share| (share.first..share.first + share.count).contains(&share.place))
                );
            }
        }
    }
}
