//! Where work may run: the names of placements, and which CPUs they mean on this machine now.

mod choose;

use std::fmt;
use std::str::FromStr;

use coho_topology::{CpuSet, Level, Topology};

use crate::Error;

pub use choose::{Choice, choose};

/// A rule by which CPUs are chosen for a number of threads or copies: first which, then in what order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Wherever the system's scheduler puts it.
    None,
    /// On the CPUs that share the nearest cache: a CPU, a core, a module, …, no larger than needed.
    Compact,
    /// On the CPUs that are farthest from each other, one of each core first.
    Spread,
    /// Within one object of a level.
    Within(Level),
    /// On these CPUs, in this order.
    Cpus(Vec<u32>),
}

/// The levels by name, from the inside outwards; the first name is the one that is printed.
const LEVELS: [(Level, &[&str]); 9] = [
    (Level::Core, &["smt", "core"]),
    (Level::Module, &["module"]),
    (Level::L1, &["l1"]),
    (Level::L2, &["l2"]),
    (Level::L3, &["l3", "llc"]),
    (Level::L4, &["l4"]),
    (Level::Die, &["die"]),
    (Level::Numa, &["numa", "node"]),
    (Level::Package, &["package", "socket"]),
];

impl Placement {
    /// Every rule that makes a difference on these CPUs: none, compact, spread, and each level that some of them share.
    pub fn of(topology: &Topology, cpus: &CpuSet) -> Vec<Self> {
        let shared = |level: &Level| {
            topology.partition(*level).iter().any(|object| object.intersection(cpus).len() > 1)
        };
        let levels = levels().filter(shared).map(Self::Within);
        [Self::None, Self::Compact, Self::Spread].into_iter().chain(levels).collect()
    }

    /// The CPUs that it names by number.
    pub fn named(&self) -> &[u32] {
        match self {
            Self::Cpus(cpus) => cpus,
            _ => &[],
        }
    }
}

/// The levels that a placement may name, from the inside outwards.
pub(crate) fn levels() -> impl Iterator<Item = Level> {
    LEVELS.iter().map(|&(level, _)| level)
}

/// What a level is called in a placement: `smt`, `l3`, …
fn name(level: Level) -> &'static str {
    LEVELS.iter().find(|&&(known, _)| known == level).map_or("?", |(_, names)| names[0])
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Compact => f.write_str("compact"),
            Self::Spread => f.write_str("spread"),
            Self::Within(level) => f.write_str(name(*level)),
            Self::Cpus(cpus) => f.write_str(&runs(cpus)),
        }
    }
}

/// CPU numbers in their order, ascending neighbours joined: `4-7,0,2`.
fn runs(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|one, next| *next == one + 1).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

impl FromStr for Placement {
    type Err = Error;

    /// Reads `none`, `compact`, `spread`, a level (`smt`, `module`, `l1`, `l2`, `l3`, `l4`, `die`, `numa`,
    /// `package`) or a list of CPUs, whose order counts.
    ///
    /// ```
    /// use coho_probe::placement::Placement;
    /// assert_eq!("4-5,0".parse(), Ok(Placement::Cpus(vec![4, 5, 0])));
    /// assert_eq!("core".parse::<Placement>()?.to_string(), "smt");
    /// # Ok::<(), coho_probe::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, Error> {
        let word = text.trim().to_ascii_lowercase();
        match word.as_str() {
            "none" => return Ok(Self::None),
            "compact" => return Ok(Self::Compact),
            "spread" => return Ok(Self::Spread),
            _ => {}
        }
        if let Some((level, _)) = LEVELS.iter().find(|(_, names)| names.contains(&word.as_str())) {
            return Ok(Self::Within(*level));
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            let levels: Vec<_> = LEVELS.iter().map(|(_, names)| names[0]).collect();
            return Err(Error::Argument(format!(
                "placements are compact, spread, none, a list of CPUs (0-3,8) or a level: {}",
                levels.join(", ")
            )));
        }
        let set = |text: &str| text.parse::<CpuSet>().map_err(|error| Error::Argument(error.to_string()));
        set(&word)?;
        let (mut cpus, mut seen) = (Vec::new(), CpuSet::new());
        for part in word.split(',') {
            cpus.extend(set(part)?.iter().filter(|&cpu| seen.insert(cpu)));
        }
        Ok(Self::Cpus(cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lists_round_trip() {
        for text in ["none", "compact", "spread", "smt", "module", "l2", "l3", "numa", "package", "4-7,0,2"] {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
        }
        assert_eq!("socket".parse(), Ok(Placement::Within(Level::Package)));
        assert_eq!("1,1,0-1".parse(), Ok(Placement::Cpus(vec![1, 0])));
        for bad in ["", "near", "1,,2", "3-1", "0-99999999"] {
            assert!(bad.parse::<Placement>().is_err(), "{bad}");
        }
    }
}
