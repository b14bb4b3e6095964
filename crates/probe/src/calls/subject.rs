//! A call under measurement: how it is prepared, made and cleaned up after.

use std::io;

use coho_platform::pages::Pages;

use super::caches::LINE;
use super::{Set, arch};

/// A call in one form.
pub(super) struct Subject {
    /// Its name: `getpid`, `read(4096)`.
    pub(super) name: String,
    /// The set that it belongs to; `None` if it was requested by name.
    pub(super) set: Option<Set>,
    /// Whether it goes through the C library's function.
    pub(super) wrapped: bool,
    /// The most calls between two clean-ups.
    pub(super) most: usize,
    /// What it does.
    pub(super) body: Box<dyn Body>,
}

impl Subject {
    /// The name of the set in the profile.
    pub(super) fn set_name(&self) -> &'static str {
        self.set.map_or("extra", Set::name)
    }
}

/// The most calls between two clean-ups if nothing else limits them.
pub(super) const MOST: usize = 4096;

/// The number of no call.
const APPROACH: usize = usize::MAX;

/// A body and the most calls that it makes in a row.
pub(super) struct Act {
    pub(super) body: Box<dyn Body>,
    pub(super) most: usize,
}

/// What a subject does. The three follow each other: ready, run, clean.
pub(super) trait Body: Send {
    /// Prepares what this many calls need.
    fn ready(&mut self, calls: usize) -> io::Result<()>;
    /// As [`ready`](Self::ready), for calls that a copy of this process makes, which must take nothing that both share.
    fn ready_for_copy(&mut self, calls: usize) -> io::Result<()>;
    /// Makes the calls and nothing else; returns the least of their results.
    fn run(&mut self, calls: usize) -> isize;
    /// Makes one of the calls, by its number; with [`APPROACH`], goes all the way to the call and makes none.
    fn one(&mut self, index: usize) -> isize;
    /// Undoes what the calls did.
    fn clean(&mut self) -> io::Result<()>;
    /// What each call moves.
    fn payload(&self) -> Payload;
}

/// What a call moves between its caller and the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Payload {
    None,
    /// The caller writes it before the call.
    Given(Buffer),
    /// The caller reads it after the call.
    Taken(Buffer),
}

/// A body's own memory, in whole lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffer {
    start: *mut u8,
    lines: usize,
}

// SAFETY: plain memory, which its body owns; bodies are used by one thread at a time.
unsafe impl Send for Buffer {}

impl Buffer {
    /// This many bytes at the start of these pages.
    pub(super) fn of(pages: &Pages, bytes: usize) -> Self {
        Self { start: pages.start().as_ptr(), lines: bytes.div_ceil(LINE) }
    }

    /// The start and the number of lines that it consists of.
    pub(super) fn parts(self) -> (usize, usize) {
        (self.start.expose_provenance(), self.lines)
    }

    /// A buffer from such parts.
    ///
    /// # Safety
    /// The memory of the buffer that they were taken from is still there.
    pub(super) unsafe fn from_parts(start: usize, lines: usize) -> Self {
        Self { start: std::ptr::with_exposed_provenance_mut(start), lines }
    }

    /// Writes a word of each line.
    #[inline(always)]
    pub(super) fn write(self) {
        for line in 0..self.lines {
            // SAFETY: within the pages, which have whole lines.
            unsafe { self.start.add(line * LINE).cast::<u64>().write_volatile(line as u64) };
        }
    }

    /// Reads a word of each line.
    #[inline(always)]
    pub(super) fn read(self) {
        // SAFETY: as above; there is at least one line.
        unsafe { arch::load(self.start, self.lines.max(1)) };
    }

    /// Copies another of the same size into this one.
    #[inline(always)]
    pub(super) fn copy_from(self, other: Self) {
        let bytes = self.lines.min(other.lines) * LINE;
        // SAFETY: both have that many bytes, and they belong to different pages.
        unsafe { std::ptr::copy_nonoverlapping(other.start, self.start, bytes) };
    }
}

impl dyn Body + '_ {
    /// Prepares the calls, makes them inside `around`, and cleans up.
    ///
    /// # Errors
    /// If one of the calls failed, or `around` did.
    pub(super) fn within<T>(
        &mut self,
        calls: usize,
        around: impl FnOnce(&mut dyn FnMut()) -> T,
    ) -> io::Result<T> {
        self.surrounded(calls, |body| {
            let mut least = 0;
            let result = around(&mut || least = least.min(body.run(calls)));
            (result, least)
        })
    }

    /// As [`within`](Self::within) with single calls: `around` makes all of them, one at a time.
    ///
    /// # Errors
    /// As for [`within`](Self::within).
    pub(super) fn one_by_one<T>(
        &mut self,
        calls: usize,
        around: impl FnOnce(&mut Singles<'_>) -> T,
    ) -> io::Result<T> {
        self.surrounded(calls, |body| {
            let mut singles = Singles { body, made: 0, least: 0 };
            (around(&mut singles), singles.least)
        })
    }

    fn surrounded<T>(&mut self, calls: usize, around: impl FnOnce(&mut Self) -> (T, isize)) -> io::Result<T> {
        self.ready(calls)?;
        // The kernel's own -1 is EPERM; a function of the C library that returns -1 writes its reason over this.
        // SAFETY: the address of the thread's own error number.
        unsafe { *libc::__errno_location() = libc::EPERM };
        let (result, least) = around(self);
        // Before anything else can change the C library's error number.
        let error = (least < 0).then(|| failure(least));
        self.clean()?;
        error.map_or(Ok(result), Err)
    }
}

