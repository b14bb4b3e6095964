//! Datagrams to oneself over UDP on loopback.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use coho_platform::pages::Pages;

use super::super::arch::syscall;
use super::super::subject::{Act, On};
use super::table::Wanted;

/// Room that a socket's buffer certainly has, in bytes, and what the kernel adds to each datagram.
const ROOM: usize = 128 << 10;
const OVERHEAD: usize = 1024;
/// The most datagrams under way at once.
const MOST_SENT: usize = 64;
const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// A socket whose datagrams come back to itself.
struct Loop {
    socket: UdpSocket,
    address: libc::sockaddr_in,
    buffer: Pages,
    bytes: usize,
}

impl Loop {
    fn new(bytes: usize) -> io::Result<Self> {
        let socket = UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
        // It receives only its own datagrams; others cannot get in between.
        socket.connect(socket.local_addr()?)?;
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: socket.local_addr()?.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from(std::net::Ipv4Addr::LOCALHOST).to_be() },
            sin_zero: [0; 8],
        };
        let buffer = Pages::map(bytes).map_err(io::Error::other)?;
        buffer.touch();
        Ok(Self { socket, address, buffer, bytes })
    }

    #[inline(always)]
    fn at(&self) -> *mut libc::c_void {
        self.buffer.start().as_ptr().cast()
    }

    #[inline(always)]
    fn send(&self) -> isize {
        let (to, length) = (&raw const self.address, size_of::<libc::sockaddr_in>() as libc::socklen_t);
        // SAFETY: the buffer holds `bytes`, the address is complete.
        unsafe { libc::sendto(self.socket.as_raw_fd(), self.at(), self.bytes, FLAGS, to.cast(), length) }
    }

    #[inline(always)]
    fn receive(&self) -> isize {
        let none = std::ptr::null_mut();
        // SAFETY: the buffer holds `bytes`; the sender's address is not asked for.
        unsafe { libc::recvfrom(self.socket.as_raw_fd(), self.at(), self.bytes, FLAGS, none, none.cast()) }
    }

    fn send_all(&mut self, calls: usize) -> io::Result<()> {
        (0..calls).try_for_each(|_| if self.send() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) })
    }

    fn drain(&mut self) -> io::Result<()> {
        while self.receive() >= 0 {}
        Ok(())
    }
}

/// A call on such a socket; the kernel counts twice what a datagram holds.
fn call(
    wanted: &Wanted<'_>,
    ready: fn(&mut Loop, usize) -> io::Result<()>,
    library: impl Fn(&mut Loop, usize) -> isize + Send + 'static,
    bare: impl Fn(&mut Loop, usize) -> isize + Send + 'static,
) -> io::Result<Act> {
    let most = (ROOM / (2 * wanted.bytes + OVERHEAD)).clamp(1, MOST_SENT);
    wanted.on(On::new(Loop::new(wanted.bytes)?).ready(ready).clean(Loop::drain), most, library, bare)
}

/// sendto, with the delivery to the receiving socket that loopback does at once.
pub(super) fn sendto(wanted: &Wanted<'_>) -> io::Result<Act> {
    call(
        wanted,
        |_, _| Ok(()),
        |around, _| around.send(),
        |around, _| {
            let fd = around.socket.as_raw_fd() as usize;
            let (to, length) = (&raw const around.address as usize, size_of::<libc::sockaddr_in>());
            let arguments = [fd, around.at() as usize, around.bytes, FLAGS as usize, to, length];
            // SAFETY: the buffer holds `bytes`, the address is complete.
            unsafe { syscall(libc::SYS_sendto, arguments) }
        },
    )
}

/// recvfrom of a datagram that has arrived.
pub(super) fn recvfrom(wanted: &Wanted<'_>) -> io::Result<Act> {
    call(
        wanted,
        Loop::send_all,
        |around, _| around.receive(),
        |around, _| {
            let fd = around.socket.as_raw_fd() as usize;
            let arguments = [fd, around.at() as usize, around.bytes, FLAGS as usize, 0, 0];
            // SAFETY: the buffer holds `bytes`; the sender's address is not asked for.
            unsafe { syscall(libc::SYS_recvfrom, arguments) }
        },
    )
}
