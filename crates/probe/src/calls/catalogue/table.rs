//! The table of calls: a row has a call's name, its argument, its forms, and how it is set up.

use std::io;

use super::super::scratch::Scratch;
use super::super::subject::{Act, MOST, On, plain};
use super::{datagrams, files, memory, stdio, streams, time};

/// The largest argument of calls that move data.
const MOST_MOVED: usize = 1 << 20;
/// The largest datagram of UDP over IPv4.
const MOST_SENT: usize = 65_507;
/// What a TCP connection certainly accepts at once.
const MOST_STREAMED: usize = 64 << 10;
const MOST_MAPPED: usize = 1 << 30;

/// Whether a call goes through the C library's function; the other form is the bare instruction.
const BOTH: &[bool] = &[false, true];
const BARE: &[bool] = &[false];
const LIBRARY: &[bool] = &[true];

const ITSELF: &str = "it acts on the calling thread itself";
const BOTH_ENDS: &str =
    "both ends of its connection are in this process, and the other one is served by the caller";

/// The calls that can be requested, in the order in which they are listed.
pub(in crate::calls) static CALLS: [Entry; 23] = [
    Entry::new("getpid", time::getpid),
    Entry::new("getppid", time::getppid),
    Entry::new("gettimeofday", time::gettimeofday),
    Entry::new("clock_gettime", time::clock_gettime),
    Entry::new("sched_yield", time::sched_yield).without_curve(ITSELF),
    // futex(2) has no function in the C library.
    Entry::new("futex_wake", time::futex_wake).only(BARE),
    Entry::new("stat", files::stat).on_file(),
    Entry::new("open", files::open).on_file(),
    Entry::new("close", files::close).on_file(),
    Entry::new("lseek", files::lseek).on_file(),
    Entry::new("read", files::read).on_file().moves(MOST_MOVED),
    Entry::new("write", files::write).on_file().moves(MOST_MOVED),
    Entry::new("pread", files::pread).on_file().moves(MOST_MOVED),
    Entry::new("pwrite", files::pwrite).on_file().moves(MOST_MOVED),
    Entry::new("fsync", files::fsync).on_file(),
    Entry::new("mmap", memory::mmap).maps(4096),
    Entry::new("munmap", memory::munmap).maps(4096),
    Entry::new("sendto", datagrams::sendto).moves(MOST_SENT).without_curve(BOTH_ENDS),
    Entry::new("recvfrom", datagrams::recvfrom).moves(MOST_SENT).without_curve(BOTH_ENDS),
    Entry::new("send", streams::send).moves(MOST_STREAMED).without_curve(BOTH_ENDS),
    Entry::new("recv", streams::recv).moves(MOST_STREAMED).without_curve(BOTH_ENDS),
    // The functions that write text exist only in the C library, where they are the same on any file system.
    Entry::new("sprintf", stdio::sprintf).only(LIBRARY),
    Entry::new("fprintf", stdio::fprintf).only(LIBRARY).on_file(),
];

/// A call that can be measured.
pub(in crate::calls) struct Entry {
    pub(in crate::calls) name: &'static str,
    /// The number of bytes that it takes between parentheses, if it takes one.
    pub(in crate::calls) argument: Option<Argument>,
    /// Whether it is made on a file.
    pub(in crate::calls) is_on_file: bool,
    /// Why it has no curve.
    pub(in crate::calls) no_curve: Option<&'static str>,
    forms: &'static [bool],
    set_up: fn(&Wanted<'_>) -> io::Result<Act>,
}

/// A number of bytes, at least 1.
#[derive(Debug, Clone, Copy)]
pub(in crate::calls) struct Argument {
    pub(in crate::calls) most: usize,
    pub(in crate::calls) default: usize,
    /// Whether so many bytes are moved, and not only mapped.
    pub(in crate::calls) is_moved: bool,
}

impl Entry {
    const fn new(name: &'static str, set_up: fn(&Wanted<'_>) -> io::Result<Act>) -> Self {
        Self { name, argument: None, is_on_file: false, no_curve: None, forms: BOTH, set_up }
    }

    const fn only(self, forms: &'static [bool]) -> Self {
        Self { forms, ..self }
    }

    const fn on_file(self) -> Self {
        Self { is_on_file: true, ..self }
    }

    const fn moves(self, most: usize) -> Self {
        Self { argument: Some(Argument { most, default: 1, is_moved: true }), ..self }
    }

    const fn maps(self, default: usize) -> Self {
        Self { argument: Some(Argument { most: MOST_MAPPED, default, is_moved: false }), ..self }
    }

    const fn without_curve(self, why: &'static str) -> Self {
        Self { no_curve: Some(why), ..self }
    }

    /// Whether it is made on a file and enters the kernel each time, so that the file system matters.
    pub(in crate::calls) fn depends_on_file_system(&self) -> bool {
        self.is_on_file && self.forms.contains(&false)
    }

    /// The call in each of its forms, the bare instruction first, and whether it goes through the C library.
    pub(in crate::calls) fn forms<'a>(
        &'a self,
        bytes: usize,
        scratch: &'a Scratch,
    ) -> impl Iterator<Item = (bool, io::Result<Act>)> + 'a {
        let set_up = move |wrapped| (self.set_up)(&Wanted { bytes, scratch, wrapped });
        self.forms.iter().map(move |&wrapped| (wrapped, set_up(wrapped)))
    }
}

/// What a call is set up for.
pub(super) struct Wanted<'a> {
    /// The size of the data that is moved or mapped, if the call has one.
    pub(super) bytes: usize,
    /// Where its file is.
    pub(super) scratch: &'a Scratch,
    wrapped: bool,
}

impl Wanted<'_> {
    /// A call that needs nothing before it and leaves nothing behind, in the form that is wanted.
    pub(super) fn plain(
        &self,
        library: impl Fn() -> isize + Send + 'static,
        bare: impl Fn() -> isize + Send + 'static,
    ) -> io::Result<Act> {
        Ok(Act { body: if self.wrapped { plain(library) } else { plain(bare) }, most: MOST })
    }

    /// A call on a state, at most this many in a row, in the form that is wanted.
    pub(super) fn on<S: Send + 'static>(
        &self,
        on: On<S>,
        most: usize,
        library: impl Fn(&mut S, usize) -> isize + Send + 'static,
        bare: impl Fn(&mut S, usize) -> isize + Send + 'static,
    ) -> io::Result<Act> {
        Ok(Act { body: if self.wrapped { on.body(library) } else { on.body(bare) }, most })
    }
}
