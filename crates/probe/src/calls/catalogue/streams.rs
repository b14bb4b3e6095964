//! Bytes to oneself over a TCP connection on loopback.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use coho_platform::pages::Pages;

use super::super::arch::syscall;
use super::super::subject::{Act, On};
use super::table::Wanted;

/// Bytes that may be under way: what a receiver accepts before anything is read from it.
const UNDER_WAY: usize = 128 << 10;
/// The most calls in a row; each segment also takes room of its own.
const MOST_CALLS: usize = 32;
/// How long sent bytes may be on their way: the kernel may leave delivery to a thread of its own.
const PATIENCE: Duration = Duration::from_millis(200);
const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// A connection from this process to itself.
struct Loop {
    sender: TcpStream,
    receiver: TcpStream,
    buffer: Pages,
    bytes: usize,
}

impl Loop {
    fn new(bytes: usize) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sender = TcpStream::connect(listener.local_addr()?)?;
        let (receiver, from) = listener.accept()?;
        if from != sender.local_addr()? {
            return Err(io::Error::other("an unexpected peer connected"));
        }
        sender.set_nodelay(true)?;
        for (end, option) in [(&sender, libc::SO_SNDBUF), (&receiver, libc::SO_RCVBUF)] {
            // The kernel grants as much as its limits allow.
            let room: libc::c_int = 4 * UNDER_WAY as libc::c_int;
            let (value, length) = (&raw const room, size_of::<libc::c_int>() as libc::socklen_t);
            // SAFETY: the value is read through the call only.
            unsafe { libc::setsockopt(end.as_raw_fd(), libc::SOL_SOCKET, option, value.cast(), length) };
        }
        let buffer = Pages::map(bytes).map_err(io::Error::other)?;
        buffer.touch();
        let mut around = Self { sender, receiver, buffer, bytes };
        around.widen()?;
        Ok(around)
    }

    /// The receiver of a new connection accepts little at first, and more as more data arrives.
    fn widen(&mut self) -> io::Result<()> {
        const TRIES: usize = 64;
        let mut last = Ok(());
        for _ in 0..TRIES {
            last = self.send_all(most(self.bytes));
            self.drain()?;
            if last.is_ok() {
                break;
            }
        }
        last
    }

    #[inline(always)]
    fn at(&self) -> *mut libc::c_void {
        self.buffer.start().as_ptr().cast()
    }

    #[inline(always)]
    fn send(&self) -> isize {
        // SAFETY: the buffer holds `bytes`.
        unsafe { libc::send(self.sender.as_raw_fd(), self.at(), self.bytes, FLAGS) }
    }

    #[inline(always)]
    fn receive(&self) -> isize {
        // SAFETY: the buffer holds `bytes`.
        unsafe { libc::recv(self.receiver.as_raw_fd(), self.at(), self.bytes, FLAGS) }
    }

    /// Sends what this many calls will receive, and makes sure that it has arrived.
    fn send_all(&mut self, calls: usize) -> io::Result<()> {
        for _ in 0..calls {
            if self.send() != self.bytes as isize {
                return Err(io::Error::other("the connection accepted less than was sent"));
            }
        }
        let start = Instant::now();
        while self.there() < calls * self.bytes {
            if start.elapsed() > PATIENCE {
                return Err(io::Error::other("the sent bytes did not arrive"));
            }
        }
        Ok(())
    }

    /// Bytes that have arrived and are not yet read.
    fn there(&self) -> usize {
        let mut there: libc::c_int = 0;
        // SAFETY: the call writes one number.
        unsafe { libc::ioctl(self.receiver.as_raw_fd(), libc::FIONREAD, &mut there) };
        there as usize
    }

    fn drain(&mut self) -> io::Result<()> {
        while self.receive() > 0 {}
        Ok(())
    }
}

fn most(bytes: usize) -> usize {
    (UNDER_WAY / bytes).clamp(1, MOST_CALLS)
}

/// A call on such a connection.
fn call(
    wanted: &Wanted<'_>,
    ready: fn(&mut Loop, usize) -> io::Result<()>,
    library: impl Fn(&mut Loop, usize) -> isize + Send + 'static,
    bare: impl Fn(&mut Loop, usize) -> isize + Send + 'static,
) -> io::Result<Act> {
    let on = On::new(Loop::new(wanted.bytes)?).ready(ready).clean(Loop::drain);
    wanted.on(on, most(wanted.bytes), library, bare)
}

/// The arguments of the system calls `sendto` and `recvfrom`, without an address.
#[inline(always)]
fn arguments(around: &Loop, end: &TcpStream) -> [usize; 6] {
    [end.as_raw_fd() as usize, around.at() as usize, around.bytes, FLAGS as usize, 0, 0]
}

/// send, with the delivery to the receiving end that loopback does at once.
pub(super) fn send(wanted: &Wanted<'_>) -> io::Result<Act> {
    call(
        wanted,
        |_, _| Ok(()),
        |around, _| around.send(),
        |around, _| {
            // SAFETY: the buffer holds `bytes`.
            unsafe { syscall(libc::SYS_sendto, arguments(around, &around.sender)) }
        },
    )
}

/// recv of bytes that have arrived.
pub(super) fn recv(wanted: &Wanted<'_>) -> io::Result<Act> {
    call(
        wanted,
        Loop::send_all,
        |around, _| around.receive(),
        |around, _| {
            // SAFETY: the buffer holds `bytes`.
            unsafe { syscall(libc::SYS_recvfrom, arguments(around, &around.receiver)) }
        },
    )
}
