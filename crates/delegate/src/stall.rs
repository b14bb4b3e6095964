//! Hosts that stall at random moments, for tests: in debug builds, `COHO_HOST_STALLS` says for how many microseconds at most.

/// A moment at which a host may stall: between two steps of its own.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn moment() {}

#[cfg(debug_assertions)]
pub(crate) fn moment() {
    use std::sync::OnceLock;
    use std::time::Duration;

    static LONGEST_US: OnceLock<u64> = OnceLock::new();
    let read = || std::env::var("COHO_HOST_STALLS").ok().and_then(|number| number.parse().ok());
    let longest = *LONGEST_US.get_or_init(|| read().unwrap_or(0));
    // At one moment in 16; short stalls are as frequent as long ones.
    if longest > 0 && random().is_multiple_of(16) {
        let most = longest >> (random() % 8);
        std::thread::sleep(Duration::from_micros(random() % (most + 1)));
    }
}

/// The thread's own sequence, by the linear congruence of Knuth's MMIX.
#[cfg(debug_assertions)]
fn random() -> u64 {
    use std::cell::Cell;
    use std::hash::{BuildHasher, RandomState};

    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0));
    }
    STATE.with(|state| {
        state
            .set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        state.get() >> 33
    })
}
