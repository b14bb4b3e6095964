//! The calls that can be left to another core by `coho run --delegate`.

use super::Mode;

/// The calls that can be delegated while the program waits. They are repeated here because linking the library that
/// delegates would make it handle the calls of this program.
pub const NAMES: [&str; 14] = [
    "access",
    "close",
    "fsync",
    "ftruncate",
    "mkdir",
    "open",
    "pread",
    "pwrite",
    "read",
    "rename",
    "rmdir",
    "stat",
    "unlink",
    "write",
];

/// Writes that return before they are done.
pub const LATER: &str = "write:async";

/// The name that `coho run --delegate` has for a call in a mode; `None` if it does not take it.
pub fn taken(call: &str, mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Sync => NAMES.into_iter().find(|name| *name == call),
        Mode::Async => Some(LATER).filter(|later| later.strip_suffix(":async") == Some(call)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_alone_return_before_they_are_done() {
        assert_eq!((taken("stat", Mode::Sync), taken("write", Mode::Sync)), (Some("stat"), Some("write")));
        assert_eq!((taken("stat", Mode::Async), taken("write", Mode::Async)), (None, Some("write:async")));
        assert_eq!((taken("gettimeofday", Mode::Sync), taken("getpid", Mode::Async)), (None, None));
    }
}
