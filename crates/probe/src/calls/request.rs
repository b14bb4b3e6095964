//! Calls by name: `getppid`, `read(4096)`.

use std::fmt;
use std::str::FromStr;

use super::catalogue::table::{Argument, CALLS, Entry};
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
    /// Its place in the table of calls.
    at: usize,
    /// Size of the data that is moved or mapped, if the call has one.
    pub(super) bytes: usize,
}

impl Request {
    /// The call of this name with its default size.
    pub(super) fn named(name: &str) -> Option<Self> {
        let at = CALLS.iter().position(|entry| entry.name == name)?;
        Some(Self { at, bytes: CALLS[at].argument.map_or(0, |argument| argument.default) })
    }

    /// Its row in the table of calls.
    pub(super) fn entry(self) -> &'static Entry {
        &CALLS[self.at]
    }

    /// The names that can be requested, with `(n)` where a number of bytes may follow.
    pub fn names() -> impl Iterator<Item = String> {
        CALLS.iter().map(|entry| format!("{}{}", entry.name, entry.argument.map_or("", |_| "(n)")))
    }

    /// Bytes that it moves.
    pub(super) fn moved(self) -> usize {
        self.entry().argument.filter(|argument| argument.is_moved).map_or(0, |_| self.bytes)
    }

    /// The name alone, without a size, as in the paper's tables.
    pub(super) fn name(self) -> &'static str {
        self.entry().name
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.entry().argument.map_or(Ok(()), |_| write!(f, "({})", self.bytes))
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
        let plain = Self::named(name).ok_or_else(|| {
            let names: Vec<_> = Self::names().collect();
            Error::argument(format!("there is no call {name:?} to measure; there are {}", names.join(", ")))
        })?;
        match (plain.entry().argument, argument) {
            (_, None) => Ok(plain),
            (None, Some(argument)) => {
                Err(Error::argument(format!("{name} takes no argument, but {argument:?} was given")))
            }
            (Some(Argument { most, .. }), Some(argument)) => {
                let bytes = argument.parse().ok().filter(|bytes| (1..=most).contains(bytes));
                let bytes = bytes.ok_or_else(|| {
                    Error::argument(format!(
                        "{name} takes a number of bytes from 1 to {most}, not {argument:?}"
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
        assert_eq!(parse("getppid").unwrap().name(), "getppid");
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
        for entry in &CALLS {
            let plain = Request::named(entry.name).unwrap();
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
