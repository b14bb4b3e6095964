//! Time in slots, in each of which a thread is recorded at most once at each place: many at first, so that a short
//! program is seen often enough, and half as many each time that the program has run twice as long, so that the file is
//! not filled.

/// Ticks of the counter in the shortest slot, as a power of two: about a tenth of a millisecond.
const SHORTEST: u32 = 18;
/// So many of the shortest at first, as a power of two.
const FIRST: u32 = 8;

/// When, by the time-stamp counter.
pub fn now() -> u64 {
    // SAFETY: every x86-64 CPU has the counter; a process that has forbidden itself to read it does not get here.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The slot of a time, counted from 1.
pub fn of(since_start: u64) -> u32 {
    let age = since_start >> SHORTEST;
    if age >> FIRST == 0 {
        return age as u32 + 1;
    }
    let power = age.ilog2();
    let half = 1 << (FIRST - 1);
    // Each power of two has half as many slots as there were shortest ones at first.
    let within = (age >> (power - (FIRST - 1))) as u32 - half;
    (1 << FIRST) + half * (power - FIRST) + within + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_one_another_and_grow() {
        let of_age = |age: u64| of(age << SHORTEST);
        assert_eq!([0, 1, 255, 256, 257, 258].map(of_age), [1, 2, 256, 257, 257, 258]);
        let all: Vec<u32> = (0..100_000).map(of_age).collect();
        assert!(all.windows(2).all(|two| two[1] == two[0] || two[1] == two[0] + 1));
        assert!(all[99_999] < 256 + 128 * 9 + 1);
        assert!(of(u64::MAX) < 10_000);
    }
}
