//! Names of ratios in [`Sync::ratios`](crate::Sync::ratios), those of Nakamura et al. They cover all of a node's CPUs or
//! half of them, since no two machines have equally many.

/// Fork and join by FBS on one line, over that on separate lines; all CPUs.
pub const ONE_LINE: &str = "fork-join.one-line-over-separate-lines.all";
/// Fork and join by a lock variable, over that by FBS; all CPUs.
pub const LOCK: &str = "fork-join.lock-over-fbs.all";
/// Fork and join by FBS in binary-tree mapping, over that in sequential mapping; half the CPUs.
pub const MAPPING: &str = "fork-join.binary-tree-over-sequential.half";
/// Speed-up of the shortest loops with FBS over the lock; all CPUs.
pub const SHORT_LOOPS: &str = "daxpy.fbs-speed-up.short-loops";
/// Quickest loop with FBS over the quickest with the lock; all CPUs.
pub const PEAK: &str = "daxpy.fbs-speed-up.peak";
/// Run time of the untuned program with FBS over that with the lock; all CPUs.
pub const UNTUNED: &str = "galerkin.fbs-over-lock.all";
/// Run time of the tuned program with FBS over that with the lock; all CPUs.
pub const TUNED: &str = "weather.fbs-over-lock.all";
/// Share of the tuned program's time that threads wait under FBS; half the CPUs.
pub const WAITING_HALF: &str = "weather.sync-share.half";
/// The same; all CPUs.
pub const WAITING_ALL: &str = "weather.sync-share.all";
