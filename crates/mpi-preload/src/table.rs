//! The communicators that the program uses: what is served of each.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use crate::abi::Handle;
use crate::group::Group;
use crate::mpi::{self, Mpi, SUCCESS, mpi};
use crate::settings;

/// Calls on a communicator that MPI serves before it is set up here, which costs more than they do.
pub(crate) const FIRST: u32 = 16;

/// What is known of a communicator. It is never given back, only used for another one: a thread that looks for its own
/// communicator may look at it at any time.
struct Entry {
    /// 0 if it is free.
    comm: AtomicUsize,
    /// Null until it is set up, and if it cannot be.
    group: AtomicPtr<Group>,
    /// Written behind [`ALL`]'s lock.
    calls: AtomicU32,
}

/// All entries.
static ALL: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());
/// Entries of those used last, each where its handle says.
static RECENT: [AtomicPtr<Entry>; 16] = [const { AtomicPtr::new(ptr::null_mut()) }; 16];

#[inline(always)]
fn recent(comm: Handle) -> &'static AtomicPtr<Entry> {
    // Handles are numbers that count up, or addresses of blocks.
    &RECENT[(comm ^ comm >> 8) % RECENT.len()]
}

/// The part of a word that is a handle; 0 as long as MPI is not known.
static MASK: AtomicUsize = AtomicUsize::new(0);

/// What serves a communicator; `None` if MPI does. To be called once for each call that all ranks make alike.
#[inline(always)]
pub(crate) fn group(word: usize) -> Option<&'static Group> {
    let comm = word & MASK.load(Relaxed);
    // SAFETY: entries live for ever.
    if let Some(entry) = unsafe { recent(comm).load(Acquire).as_ref() }
        && entry.comm.load(Acquire) == comm
        && let Some(group) = entry.group()
    {
        return Some(group);
    }
    look(word)
}

impl Entry {
    #[inline(always)]
    fn group(&self) -> Option<&'static Group> {
        // SAFETY: set to a group that lives as long as the communicator, which the caller uses.
        unsafe { self.group.load(Acquire).as_ref() }
    }
}

#[cold]
#[inline(never)]
fn look(word: usize) -> Option<&'static Group> {
    if settings::is_off() {
        return None;
    }
    let (mpi, comm, entry) = {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let mpi = mpi()?;
        MASK.store(mpi.abi.handle(usize::MAX), Relaxed);
        let comm = mpi.abi.handle(word);
        let entry = match all.iter().find(|entry| entry.comm.load(Relaxed) == comm) {
            Some(entry) => *entry,
            None => add(mpi, comm, &mut all)?,
        };
        recent(comm).store(ptr::from_ref(entry).cast_mut(), Release);
        if let Some(group) = entry.group() {
            return Some(group);
        }
        let calls = entry.calls.load(Relaxed);
        if calls > FIRST {
            return None;
        }
        entry.calls.store(calls + 1, Relaxed);
        if calls < FIRST {
            return None;
        }
        (mpi, comm, entry)
    };
    // Without the lock: others may set up theirs meanwhile, which may have to end first.
    let group = match Group::set_up(mpi, comm) {
        Ok(group) => Box::new(group),
        Err(why) => {
            settings::say(format_args!("rank {}: MPI serves a communicator: {why}", mpi.rank));
            return None;
        }
    };
    entry.group.store(Box::into_raw(group), Release);
    entry.group()
}

/// A new entry, which goes with the communicator.
fn add(mpi: &Mpi, comm: Handle, all: &mut Vec<&'static Entry>) -> Option<&'static Entry> {
    if [mpi.abi.null, mpi.abi.self_].contains(&comm) || mpi.is_ending() {
        return None;
    }
    let free = all.iter().find(|entry| entry.comm.load(Relaxed) == 0).copied();
    let entry = free.unwrap_or_else(|| {
        let new = Entry { comm: 0.into(), group: AtomicPtr::default(), calls: 0.into() };
        let new: &'static Entry = Box::leak(Box::new(new));
        all.push(new);
        new
    });
    entry.calls.store(0, Relaxed);
    let value = ptr::from_ref(entry).cast_mut().cast();
    // SAFETY: the keyval's callbacks know such values.
    if unsafe { (mpi.real.set_attr)(comm, mpi.keyval, value) } != SUCCESS {
        return None;
    }
    entry.comm.store(comm, Release);
    Some(entry)
}

/// Called for the attribute when a communicator is duplicated: the new one is another.
pub(crate) unsafe extern "C" fn not_copied(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    copies: *mut c_int,
) -> c_int {
    // SAFETY: MPI's variable.
    unsafe { *copies = 0 };
    SUCCESS
}

/// Called when a communicator goes, or `MPI_Finalize` begins.
pub(crate) unsafe extern "C" fn gone(_: Handle, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    let Some(mpi) = mpi() else { return SUCCESS };
    // SAFETY: the attribute's value, which is an entry, or null for MPI_COMM_SELF.
    let Some(entry) = (unsafe { value.cast::<Entry>().as_ref() }) else {
        mpi::ends(mpi);
        return SUCCESS;
    };
    let group = entry.group.swap(ptr::null_mut(), Release);
    if !group.is_null() {
        // SAFETY: it was a box, and nobody calls any more with a communicator that goes.
        unsafe { Box::from_raw(group) }.end(mpi);
    }
    let _all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    entry.comm.store(0, Release);
    SUCCESS
}
