//! The teams of a thread: one for each of its nested open regions, kept for the next ones.

use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Once};

use coho_sync::{Error, Member, Team, WaitPolicy};
use libc::c_void;

use crate::affinity::Displayed;
use crate::binding::{self, Room};
use crate::group::Group;
use crate::here::Membership;
use crate::kmp::{Asked, League, Nest, Serial};
use crate::openings;
use crate::query::Held;
use crate::settings::settings;
use crate::stack;
use crate::task::Tasks;
use crate::thread;

/// What a thread keeps as long as it lives, on cache lines of its own, as each region writes here.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Own {
    #[expect(clippy::vec_box, reason = "one that is at work stays where it is while others are added")]
    pools: Vec<Box<Pool>>,
    /// How many of them are at work.
    open: AtomicUsize,
    /// How many regions, loops and sections it has open that are outside all other regions; 1 at most, mostly.
    outermost: AtomicUsize,
    /// The threads of its regions, and of regions inside them.
    pub group: Group,
    /// Its membership outside all regions.
    pub outside: Option<Box<Membership>>,
    /// What compiled code has asked for its next region, and for its next teams.
    pub asked: Asked,
    pub league: League,
    /// Regions of one thread that it is in, which calls begin and end.
    #[expect(clippy::vec_box, reason = "they stay where they are")]
    pub serials: Vec<Box<Serial>>,
    /// Nests of loops that it is in whose iterations wait for each other.
    pub nests: Vec<Nest>,
    /// Nested locks that it holds.
    pub held: Vec<Held>,
    /// The region by which its affinity was last shown.
    pub displayed: Displayed,
}

/// Words that a team's opener hands over to the members, beyond those that arrive with the order. A word is written only if
/// it has changed, so members that have the line keep it, and no other is fetched with it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Line([AtomicUsize; Self::WORDS]);

impl Line {
    pub const WORDS: usize = 8;

    #[inline(always)]
    pub fn put(&self, words: impl Iterator<Item = usize>) {
        for (place, word) in self.0.iter().zip(words) {
            if place.load(Relaxed) != word {
                place.store(word, Relaxed);
            }
        }
    }

    pub fn words(&self) -> *const usize {
        self.0.as_ptr().cast()
    }
}

/// A team and what its regions use in turn, also on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct Pool {
    line: Line,
    team: Team,
    capacity: usize,
    /// The number of members for which there were threads.
    most: usize,
    /// What they have to run on.
    room: Option<Room>,
    /// How many can run at once in some rooms.
    known: Vec<(Room, usize)>,
    tasks: Option<Arc<Tasks>>,
}

/// The calling thread's. It is dropped when the thread ends, but not when the process exits: a thread that exits within
/// a region would wait for its own team.
#[inline(always)]
pub fn own<'a>() -> &'a mut Own {
    let mut own = thread::this().own.get();
    if own.is_null() {
        own = new();
    }
    // SAFETY: only this thread uses it, and no borrow outlasts the call that made it.
    unsafe { &mut *own }
}

#[cold]
fn new() -> *mut Own {
    let own: *mut Own = Box::into_raw(Box::default());
    thread::this().own.set(own);
    drop_at_end(own);
    // SAFETY: it has just been made.
    openings::add_thread(unsafe { &(*own).outermost });
    own
}

/// The calling thread's count of what it has open outside all regions.
#[inline(always)]
pub fn outermost() -> &'static AtomicUsize {
    &own().outermost
}

fn drop_at_end(own: *mut Own) {
    static ONCE: Once = Once::new();
    static mut KEY: libc::pthread_key_t = 0;
    unsafe extern "C" fn end(own: *mut c_void) {
        thread::this().own.set(ptr::null_mut());
        Membership::forget_here();
        // SAFETY: it was made for this thread, which does not use it any more.
        let own = unsafe { Box::from_raw(own.cast::<Own>()) };
        openings::remove_thread(&own.outermost);
    }
    ONCE.call_once(|| {
        // SAFETY: written once, before it is read. Without a key, a thread's teams stay asleep when it ends.
        unsafe { libc::pthread_key_create(&raw mut KEY, Some(end)) };
    });
    // SAFETY: as above.
    unsafe { libc::pthread_setspecific(KEY, own.cast()) };
}

/// How many rooms a pool remembers.
const MOST_KNOWN: usize = 8;

/// A pool at work; dropping this gives it back.
#[derive(Debug)]
pub struct Taken(*mut Pool);

/// The calling thread's next pool, with a team of this many members in this room, or fewer if threads cannot be
/// created; `None` for a single member.
#[inline(always)]
pub fn take(size: usize, room: Room, has_tasks: bool) -> Option<Taken> {
    let own = own();
    let pool = match own.ready(size, room, has_tasks) {
        Some(pool) => pool,
        None => own.made_ready(size, room, has_tasks)?,
    };
    own.open.store(own.open.load(Relaxed) + 1, Relaxed);
    Some(Taken(pool))
}

/// Ends the calling thread's teams, if none is at work; returns whether that was so.
pub fn release() -> bool {
    let own = own();
    let idle = own.open.load(Relaxed) == 0;
    if idle {
        own.pools.clear();
        own.displayed.forget();
    }
    idle
}

