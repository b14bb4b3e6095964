//! Calls by name: `getppid`, `read(4096)`.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A call that can be requested.
///
/// ```
/// use coho_probe::calls::Request;
/// let request: Request = "pread(4096)".parse()?;
/// assert_eq!(request.to_string(), "pread(4096)");
/// assert!("pread(-1)".parse::<Request>().is_err());
/// # Ok::<(), coho_probe::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    pub(super) kind: Kind,
    /// Size of the data that is moved or mapped, if the call has one.
    pub(super) bytes: usize,
}

/// Which call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Getpid,
    Getppid,
    Gettimeofday,
    ClockGettime,
    SchedYield,
    FutexWake,
    Stat,
    Open,
    Close,
    Lseek,
    Read,
    Write,
    Pread,
    Pwrite,
    Fsync,
    Mmap,
    Munmap,
    Sendto,
    Recvfrom,
    Send,
    Recv,
    Sprintf,
    Fprintf,
}

/// The largest argument of calls that move data.
const MOST_MOVED: usize = 1 << 20;
/// The largest datagram of UDP over IPv4.
const MOST_SENT: usize = 65_507;
/// What a TCP connection certainly accepts at once.
const MOST_STREAMED: usize = 64 << 10;
const MOST_MAPPED: usize = 1 << 30;

/// What a call takes between parentheses.
enum Argument {
    None,
    /// A number of bytes.
    Bytes {
        least: usize,
        most: usize,
        default: usize,
    },
}

impl Kind {
    const ALL: [Self; 23] = [
        Self::Getpid,
        Self::Getppid,
        Self::Gettimeofday,
        Self::ClockGettime,
        Self::SchedYield,
        Self::FutexWake,
        Self::Stat,
        Self::Open,
        Self::Close,
        Self::Lseek,
        Self::Read,
        Self::Write,
        Self::Pread,
        Self::Pwrite,
        Self::Fsync,
        Self::Mmap,
        Self::Munmap,
        Self::Sendto,
        Self::Recvfrom,
        Self::Send,
        Self::Recv,
        Self::Sprintf,
        Self::Fprintf,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Getpid => "getpid",
            Self::Getppid => "getppid",
            Self::Gettimeofday => "gettimeofday",
            Self::ClockGettime => "clock_gettime",
            Self::SchedYield => "sched_yield",
            Self::FutexWake => "futex_wake",
            Self::Stat => "stat",
            Self::Open => "open",
            Self::Close => "close",
            Self::Lseek => "lseek",
            Self::Read => "read",
            Self::Write => "write",
            Self::Pread => "pread",
            Self::Pwrite => "pwrite",
            Self::Fsync => "fsync",
            Self::Mmap => "mmap",
            Self::Munmap => "munmap",
            Self::Sendto => "sendto",
            Self::Recvfrom => "recvfrom",
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Sprintf => "sprintf",
            Self::Fprintf => "fprintf",
        }
    }

    const fn argument(self) -> Argument {
        match self {
            Self::Read | Self::Write | Self::Pread | Self::Pwrite => {
                Argument::Bytes { least: 1, most: MOST_MOVED, default: 1 }
            }
            Self::Sendto | Self::Recvfrom => Argument::Bytes { least: 1, most: MOST_SENT, default: 1 },
            Self::Send | Self::Recv => Argument::Bytes { least: 1, most: MOST_STREAMED, default: 1 },
            Self::Mmap | Self::Munmap => Argument::Bytes { least: 1, most: MOST_MAPPED, default: 4096 },
            _ => Argument::None,
        }
    }
}

impl Request {
    /// The call with its default size.
    pub(super) const fn plain(kind: Kind) -> Self {
        let bytes = match kind.argument() {
            Argument::Bytes { default, .. } => default,
            Argument::None => 0,
        };
        Self { kind, bytes }
    }

    /// The names that can be requested, with `(n)` where a number of bytes may follow.
    pub fn names() -> impl Iterator<Item = String> {
        Kind::ALL.into_iter().map(|kind| match kind.argument() {
            Argument::Bytes { .. } => format!("{}(n)", kind.name()),
            Argument::None => kind.name().to_owned(),
        })
    }

    /// Bytes that it moves.
    pub(super) const fn moved(self) -> usize {
        match self.kind {
            Kind::Mmap | Kind::Munmap => 0,
            _ => self.bytes,
        }
    }

    /// The name alone, without a size, as in the paper's tables.
    pub(super) const fn name(self) -> &'static str {
        self.kind.name()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match self.kind.argument() {
            Argument::Bytes { .. } => write!(f, "({})", self.bytes),
            Argument::None => Ok(()),
        }
    }
}

impl FromStr for Request {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (name, argument) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let argument = rest.strip_suffix(')').ok_or_else(|| {
                    Error::argument(format!(
                        "{text:?} lacks its closing parenthesis at the end: write {name}(n)"
                    ))
                })?;
                (name.trim_end(), Some(argument.trim()).filter(|argument| !argument.is_empty()))
            }
        };
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::names().collect();
            Error::argument(format!("there is no call {name:?} to measure; there are {}", names.join(", ")))
        })?;
        let plain = Self::plain(kind);
        match (kind.argument(), argument) {
            (_, None) => Ok(plain),
            (Argument::None, Some(argument)) => {
                Err(Error::argument(format!("{name} takes no argument, but {argument:?} was given")))
            }
            (Argument::Bytes { least, most, .. }, Some(argument)) => {
                let bytes = argument.parse().ok().filter(|bytes| (least..=most).contains(bytes));
                let bytes = bytes.ok_or_else(|| {
                    Error::argument(format!(
                        "{name} takes a number of bytes from {least} to {most}, not {argument:?}"
                    ))
                })?;
                Ok(Self { bytes, ..plain })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Request, String> {
        text.parse().map_err(|error: Error| error.to_string())
    }

    #[test]
    fn reads_names_with_and_without_a_size() {
        assert_eq!(parse("getppid").unwrap().kind, Kind::Getppid);
        assert_eq!(parse("getppid()").unwrap().to_string(), "getppid");
        assert_eq!(parse(" read( 4096 )").unwrap().to_string(), "read(4096)");
        assert_eq!(parse("write").unwrap().to_string(), "write(1)");
        assert_eq!(parse("mmap").unwrap().bytes, 4096);
    }

    #[test]
    fn says_what_is_wrong_and_what_there_is() {
        let unknown = parse("fork").unwrap_err();
        assert!(unknown.contains("no call \"fork\"") && unknown.contains("pread(n)"), "{unknown}");
        assert!(parse("getpid(1)").unwrap_err().contains("takes no argument"));
        assert!(parse("read(4096").unwrap_err().contains("closing parenthesis"));
        for bad in ["read(0)", "read(x)", "read(1048577)", "sendto(65508)", "read(99999999999999999999)"] {
            assert!(parse(bad).unwrap_err().contains("bytes from 1 to"), "{bad}");
        }
        assert!(parse("").is_err());
    }

    #[test]
    fn every_name_reads_back() {
        for kind in Kind::ALL {
            let plain = Request::plain(kind);
            assert_eq!(parse(&plain.to_string()), Ok(plain));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }
    }
}
