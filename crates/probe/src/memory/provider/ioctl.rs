//! Requests to device drivers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The number of a request that passes data to the driver: `_IOW(group, number, T)` in C.
pub(super) const fn tells<T>(group: u8, number: u8) -> libc::Ioctl {
    encode::<T>(1, group, number)
}

/// The number of a request that passes data and gets an answer: `_IOWR(group, number, T)`.
pub(super) const fn asks<T>(group: u8, number: u8) -> libc::Ioctl {
    encode::<T>(3, group, number)
}

/// The encoding of x86 and 64-bit ARM.
const fn encode<T>(direction: u32, group: u8, number: u8) -> libc::Ioctl {
    let size = size_of::<T>() as u32;
    (direction << 30 | size << 16 | (group as u32) << 8 | number as u32) as libc::Ioctl
}

/// Makes a request, and repeats it if a signal interrupted it, as drivers require.
///
/// # Safety
/// `request` must be one whose argument is a `T`, all of whose pointers are valid for the call.
pub(super) unsafe fn call<T>(
    device: BorrowedFd<'_>,
    request: libc::Ioctl,
    argument: &mut T,
) -> io::Result<()> {
    loop {
        // SAFETY: the caller's promise.
        if unsafe { libc::ioctl(device.as_raw_fd(), request, &raw mut *argument) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if !matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn numbers_are_the_kernels() {
        // RNDADDTOENTCNT is _IOW('R', 1, int).
        assert_eq!(tells::<libc::c_int>(b'R', 0x01), 0x4004_5201);
        // FS_IOC_FIEMAP is _IOWR('f', 11, struct fiemap) with 32 bytes.
        assert_eq!(asks::<[u64; 4]>(b'f', 11), 0xc020_660b);
    }

    #[test]
    fn a_device_that_does_not_know_a_request_says_so() {
        let null = std::fs::File::open("/dev/null").unwrap();
        // SAFETY: no driver of /dev/null reads an argument.
        let result = unsafe { call(null.as_fd(), asks::<[u64; 4]>(b'h', 0xc1), &mut [0u64; 4]) };
        assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
