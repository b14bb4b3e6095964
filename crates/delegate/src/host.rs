//! The thread that executes what callers post.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use coho_platform::{pin, threads};
use libc::pid_t;

use crate::caller::Caller;
use crate::error::Error;
use crate::mailbox::{Desk, Mailbox};
use crate::request::Request;
use crate::ring::{Position, Served};
use crate::stall;
use crate::thread::Thread;

/// How long a host polls in vain before it yields at each look, by default.
const POLLING: Duration = Duration::from_millis(1);
/// How long it yields before it naps.
const YIELDING: Duration = Duration::from_millis(10);
const NAP: Duration = Duration::from_micros(50);
/// The latest that requests of callers that do not wait are begun, if the host has nothing else to do, by default.
const LONGEST_NAP: Duration = Duration::from_millis(1);
/// Looks between two readings of the clock.
const LOOKS: u32 = 64;
/// Mailboxes that a caller has by default.
const LINES: usize = 8;

/// A thread that executes the requests of its callers. It ends when this is dropped, with what has been posted done.
///
/// It blocks all signals, and polls while there is something to do. Idle, it gives its CPU to others from time to time; a
/// caller then finds it late, and [takes its request back](Caller::wait).
///
/// ```
/// use coho_delegate::{Host, Request};
///
/// let here = std::process::id();
/// let host = Host::builder().start()?;
/// let (mut one, mut another) = (host.caller(), host.caller());
/// std::thread::scope(|scope| {
///     for caller in [&mut one, &mut another] {
///         // SAFETY: the call takes no pointers.
///         let ask = || unsafe { caller.call(Request::system(libc::SYS_getpid, [0; 6])) };
///         assert_eq!(scope.spawn(ask).join().unwrap().result(), Ok(here as usize));
///     }
/// });
/// # Ok::<(), coho_delegate::Error>(())
/// ```
#[derive(Debug)]
pub struct Host {
    desk: Arc<Desk>,
    thread: Mutex<Option<Thread>>,
    process: u32,
    number: pid_t,
}

/// Builds a host.
#[derive(Debug, Clone)]
#[must_use]
pub struct HostBuilder {
    cpu: Option<u32>,
    polling: Duration,
    longest_nap: Duration,
}

impl Host {
    /// A builder for a host, which is pinned only if its [CPU](HostBuilder::cpu) is set.
    pub fn builder() -> HostBuilder {
        HostBuilder { cpu: None, polling: POLLING, longest_nap: LONGEST_NAP }
    }

    /// A new caller, with as many requests on their way as fit into 8 lines, and no slots.
    pub fn caller(&self) -> Caller {
        self.caller_with(LINES, 0)
    }

    /// A new caller with `lines` lines (rounded up to a power of two), for as many unfinished requests, and a
    /// [slot](Caller::slot) of `slot_bytes` beside each.
    pub fn caller_with(&self, lines: usize, slot_bytes: usize) -> Caller {
        let mailbox = Arc::new(Mailbox::new(lines.max(1), slot_bytes));
        self.desk.add(&mailbox);
        Caller::new(Arc::clone(&self.desk), mailbox)
    }

    /// Requests that it has begun to execute so far.
    pub fn served(&self) -> u64 {
        self.desk.served()
    }

    /// The number of its thread, as gettid(2) gives it; 0 if it never began.
    pub fn thread_number(&self) -> pid_t {
        self.number
    }

    /// The processor time that its thread has taken so far; none once it has ended.
    pub fn processor_time(&self) -> Duration {
        /// The kernel's numbers for threads' clocks: what the scheduler has measured.
        const OF_THREAD: libc::clockid_t = 4 | 2;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes there alone.
        let read = unsafe { libc::clock_gettime((!self.number << 3) | OF_THREAD, &raw mut time) };
        if self.number != 0 && read == 0 {
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        } else {
            Duration::ZERO
        }
    }

    /// Ends its thread once everything posted is done, and waits for that. From then on callers execute what they post
    /// themselves. The kernel then no longer counts the thread: it may refuse to let a process with several threads
    /// change its namespaces.
    pub fn end(&self) {
        self.desk.end();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The thread of a process that has forked stayed there.
        if let Some(thread) = thread.filter(|_| self.process == std::process::id()) {
            thread.join();
            // After the join it may still be exiting.
            while is_there(self.number) {
                thread::yield_now();
            }
        }
    }
}

impl HostBuilder {
    /// The CPU that it is pinned to.
    pub fn cpu(mut self, cpu: u32) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// For how long it polls in vain before it begins to yield: 1 ms by default. With [`Duration::MAX`] it keeps its
    /// CPU for itself.
    pub fn polling(mut self, polling: Duration) -> Self {
        self.polling = polling;
        self
    }

