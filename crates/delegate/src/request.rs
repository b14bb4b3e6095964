//! Requests and their answers.

use libc::{c_int, c_long};

use crate::arch::system_call;

/// A function that a host can execute; its result is the answer as it is.
pub type Function = unsafe fn([usize; 5]) -> isize;

/// The number of a request that calls a function: no system call has it.
const FUNCTION: u32 = u32::MAX;
/// Results from here to -1 are errors.
const LAST_ERROR: isize = -4095;

/// A system call, or a function, with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub(crate) number: u32,
    pub(crate) arguments: [usize; 6],
}

impl Request {
    /// A system call of the kernel's, by its number (`libc::SYS_…`), with arguments as the kernel takes them.
    pub const fn system(number: c_long, arguments: [usize; 6]) -> Self {
        Self { number: number as u32, arguments }
    }

    /// A function, which must not unwind.
    pub fn function(function: Function, arguments: [usize; 5]) -> Self {
        let [a, b, c, d, e] = arguments;
        Self { number: FUNCTION, arguments: [function as usize, a, b, c, d, e] }
    }

    /// Executes it on the calling thread, with nothing between it and the kernel: `errno` is left as it is.
    ///
    /// # Safety
    /// As that of the system call or of the function with these arguments.
    #[inline(always)]
    pub unsafe fn execute(&self) -> Answer {
        if self.number == FUNCTION {
            let [function, a, b, c, d, e] = self.arguments;
            // SAFETY: `function` alone makes such a request, from such a pointer; the arguments are the caller's matter.
            return Answer(unsafe { std::mem::transmute::<usize, Function>(function)([a, b, c, d, e]) });
        }
        // SAFETY: as the caller promises.
        Answer(unsafe { system_call(self.number, self.arguments) })
    }
}

/// What a system call returned to its executor, or a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer(pub(crate) isize);

impl Answer {
    /// The kernel's own result: an error is its negated `errno`.
    pub const fn raw(self) -> isize {
        self.0
    }

    /// A system call's result.
    ///
    /// # Errors
    /// Its `errno`.
    pub const fn result(self) -> Result<usize, c_int> {
        match self.0 {
            LAST_ERROR..=-1 => Err(-self.0 as c_int),
            result => Ok(result as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_as_numbers() {
        // SAFETY: no pointers; no process has a descriptor -1.
        let answer = unsafe { Request::system(libc::SYS_close, [usize::MAX, 0, 0, 0, 0, 0]).execute() };
        assert_eq!(answer.result(), Err(libc::EBADF));
        assert_eq!(Answer(LAST_ERROR - 1).result(), Ok((LAST_ERROR - 1) as usize), "an address, as of mmap");
    }

    #[test]
    fn all_arguments_arrive() {
        unsafe fn digits(arguments: [usize; 5]) -> isize {
            arguments.into_iter().fold(0, |number, digit| 10 * number + digit as isize)
        }
        // SAFETY: the function takes any numbers.
        assert_eq!(unsafe { Request::function(digits, [1, 2, 3, 4, 5]).execute() }, Answer(12345));
    }

    #[cfg(not(miri))]
    #[test]
    fn the_kernel_sees_all_six_arguments() {
        let file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut &file, &[7; 8192]).unwrap();
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file) as usize;
        let map = [0, 4096, libc::PROT_READ as usize, libc::MAP_PRIVATE as usize, descriptor, 4096];
        // SAFETY: a new mapping, which nobody else knows.
        unsafe {
            let at = Request::system(libc::SYS_mmap, map).execute().result().unwrap();
            assert_eq!(*(at as *const u8), 7);
            Request::system(libc::SYS_munmap, [at, 4096, 0, 0, 0, 0]).execute().result().unwrap();
        }
    }
}
