//! Calls executed by another core over a channel of `coho-delegate`: a thread there polls one of the caller's lines.

use std::io;
use std::time::Duration;

use coho_delegate::{Caller, Host, Request, Ticket};

use super::super::subject::Act;
use super::super::subject::{Body, Buffer};
use crate::Error;
use crate::clock::{Clock, Ticks};

/// How long a host keeps polling: longer than any walk between two calls.
const POLLING: Duration = Duration::from_secs(10);

/// Starts a host on a CPU.
///
/// # Errors
/// If it cannot be there.
pub(super) fn host(cpu: u32) -> Result<Host, Error> {
    let host = Host::builder().cpu(cpu).polling(POLLING).start();
    host.map_err(|error| Error::cpu(cpu, error.to_string()))
}

/// A caller's channel to a host, which executes each of its requests.
pub(super) struct Remote(Caller);

impl Remote {
    /// A channel to a host with this many lines.
    pub(super) fn to(host: &Host, lines: usize) -> Self {
        let mut caller = host.caller_with(lines, 0);
        caller.set_patience(Duration::MAX);
        Self(caller)
    }

    /// Posts one of the body's calls.
    ///
    /// # Safety
    /// The body stays where it is, and nobody else uses it, until the call has been waited for.
    #[inline(always)]
    pub(super) unsafe fn post(&mut self, body: *mut Box<dyn Body>, index: usize) -> Ticket {
        // SAFETY: the caller's promise; `one` reads both arguments as what they are.
        unsafe { self.0.post(Request::function(one, [body as usize, index, 0, 0, 0])) }
    }

    /// What a posted call returned.
    #[inline(always)]
    pub(super) fn wait(&mut self, ticket: Ticket) -> isize {
        self.0.wait(ticket).raw()
    }

    /// Makes the host execute one of the body's calls, and waits for it.
    #[inline(always)]
    pub(super) fn one(&mut self, act: &mut Act, index: usize) -> isize {
        // SAFETY: the body is borrowed until the call is done.
        let ticket = unsafe { self.post(&raw mut act.body, index) };
        self.wait(ticket)
    }

    /// Posts this many requests at once that do nothing, so that the time of a batch is only the channel's.
    #[inline(always)]
    pub(super) fn nothing(&mut self, requests: &[Request]) {
        // SAFETY: the function does nothing.
        if let Some(last) = unsafe { self.0.post_all(requests) } {
            self.0.wait(last);
        }
    }

    /// Posts a request that does nothing.
    #[inline(always)]
    pub(super) fn post_nothing(&mut self) -> Ticket {
        // SAFETY: the function does nothing.
        unsafe { self.0.post(do_nothing()) }
    }

    /// Makes the host read a word of each line, and waits for it.
    #[inline(always)]
    pub(super) fn read(&mut self, buffer: Buffer) {
        let (start, lines) = buffer.parts();
        // SAFETY: the buffer's memory lives until the wait is over, and `read` takes these two arguments.
        let ticket = unsafe { self.0.post(Request::function(read, [start, lines, 0, 0, 0])) };
        self.wait(ticket);
    }

    /// Keeps the host busy for this long, and waits for it; returns how long it was busy, in ns by its clock.
    #[inline(always)]
    pub(super) fn keep_busy(&mut self, time: Duration) -> f64 {
        let clock = Clock::get();
        // SAFETY: the function reads the clock alone.
        let ticket =
            unsafe { self.0.post(Request::function(keep_busy, [clock.ticks(time) as usize, 0, 0, 0, 0])) };
        clock.ns(self.wait(ticket) as Ticks)
    }

