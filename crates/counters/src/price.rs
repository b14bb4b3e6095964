//! What a read in user mode costs here: a hypervisor may trap every RDPMC, and only the cost shows it.

use std::hint::black_box;

use crate::clock::Clock;
use crate::{Counter, Error, Event, Group, Mode, rdpmc};

/// An RDPMC that is not trapped takes some 20 to 40 cycles, an exit to a hypervisor more than a thousand (seen: 2600 to
/// 3600 ticks of the time-stamp counter).
const TRAPPED_TICKS: f64 = 500.0;
/// If RDPMC costs at least this share of an exit, it must be one.
const COMPARABLE: f64 = 0.5;

const BATCHES: usize = 41;
/// Uses in a batch: few, as each may cost 5 us.
const USES: u64 = 16;

/// Prices of the instructions that measuring needs; each a median of batches.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// One RDPMC (on AArch64, one read of a counter's register), in ns; or why there is none.
    pub rdpmc_ns: Result<f64, Error>,
    /// The same while instructions are counted as well, in ns: more expensive under some hypervisors.
    pub rdpmc_with_instructions_ns: Result<f64, Error>,
    /// Two readings of the clock with nothing between them, in ns.
    pub empty_ns: f64,
    /// One CPUID, in ns: under a hypervisor always an exit. `None` if the CPU has no such instruction.
    pub cpuid_ns: Option<f64>,
    /// Whether a hypervisor traps every RDPMC; `None` if there is no RDPMC.
    pub trapped: Option<bool>,
}

/// How to use counters so that the cost of reading does not show in the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// A read before and one after each call.
    Bracketed,
    /// Reads only before and after many calls: a trapped read leaves the caches cold.
    BracketFree,
}

impl Price {
    /// Measures the prices on the CPU that the calling thread runs on; takes a few ms.
    pub fn measure() -> Self {
        let clock = Clock::get();
        let cpuid_ns = rdpmc::exit().map(|exit| median_ns(clock, exit));
        let rdpmc_ns = Counter::open(&Event::cycles(), Mode::User).and_then(|cycles| {
            let number = cycles.page().hardware_counter()?;
            // SAFETY: the page says that user mode may read this counter; it lets it as long as the mapping exists.
            Ok(median_ns(clock, || unsafe { rdpmc::counter(number) }))
        });
        let both = [Event::cycles(), Event::instructions()];
        let rdpmc_with_instructions_ns = Group::open(&both, Mode::User).and_then(|group| {
            let number = group.leader().hardware_counter()?;
            // SAFETY: as above.
            Ok(median_ns(clock, || unsafe { rdpmc::counter(number) }))
        });
        let ticks_per_ns = clock.counter_ghz().unwrap_or(1.0);
        let trapped = rdpmc_ns.as_ref().ok().map(|&ns| is_trapped(ns, cpuid_ns, ticks_per_ns));
        let empty_ns = median_of(|| clock.ns(clock.now().abs_diff(clock.now())));
        Self { rdpmc_ns, rdpmc_with_instructions_ns, empty_ns, cpuid_ns, trapped }
    }

    /// How to count here; `None` if user mode has no counters.
    pub fn method(&self) -> Option<Method> {
        self.trapped.map(|trapped| if trapped { Method::BracketFree } else { Method::Bracketed })
    }

    /// The name of the instruction or register by which user mode reads a counter.
    pub const fn instruction() -> &'static str {
        rdpmc::INSTRUCTION
    }
}

/// Whether an RDPMC of this cost must be an exit to a hypervisor, given the cost of CPUID.
fn is_trapped(rdpmc_ns: f64, cpuid_ns: Option<f64>, ticks_per_ns: f64) -> bool {
    let ticks = rdpmc_ns * ticks_per_ns;
    let exit = cpuid_ns.filter(|ns| ns * ticks_per_ns > TRAPPED_TICKS);
    ticks > TRAPPED_TICKS || exit.is_some_and(|exit| rdpmc_ns > COMPARABLE * exit)
}

/// Median cost of one use over batches, with the clock's own cost subtracted.
fn median_ns(clock: Clock, mut once: impl FnMut() -> u64) -> f64 {
    let mut batch = |uses: u64| {
        let start = clock.now();
        for _ in 0..uses {
            black_box(once());
        }
        clock.ns(clock.now() - start)
    };
    median_of(|| (batch(2 * USES) - batch(USES)) / USES as f64).max(0.0)
}

/// The median of batches; the first only warms up.
fn median_of(mut batch: impl FnMut() -> f64) -> f64 {
    let mut batches: Vec<f64> = (0..=BATCHES).map(|_| batch()).skip(1).collect();
    batches.sort_by(f64::total_cmp);
    batches[BATCHES / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_told_by_its_price() {
        // Bare metal: RDPMC 30 cycles, CPUID 100 to 200.
        assert!(!is_trapped(10.0, Some(50.0), 3.0));
        // A guest whose RDPMC is not trapped.
        assert!(!is_trapped(12.0, Some(900.0), 2.25));
        // The guest of the reference notes: RDPMC 1200 ns, CPUID 900 ns.
        assert!(is_trapped(1200.0, Some(900.0), 2.25));
        // A quick exit on a slow clock.
        assert!(is_trapped(400.0, Some(600.0), 1.0));
        assert!(is_trapped(1200.0, None, 1.0));
    }

    #[test]
    fn prices_are_figures_or_reasons() {
        let price = Price::measure();
        assert!(price.empty_ns >= 0.0);
        assert_eq!(price.cpuid_ns.is_some(), cfg!(target_arch = "x86_64"));
        assert_eq!(price.method().is_some(), price.rdpmc_ns.is_ok());
        match price.rdpmc_ns {
            Ok(ns) => assert!(ns > 0.0),
            Err(why) => eprintln!("no {}: {why}", Price::instruction()),
        }
    }
}
