//! When not to ask a host: for a while after it has cost more time than it may.

/// What hosts may cost: one part in `SHARE` of the time in which they are used, and `MOST_AT_ONCE_NS` at once.
const SHARE: u64 = 16;
const MOST_AT_ONCE_NS: u64 = 4_000_000;
/// The rest after a loss beyond that, at first and at most, as a multiple of what was lost.
const FIRST: u64 = 16;
const MOST: u64 = 1024;
/// The longest.
const LIMIT_NS: u64 = 1_000_000_000;

/// A host that is off its CPU when it is needed costs time. Losing a small part of the time in this way is accepted, as
/// hypervisors stop CPUs now and then. A host that costs more is not used for a multiple of what it cost; the multiple
/// doubles whenever that happens again soon. A [`Caller`](crate::Caller)'s [calls](crate::Caller::call) rest by
/// themselves; this is for code that [posts](crate::Caller::post) and waits later.
///
/// ```
/// let mut rest = coho_delegate::Rest::default();
/// assert!(!rest.lasts(|| 0));
/// rest.begin(1000, 5000);
/// assert!(rest.lasts(|| 6000) && !rest.lasts(|| 30_000));
/// // Little, after long.
/// rest.begin(1000, 1_000_000);
/// assert!(!rest.lasts(|| 1_000_001));
/// ```
#[derive(Debug, Default)]
pub struct Rest {
    /// What may be lost without a rest, as of the last loss.
    allowed_ns: u64,
    seen_ns: u64,
    until_ns: u64,
    times: u64,
    resting: bool,
}

impl Rest {
    /// One that has seen no loss.
    pub const fn new() -> Self {
        Self { allowed_ns: 0, seen_ns: 0, until_ns: 0, times: 0, resting: false }
    }

    /// Whether the caller should make calls itself. The clock, in nanoseconds since any moment, is read only then.
    #[inline(always)]
    pub fn lasts(&mut self, now_ns: impl FnOnce() -> u64) -> bool {
        if self.resting {
            self.resting = now_ns() < self.until_ns;
        }
        self.resting
    }

    /// Records that a wait that ends now cost `lost_ns`.
    pub fn begin(&mut self, lost_ns: u64, now_ns: u64) {
        let since = now_ns.saturating_sub(self.seen_ns);
        self.seen_ns = now_ns;
        self.allowed_ns = (self.allowed_ns + since / SHARE).min(MOST_AT_ONCE_NS);
        if let Some(left) = self.allowed_ns.checked_sub(lost_ns) {
            self.allowed_ns = left;
            return;
        }
        self.allowed_ns = 0;
        let soon = now_ns < self.until_ns.saturating_add(lost_ns.saturating_mul(2 * self.times));
        self.times = if soon { (2 * self.times).min(MOST) } else { FIRST };
        self.until_ns = now_ns + lost_ns.saturating_mul(self.times).min(LIMIT_NS);
        self.resting = true;
        self.seen_ns = self.until_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_while_hosts_stay_away() {
        let mut rest = Rest::default();
        assert!(!rest.lasts(|| unreachable!("nothing was lost")));
        rest.begin(100, 1000);
        assert!(rest.lasts(|| 2599) && !rest.lasts(|| 2600));
        assert!(!rest.lasts(|| unreachable!("the rest is over")));
        rest.begin(100, 2700);
        assert!(rest.lasts(|| 5899) && !rest.lasts(|| 5900));
    }

    #[test]
    fn a_host_that_is_stopped_now_and_then_is_asked_again_at_once() {
        let mut rest = Rest::default();
        for stop in 1..100 {
            rest.begin(2_000_000, stop * 100_000_000);
            assert!(!rest.lasts(|| stop * 100_000_000 + 1), "{stop}");
        }
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
        assert!(lost * (SHARE - 1) < now, "{lost} of {now}");
    }
}
