//! The parts of the section `memory`, which may be measured one by one.

use serde::{Deserialize, Serialize};

use super::Memory;
use crate::Method;

/// Parts of a section that an earlier run measured, not the last one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EarlierParts {
    /// Their fields: `rates`, `latency`, …
    pub parts: Vec<String>,
    /// How they were measured.
    pub method: Method,
}

/// Calls a macro with the fields of all parts.
macro_rules! with_parts {
    ($do:ident) => {
        $do!(rates, latency, coherence_cost, prefetchnta, dma, transfers)
    };
}

impl Memory {
    /// The fields of the parts that hold figures.
    pub fn parts(&self) -> Vec<&'static str> {
        macro_rules! held {
            ($($part:ident),+) => {
                [$((stringify!($part), !self.$part.is_empty())),+]
            };
        }
        with_parts!(held).into_iter().filter(|(_, held)| *held).map(|(name, _)| name).collect()
    }

    /// Takes over from an earlier section the parts of which this one has no figures, each with its method.
    pub fn keep_unmeasured(&mut self, mut earlier: Self) {
        let mut kept = Vec::new();
        macro_rules! keep {
            ($($part:ident),+) => {$(
                if self.$part.is_empty() && !earlier.$part.is_empty() {
                    self.$part = std::mem::take(&mut earlier.$part);
                    kept.push(stringify!($part).to_owned());
                }
            )+};
        }
        with_parts!(keep);
        for mut older in std::mem::take(&mut earlier.earlier) {
            older.parts.retain(|part| kept.contains(part));
            kept.retain(|part| !older.parts.contains(part));
            if !older.parts.is_empty() {
                self.earlier.push(older);
            }
        }
        if !kept.is_empty() {
            self.earlier.push(EarlierParts { parts: kept, method: earlier.method });
        }
        for (name, field) in earlier.unknown {
            self.unknown.entry(name).or_insert(field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryLatency, MemoryRate, Transfer};

    /// A section measured by a run of that duration.
    fn run(duration_s: f64) -> Memory {
        Memory { method: Method { duration_s, ..Method::default() }, ..Memory::default() }
    }

    #[test]
    fn each_part_keeps_the_method_of_its_own_run() {
        let first = Memory {
            rates: vec![MemoryRate::default(); 3],
            latency: vec![MemoryLatency::default()],
            transfers: vec![Transfer::default()],
            ..run(1.0)
        };
        let mut second = Memory { latency: vec![MemoryLatency::default(); 2], ..run(2.0) };
        second.keep_unmeasured(first);
        assert_eq!((second.rates.len(), second.latency.len(), second.method.duration_s), (3, 2, 2.0));
        let mut third = Memory { rates: vec![MemoryRate::default()], ..run(3.0) };
        third.keep_unmeasured(second);
        assert_eq!(third.parts(), ["rates", "latency", "transfers"]);
        let earlier: Vec<_> =
            third.earlier.iter().map(|one| (one.parts.join(" "), one.method.duration_s)).collect();
        assert_eq!(earlier, [("transfers".to_owned(), 1.0), ("latency".to_owned(), 2.0)]);
        let mut nothing = run(4.0);
        nothing.keep_unmeasured(third);
        assert_eq!(nothing.parts(), ["rates", "latency", "transfers"], "a run without figures erases none");
    }
}
