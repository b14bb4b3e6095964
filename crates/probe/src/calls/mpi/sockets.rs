//! What waits in this process's sockets.

use std::ffi::c_int;
use std::fs;

/// Bytes that the process could read from its sockets now.
pub(super) fn unread() -> u64 {
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let sockets = descriptors.filter(|one| {
        fs::read_link(one.path()).is_ok_and(|what| what.to_string_lossy().starts_with("socket:"))
    });
    let numbers = sockets.filter_map(|one| one.file_name().to_str()?.parse::<c_int>().ok());
    numbers.map(|number| u64::try_from(waiting(number)).unwrap_or(0)).sum()
}

/// Unread bytes of a descriptor; 0 if the kernel does not tell.
fn waiting(descriptor: c_int) -> c_int {
    let mut bytes: c_int = 0;
    // SAFETY: writes one integer; any descriptor may be asked.
    match unsafe { libc::ioctl(descriptor, libc::FIONREAD, &raw mut bytes) } {
        0 => bytes,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn bytes_wait_until_they_are_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut to, _) = listener.accept().unwrap();
        from.write_all(&[1, 2, 3]).unwrap();
        let mut first = [0];
        to.read_exact(&mut first).unwrap();
        use std::os::fd::AsRawFd;
        assert_eq!(waiting(to.as_raw_fd()), 2);
        assert!(unread() >= 2);
        assert_eq!(waiting(-1), 0);
    }
}
