//! Mapping memory that is never touched.

use std::io;

use super::super::arch::syscall;
use super::super::subject::{With, plain};
use super::Bounded;

/// The most mappings at once: a process may have 65,530.
const MOST_MAPPED: usize = 64;
const PROTECTION: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;
const FLAGS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
const NO_FILE: usize = -1isize as usize;

fn mapped(bytes: usize) -> isize {
    // SAFETY: a new private mapping, at an address that the kernel chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, PROTECTION, FLAGS, -1, 0) };
    at as isize
}

fn unmapped(at: isize, bytes: usize) -> isize {
    // SAFETY: only mappings that `mapped` returned for the same size and nobody uses are handed in.
    unsafe { libc::munmap(at as *mut libc::c_void, bytes) as isize }
}

/// mmap and munmap, one after the other.
pub(super) fn mmap(bytes: usize, wrapped: bool) -> Bounded {
    if wrapped {
        plain(move || match mapped(bytes) {
            -1 => -1,
            at => unmapped(at, bytes),
        })
        .into()
    } else {
        plain(move || {
            let arguments = [0, bytes, PROTECTION as usize, FLAGS as usize, NO_FILE, 0];
            // SAFETY: a new private mapping, at an address that the kernel chooses.
            let at = unsafe { syscall(libc::SYS_mmap, arguments) };
            if at < 0 {
                return at;
            }
            // SAFETY: that mapping, which nobody has used.
            unsafe { syscall(libc::SYS_munmap, [at as usize, bytes, 0, 0, 0, 0]) }
        })
        .into()
    }
}

/// munmap of mappings that were made before the batch.
pub(super) fn munmap(bytes: usize, wrapped: bool) -> Bounded {
    type State = (usize, Vec<isize>);
    fn ready((bytes, mappings): &mut State, calls: usize) -> io::Result<()> {
        for _ in 0..calls {
            let at = mapped(*bytes);
            if at == -1 {
                let error = io::Error::last_os_error();
                mappings.drain(..).for_each(|at| {
                    unmapped(at, *bytes);
                });
                return Err(error);
            }
            mappings.push(at);
        }
        Ok(())
    }
    // A mapping that a copy of the process has unmapped still exists here.
    fn clean((bytes, mappings): &mut State) -> io::Result<()> {
        mappings.drain(..).filter(|&at| at != 0).for_each(|at| {
            unmapped(at, *bytes);
        });
        Ok(())
    }
    let take = |mappings: &mut Vec<isize>, index: usize| std::mem::replace(&mut mappings[index], 0);
    let state: State = (bytes, Vec::with_capacity(MOST_MAPPED));
    let body: Box<dyn super::Body> = if wrapped {
        let call = move |(bytes, mappings): &mut State, index: usize| unmapped(take(mappings, index), *bytes);
        Box::new(With { state, ready, call, clean })
    } else {
        let call = move |(bytes, mappings): &mut State, index: usize| {
            // SAFETY: a mapping of this size that was made for this and nobody uses.
            unsafe { syscall(libc::SYS_munmap, [take(mappings, index) as usize, *bytes, 0, 0, 0, 0]) }
        };
        Box::new(With { state, ready, call, clean })
    };
    Bounded { most: MOST_MAPPED, body }
}
