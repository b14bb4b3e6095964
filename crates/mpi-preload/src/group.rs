//! A communicator that is served: its ranks share memory, in which they meet.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::process;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coho_sync::{Lost, MAX_THREADS, ProcessBarrier, WaitPolicy};

use crate::abi::Handle;
use crate::keeper::keep;
use crate::mpi::{Mpi, SUCCESS, ask};
use crate::reduce::MOST_BYTES;
use crate::settings;
use crate::shared::{self, Shared};

/// How long ranks may take to come to the barrier for the first time, after all of them have agreed to.
const JOINING: Duration = Duration::from_secs(60);
/// Room for a path, with its final zero.
const PATH: usize = 64;
const PAGE: usize = 4096;
/// Between ranks' values: two lines, as some CPUs fetch lines in pairs.
const STRIDE: usize = 128;
/// Places of a rank, in turn: a slower rank may still read the one before.
const TURNS: usize = 2;
const _: () = assert!(TURNS.is_power_of_two(), "turns are counted past their type's end");
const _: () = assert!(MOST_BYTES <= STRIDE);

pub(crate) struct Group {
    pub(crate) mpi: &'static Mpi,
    /// The communicator as the program has it.
    comm: Handle,
    /// The same ranks; no message of the program's passes here.
    pub(crate) private: Handle,
    /// Ended by the thread that has begun it.
    barrier: ManuallyDrop<ProcessBarrier>,
    pub(crate) ranks: usize,
    pub(crate) is_crowded: bool,
    values: NonNull<u8>,
    /// Counts reductions.
    turn: AtomicU32,
    /// Each rank's rank of all.
    members: Vec<c_int>,
    /// Unmapped after all else has ended.
    _memory: Shared,
}

/// A barrier that threads hand on: MPI lets no two of them call with one communicator at the same time, and the keeper's
/// end is the process's.
struct Handed(ProcessBarrier);

// SAFETY: as said there.
unsafe impl Send for Handed {}

/// What is found out about a communicator's memory, and what is asked for it.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    bytes: usize,
    rank: usize,
    ranks: usize,
}

impl Group {
    /// Sets a communicator up, by a call that all its ranks make; otherwise why it cannot be. All ranks come to the same
    /// end.
    pub(crate) fn set_up(mpi: &'static Mpi, comm: Handle) -> Result<Self, String> {
        let members = mpi.members(comm).ok_or("not all of its ranks are of one job's and of one group")?;
        let ranks = members.len();
        if !(2..=MAX_THREADS).contains(&ranks) {
            return Err(format!("it has {ranks} ranks"));
        }
        if !mpi.roll.has(&members) {
            return Err("not all of its ranks run on one node with coho's library".into());
        }
        // From here on all ranks go the same way.
        let failed = || "MPI cannot make another communicator".to_owned();
        let rank = usize::try_from(ask!(mpi.real.rank, comm).ok_or_else(failed)?).map_err(|_| failed())?;
        let mut private = ask!(mpi.real.split, comm, 0, 0).ok_or_else(failed)?;
        // SAFETY: a communicator of this library's own.
        unsafe { (mpi.real.set_errhandler)(private, mpi.abi.errors_return) };
        match Self::meet(mpi, private, rank, ranks) {
            Ok((memory, barrier)) => {
                // SAFETY: within the memory, behind the barrier.
                let values = unsafe { memory.start().add(barrier_bytes(ranks)) };
                if rank == 0 {
                    settings::say(format_args!("serves a communicator of {ranks} ranks of one node"));
                }
                let is_crowded = barrier.outnumbers_cpus();
                Ok(Self {
                    mpi,
                    comm,
                    private,
                    barrier: ManuallyDrop::new(barrier),
                    ranks,
                    is_crowded,
                    values,
                    turn: AtomicU32::new(0),
                    members,
                    _memory: memory,
                })
            }
            Err(why) => {
                // SAFETY: nothing of this library's uses it any more.
                unsafe { (mpi.real.free)(&raw mut private) };
                Err(why)
            }
        }
    }

