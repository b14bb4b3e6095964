//! What of the calling thread is put back behind the library's work, and whether a handler is at work.

use std::ptr;

use coho_delegate::Request;
use libc::c_int;

/// The calling thread's signals, blocked until this is dropped.
pub struct Blocked(u64);

impl Blocked {
    pub fn all() -> Self {
        let mut before = 0;
        Self::set(&u64::MAX, &raw mut before);
        Self(before)
    }

    fn set(mask: &u64, before: *mut u64) {
        let arguments =
            [libc::SIG_SETMASK as usize, ptr::from_ref(mask) as usize, before as usize, size_of::<u64>()];
        let [a, b, c, d] = arguments;
        // SAFETY: the kernel reads a set of 8 bytes, and writes one where there is room for it.
        unsafe { Request::system(libc::SYS_rt_sigprocmask, [a, b, c, d, 0, 0]).execute() };
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        Self::set(&self.0, ptr::null_mut());
    }
}

/// The calling thread is not cancelled until this is dropped: to join a thread is a cancellation point.
pub struct NotCancelled(c_int);

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

impl NotCancelled {
    pub fn now() -> Self {
        const DISABLED: c_int = 1;
        let mut before = 0;
        // SAFETY: the call writes there alone.
        unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
        Self(before)
    }
}

impl Drop for NotCancelled {
    fn drop(&mut self) {
        // SAFETY: the state that the thread had.
        unsafe { pthread_setcancelstate(self.0, ptr::null_mut()) };
    }
}

/// The calling thread's floating-point settings and flags, put back when this is dropped; until then the library's
/// own arithmetic rounds as usual, raises no signal, and leaves no flag.
pub struct FloatingPoint(Settings);

#[cfg(target_arch = "x86_64")]
type Settings = u32;
#[cfg(target_arch = "aarch64")]
type Settings = [u64; 2];
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
type Settings = ();

impl FloatingPoint {
    #[cfg(target_arch = "x86_64")]
    const USUAL: Settings = 0x1f80;
    #[cfg(target_arch = "aarch64")]
    const USUAL: Settings = [0; 2];
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    const USUAL: Settings = ();

    pub fn own() -> Self {
        let before = Self(Self::get());
        Self::set(Self::USUAL);
        before
    }

    #[cfg(target_arch = "x86_64")]
    fn get() -> Settings {
        let mut settings = 0;
        // SAFETY: stores the register there.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut settings, options(nostack)) };
        settings
    }

    #[cfg(target_arch = "x86_64")]
    fn set(settings: Settings) {
        // SAFETY: what the register held, or what it holds when a program begins.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const settings, options(nostack)) };
    }

    #[cfg(target_arch = "aarch64")]
    fn get() -> Settings {
        let (control, status): (u64, u64);
        // SAFETY: reads two registers.
        unsafe {
            std::arch::asm!("mrs {}, fpcr", "mrs {}, fpsr", out(reg) control, out(reg) status, options(nostack))
        };
        [control, status]
    }

    #[cfg(target_arch = "aarch64")]
    fn set([control, status]: Settings) {
        // SAFETY: as on x86-64.
        unsafe {
            std::arch::asm!("msr fpcr, {}", "msr fpsr, {}", in(reg) control, in(reg) status, options(nostack))
        };
    }

    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    fn get() -> Settings {}

    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    fn set(_: Settings) {}
}

impl Drop for FloatingPoint {
    fn drop(&mut self) {
        Self::set(self.0);
    }
}

/// A handler runs with its own signal blocked, at least.
pub fn may_be_handler() -> bool {
    let mut blocked = 0u64;
    let at = (&raw mut blocked) as usize;
    // SAFETY: the kernel writes the set, of 8 bytes.
    let asked = unsafe { Request::system(libc::SYS_rt_sigprocmask, [0, 0, at, 8, 0, 0]).execute() };
    asked.result().is_err() || blocked != 0
}
