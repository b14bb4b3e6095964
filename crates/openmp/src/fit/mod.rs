//! `--threads auto`: finds for each region of the program the number of threads with which it finishes first, while
//! the program runs.
//!
//! It gives fewer threads than a region would get, never more, and as OpenMP allows where the number is dynamic
//! (`OMP_DYNAMIC`). A region with a `num_threads` clause and one within another keep their numbers. So do all regions of
//! a program that has set the number, or has asked for it where the answer may be remembered for another region,
//! unless the user or the program says that the number is dynamic.

mod report;
mod search;

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64};
use std::time::Instant;

use crate::here::Membership;
use crate::settings::settings;
use search::Search;

pub use report::begin;

/// Places in the table of regions; regions of more places of a program than fit keep their numbers.
const PLACES: usize = 1024;
/// A search is repeated after this many times the executions that it took.
const AGAIN: u64 = 20;
/// The most members whose questions are counted; larger regions keep their numbers.
const COUNTED: usize = 1024;

static SITES: [AtomicPtr<Site>; PLACES] = [const { AtomicPtr::new(ptr::null_mut()) }; PLACES];
/// What the program has done for which it keeps its numbers, unless they are dynamic.
static KEPT: AtomicU8 = AtomicU8::new(Kept::No as u8);
/// Whether a region has kept its number for that.
static IS_KEPT: AtomicBool = AtomicBool::new(false);
/// Whether members' questions are counted.
static WATCHES: AtomicBool = AtomicBool::new(false);
static QUESTIONS: [Questions; COUNTED] = [const { Questions(AtomicU32::new(0)) }; COUNTED];

/// How often a member of a region has asked for the number of threads; on a cache line of its own.
#[repr(align(128))]
struct Questions(AtomicU32);

/// Why the program keeps its numbers of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kept {
    No,
    Set,
    AskedBefore,
    AskedByOne,
    NotDynamic,
}

impl Kept {
    const ALL: [Self; 5] = [Self::No, Self::Set, Self::AskedBefore, Self::AskedByOne, Self::NotDynamic];

    fn now() -> Self {
        Self::ALL[usize::from(KEPT.load(Relaxed))]
    }

    /// Why regions have kept their numbers, if any has.
    fn why() -> Option<&'static str> {
        if !IS_KEPT.load(Relaxed) {
            return None;
        }
        match Self::now() {
            Self::No => None,
            Self::Set => Some("it has called omp_set_num_threads"),
            Self::AskedBefore => Some("it has called omp_get_max_threads"),
            Self::AskedByOne => Some("one thread of a region has called omp_get_num_threads for the others"),
            Self::NotDynamic => Some("it has called omp_set_dynamic(0)"),
        }
    }
}

/// A region of the program's code, by the function that the compiler has made of it.
#[derive(Debug)]
pub struct Site {
    function: usize,
    /// The number of threads that is used unless the search goes on, and how many there would be.
    threads: AtomicU32,
    most: AtomicU32,
    executions: AtomicU64,
    /// The number of executions after which the search begins again; 0 while it goes on.
    again: AtomicU64,
    search: Mutex<Search>,
}

/// An execution of a region whose number of threads is chosen here.
#[derive(Debug)]
pub struct Execution {
    site: &'static Site,
    pub threads: u32,
    begun: Option<Instant>,
}

fn is_on() -> bool {
    settings().finds_threads
}

/// Keeps the program's numbers of threads from now on.
#[cold]
fn keep(why: Kept) {
    let _ = KEPT.compare_exchange(Kept::No as u8, why as u8, Relaxed, Relaxed);
}

/// The program sets the number of threads.
pub fn number_is_set() {
    if is_on() {
        keep(Kept::Set);
    }
}

/// The program asks how many threads the next region will have.
pub fn number_is_asked() {
    if is_on() {
        keep(Kept::AskedBefore);
    }
}

/// The program sets whether the number may differ.
pub fn dynamic_is_set(dynamic: bool) {
    if is_on() && !dynamic {
        keep(Kept::NotDynamic);
    }
}

