//! An MPI behind plain C functions, which its own compiler has compiled and which are loaded here.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::time::Duration;

use crate::Error;

/// The functions' source: compiled by the machine's `mpicc`.
pub(crate) const SOURCE: &str = include_str!("shim.c");
/// The library that they are compiled into.
pub(crate) const FILE: &str = "libcoho_mpi.so";
/// Requests that may be under way at once, as in the source.
pub(crate) const SLOTS: usize = 64;

/// The ranks of one node, and this one's place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// This process's number in the node.
    pub rank: usize,
    /// Number of processes in the node.
    pub ranks: usize,
    /// The whole job's number of the node's first process.
    pub leader: usize,
}

/// A started MPI. Its functions may be used by one thread at a time; they return MPI's error, 0 for none.
#[derive(Debug)]
pub struct Library {
    send: unsafe extern "C" fn(*const c_void, c_int, c_int, c_int) -> c_int,
    recv: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int) -> c_int,
    isend: unsafe extern "C" fn(*const c_void, c_int, c_int, c_int, c_int) -> c_int,
    irecv: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int) -> c_int,
    wait: unsafe extern "C" fn() -> c_int,
    barrier: unsafe extern "C" fn() -> c_int,
    progress: unsafe extern "C" fn() -> c_int,
    waits: unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int,
    enter: unsafe extern "C" fn() -> c_int,
    have_entered: unsafe extern "C" fn(*mut c_int) -> c_int,
    exchange: unsafe extern "C" fn(c_int, c_int) -> c_int,
    bcast: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    gather: unsafe extern "C" fn(*const c_void, *mut c_void, c_int) -> c_int,
    node: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> c_int,
    share: unsafe extern "C" fn(c_long, *mut *mut c_void) -> c_int,
    abort: unsafe extern "C" fn(c_int),
    end: unsafe extern "C" fn() -> c_int,
    /// Name and version.
    pub version: String,
    /// This process's number.
    pub rank: c_int,
    /// Number of processes.
    pub ranks: c_int,
    /// The library that holds the functions.
    _loaded: libloading::Library,
}

/// A byte for each request that may be under way; their addresses must not change.
static mut BYTES: [u8; SLOTS] = [0; SLOTS];

/// Address of a slot's byte.
fn byte(slot: usize) -> *mut u8 {
    // SAFETY: within the array; no reference to it is ever made.
    unsafe { (&raw mut BYTES).cast::<u8>().add(slot % SLOTS) }
}

