//! How fast the CPUs ran, from tries at different moments of an experiment.

use std::fmt::Display;

use crate::statistics;

/// The clock's figures of several tries: if a CPU was disturbed in one of them, or changed its clock, there are others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tries {
    ghz: Vec<f64>,
    refused: Option<String>,
}

impl Tries {
    /// Records what [`effective_ghz`](coho_counters::clock::effective_ghz) returned.
    pub(crate) fn add(&mut self, result: Result<f64, impl Display>) {
        match result {
            Ok(ghz) => self.ghz.push(ghz),
            Err(why) => self.refused = Some(why.to_string()),
        }
    }

    /// The median, in GHz, of those in which the chains agreed.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut ghz = self.ghz.clone();
        ghz.sort_by(f64::total_cmp);
        (!ghz.is_empty()).then(|| statistics::median(&ghz))
    }

    /// Why there is no figure; `None` if there is one.
    pub(crate) fn why_not(&self) -> Option<&str> {
        if self.ghz.is_empty() { Some(self.refused.as_deref().unwrap_or("the CPU was lost")) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_that_disagree_are_skipped() {
        let mut tries = Tries::default();
        assert_eq!((tries.median(), tries.why_not()), (None, Some("the CPU was lost")));
        tries.add(Err("they must agree"));
        assert_eq!((tries.median(), tries.why_not()), (None, Some("they must agree")));
        for ghz in [3.1, 2.4, 3.0] {
            tries.add(Ok::<_, &str>(ghz));
        }
        tries.add(Err("they must agree"));
        assert_eq!((tries.median(), tries.why_not()), (Some(3.0), None));
    }
}
