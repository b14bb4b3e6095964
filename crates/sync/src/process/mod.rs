//! A barrier of several processes, in memory that they share.

mod join;
mod life;
mod memory;

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use memory::{GONE, Memory};

use crate::Error;
use crate::barrier::{Call, MAX_THREADS, Rank};
use crate::number::next;
use crate::padded::Padded;
use crate::wait::{Bell, Limits, Patience, Shared, Steps, Unless, WaitPolicy, Waiter, Watch};

/// After how long, and how often, a waiting rank looks whether the others live.
const LOOK: Duration = Duration::from_millis(25);

/// A barrier for a fixed number of processes, each of which has a rank of its own: FBS, in memory that the caller maps.
///
/// A waiting rank spins, and sleeps if the wait grows long ([`WaitPolicy`]), as at a [`Barrier`](crate::Barrier). If a rank
/// dies, those that wait learn it within about 25 ms, and no wait lasts for ever.
///
/// The thread that has [joined](Self::join) stands for its rank: only it can wait, and if it ends without dropping the
/// barrier, the rank counts as lost.
///
/// ```
/// use std::ptr::NonNull;
/// use std::time::Duration;
/// use coho_sync::{ProcessBarrier, WaitPolicy};
///
/// // Two processes would map the same file, such as one in /dev/shm.
/// let bytes = ProcessBarrier::bytes(2).next_multiple_of(4096);
/// let layout = std::alloc::Layout::from_size_align(bytes, 4096)?;
/// let memory = unsafe { std::alloc::alloc_zeroed(layout) } as usize;
/// let meet = |rank| {
///     let start = NonNull::new(memory as *mut u8).unwrap();
///     let limit = Duration::from_secs(60);
///     let barrier = unsafe { ProcessBarrier::join(start, bytes, rank, 2, WaitPolicy::Adaptive, limit) }.unwrap();
///     barrier.wait().unwrap();
/// };
/// std::thread::scope(|scope| {
///     scope.spawn(move || meet(1));
///     meet(0);
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ProcessBarrier {
    memory: Memory,
    me: Padded<Rank>,
    rank: usize,
    ranks: usize,
    process: u32,
    /// A rank is a thread's: the kernel tells of that thread's end.
    of_thread: PhantomData<*mut ()>,
}

/// A rank of a [`ProcessBarrier`] will arrive no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The rank.
    pub rank: usize,
    /// Whether it has dropped the barrier, and not died.
    pub left: bool,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.left { "has left the barrier" } else { "has died" };
        write!(f, "rank {} {how}", self.rank)
    }
}

impl std::error::Error for Lost {}

impl ProcessBarrier {
    /// How many bytes of memory the barrier of so many ranks takes.
    pub const fn bytes(ranks: usize) -> usize {
        Memory::bytes(ranks)
    }

