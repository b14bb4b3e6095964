//! The child's code, read once for each page. If the work changes its own code, that goes unnoticed.

use std::collections::HashMap;
use std::io;

use super::machine::{Instruction, LONGEST, Registers};
use super::tally::Tally;
use super::tracee::unavailable;
use crate::Error;

/// The smallest unit in which code becomes readable.
const PAGE: u64 = 4096;

/// Pages of code, and the instructions found in them.
#[derive(Default)]
pub(super) struct Code {
    pages: HashMap<u64, Box<[u8; PAGE as usize]>>,
    instructions: HashMap<u64, Instruction>,
}

/// The bytes at an address, as many as an instruction may have.
pub(super) struct Bytes {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Bytes {
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Code {
    /// Counts the instruction that led from `before` to `after`.
    pub(super) fn account(
        &mut self,
        pid: libc::pid_t,
        before: &Registers,
        after: &Registers,
        tally: &mut Tally,
    ) -> Result<(), Error> {
        let at = before.at();
        if !self.instructions.contains_key(&at) {
            let bytes = self.bytes(pid, at)?;
            let instruction = Instruction::decode(bytes.as_slice(), at).ok_or_else(|| {
                Error::work(format!("the work executed an unknown instruction: {:02x?}", bytes.as_slice()))
            })?;
            self.instructions.insert(at, instruction);
        }
        self.instructions[&at].account(before, after, tally);
        Ok(())
    }

    /// The bytes from `at` on; fewer than the longest instruction has where the code ends.
    pub(super) fn bytes(&mut self, pid: libc::pid_t, at: u64) -> Result<Bytes, Error> {
        let mut found = Bytes { bytes: [0; LONGEST], length: 0 };
        while found.length < LONGEST {
            let address = at.wrapping_add(found.length as u64);
            let page = match self.page(pid, address - address % PAGE) {
                Ok(page) => page,
                Err(error) if found.length == 0 => return Err(unavailable("process_vm_readv", &error)),
                Err(_) => break,
            };
            let from = &page[(address % PAGE) as usize..];
            let length = from.len().min(LONGEST - found.length);
            found.bytes[found.length..][..length].copy_from_slice(&from[..length]);
            found.length += length;
        }
        Ok(found)
    }

    fn page(&mut self, pid: libc::pid_t, start: u64) -> io::Result<&[u8; PAGE as usize]> {
        use std::collections::hash_map::Entry;
        match self.pages.entry(start) {
            Entry::Occupied(page) => Ok(page.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(read(pid, start)?)),
        }
    }
}

fn read(pid: libc::pid_t, start: u64) -> io::Result<Box<[u8; PAGE as usize]>> {
    let mut page = Box::new([0u8; PAGE as usize]);
    let local = libc::iovec { iov_base: page.as_mut_ptr().cast(), iov_len: page.len() };
    let remote = libc::iovec { iov_base: start as *mut libc::c_void, iov_len: page.len() };
    // SAFETY: the local buffer is as long as said; the remote one is the other process's matter.
    let read = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    match read {
        -1 => Err(io::Error::last_os_error()),
        read if read as usize == page.len() => Ok(page),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
