//! Generated code: pages that are written first and executed afterwards, never both at once.

use std::io;

use coho_platform::pages::PAGE;

use super::arch;
use crate::Error;

/// A function without arguments in pages of its own.
pub(super) struct Code {
    start: *mut u8,
    mapped: usize,
}

// SAFETY: after `new` the pages are only executed, and their code has no state.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// This many bytes of instructions that do nothing, to clear a level-1 instruction cache (Shimosawa, Hori &
    /// Ishikawa: 64 KiB).
    ///
    /// # Errors
    /// If there is no room, or the system forbids generated code.
    pub(super) fn nops(bytes: usize) -> Result<Self, Error> {
        let mut code = arch::NOP.repeat(bytes / arch::NOP.len());
        code.extend(arch::RETURN);
        Self::new(&code)
    }

    /// A jump in each of this many lines of 64 bytes; the jumps visit all lines in random order.
    ///
    /// # Errors
    /// As for [`Code::nops`].
    pub(super) fn jumps(lines: usize, random: &mut fastrand::Rng) -> Result<Self, Error> {
        const LINE: usize = 64;
        let mut order: Vec<_> = (1..lines).collect();
        random.shuffle(&mut order);
        let mut code = arch::NOP.repeat(lines * LINE / arch::NOP.len());
        let mut from = 0;
        for to in order {
            let jump = arch::jump((to as i32 - from as i32) * LINE as i32);
            code[from * LINE..][..jump.len()].copy_from_slice(&jump);
            from = to;
        }
        code[from * LINE..][..arch::RETURN.len()].copy_from_slice(arch::RETURN);
        Self::new(&code)
    }

    fn new(code: &[u8]) -> Result<Self, Error> {
        let refused = |what: &str| Error::system(what, io::Error::last_os_error());
        let mapped = code.len().next_multiple_of(PAGE);
        // SAFETY: a new private mapping, at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(refused("no room for generated code"));
        }
        let pages = Self { start: start.cast(), mapped };
        // SAFETY: the mapping is writable, new, and at least as long as the code.
        unsafe { pages.start.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        arch::publish(pages.start, code.len());
        // SAFETY: the mapping is this value's own; no reference into it exists.
        if unsafe { libc::mprotect(start, mapped, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(refused("the system forbids generated code"));
        }
        Ok(pages)
    }

    /// Executes it.
    #[inline]
    pub(super) fn run(&self) {
        // SAFETY: the pages hold a complete function of this convention, which returns and touches nothing.
        let function: extern "C" fn() = unsafe { std::mem::transmute(self.start) };
        function();
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and nothing runs in it any more.
        unsafe { libc::munmap(self.start.cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn runs_to_its_end() {
        let nops = Code::nops(64 << 10).unwrap();
        let start = Instant::now();
        (0..100).for_each(|_| nops.run());
        // 100 instructions in a ns, 16 a cycle at 6 GHz, are more than any CPU retires.
        let instructions = 100 * (64 << 10) / arch::NOP.len();
        assert!(start.elapsed().as_nanos() as usize > instructions / 100, "the nops were not executed");
        for lines in [1, 2, 384] {
            Code::jumps(lines, &mut fastrand::Rng::with_seed(2)).unwrap().run();
        }
    }
}