fn fewer(error: &Error) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| coho_preload::line("openmp", format_args!("fewer threads than asked: {error}")));
}

impl Own {
    /// The next pool, if it is as wanted.
    #[inline(always)]
    fn ready(&mut self, size: usize, room: Room, has_tasks: bool) -> Option<*mut Pool> {
        let pool = &mut **self.pools.get_mut(self.open.load(Relaxed))?;
        let is_ready = pool.team.size() == size
            && pool.room == Some(room)
            && !pool.team.is_forked()
            && (!has_tasks || pool.tasks.is_some());
        is_ready.then_some(ptr::from_mut(pool))
    }

    /// The next pool, of this size or less; none if that is one.
    #[cold]
    #[inline(never)]
    fn made_ready(&mut self, size: usize, room: Room, has_tasks: bool) -> Option<*mut Pool> {
        let pool = self.pool(size, room, has_tasks).inspect_err(fewer).ok()?;
        (pool.team.size() > 1).then_some(ptr::from_mut(pool))
    }

    fn pool(&mut self, size: usize, room: Room, has_tasks: bool) -> Result<&mut Pool, Error> {
        let at = self.open.load(Relaxed);
        // In a forked child the parent's teams have no threads. Teams at work stay, as the child is within their
        // regions.
        let found = self.pools.get(at);
        if !found.is_some_and(|pool| pool.capacity >= size && !pool.team.is_forked()) {
            if at < self.pools.len() {
                self.pools.remove(at);
            }
            // Those of regions within keep their places after it.
            self.pools.insert(at, Box::new(Pool::new(size, at, room)?));
        }
        let pool = &mut *self.pools[at];
        let mut size = size.min(pool.most);
        let at_once = pool.at_once(room);
        loop {
            match pool.team.arrange(size, at_once) {
                Err(error) if size > 1 => {
                    fewer(&error);
                    size -= 1;
                    pool.most = size;
                }
                done => break done?,
            }
        }
        pool.room = Some(room);
        if has_tasks && pool.tasks.is_none() {
            let tasks = Arc::new(Tasks::new(pool.capacity));
            pool.team.share_out(Arc::clone(&tasks) as _);
            pool.tasks = Some(tasks);
        }
        Ok(pool)
    }
}

impl Pool {
    /// A pool for regions that lie within so many others; `room` is the outermost region's.
    fn new(size: usize, within: usize, room: Room) -> Result<Self, Error> {
        let settings = settings();
        let processors = settings.processors as usize;
        let capacity = size.max(processors);
        let policy = match settings.policy {
            // A thread that spins without end keeps the threads that it waits for from running.
            WaitPolicy::Active if size > processors || within > 0 => WaitPolicy::Adaptive,
            policy => policy,
        };
        // Begins with one member, which remains if later threads cannot be created.
        let mut builder = Team::builder(1)
            .capacity(capacity)
            .pinned(false)
            .lenient(true)
            .at_once(processors)
            .policy(policy)
            .algorithm(settings.algorithm);
        builder = builder.stack_bytes(settings.stack_bytes.unwrap_or_else(stack::default_bytes));
        if let Some(places) = room.places {
            builder = builder.begin_on(move |rank| places.cpus(rank as u32));
        }
        Ok(Self {
            line: Line::default(),
            team: builder.start()?,
            capacity,
            most: capacity,
            room: None,
            known: Vec::new(),
            tasks: None,
        })
    }

    /// How many members can run at once. It is remembered, as programs go back and forth between sizes.
    fn at_once(&mut self, room: Room) -> usize {
        if let Some(known) = self.known.iter().find(|known| known.0 == room) {
            return known.1;
        }
        if self.known.len() == MOST_KNOWN {
            self.known.remove(0);
        }
        if let Some(places) = &room.places {
            binding::demand(places);
        }
        let at_once = room.at_once();
        self.known.push((room, at_once));
        at_once
    }
}

impl Taken {
    pub fn size(&self) -> usize {
        // SAFETY: the pool is in its box as long as it is taken.
        unsafe { (*self.0).team.size() }
    }

    /// How many members can run at once.
    pub fn at_once(&self) -> Option<usize> {
        // SAFETY: as above.
        unsafe { (*self.0).team.at_once() }
    }

    pub fn line(&self) -> &Line {
        // SAFETY: as above.
        unsafe { &(*self.0).line }
    }

    pub fn tasks(&self) -> Option<&Tasks> {
        // SAFETY: as above; a run does not touch the tasks.
        unsafe { (*self.0).tasks.as_deref() }
    }

    /// Runs a function of three words on every member.
    ///
    /// # Safety
    /// As [`Team::run_words`] says.
    #[inline(always)]
    pub unsafe fn run(&self, body: unsafe fn(&Member<'_>, [*mut (); 3]), words: [*mut (); 3]) {
        // SAFETY: as above; there is one run at a time, by the thread that has taken the pool.
        unsafe { (*self.0).team.run_words(body, words) };
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let open = &own().open;
        open.store(open.load(Relaxed) - 1, Relaxed);
    }
}
