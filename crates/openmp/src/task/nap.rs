//! How members wait for tasks.

use std::time::{Duration, Instant};

use coho_sync::{WaitPolicy, may_linger};

use super::bell::Bell;
use crate::settings::settings;

/// How long a waiting thread yields before it sleeps, if something else wants the CPUs.
const GIVE_WAY: Duration = Duration::from_micros(500);
/// A nap lasts for this part of the wait so far, so that an event without a ring is not noticed much later.
const PART: u32 = 8;
const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(1);

/// Waits until a condition holds for which nobody rings.
pub fn wait_until(done: impl Fn() -> bool) {
    const LOOKS: u32 = 100;
    const YIELDS: u32 = 1000;
    let mut waited = 0;
    while !done() {
        waited += 1;
        match waited {
            ..LOOKS => std::hint::spin_loop(),
            LOOKS..YIELDS => std::thread::yield_now(),
            _ => std::thread::sleep(SHORTEST),
        }
    }
}

/// How long a member has waited.
#[derive(Debug, Default)]
pub struct Wait(Option<Instant>);

impl Wait {
    /// Yields or naps, as the user wants it.
    #[cold]
    pub fn go_on(&mut self, bell: &Bell, is_there: impl Fn() -> bool) {
        let waited = self.0.get_or_insert_with(Instant::now).elapsed();
        match settings().policy {
            WaitPolicy::Active => std::thread::yield_now(),
            WaitPolicy::Passive => bell.nap(nap(waited), is_there),
            _ if waited < GIVE_WAY => std::thread::yield_now(),
            WaitPolicy::Adaptive if may_linger(waited) => std::thread::yield_now(),
            _ => bell.nap(nap(waited), is_there),
        }
    }
}

fn nap(waited: Duration) -> Duration {
    (waited / PART).clamp(SHORTEST, LONGEST)
}