    /// Maps the memory and joins the barrier, if all ranks can.
    fn meet(
        mpi: &Mpi,
        private: Handle,
        rank: usize,
        ranks: usize,
    ) -> Result<(Shared, ProcessBarrier), String> {
        let bytes = barrier_bytes(ranks) + TURNS * ranks * STRIDE;
        let mut path = [0u8; PATH];
        let mut created = None;
        if rank == 0 {
            let name = new_path();
            path[..name.len()].copy_from_slice(name.as_bytes());
            created = Shared::create(&name, bytes).ok();
        }
        let at = path.as_mut_ptr().cast::<c_void>();
        // SAFETY: so many bytes.
        let told = unsafe { (mpi.real.bcast)(at, PATH as c_int, mpi.abi.byte, 0, private) } == SUCCESS;
        let name = String::from_utf8_lossy(&path).trim_end_matches('\0').to_owned();
        let memory = if rank == 0 { created } else { Shared::open(&name, bytes).ok().filter(|_| told) };
        let all_have = mpi.all_agree(private, memory.is_some());
        if rank == 0 {
            shared::remove(&name);
        }
        let memory = memory.filter(|_| all_have).ok_or("its ranks cannot share memory in /dev/shm")?;
        let place = Place { start: memory.start().addr().get(), bytes: barrier_bytes(ranks), rank, ranks };
        let barrier = if mpi.has_callers { keep(move || join(place)).flatten() } else { join(place) };
        if !mpi.all_agree(private, barrier.is_some()) {
            if let Some(barrier) = barrier {
                leave(mpi, barrier);
            }
            return Err("its ranks cannot meet".into());
        }
        let Handed(barrier) = barrier.ok_or("its ranks cannot meet")?;
        Ok((memory, barrier))
    }

    /// Waits for all ranks; otherwise says what MPI's function is to return.
    #[inline(always)]
    pub(crate) fn meet_all(&self) -> Result<(), c_int> {
        let (first, work) = self.work();
        self.barrier.wait_working(first, &work).map_err(|lost| self.lost(lost))
    }

    /// The room for a rank's values in this reduction.
    #[inline(always)]
    pub(crate) fn values(&self, turn: u32, rank: usize) -> NonNull<u8> {
        // SAFETY: within the memory.
        unsafe { self.values.add((turn as usize % TURNS * self.ranks + rank) * STRIDE) }
    }

    /// Counts a reduction.
    #[inline(always)]
    pub(crate) fn turn(&self) -> u32 {
        let turn = self.turn.load(Relaxed);
        self.turn.store(turn.wrapping_add(1), Relaxed);
        turn
    }

    #[inline(always)]
    pub(crate) fn rank(&self) -> usize {
        self.barrier.rank()
    }

    /// A rank has died: the communicator's error handler decides what comes of it.
    #[cold]
    fn lost(&self, lost: Lost) -> c_int {
        let rank = self.members.get(lost.rank).copied().unwrap_or(-1);
        let how = if lost.left { "has left MPI" } else { "has died" };
        coho_preload::line("mpi", format_args!("rank {rank} {how}, and the others wait for it"));
        let error = self.mpi.abi.err_other;
        // SAFETY: the communicator that the program calls with.
        unsafe { (self.mpi.real.call_errhandler)(self.comm, error) };
        error
    }

    /// Ends it, as the communicator goes.
    pub(crate) fn end(mut self: Box<Self>, mpi: &Mpi) {
        // SAFETY: not used any more.
        let barrier = unsafe { ManuallyDrop::take(&mut self.barrier) };
        leave(mpi, Handed(barrier));
        if !mpi.is_ending() {
            // SAFETY: this library's own, freed by all ranks, as they free the program's.
            unsafe { (mpi.real.free)(&raw mut self.private) };
        }
    }
}

fn join(place: Place) -> Option<Handed> {
    let start = NonNull::new(place.start as *mut u8)?;
    let Place { bytes, rank, ranks, .. } = place;
    // SAFETY: new memory, which is the barrier's alone and is unmapped after it has ended.
    let joined = unsafe { ProcessBarrier::join(start, bytes, rank, ranks, WaitPolicy::Adaptive, JOINING) };
    joined.map(Handed).ok()
}

fn leave(mpi: &Mpi, barrier: Handed) {
    if mpi.has_callers {
        keep(move || {
            let whole = barrier;
            drop(whole);
        });
    } else {
        drop(barrier);
    }
}

fn barrier_bytes(ranks: usize) -> usize {
    ProcessBarrier::bytes(ranks).next_multiple_of(PAGE)
}

/// A path that nobody else has taken.
fn new_path() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    let path = format!("/dev/shm/coho-mpi-memory-{}-{}-{now:x}", process::id(), COUNT.fetch_add(1, Relaxed));
    debug_assert!(path.len() < PATH);
    path
}
