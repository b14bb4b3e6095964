//! The calls that are to be delegated.

use std::fmt;
use std::str::FromStr;

use coho_model::delegation::{LATER, NAMES};

use super::Error;

/// What `coho run --delegate` names.
///
/// ```
/// use coho_run::delegation::List;
/// let list: List = "stat,write:async".parse()?;
/// assert!(list.writes_later && !list.auto);
/// assert_eq!(list.to_string(), "stat,write:async");
/// assert_eq!("auto".parse::<List>()?, List { auto: true, ..List::default() });
/// assert!("getpid".parse::<List>().unwrap_err().to_string().contains("stat"));
/// # Ok::<(), coho_run::delegation::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// Calls that the program waits for, each once.
    pub calls: Vec<&'static str>,
    /// The calls are tried while the program runs, and delegated only while that is quicker.
    pub auto: bool,
    /// Writes return before they are done.
    pub writes_later: bool,
    /// The library prints at the end what it did.
    pub verbose: bool,
}

impl FromStr for List {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut list = Self::default();
        for name in text.split(',') {
            match NAMES.into_iter().find(|known| *known == name) {
                Some(call) if list.calls.contains(&call) => {}
                Some(call) => list.calls.push(call),
                None if name == "auto" => list.auto = true,
                None if name == LATER => list.writes_later = true,
                None if name == "verbose" => list.verbose = true,
                None => return Err(Error::Word(name.to_owned())),
            }
        }
        // `verbose` alone names no calls.
        list.auto |= list.calls.is_empty() && !list.writes_later;
        Ok(list)
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |is_set: bool, word| is_set.then_some(word);
        let words = [word(self.auto, "auto"), word(self.writes_later, LATER), word(self.verbose, "verbose")];
        let words: Vec<_> = self.calls.iter().copied().chain(words.into_iter().flatten()).collect();
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip() {
        for text in ["auto", "stat,open", "write,write:async", "stat,auto", "read,auto,verbose"] {
            assert_eq!(text.parse::<List>().unwrap().to_string(), text);
        }
        assert_eq!("stat,stat".parse::<List>().unwrap().to_string(), "stat");
        assert!("verbose".parse::<List>().unwrap().auto);
    }

    #[test]
    fn what_cannot_be_delegated_is_named() {
        for (text, wrong) in
            [("", "''"), ("stat,", "''"), ("open,getpid", "'getpid'"), ("stat:async", "'stat:async'")]
        {
            let why = text.parse::<List>().unwrap_err().to_string();
            assert!(why.starts_with(wrong) && why.contains("rename, rmdir, stat"), "{why}");
        }
    }
}