    /// Makes the host execute a function, and waits for it.
    pub(super) fn run<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        let mut result = None;
        let mut work = Some(work);
        let mut once = || result = work.take().map(|work| work());
        let mut erased: &mut (dyn FnMut() + Send) = &mut once;
        let at = &raw mut erased as usize;
        // SAFETY: what it borrows lives until the request is done; `call` takes its argument as what it is.
        let ticket = unsafe { self.0.post(Request::function(call, [at, 0, 0, 0, 0])) };
        self.wait(ticket);
        result.expect("the host has executed it")
    }

    /// Makes the host execute `there` while the caller does `here`, which must not unwind.
    pub(super) fn beside(&mut self, mut there: impl FnMut() + Send, here: &mut dyn FnMut()) {
        let mut erased: &mut (dyn FnMut() + Send) = &mut there;
        let at = &raw mut erased as usize;
        // SAFETY: as in `run`; `here` comes back, so that the request is waited for.
        let ticket = unsafe { self.0.post(Request::function(call, [at, 0, 0, 0, 0])) };
        here();
        self.wait(ticket);
    }

    /// Prepares on the host what this many calls need.
    ///
    /// # Errors
    /// The body's.
    pub(super) fn ready(&mut self, act: &mut Act, calls: usize) -> io::Result<()> {
        self.run(|| act.body.ready(calls))
    }

    /// Undoes on the host what the calls did.
    ///
    /// # Errors
    /// The body's.
    pub(super) fn clean(&mut self, act: &mut Act) -> io::Result<()> {
        self.run(|| act.body.clean())
    }
}

/// A request that does nothing.
pub(super) fn do_nothing() -> Request {
    Request::function(nothing, [0; 5])
}

/// A body's call: its address and the call's number.
unsafe fn one([body, index, ..]: [usize; 5]) -> isize {
    // SAFETY: `post` hands over the address of a body that nobody else uses meanwhile.
    unsafe { (*(body as *mut Box<dyn Body>)).one(index) }
}

/// A closure, by the address of a reference to it.
unsafe fn call([closure, ..]: [usize; 5]) -> isize {
    // SAFETY: `run` hands over the address of such a reference, and waits.
    unsafe { (*(closure as *mut &mut (dyn FnMut() + Send)))() };
    0
}

unsafe fn read([start, lines, ..]: [usize; 5]) -> isize {
    // SAFETY: `read` hands over the parts of a buffer whose memory is there until it was read.
    unsafe { Buffer::from_parts(start, lines) }.read();
    0
}

unsafe fn keep_busy([ticks, ..]: [usize; 5]) -> isize {
    let clock = Clock::get();
    let start = clock.now();
    loop {
        let passed = clock.now() - start;
        if passed >= ticks as Ticks {
            return passed as isize;
        }
    }
}

unsafe fn nothing(_: [usize; 5]) -> isize {
    0
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::super::super::request::Request as Call;
    use super::super::super::scratch::Scratch;
    use super::super::deed::act;
    use super::*;
    use coho_platform::pin;

    #[test]
    fn the_host_makes_the_call_and_returns_what_it_returned() {
        needs!(Capability::TwoCpus);
        let cpu = pin::allowed().unwrap().iter().nth(1).unwrap();
        let host = host(cpu).unwrap();
        let mut remote = Remote::to(&host, 2);
        assert_eq!(remote.run(pin::current), Some(cpu));
        let scratch = Scratch::create().unwrap();
        let getpid: Call = "getpid".parse().unwrap();
        let pid = remote.one(&mut act(getpid, &scratch).unwrap(), 0);
        assert_eq!(pid, std::process::id() as isize);
        let write: Call = "write(4096)".parse().unwrap();
        let mut write = act(write, &scratch).unwrap();
        remote.ready(&mut write, 2).unwrap();
        assert_eq!([remote.one(&mut write, 0), remote.one(&mut write, 1)], [4096, 4096]);
        remote.clean(&mut write).unwrap();
        let served = host.served();
        remote.nothing(&[do_nothing(); 5]);
        assert_eq!(host.served(), served + 5);
    }

    #[test]
    fn a_cpu_that_there_is_not_is_named() {
        assert!(host(60_000).unwrap_err().to_string().contains("CPU 60000"));
    }
}