    /// Takes a rank's place in the shared memory, and waits until all others have taken theirs.
    ///
    /// # Errors
    /// [`Error::Size`] unless there are 1 to [`MAX_THREADS`] ranks. [`Error::Argument`] if there is no such rank, if the
    /// memory is too short or not aligned to 128 bytes, if the rank has joined before, and if another version of this
    /// library made the barrier. [`Error::Absent`] with the ranks that have not come within `limit`.
    ///
    /// # Safety
    /// The memory is `bytes` long and stays mapped, for reading and writing, until the barrier is dropped; if it is not
    /// dropped, until the thread ends. It was zeros before the first rank joined, and nothing else writes to it.
    pub unsafe fn join(
        memory: NonNull<u8>,
        bytes: usize,
        rank: usize,
        ranks: usize,
        policy: WaitPolicy,
        limit: Duration,
    ) -> Result<Self, Error> {
        if !(1..=MAX_THREADS).contains(&ranks) {
            return Err(Error::Size { asked: ranks, most: MAX_THREADS });
        }
        if rank >= ranks {
            return Err(Error::Argument(format!("rank {rank} of {ranks}")));
        }
        if bytes < Self::bytes(ranks) || !memory.addr().get().is_multiple_of(Memory::ALIGNMENT) {
            let (needed, alignment) = (Self::bytes(ranks), Memory::ALIGNMENT);
            return Err(Error::Argument(format!(
                "{bytes} bytes of memory; {needed} are needed, aligned to {alignment}"
            )));
        }
        // SAFETY: checked above, and as the caller promises.
        let memory = unsafe { Memory::at(memory, ranks) };
        let crowding = join::join(memory, rank, ranks, limit)?;
        // SAFETY: the barrier, which holds it, does not outlive the memory.
        let courtesy = Shared::OfProcesses(unsafe { memory.courtesy() });
        let me = Padded(Rank {
            left: AtomicU8::new(0),
            arrived: AtomicU8::new(0),
            bell: Bell::new(crowding),
            patience: Patience::new(&policy, crowding, courtesy).movable(true),
        });
        Ok(Self { memory, me, rank, ranks, process: std::process::id(), of_thread: PhantomData })
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Whether there are more ranks than CPUs that they may use.
    pub fn outnumbers_cpus(&self) -> bool {
        self.me.patience.is_crowded()
    }

    /// Arrives and waits until all ranks have arrived.
    ///
    /// # Errors
    /// [`Lost`] if a rank will not arrive. From then on nobody meets at this barrier any more.
    #[inline]
    pub fn wait(&self) -> Result<(), Lost> {
        let look = |_| self.look();
        self.meet((LOOK, &look))
    }

    /// As [`wait`](Self::wait), for a rank that owes others work while it waits. Once the wait has lasted for `first`, it
    /// calls `work` with the wait's length; `work` says how long to wait before the next call. A rank whose work says
    /// [`Duration::ZERO`] stays awake; others do not sleep beyond the next call.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    #[inline]
    pub fn wait_working(&self, first: Duration, work: &dyn Fn(Duration) -> Duration) -> Result<(), Lost> {
        let next_look = Cell::new(LOOK);
        let look = |waited| {
            if waited >= next_look.get() {
                self.look();
                next_look.set(waited + LOOK);
            }
            Some(work(waited).min(next_look.get() - waited))
        };
        self.meet((first, &look))
    }

    #[inline(always)]
    fn meet(&self, watch: (Duration, Watch<'_>)) -> Result<(), Lost> {
        let (me, memory, common) = (&*self.me, &self.memory, self.memory.common());
        let previous = me.left.load(Relaxed);
        let number = next(previous);
        let limits = Limits { interrupt: Some(&common.is_lost), watch: Some(watch), ..Limits::NONE };
        let waiter = Waiter { patience: &me.patience, unless: Unless::Limited(&limits) };
        let call = Call { ranks: &[], me, rank: self.rank, previous, number, again: false, waiter };
        let flag = |rank| memory.flag(rank);
        let done = if self.ranks == 2 {
            call.exchange(2, flag, &common.bell, (&common.gap, Steps::pass_and_claim))
        } else {
            call.exchange(self.ranks, flag, &common.bell, (&common.gap, Steps::pass))
        };
        match done {
            Ok(()) => {
                me.left.store(number, Relaxed);
                Ok(())
            }
            // There is no limit of time.
            Err(_) => Err(self.lost()),
        }
    }

    /// Tells all ranks if one of them is lost; says after what time to look again.
    #[cold]
    fn look(&self) -> Option<Duration> {
        let common = self.memory.common();
        let previous = self.me.left.load(Relaxed);
        let has_arrived = |other: usize| self.memory.flag(other).has_left(previous);
        let others = || (0..self.ranks).filter(|&other| other != self.rank);
        let is_lost = |&other: &usize| {
            let place = self.memory.place(other);
            // Who has left after the last arrival has left nobody waiting.
            let left = place.presence.load(Acquire) == GONE;
            if left { !has_arrived(other) } else { place.life.is_lost() }
        };
        if let Some(lost) = others().find(is_lost)
            // Who has ended after the last arrival, neither.
            && !others().all(has_arrived)
        {
            // Whoever finds the first has named it for all.
            let _ = common.lost.compare_exchange(0, lost as u32 + 1, AcqRel, Relaxed);
            common.is_lost.store(true, Release);
            common.bell.wake();
        }
        Some(LOOK)
    }

    #[cold]
    fn lost(&self) -> Lost {
        let rank = self.memory.common().lost.load(Acquire) as usize - 1;
        Lost { rank, left: self.memory.place(rank).presence.load(Acquire) == GONE }
    }
}

impl Drop for ProcessBarrier {
    fn drop(&mut self) {
        // The copy that `fork` makes is nobody's.
        if self.process == std::process::id() {
            join::leave(self.memory, self.rank);
        }
    }
}

impl fmt::Debug for ProcessBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessBarrier(rank {} of {})", self.rank, self.ranks)
    }
}