/// Calls that are made one at a time.
pub(super) struct Singles<'b> {
    body: &'b mut (dyn Body + 'b),
    made: usize,
    least: isize,
}

impl Singles<'_> {
    /// Makes the next call.
    #[inline(always)]
    pub(super) fn call(&mut self) {
        self.least = self.least.min(self.body.one(self.made));
        self.made += 1;
    }

    /// Clears the caches, and fetches coho's own code and data that lead to a call. Where they lie differs from call to
    /// call and from build to build, so that comparing with no call does not take their cost away.
    #[inline(always)]
    pub(super) fn after(&mut self, clear: impl FnOnce()) -> &mut Self {
        clear();
        self.body.one(APPROACH);
        self
    }
}

/// The kernel's own results are negative error numbers; the C library returns -1 and keeps the number apart.
fn failure(result: isize) -> io::Error {
    if result == -1 { io::Error::last_os_error() } else { io::Error::from_raw_os_error(-result as i32) }
}

/// A state that calls work on, and what surrounds a batch of them.
pub(super) struct On<S> {
    state: S,
    ready: fn(&mut S, usize) -> io::Result<()>,
    ready_for_copy: Option<fn(&mut S, usize) -> io::Result<()>>,
    clean: fn(&mut S) -> io::Result<()>,
    payload: Payload,
}

impl<S: Send + 'static> On<S> {
    /// Calls on a state that need nothing before them, leave nothing behind and move nothing.
    pub(super) fn new(state: S) -> Self {
        let (clean, payload) = (|_: &mut S| Ok(()), Payload::None);
        Self { state, ready: |_, _| Ok(()), ready_for_copy: None, clean, payload }
    }

    /// What prepares this many calls.
    pub(super) fn ready(self, ready: fn(&mut S, usize) -> io::Result<()>) -> Self {
        Self { ready, ..self }
    }

    /// What prepares this many calls of a copy of this process, if that is something else.
    pub(super) fn ready_for_copy(self, ready: fn(&mut S, usize) -> io::Result<()>) -> Self {
        Self { ready_for_copy: Some(ready), ..self }
    }

    /// What undoes what the calls did.
    pub(super) fn clean(self, clean: fn(&mut S) -> io::Result<()>) -> Self {
        Self { clean, ..self }
    }

    /// What each call moves.
    pub(super) fn moving(self, payload: Payload) -> Self {
        Self { payload, ..self }
    }

    /// The body of a call; the loop is compiled around it.
    pub(super) fn body(self, call: impl Fn(&mut S, usize) -> isize + Send + 'static) -> Box<dyn Body> {
        Box::new(With { on: self, call })
    }
}

struct With<S, C> {
    on: On<S>,
    call: C,
}

impl<S: Send, C: Fn(&mut S, usize) -> isize + Send> Body for With<S, C> {
    fn ready(&mut self, calls: usize) -> io::Result<()> {
        (self.on.ready)(&mut self.on.state, calls)
    }

    fn ready_for_copy(&mut self, calls: usize) -> io::Result<()> {
        self.on.ready_for_copy.unwrap_or(self.on.ready)(&mut self.on.state, calls)
    }

    fn run(&mut self, calls: usize) -> isize {
        let mut least = 0;
        for index in 0..calls {
            least = least.min((self.call)(&mut self.on.state, index));
        }
        least
    }

    fn one(&mut self, index: usize) -> isize {
        if index == APPROACH {
            return 0;
        }
        (self.call)(&mut self.on.state, index)
    }

    fn clean(&mut self) -> io::Result<()> {
        (self.on.clean)(&mut self.on.state)
    }

    fn payload(&self) -> Payload {
        self.on.payload
    }
}

/// A call that needs nothing before it and leaves nothing behind.
pub(super) fn plain(call: impl Fn() -> isize + Send + 'static) -> Box<dyn Body> {
    On::new(()).body(move |(), _| call())
}

/// No call at all, with which everything else is compared.
pub(super) fn nothing() -> Box<dyn Body> {
    plain(|| std::hint::black_box(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_and_cleaned_up_after() {
        let counted = |result: isize| {
            let ready = |made: &mut usize, calls| {
                *made = calls;
                Ok(())
            };
            let clean = |made: &mut usize| {
                assert_eq!(std::mem::take(made), 3);
                Ok(())
            };
            On::new(0).ready(ready).clean(clean).body(move |_, _| result)
        };
        let mut good = counted(7);
        assert_eq!(good.within(3, |run| run()).unwrap(), ());
        let mut results = Vec::new();
        let seen = On::new(Vec::new()).clean(|seen| {
            assert_eq!(std::mem::take(seen), [0, 1]);
            Ok(())
        });
        let mut each = seen.body(|seen, index| {
            seen.push(index);
            index as isize
        });
        each.one_by_one(2, |calls| {
            (0..2).for_each(|at| {
                calls.after(|| ()).call();
                results.push(at)
            })
        })
        .unwrap();
        assert_eq!(results, [0, 1]);
        let mut bad = counted(-(libc::ENOSPC as isize));
        assert_eq!(bad.within(3, |run| run()).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        let unready = On::new(()).ready(|(), _| Err(io::ErrorKind::NotFound.into()));
        let mut unready = unready.body(|(), _| unreachable!("it was not ready"));
        assert_eq!(unready.within(1, |run| run()).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(nothing().within(5, |run| run()).is_ok());
    }
}
