//! Clearing the caches (Shimosawa, Hori & Ishikawa): 64 KiB of nops are executed and 64 MiB walked, or more if the
//! last-level cache is larger than half of that.
//!
//! The walk also evicts the translations of the pages that hold the addresses of libraries' functions. Looking one up
//! again costs a call as much as several misses, unless coho has just used an address on the same page, which differs
//! from build to build. So one address of each page is read again; the others stay out of the caches.

use std::ffi::{c_int, c_void};

use super::caches::Caches;
use super::code::Code;
use super::walk::Sweep;
use crate::Error;

/// Size of the executed nops, in bytes.
pub(super) const CODE: usize = 64 << 10;
/// The paper's walk, in bytes; its machine's last-level cache had an eighth of that size.
const PAPER: usize = 64 << 20;
/// The walk covers this many times the cache: replacement would keep some lines through a walk of just its size.
const TIMES: usize = 2;

/// What clears the caches.
pub(super) struct Clear {
    data: Sweep,
    code: Code,
    addresses: Addresses,
}

/// Size of the memory that is walked to clear these caches, in bytes.
pub(super) fn data_bytes(caches: Caches) -> usize {
    PAPER.max(TIMES * caches.last)
}

impl Clear {
    /// Maps and touches the memory.
    ///
    /// # Errors
    /// If memory is short, or the system forbids generated code.
    pub(super) fn new(caches: Caches) -> Result<Self, Error> {
        let (left, bytes) = (coho_platform::memory::room(), data_bytes(caches));
        if left < 2 * bytes as u64 {
            let (left, needed) = (left >> 20, bytes >> 20);
            return Err(Error::memory(format!(
                "clearing the caches takes {needed} MiB of memory, and only {left} MiB are left"
            )));
        }
        Ok(Self { data: Sweep::new(bytes)?, code: Code::nops(CODE)?, addresses: Addresses::find() })
    }

    /// Clears the caches.
    pub(super) fn run(&self) {
        self.data.walk();
        self.code.run();
        self.addresses.look_up();
    }
}

/// What the dynamic linker has written into this program and then protected, the addresses of functions among it.
#[derive(Debug, Default)]
struct Addresses {
    start: usize,
    bytes: usize,
}

impl Addresses {
    /// Nothing in a program that has no such part.
    fn find() -> Self {
        let mut found = Self::default();
        // SAFETY: the callback gets the address of `found`, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(of_first), (&raw mut found).cast()) };
        found
    }

    fn look_up(&self) {
        for at in (self.start..self.start + self.bytes).step_by(PAGE) {
            // SAFETY: the whole part is mapped and readable for as long as the program runs.
            unsafe { std::ptr::with_exposed_provenance::<u8>(at).read_volatile() };
        }
    }
}

/// The smallest page.
const PAGE: usize = 4096;

/// Takes the part of the first object, which is the program, and stops.
unsafe extern "C" fn of_first(object: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the linker describes an object that is loaded, and `found` is what `find` has passed.
    let (object, found) = unsafe { (&*object, &mut *found.cast::<Addresses>()) };
    // SAFETY: as many headers as it says.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    if let Some(part) = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO) {
        *found =
            Addresses { start: (object.dlpi_addr + part.p_vaddr) as usize, bytes: part.p_memsz as usize };
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_program_are_found_and_mapped() {
        let addresses = Addresses::find();
        // A pointer in a constant is an address that the linker writes.
        static TEXT: &[&str] = &["an address"];
        let at = (&raw const TEXT[0]).expose_provenance();
        assert!((addresses.start..addresses.start + addresses.bytes).contains(&at), "{addresses:?} {at:x}");
        addresses.look_up();
    }

    #[test]
    fn the_walk_is_twice_the_last_cache_and_never_less_than_the_papers() {
        let caches = |last| Caches { l1d: 32 << 10, l1d_ways: 8, l1i: 32 << 10, l2: 1 << 20, last };
        assert_eq!(data_bytes(caches(8 << 20)), 64 << 20);
        assert_eq!(data_bytes(caches(105 << 20)), 210 << 20);
        // If the size is not known.
        assert_eq!(data_bytes(caches(0)), 64 << 20);
    }
}
