//! The clock that the CPU really runs at, from work whose cycles are known.

use std::fmt;

use super::{Clock, chain};

/// The largest relative difference between the two chains that counts as agreement.
const AGREEMENT: f64 = 0.02;
const BLOCKS: u64 = 512;
const BATCHES: usize = 24;
/// The number of batches in a glimpse.
const FEW_BATCHES: usize = 4;

/// The calling CPU's clock in GHz, from chains of dependent additions and of dependent exclusive-ors, which take
/// one cycle an operation on every CPU that this is built for. Takes about 1 ms.
///
/// # Errors
/// If the chains disagree: one of them did not run at one operation a cycle, or the thread was off its CPU during most
/// batches.
pub fn effective_ghz() -> Result<f64, Disagreement> {
    by_chains(BATCHES)
}

/// The same in about a tenth of a millisecond, which hardly disturbs the CPU's other work.
///
/// # Errors
/// As [`effective_ghz`].
pub fn glimpse_ghz() -> Result<f64, Disagreement> {
    by_chains(FEW_BATCHES)
}

/// Two chains of operations that must run equally fast did not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disagreement {
    /// Additions per ns.
    pub additions: f64,
    /// Exclusive-ors per ns.
    pub exclusive_ors: f64,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { additions, exclusive_ors } = self;
        write!(
            f,
            "a chain of additions runs at {additions:.3} per ns, one of exclusive-ors at {exclusive_ors:.3}: they must agree"
        )
    }
}

impl std::error::Error for Disagreement {}

fn by_chains(batches: usize) -> Result<f64, Disagreement> {
    let clock = Clock::get();
    let fastest = |chain: fn(u64)| {
        // The first batch brings the clock up to speed. The fastest of the others was not interrupted, as an
        // interruption cannot make a chain quicker.
        (0..=batches)
            .map(|_| {
                let start = clock.now();
                chain(BLOCKS);
                clock.ns(clock.now() - start)
            })
            .skip(1)
            .fold(f64::INFINITY, f64::min)
    };
    let operations = (BLOCKS * 64) as f64;
    let additions = operations / fastest(chain::additions);
    let exclusive_ors = operations / fastest(chain::exclusive_ors);
    if (additions / exclusive_ors - 1.0).abs() > AGREEMENT {
        return Err(Disagreement { additions, exclusive_ors });
    }
    Ok(additions.max(exclusive_ors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_clock_or_a_reason() {
        match effective_ghz() {
            Ok(ghz) => assert!((0.2..10.0).contains(&ghz), "{ghz} GHz"),
            Err(why) => assert!(why.to_string().contains("must agree"), "{why}"),
        }
    }
}
