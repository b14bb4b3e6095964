//! When not to ask a host: for a while after it has cost time.

/// The rest after a loss, at first and at most, in times of what was lost.
const FIRST: u64 = 16;
const MOST: u64 = 1024;
/// The longest.
const LIMIT_NS: u64 = 1_000_000_000;

/// A host that was off its CPU when it was needed is left alone for a multiple of what that cost, twice as many times
/// whenever it happens again soon: a host whose CPU is taken costs a small part of the time.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    until_ns: u64,
    times: u64,
    resting: bool,
}

impl Rest {
    /// Whether calls are to be made at home. The clock is read only then.
    #[inline(always)]
    pub(crate) fn lasts(&mut self, now_ns: impl FnOnce() -> u64) -> bool {
        if self.resting {
            self.resting = now_ns() < self.until_ns;
        }
        self.resting
    }

    /// A call lost so much, until now.
    pub(crate) fn begin(&mut self, lost_ns: u64, now_ns: u64) {
        let soon = now_ns < self.until_ns.saturating_add(lost_ns.saturating_mul(2 * self.times));
        self.times = if soon { (2 * self.times).min(MOST) } else { FIRST };
        self.until_ns = now_ns + lost_ns.saturating_mul(self.times).min(LIMIT_NS);
        self.resting = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_while_hosts_stay_away() {
        let mut rest = Rest::default();
        assert!(!rest.lasts(|| unreachable!("nothing was lost")));
        rest.begin(10, 1000);
        assert!(rest.lasts(|| 1159) && !rest.lasts(|| 1160));
        assert!(!rest.lasts(|| unreachable!("the rest is over")));
        rest.begin(10, 1200);
        assert!(rest.lasts(|| 1519) && !rest.lasts(|| 1520));
        // Long afterwards it is a first time again.
        rest.begin(10, 1_000_000);
        assert!(!rest.lasts(|| 1_000_160));
    }

    #[test]
    fn lost_time_stays_a_small_part() {
        let (mut rest, mut now, mut lost) = (Rest::default(), 0, 0);
        while now < 1_000_000_000 {
            if !rest.lasts(|| now) {
                (now, lost) = (now + 10_000, lost + 10_000);
                rest.begin(10_000, now);
            }
            now += 1000;
        }
        assert!(lost * 500 < now, "{lost} of {now}");
    }
}
