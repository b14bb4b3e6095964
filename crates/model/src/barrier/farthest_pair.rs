//! Barriers that ran while the CPUs were not as far apart as when their pairs were measured.

use std::collections::BTreeMap;
use std::fmt;

use coho_profile::{PairMethod, Profile, SAME_MODE};

use crate::words::tenths;

/// The one-way time of the two farthest CPUs, at two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FarthestPair {
    /// While pairs were measured, in ns.
    pub pairs: f64,
    /// While barriers were, in ns: their limit.
    pub barriers: f64,
    /// How both were measured.
    pub method: PairMethod,
}

impl FarthestPair {
    /// `None` where the two are the same, or a profile does not tell.
    pub fn of(profile: &Profile) -> Option<Self> {
        let (coherence, sync) = (profile.coherence.as_ref()?, profile.sync.as_ref()?);
        let method = sync.limit_ns.as_ref()?.barrier_by.unwrap_or(PairMethod::Turn);
        let limit = &sync.limit_ns.as_ref()?.barrier;
        if !limit.has_interval() {
            return None;
        }
        let threads = sync.barriers.iter().map(|barrier| barrier.threads as usize).max()?;
        if threads != coherence.cpus.len() {
            return None;
        }
        // Where a line's home makes a difference, the barrier's lines may have the nearer one.
        let farthest = |end: fn(f64, f64) -> f64| {
            let alike = coherence.pairs.iter().filter(|pair| pair.method == method && pair.ns.has_interval());
            let mut homes = BTreeMap::<(u32, u32), f64>::new();
            for pair in alike {
                let ns = homes.entry((pair.a.min(pair.b), pair.a.max(pair.b))).or_insert(pair.ns.median);
                *ns = end(*ns, pair.ns.median);
            }
            homes.into_values().reduce(f64::max)
        };
        let (nearer, farther) = (farthest(f64::min)?, farthest(f64::max)?);
        let differs = limit.high * SAME_MODE < nearer || limit.low > farther * SAME_MODE;
        let pairs = if limit.median < nearer { nearer } else { farther };
        differs.then_some(Self { pairs, barriers: limit.median, method })
    }
}

impl fmt::Display for FarthestPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the farthest pair took {} ns one way while pairs were measured, and {} ns while barriers were",
            tenths(self.pairs),
            tenths(self.barriers)
        )
    }
}