impl Library {
    /// Loads the functions and starts MPI. A process does so once.
    ///
    /// # Errors
    /// If they cannot be loaded, or MPI does not start.
    pub fn start(path: &Path) -> Result<Self, Error> {
        let failed =
            |error: libloading::Error| Error::system("the functions over MPI cannot be loaded", error);
        // SAFETY: compiled from the source above, whose initialisers are MPI's own.
        let loaded = unsafe { libloading::Library::new(path) }.map_err(failed)?;
        // SAFETY: the types are those of the source.
        unsafe {
            let start: libloading::Symbol<'_, unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int> =
                loaded.get(b"coho_mpi_start").map_err(failed)?;
            let version: libloading::Symbol<'_, unsafe extern "C" fn(*mut c_char, c_int)> =
                loaded.get(b"coho_mpi_version").map_err(failed)?;
            let (mut rank, mut ranks) = (0, 0);
            done(start(&mut rank, &mut ranks)).map_err(|error| Error::system("MPI_Init", error))?;
            let mut text = [0u8; 256];
            version(text.as_mut_ptr().cast(), text.len() as c_int);
            let text = text.split(|&byte| byte == 0 || byte == b'\n').next().unwrap_or_default();
            Ok(Self {
                send: *loaded.get(b"coho_mpi_send").map_err(failed)?,
                recv: *loaded.get(b"coho_mpi_recv").map_err(failed)?,
                isend: *loaded.get(b"coho_mpi_isend").map_err(failed)?,
                irecv: *loaded.get(b"coho_mpi_irecv").map_err(failed)?,
                wait: *loaded.get(b"coho_mpi_wait").map_err(failed)?,
                barrier: *loaded.get(b"coho_mpi_barrier").map_err(failed)?,
                progress: *loaded.get(b"coho_mpi_progress").map_err(failed)?,
                waits: *loaded.get(b"coho_mpi_waits").map_err(failed)?,
                enter: *loaded.get(b"coho_mpi_enter").map_err(failed)?,
                have_entered: *loaded.get(b"coho_mpi_have_entered").map_err(failed)?,
                exchange: *loaded.get(b"coho_mpi_exchange").map_err(failed)?,
                bcast: *loaded.get(b"coho_mpi_bcast").map_err(failed)?,
                gather: *loaded.get(b"coho_mpi_gather").map_err(failed)?,
                node: *loaded.get(b"coho_mpi_node").map_err(failed)?,
                share: *loaded.get(b"coho_mpi_share").map_err(failed)?,
                abort: *loaded.get(b"coho_mpi_abort").map_err(failed)?,
                end: *loaded.get(b"coho_mpi_end").map_err(failed)?,
                version: String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" "),
                rank,
                ranks,
                _loaded: loaded,
            })
        }
    }

    /// Sends one byte.
    #[inline(always)]
    pub(crate) fn send(&self, to: c_int, tag: c_int) -> c_int {
        // SAFETY: the byte lives for ever.
        unsafe { (self.send)(byte(0).cast(), 1, to, tag) }
    }

    /// Receives one byte.
    #[inline(always)]
    pub(crate) fn recv(&self, from: c_int, tag: c_int) -> c_int {
        // SAFETY: the byte lives for ever and is only MPI's.
        unsafe { (self.recv)(byte(0).cast(), 1, from, tag) }
    }

    /// Starts to send a slot's byte.
    #[inline(always)]
    pub(crate) fn isend(&self, to: c_int, tag: c_int, slot: usize) -> c_int {
        // SAFETY: as above; the slot exists.
        unsafe { (self.isend)(byte(slot).cast(), 1, to, tag, (slot % SLOTS) as c_int) }
    }

    /// Starts to receive a slot's byte.
    #[inline(always)]
    pub(crate) fn irecv(&self, from: c_int, tag: c_int, slot: usize) -> c_int {
        // SAFETY: as above.
        unsafe { (self.irecv)(byte(slot).cast(), 1, from, tag, (slot % SLOTS) as c_int) }
    }

    /// Waits for all that is under way.
    pub(crate) fn wait(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.wait)() }
    }

    /// Waits for all ranks, by `MPI_Barrier`; returns MPI's error.
    #[inline(always)]
    pub fn barrier(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.barrier)() }
    }

    /// Sends bytes to a rank; returns MPI's error.
    #[inline(always)]
    pub fn send_bytes(&self, bytes: &[u8], to: usize, tag: c_int) -> c_int {
        // SAFETY: the bytes are borrowed, and are as many.
        unsafe { (self.send)(bytes.as_ptr().cast(), bytes.len() as c_int, to as c_int, tag) }
    }

    /// Receives as many bytes from a rank, or fewer; returns MPI's error.
    #[inline(always)]
    pub fn receive_bytes(&self, bytes: &mut [u8], from: usize, tag: c_int) -> c_int {
        // SAFETY: the bytes are borrowed, and are as many; MPI writes no more.
        unsafe { (self.recv)(bytes.as_mut_ptr().cast(), bytes.len() as c_int, from as c_int, tag) }
    }

    /// Waits until a message of this tag waits to be received, and sleeps for `pause` between one look and the next.
    ///
    /// # Errors
    /// MPI's.
    pub fn expect_asleep(&self, from: usize, tag: c_int, pause: Duration) -> Result<(), Error> {
        loop {
            let mut found = 0;
            // SAFETY: the answer is written.
            done(unsafe { (self.waits)(from as c_int, tag, &mut found) })?;
            if found != 0 {
                return Ok(());
            }
            std::thread::sleep(pause);
        }
    }

    /// Waits for all ranks, and sleeps for `pause` between one look and the next: the CPUs are free meanwhile.
    ///
    /// # Errors
    /// MPI's.
    pub fn meet_asleep(&self, pause: Duration) -> Result<(), Error> {
        // SAFETY: no arguments.
        done(unsafe { (self.enter)() })?;
        loop {
            let mut all = 0;
            // SAFETY: the answer is written.
            done(unsafe { (self.have_entered)(&mut all) })?;
            if all != 0 {
                return Ok(());
            }
            std::thread::sleep(pause);
        }
    }

    /// Sends nothing to one rank and receives nothing from another, at once; returns MPI's error.
    #[inline(always)]
    pub fn exchange(&self, to: usize, from: usize) -> c_int {
        // SAFETY: no memory is used.
        unsafe { (self.exchange)(to as c_int, from as c_int) }
    }

    /// Gives all ranks what rank 0 has.
    ///
    /// # Errors
    /// MPI's.
    pub fn bcast(&self, bytes: &mut [u8]) -> Result<(), Error> {
        // SAFETY: the bytes are borrowed, and are as many.
        done(unsafe { (self.bcast)(bytes.as_mut_ptr().cast(), bytes.len() as c_int) })
    }

    /// What each rank gives, in the order of ranks; all give as much.
    ///
    /// # Errors
    /// MPI's.
    pub fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut all = vec![0; own.len() * self.ranks as usize];
        // SAFETY: there is room for as many bytes of each rank.
        done(unsafe { (self.gather)(own.as_ptr().cast(), all.as_mut_ptr().cast(), own.len() as c_int) })?;
        Ok(all.chunks(own.len().max(1)).map(<[u8]>::to_vec).collect())
    }

    /// The ranks with which this one can share memory. All ranks call it at once.
    ///
    /// # Errors
    /// MPI's.
    pub fn node(&self) -> Result<Node, Error> {
        let (mut rank, mut ranks, mut leader) = (0, 0, 0);
        // SAFETY: the three are written.
        done(unsafe { (self.node)(&mut rank, &mut ranks, &mut leader) })?;
        Ok(Node { rank: rank as usize, ranks: ranks as usize, leader: leader as usize })
    }

    /// Memory of zeros that the node's ranks share, aligned to a page in each of them, until [`end`](Self::end). All ranks
    /// of a node call it at once, after [`node`](Self::node), and once.
    ///
    /// # Errors
    /// MPI's.
    pub fn share(&self, bytes: usize) -> Result<NonNull<u8>, Error> {
        let mut start = std::ptr::null_mut();
        // SAFETY: the address is written.
        done(unsafe { (self.share)(bytes as c_long, &mut start) })?;
        NonNull::new(start.cast()).ok_or_else(|| Error::work("MPI shares no memory"))
    }

    /// Ends the whole job.
    pub fn abort(&self, status: u8) {
        // SAFETY: no memory is used.
        unsafe { (self.abort)(status.into()) }
    }

    /// Sends and fetches what waits.
    pub(crate) fn progress(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.progress)() }
    }

    /// Ends MPI in this rank; returns its error. All ranks call it.
    pub fn end(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.end)() }
    }
}

/// The error that MPI returned, as one.
///
/// # Errors
/// If it is not 0.
pub fn done(error: c_int) -> Result<(), Error> {
    if error == 0 { Ok(()) } else { Err(Error::work(format!("MPI error {error}"))) }
}
