//! The machine's MPI behind plain C functions, which are compiled and loaded here.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use crate::Error;

/// The functions' source: compiled by the machine's `mpicc`.
pub(super) const SOURCE: &str = include_str!("shim.c");
/// The library that they are compiled into.
pub(super) const FILE: &str = "libcoho_mpi.so";
/// Requests that may be under way at once, as in the source.
pub(super) const SLOTS: usize = 64;

/// A started MPI. Its functions may be used by one thread at a time; they return MPI's error, 0 for none.
pub(super) struct Library {
    send: unsafe extern "C" fn(*const c_void, c_int, c_int, c_int) -> c_int,
    recv: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int) -> c_int,
    isend: unsafe extern "C" fn(*const c_void, c_int, c_int, c_int, c_int) -> c_int,
    irecv: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int) -> c_int,
    wait: unsafe extern "C" fn() -> c_int,
    barrier: unsafe extern "C" fn() -> c_int,
    progress: unsafe extern "C" fn() -> c_int,
    end: unsafe extern "C" fn() -> c_int,
    /// Name and version.
    pub(super) version: String,
    /// This process's number.
    pub(super) rank: c_int,
    /// Number of processes.
    pub(super) ranks: c_int,
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
    /// Loads the functions and starts MPI.
    pub(super) fn start(path: &Path) -> Result<Self, Error> {
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
    pub(super) fn send(&self, to: c_int, tag: c_int) -> c_int {
        // SAFETY: the byte lives for ever.
        unsafe { (self.send)(byte(0).cast(), 1, to, tag) }
    }

    /// Receives one byte.
    #[inline(always)]
    pub(super) fn recv(&self, from: c_int, tag: c_int) -> c_int {
        // SAFETY: the byte lives for ever and is only MPI's.
        unsafe { (self.recv)(byte(0).cast(), 1, from, tag) }
    }

    /// Starts to send a slot's byte.
    #[inline(always)]
    pub(super) fn isend(&self, to: c_int, tag: c_int, slot: usize) -> c_int {
        // SAFETY: as above; the slot exists.
        unsafe { (self.isend)(byte(slot).cast(), 1, to, tag, (slot % SLOTS) as c_int) }
    }

    /// Starts to receive a slot's byte.
    #[inline(always)]
    pub(super) fn irecv(&self, from: c_int, tag: c_int, slot: usize) -> c_int {
        // SAFETY: as above.
        unsafe { (self.irecv)(byte(slot).cast(), 1, from, tag, (slot % SLOTS) as c_int) }
    }

    /// Waits for all that is under way.
    pub(super) fn wait(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.wait)() }
    }

    /// Waits for all ranks.
    pub(super) fn barrier(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.barrier)() }
    }

    /// Sends and fetches what waits.
    pub(super) fn progress(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.progress)() }
    }

    /// Ends MPI in this rank.
    pub(super) fn end(&self) -> c_int {
        // SAFETY: no arguments.
        unsafe { (self.end)() }
    }
}

/// The error that MPI returned, as one.
pub(super) fn done(error: c_int) -> Result<(), Error> {
    if error == 0 { Ok(()) } else { Err(Error::work(format!("MPI error {error}"))) }
}
