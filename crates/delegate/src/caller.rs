//! The side that posts.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::mailbox::{Desk, Mailbox};
use crate::request::{Answer, Request};
use crate::rest::Rest;
use crate::ring::Position;

/// How long a caller looks for the answer before it claims its request back, by default.
const PATIENCE: Duration = Duration::from_micros(10);
/// Looks before the clock is read for the first time, and between two readings.
const LOOKS: u32 = 64;
/// How long it looks for the answer to a request that the host has begun, before it yields and then naps.
const LOOKING: Duration = Duration::from_micros(100);
const YIELDING: Duration = Duration::from_millis(1);
/// Calls at home between two readings of the clock, which may cost a noticeable part of a call.
const UNASKED: u32 = 16;
/// A call that was begun and took this long was held up.
const HELD_UP: Duration = Duration::from_micros(200);

/// Names a request, to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) Position);

/// Which thread has executed a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// The host's thread.
    Host,
    /// The thread that posted it.
    Caller,
}

/// One thread's way to a host. Its requests are executed in the order in which they are posted, whoever executes them.
///
/// Dropping it waits for what it has posted. [Drain](Self::drain) it before the thread forks: the child has no host,
/// and a request that the parent's host has begun would never be done there.
///
/// ```
/// use std::os::fd::AsRawFd;
///
/// use coho_delegate::{Host, Request};
///
/// let host = Host::builder().start()?;
/// let mut caller = host.caller();
/// let file = tempfile::tempfile()?;
/// let lines = [b"one\n", b"two\n"];
/// // SAFETY: the lines live until both requests are done.
/// let last = unsafe {
///     caller.post_all(&lines.map(|line| {
///         let (file, at, length) = (file.as_raw_fd() as usize, line.as_ptr() as usize, line.len());
///         Request::system(libc::SYS_write, [file, at, length, 0, 0, 0])
///     }))
/// };
/// assert_eq!(caller.wait(last.unwrap()).result(), Ok(4));
/// assert_eq!(file.metadata()?.len(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Caller {
    desk: Arc<Desk>,
    mailbox: Arc<Mailbox>,
    /// The position of the next request.
    next: Position,
    /// All before it are done.
    done: Position,
    patience: Duration,
    rest: Rest,
    /// Calls that are made at home before the clock is read again.
    unasked: u32,
    taken_back: u64,
    epoch: Instant,
}

impl Caller {
    pub(crate) fn new(desk: Arc<Desk>, mailbox: Arc<Mailbox>) -> Self {
        Self {
            desk,
            mailbox,
            next: 0,
            done: 0,
            patience: PATIENCE,
            rest: Rest::default(),
            unasked: 0,
            taken_back: 0,
            epoch: Instant::now(),
        }
    }

    /// For how long a wait looks for the answer before it claims the request back: 10 us by default. With
    /// [`Duration::MAX`] the host executes each, until it [ends](crate::Host::end).
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Requests that were claimed back so far.
    pub fn taken_back(&self) -> u64 {
        self.taken_back
    }

    /// Requests that can be posted without a wait for one before them, if none before them is done meanwhile.
    pub fn room(&mut self) -> usize {
        while self.done < self.next && self.mailbox.ring.answer(self.done).is_some() {
            self.done += 1;
        }
        self.mailbox.ring.len() - (self.next - self.done) as usize
    }

