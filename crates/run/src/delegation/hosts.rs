//! CPUs for hosts, as the user asks for them.

use std::fmt;
use std::str::FromStr;

use coho_topology::CpuSet;

use super::{Error, NAMES};
use crate::per_thread;

/// CPUs whose hosts execute certain calls, or all calls that have no hosts of their own. The program's threads are
/// assigned to them in turn.
///
/// ```
/// use coho_run::delegation::HostCpus;
/// let own: HostCpus = "write,pwrite=2-3".parse()?;
/// assert_eq!((own.calls.len(), own.to_string()), (2, "write,pwrite=2,3".to_owned()));
/// assert_eq!("4".parse::<HostCpus>()?.to_string(), "4");
/// # Ok::<(), coho_run::delegation::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCpus {
    /// Empty: all calls that no other entry names.
    pub calls: Vec<&'static str>,
    /// Where they poll.
    pub cpus: CpuSet,
}

impl HostCpus {
    /// For all calls.
    pub fn of_all(cpus: impl IntoIterator<Item = u32>) -> Self {
        Self { calls: Vec::new(), cpus: cpus.into_iter().collect() }
    }

    /// Collects several requests; those for all calls become one.
    ///
    /// # Errors
    /// If several requests name the same call.
    pub fn gather(parts: &[Self]) -> Result<Vec<Self>, Error> {
        let calls: Vec<_> = parts.iter().flat_map(|part| &part.calls).collect();
        if let Some(twice) = calls.iter().enumerate().find(|(at, call)| calls[..*at].contains(call)) {
            return Err(Error::Twice(twice.1));
        }
        let (all, mut own): (Vec<Self>, Vec<Self>) =
            parts.iter().cloned().partition(|part| part.calls.is_empty());
        if !all.is_empty() {
            own.insert(0, Self::of_all(all.iter().flat_map(|part| part.cpus.iter())));
        }
        Ok(own)
    }
}

impl FromStr for HostCpus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (names, list) = text.split_once('=').map_or((None, text), |(names, list)| (Some(names), list));
        let call = |name: &str| {
            let known = NAMES.into_iter().find(|known| *known == name);
            known.ok_or_else(|| Error::Call(name.to_owned()))
        };
        let calls = names.map_or(Ok(Vec::new()), |names| names.split(',').map(call).collect())?;
        let cpus: CpuSet = list.parse().map_err(|error| Error::Cpus(format!("{error}")))?;
        if cpus.is_empty() { Err(Error::NoCpu) } else { Ok(Self { calls, cpus }) }
    }
}

/// In the form that the library reads.
impl fmt::Display for HostCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.calls.is_empty() {
            write!(f, "{}=", self.calls.join(","))?;
        }
        f.write_str(&per_thread::list(&self.cpus.iter().collect::<Vec<_>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(parts: &[&str]) -> Result<Vec<String>, Error> {
        let parts: Vec<HostCpus> = parts.iter().map(|part| part.parse().unwrap()).collect();
        Ok(HostCpus::gather(&parts)?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn parts_for_all_calls_are_one() {
        assert_eq!(gathered(&["3", "write=4", "1-2"]).unwrap(), ["1,2,3", "write=4"],);
        assert_eq!(gathered(&["write=4", "stat=4"]).unwrap(), ["write=4", "stat=4"]);
        assert_eq!(gathered(&["write=4", "stat,write=5"]).unwrap_err(), Error::Twice("write"));
    }

    #[test]
    fn what_names_no_call_or_no_cpu_is_refused() {
        for (text, word) in
            [("getpid=1", "'getpid'"), ("write=", "CPU"), ("", "CPU"), ("x", "x"), ("=1", "''")]
        {
            let why = text.parse::<HostCpus>().unwrap_err().to_string();
            assert!(why.contains(word), "{text}: {why}");
        }
    }
}
