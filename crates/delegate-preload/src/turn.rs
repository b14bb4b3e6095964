//! Which of the hosts' CPUs are this process's, where each process of a command takes one.

use std::ffi::CStr;

use coho_delegate::Request;

/// How many processes have had their turn before this one, by the file that they share: each appends a byte, which no two do
/// at the same place. `None` if it cannot be written.
pub fn take(path: &CStr) -> Option<usize> {
    let at = path.as_ptr().expose_provenance();
    let flags = (libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC) as usize;
    let call = |number, arguments| {
        // SAFETY: the path ends with a zero, the byte is one, and the file is this function's own.
        unsafe { Request::system(number, arguments).execute() }.result().ok()
    };
    let file = call(libc::SYS_openat, [libc::AT_FDCWD as usize, at, flags, 0, 0, 0])?;
    let byte = b"\n".as_ptr().expose_provenance();
    let end = call(libc::SYS_write, [file, byte, 1, 0, 0, 0])
        .and_then(|_| call(libc::SYS_lseek, [file, 0, libc::SEEK_CUR as usize, 0, 0, 0]));
    call(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
    end?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::thread;

    use super::*;

    #[test]
    fn no_two_have_the_same_turn() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = CString::new(file.path().to_str().unwrap()).unwrap();
        let mut turns: Vec<_> = thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| take(&path))).collect();
            all.into_iter().map(|one| one.join().unwrap().unwrap()).collect()
        });
        turns.sort_unstable();
        assert_eq!(turns, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(take(c"/nonexistent/file"), None);
    }
}
