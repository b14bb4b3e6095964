//! Hardware counters in memory, and a page like the kernel's that says how to read them.

use std::mem::{MaybeUninit, zeroed};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed, compiler_fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use coho_counters::Page;
use perf_event_open_sys::bindings::perf_event_mmap_page;

use crate::arch;

pub const COUNTERS: usize = 32;
/// Counts of the pages that [`Machine::update`] makes are multiples of it.
const WHOLE: u64 = 1 << 32;
const WIDTH: u16 = 48;

static VALUES: [AtomicU64; COUNTERS] = [const { AtomicU64::new(0) }; COUNTERS];
static USES: AtomicU64 = AtomicU64::new(0);
static UPDATES: AtomicU64 = AtomicU64::new(0);
static PAGE: AtomicPtr<perf_event_mmap_page> = AtomicPtr::new(std::ptr::null_mut());
/// There is one signal handler for the process, and one set of counters behind it.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The counters, for one test at a time.
pub struct Machine {
    page: NonNull<perf_event_mmap_page>,
    _turn: MutexGuard<'static, ()>,
}

impl Machine {
    /// Waits for its turn.
    ///
    /// # Panics
    /// If the CPU does not refuse the instruction.
    pub fn take() -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        handle(arch::REFUSAL, refused);
        handle(libc::SIGUSR1, interrupted);
        // SAFETY: a page of integers, of which all zeroes is a value.
        let page = NonNull::from(Box::leak(Box::new(unsafe { zeroed::<perf_event_mmap_page>() })));
        PAGE.store(page.as_ptr(), Relaxed);
        let machine = Self { page, _turn: turn };
        machine.set_page(arch::index(0), 0, WIDTH);
        let before = machine.uses();
        machine.page().read().unwrap();
        assert!(machine.uses() > before, "the CPU itself has answered");
        machine
    }

    pub fn page(&self) -> Page {
        // SAFETY: the page lives as long as `self`, which outlives the uses in these tests.
        unsafe { Page::at(self.page.cast()) }
    }

    pub fn set_counter(&self, number: u32, raw: u64) {
        VALUES[number as usize].store(raw, Relaxed);
    }

    pub fn set_page(&self, index: u32, offset: i64, pmc_width: u16) {
        // SAFETY: the page is alive, and only signal handlers of this thread write to it beside.
        unsafe { write(self.page.as_ptr(), index, offset, pmc_width) };
    }

    /// Takes `cap_user_rdpmc` away.
    pub fn forbid(&self) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.page.as_ptr()).__bindgen_anon_1.capabilities).write_volatile(0) };
    }

    /// How often the instruction was used.
    pub fn uses(&self) -> u64 {
        USES.load(Relaxed)
    }

    /// Moves the event to another counter, with another offset.
    pub fn update(&self) {
        update();
    }

    /// Work for another thread: interrupts this one again and again by updates, and returns how often.
    pub fn interrupter<'t>(&self, done: &'t AtomicBool) -> impl FnOnce() -> u64 + Send + use<'t> {
        // SAFETY: no arguments.
        let reader = unsafe { libc::pthread_self() };
        move || {
            let before = UPDATES.load(Relaxed);
            while !done.load(Relaxed) {
                // SAFETY: the reader waits for this thread's end, so it exists.
                unsafe { libc::pthread_kill(reader, libc::SIGUSR1) };
                // If interrupted without pause, the reader would never finish.
                std::thread::sleep(Duration::from_micros(20));
            }
            UPDATES.load(Relaxed) - before
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The page itself stays: a late signal may still write to it.
        handle(libc::SIGUSR1, ignored);
    }
}

/// Whether a count can come from one update alone.
pub fn is_whole(count: u64) -> bool {
    count.is_multiple_of(WHOLE)
}

/// What the kernel does when it moves an event: all fields change under the sequence lock.
pub fn update() {
    let version = UPDATES.fetch_add(1, Relaxed) + 1;
    let counter = version % COUNTERS as u64;
    let raw = counter * 0x11_1111;
    VALUES[counter as usize].store(raw, Relaxed);
    let index = arch::index(counter as u32);
    // SAFETY: the page is alive for the rest of the process.
    unsafe { write(PAGE.load(Relaxed), index, (version * WHOLE - raw) as i64, WIDTH) };
}

/// # Safety
/// The page must be valid for writes.
unsafe fn write(page: *mut perf_event_mmap_page, index: u32, offset: i64, pmc_width: u16) {
    // SAFETY: as above. Volatile, since a reader may be in the middle of the page.
    unsafe {
        let lock = &raw mut (*page).lock;
        lock.write_volatile(lock.read_volatile().wrapping_add(1));
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        (&raw mut (*page).__bindgen_anon_1.capabilities).write_volatile(1 << 2);
        (&raw mut (*page).index).write_volatile(index);
        (&raw mut (*page).offset).write_volatile(offset);
        (&raw mut (*page).pmc_width).write_volatile(pmc_width);
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        lock.write_volatile(lock.read_volatile().wrapping_add(1));
    }
}

pub type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Sets a signal's handler.
pub fn handle(signal: libc::c_int, handler: Handler) {
    // SAFETY: a zeroed sigaction is valid; the handlers of these tests call async-signal-safe functions only.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

extern "C" fn interrupted(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    update();
}

/// Answers the instruction that the CPU refused; any other fault ends the process as it would without us.
extern "C" fn refused(signal: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel hands over a ucontext_t, which it takes back as we leave it.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let value = |number: u32| VALUES.get(number as usize).map(|value| value.load(Relaxed));
    if arch::answer(context, value) {
        USES.fetch_add(1, Relaxed);
        #[cfg(target_arch = "x86_64")]
        crate::steps::refused();
    } else {
        // SAFETY: async-signal-safe; the fault comes again and ends the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

extern "C" fn ignored(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {}