/// Whether numbers may differ from those that are asked for.
pub fn is_dynamic(membership: &Membership) -> bool {
    membership.variables().is_dynamic || is_on() && Kept::now() == Kept::No
}

/// A member asks how many there are. GCC's code asks at each static loop, in all members; what one member asks may be
/// meant for other regions.
#[inline(always)]
pub fn size_is_asked(membership: &Membership) {
    if WATCHES.load(Relaxed) && membership.region().level == 1 {
        QUESTIONS[membership.rank as usize % COUNTED].0.fetch_add(1, Relaxed);
    }
}

/// Begins an execution of a region that would have so many threads, more than one, without a clause.
#[cold]
#[inline(never)]
pub fn execution(function: usize, opener: &Membership, most: u32) -> Option<Execution> {
    if Kept::now() != Kept::No && !opener.variables().is_dynamic {
        IS_KEPT.store(true, Relaxed);
        return None;
    }
    if opener.region().level > 0 || most as usize > COUNTED {
        return None;
    }
    let site = Site::of(function, most)?;
    let executions = site.executions.fetch_add(1, Relaxed);
    site.most.store(most, Relaxed);
    let again = site.again.load(Relaxed);
    if again != 0 && executions < again && most >= site.threads.load(Relaxed) {
        return Some(Execution { site, threads: site.threads.load(Relaxed), begun: None });
    }
    // Another thread is in it, in another execution.
    let Ok(mut search) = site.search.try_lock() else {
        return Some(Execution { site, threads: site.threads.load(Relaxed).min(most), begun: None });
    };
    if search.most != most {
        *search = Search::new(most);
    } else if again != 0 {
        *search = search.again();
    }
    site.again.store(0, Relaxed);
    let threads = search.next().unwrap_or(search.best());
    drop(search);
    QUESTIONS.iter().take(most as usize).for_each(|questions| questions.0.store(0, Relaxed));
    WATCHES.store(true, Relaxed);
    Some(Execution { site, threads, begun: Some(Instant::now()) })
}

impl Execution {
    /// It has ended, with so many threads.
    #[cold]
    #[inline(never)]
    pub fn end(self, threads: u32) {
        let Some(begun) = self.begun else { return };
        let ns = begun.elapsed().as_secs_f64() * 1e9;
        WATCHES.store(false, Relaxed);
        let mut counts = QUESTIONS.iter().take(threads as usize).map(|questions| questions.0.load(Relaxed));
        let first = counts.next();
        if counts.any(|count| Some(count) != first) {
            keep(Kept::AskedByOne);
        }
        let Ok(mut search) = self.site.search.try_lock() else { return };
        search.took(threads, ns);
        self.site.threads.store(search.best(), Relaxed);
        if search.next().is_none() {
            let executions = self.site.executions.load(Relaxed);
            self.site.again.store(executions + AGAIN * search.executions.max(1), Relaxed);
        }
    }
}

impl Site {
    /// The site of a function; `None` if the table is full.
    fn of(function: usize, most: u32) -> Option<&'static Self> {
        let hash = function.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - PLACES.trailing_zeros());
        // Half of the table, so that looking for a site stays short.
        for step in 0..PLACES / 2 {
            let place = &SITES[(hash + step) % PLACES];
            let mut found = place.load(Acquire);
            if found.is_null() {
                let new = Box::into_raw(Box::new(Self::new(function, most)));
                match place.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
                    Ok(_) => found = new,
                    Err(other) => {
                        // SAFETY: nobody else has it.
                        drop(unsafe { Box::from_raw(new) });
                        found = other;
                    }
                }
            }
            // SAFETY: sites are never freed.
            let site = unsafe { &*found };
            if site.function == function {
                return Some(site);
            }
        }
        None
    }

    fn new(function: usize, most: u32) -> Self {
        Self {
            function,
            threads: AtomicU32::new(most),
            most: AtomicU32::new(most),
            executions: AtomicU64::new(0),
            again: AtomicU64::new(0),
            search: Mutex::new(Search::new(most)),
        }
    }

    fn all() -> impl Iterator<Item = &'static Self> {
        // SAFETY: as above.
        SITES.iter().filter_map(|place| unsafe { place.load(Acquire).as_ref() })
    }
}