    /// Whether the next request can be posted without a wait: a look at one line, which is quicker than counting [them
    /// all](Self::room).
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.mailbox.ring.is_free(self.next)
    }

    /// Posts a request without waiting for it. If there is no [room](Self::room), it waits for the oldest one.
    ///
    /// # Safety
    /// As that of the system call or the function, executed by another thread at any time until the request is done: it
    /// reads and writes memory meanwhile.
    #[inline(always)]
    pub unsafe fn post(&mut self, request: Request) -> Ticket {
        let ticket = self.take_line();
        self.mailbox.ring.fill(ticket.0, &request);
        self.mailbox.ring.notify(ticket.0);
        // The host has written to it since it was last used.
        self.mailbox.ring.fetch(self.next);
        ticket
    }

    /// Posts several at once: one store lets the host see as many as there are lines. Returns the last one's ticket; `None`
    /// for none.
    ///
    /// # Safety
    /// As for [`post`](Self::post).
    pub unsafe fn post_all(&mut self, requests: &[Request]) -> Option<Ticket> {
        for batch in requests.chunks(self.mailbox.ring.len()) {
            let first = self.next;
            for request in batch {
                let ticket = self.take_line();
                self.mailbox.ring.fill(ticket.0, request);
            }
            for position in (first..self.next).rev() {
                self.mailbox.ring.notify(position);
            }
        }
        (!requests.is_empty()).then(|| Ticket(self.next - 1))
    }

    /// The slot beside the line of the next request, for a payload that is to be gathered, or room for one that comes back.
    /// The request, whose arguments may point there, is to be posted next. The slot begins with a cache line.
    pub fn slot(&mut self) -> &mut [u8] {
        self.free_line();
        // SAFETY: nobody else has the line now: its last request is done, and the next cannot be posted during the borrow.
        unsafe { &mut *self.mailbox.slot(self.next) }
    }

    /// The slot beside a request's line, once it is [done](Self::poll), until as many more have been posted as there are
    /// lines.
    pub fn payload(&self, ticket: Ticket) -> Option<&[u8]> {
        self.poll(ticket)?;
        // SAFETY: the request is done, and no other can be posted during the borrow.
        Some(unsafe { &*self.mailbox.slot(ticket.0) })
    }

    /// The answer, if there is one: a look, without waiting.
    ///
    /// # Panics
    /// If the ticket is older than the caller has lines, so that its answer is gone.
    #[inline(always)]
    pub fn poll(&self, ticket: Ticket) -> Option<Answer> {
        assert!(self.keeps(ticket), "the answer has been overwritten");
        self.mailbox.ring.answer(ticket.0)
    }

    /// Whether a ticket names a request that has been posted.
    #[inline(always)]
    pub(crate) fn gave(&self, ticket: Ticket) -> bool {
        ticket.0 < self.next
    }

    /// Whether it does, and its line has not been taken by another request.
    #[inline(always)]
    pub(crate) fn keeps(&self, ticket: Ticket) -> bool {
        self.gave(ticket) && self.next - ticket.0 <= self.mailbox.ring.len() as u64
    }

    /// The answer. After looking for it for as long as the caller's patience lasts, it claims back and executes
    /// what the host has not begun, the oldest first; what the host has begun is waited for.
    ///
    /// # Panics
    /// As [`poll`](Self::poll).
    #[inline(always)]
    pub fn wait(&mut self, ticket: Ticket) -> Answer {
        for _ in 0..LOOKS {
            if let Some(answer) = self.poll(ticket) {
                self.done = self.done.max(ticket.0 + 1);
                return answer;
            }
            std::hint::spin_loop();
        }
        self.wait_by_clock(ticket.0)
    }

    /// Waits for all that was posted.
    pub fn drain(&mut self) {
        if self.done < self.next {
            self.wait(Ticket(self.next - 1));
        }
    }

    /// Makes the host execute a request, and waits for it. The caller executes it itself if the host has ended, and for
    /// a while after the host was off its CPU when it was needed.
    ///
    /// # Safety
    /// As that of the system call or the function, executed by another thread.
    #[inline(always)]
    pub unsafe fn call(&mut self, request: Request) -> Answer {
        // SAFETY: as the caller promises.
        unsafe { self.call_by(request) }.0
    }

    /// As [`call`](Self::call); also by whom it was executed. Signals that the kernel raises in a call's executor never reach a
    /// host.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    #[inline(always)]
    pub unsafe fn call_by(&mut self, request: Request) -> (Answer, Executor) {
        if self.is_at_home() {
            self.drain();
            // SAFETY: as the caller promises.
            return (unsafe { request.execute() }, Executor::Caller);
        }
        // SAFETY: as the caller promises; it is done before this returns.
        let ticket = unsafe { self.post(request) };
        let before = self.taken_back;
        let answer = self.wait(ticket);
        // The last to be taken back, if any was.
        (answer, if self.taken_back == before { Executor::Host } else { Executor::Caller })
    }

    /// Whether calls should not be posted now.
    #[inline(always)]
    fn is_at_home(&mut self) -> bool {
        if self.unasked > 0 {
            self.unasked -= 1;
            return true;
        }
        let epoch = self.epoch;
        let stays = self.rest.lasts(|| nanoseconds(epoch.elapsed())) || self.desk.ends();
        if stays {
            self.unasked = UNASKED;
        }
        stays
    }

    #[inline(always)]
    fn take_line(&mut self) -> Ticket {
        self.free_line();
        self.next += 1;
        Ticket(self.next - 1)
    }

    #[inline(always)]
    fn free_line(&mut self) {
        let lines = self.mailbox.ring.len() as u64;
        if !self.mailbox.ring.is_free(self.next) {
            self.wait(Ticket(self.next - lines));
        }
        // The answers of all that is further back will be gone.
        self.done = self.done.max((self.next + 1).saturating_sub(lines));
    }

    #[cold]
    fn wait_by_clock(&mut self, position: Position) -> Answer {
        let begun = Instant::now();
        let is_alone = self.done == position && self.next == position + 1;
        let mut lost = None;
        while self.mailbox.ring.answer(position).is_none() {
            let waited = begun.elapsed();
            if waited >= self.patience || self.desk.ends() {
                let executed = self.settle(position);
                self.taken_back += executed;
                lost = (executed > 0).then_some(waited);
                break;
            }
            self.pass(position, waited);
        }
        self.done = self.done.max(position + 1);
        let waited = begun.elapsed();
        let held_up = is_alone && waited >= HELD_UP.max(self.patience);
        if let Some(lost) = lost.or(held_up.then_some(waited)) {
            self.rest.begin(nanoseconds(lost), nanoseconds(self.epoch.elapsed()));
        }
        self.mailbox.ring.answer(position).expect("it is done")
    }

    /// Completes everything up to a position; returns how many requests it executed itself.
    fn settle(&self, position: Position) -> u64 {
        let ring = &self.mailbox.ring;
        // SAFETY: whoever posted a request has promised what it needs.
        let execute = |request: &Request| unsafe { request.execute() };
        ring.settle(self.done..position + 1, execute, |begun| self.wait_for_begun(begun))
    }

    /// Waits for a request that the host has begun.
    fn wait_for_begun(&self, position: Position) {
        let begun = Instant::now();
        while self.mailbox.ring.answer(position).is_none() {
            self.pass(position, begun.elapsed());
        }
    }

    /// Passes some time in a wait that has lasted for `waited`. The host may want this CPU.
    fn pass(&self, position: Position, waited: Duration) {
        if waited >= YIELDING {
            // A small part of the wait comes on top of it.
            return nap((waited / 16).min(YIELDING));
        }
        if waited >= LOOKING {
            thread::yield_now();
        }
        for _ in 0..LOOKS {
            if self.mailbox.ring.answer(position).is_some() {
                return;
            }
            std::hint::spin_loop();
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.drain();
        self.desk.remove(&self.mailbox);
    }
}

/// Sleeps, less than a second. The C library's own sleep is a cancellation point: the thread must not end while a request of it
/// is on its way.
fn nap(time: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    let at = std::ptr::from_ref(&time) as usize;
    // SAFETY: the kernel reads the time.
    unsafe { Request::system(libc::SYS_nanosleep, [at, 0, 0, 0, 0, 0]).execute() };
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