    /// The longest that it sleeps before it looks again, once it has polled and yielded in vain: 1 ms by default.
    /// Requests posted meanwhile, for which no caller waits, are begun then.
    pub fn longest_nap(mut self, nap: Duration) -> Self {
        self.longest_nap = nap;
        self
    }

    /// Starts its thread, which has the calling thread's rights.
    ///
    /// # Errors
    /// [`Error::Cpu`] if it cannot be on its CPU; [`Error::Thread`] if there is no thread for it.
    pub fn start(self) -> Result<Host, Error> {
        let desk = Arc::new(Desk::default());
        let (told, begun) = sync_channel(1);
        let thread = {
            let desk = Arc::clone(&desk);
            let _blocked = SignalsBlocked::new();
            Thread::start(move || self.work(&desk, &told)).map_err(Error::Thread)?
        };
        // Without a word, it has ended.
        let (number, pinned) = begun.recv().unwrap_or((0, Ok(())));
        let host = Host { desk, thread: Mutex::new(Some(thread)), process: std::process::id(), number };
        pinned.map(|()| host).map_err(Error::Cpu)
    }

    fn work(&self, desk: &Desk, told: &mpsc::SyncSender<(pid_t, Result<(), pin::Error>)>) {
        let pinned = self.cpu.map_or(Ok(()), pin::to);
        let is_there = pinned.is_ok();
        let _ = told.send((threads::number(), pinned));
        if is_there {
            serve(desk, self);
        }
    }
}

/// Whether the process has a thread of this number.
fn is_there(number: pid_t) -> bool {
    let look = Request::system(libc::SYS_tgkill, [std::process::id() as usize, number as usize, 0, 0, 0, 0]);
    // SAFETY: without a signal the kernel only looks.
    number != 0 && unsafe { look.execute() }.result().is_ok()
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}

/// A mailbox, and its oldest request that is not known to be done.
struct Open {
    mailbox: Arc<Mailbox>,
    at: Position,
}

fn serve(desk: &Desk, host: &HostBuilder) {
    let mut seen = None;
    let mut open: Vec<Open> = Vec::new();
    let mut idle = Idle::new(host);
    loop {
        // Before the look at the mailboxes: what was posted before the end is done.
        let ends = desk.ends();
        let changes = desk.changes();
        if seen != Some(changes) {
            seen = Some(changes);
            reopen(&mut open, desk);
        }
        let mut served = false;
        for Open { mailbox, at } in &mut open {
            // No more than fit into it, so that all have their turn.
            for _ in 0..mailbox.ring.len() {
                let execute = |request: &Request| {
                    desk.count();
                    stall::moment();
                    // SAFETY: whoever posted it has promised what it needs.
                    let answer = unsafe { request.execute() };
                    stall::moment();
                    answer
                };
                stall::moment();
                if mailbox.ring.serve(at, execute) == Served::None {
                    break;
                }
                served = true;
            }
        }
        if served {
            idle = Idle::new(host);
        } else if ends {
            return;
        } else {
            idle.step();
        }
    }
}

fn reopen(open: &mut Vec<Open>, desk: &Desk) {
    let list = desk.list();
    open.retain(|old| list.iter().any(|mailbox| Arc::ptr_eq(mailbox, &old.mailbox)));
    for mailbox in list.iter() {
        if !open.iter().any(|old| Arc::ptr_eq(mailbox, &old.mailbox)) {
            open.push(Open { mailbox: Arc::clone(mailbox), at: 0 });
        }
    }
}

/// How a host passes the time.
struct Idle {
    polling: Duration,
    longest_nap: Duration,
    looks: u32,
    since: Option<Instant>,
    gives_way: bool,
}

impl Idle {
    fn new(host: &HostBuilder) -> Self {
        let &HostBuilder { polling, longest_nap, .. } = host;
        Self { polling, longest_nap, looks: 0, since: None, gives_way: false }
    }

    #[inline(always)]
    fn step(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if !self.gives_way && !self.looks.is_multiple_of(LOOKS) {
            std::hint::spin_loop();
        } else {
            self.step_by_clock();
        }
    }

    #[cold]
    fn step_by_clock(&mut self) {
        let idle = self.since.get_or_insert_with(Instant::now).elapsed();
        let Some(given) = idle.checked_sub(self.polling) else { return };
        self.gives_way = true;
        match given.checked_sub(YIELDING) {
            None => thread::yield_now(),
            Some(napped) => thread::sleep((napped / 8).max(NAP).min(self.longest_nap)),
        }
    }
}

/// Blocks all signals in the calling thread, so that a thread that it creates begins with them blocked.
struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    fn new() -> Self {
        // SAFETY: zeroed sets are sets, and the calls write to these alone.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the set that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}
