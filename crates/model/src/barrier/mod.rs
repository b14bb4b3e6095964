//! The time of barriers and of fork and join, predicted from one-way times between CPUs (Nakamura et al.).
//!
//! [`Machine`] holds the times, [`predict`] simulates every algorithm's line transfers on it, and [`barrier_limit`]
//! gives the lower bound of all algorithms.
//!
//! The model leaves out: instructions between transfers (except atomic operations on lines already owned), limits of
//! links and cache directories that many lines share, the home of a line beyond what the one-way times contain, false
//! sharing and prefetching of neighbouring lines, threads of one core that slow each other down while they spin,
//! preemption, and threads that arrive at different times. At a barrier all threads arrive at once, again and again;
//! a region begins when all but its caller are waiting ([`By`]). The time is that of one episode in such a series. A
//! reader gets a line as it is when the reader asks for it, not as it is when the owner sends it.

mod algorithm;
mod answer;
mod check;
mod choose;
mod farthest_pair;
mod fit;
mod forecast;
mod latency;
mod limit;
mod machine;
mod measured;
mod predict;
mod program;
mod quickest;
mod range;
mod report;
mod simulate;
#[cfg(test)]
mod tests;

pub use coho_sync::Mapping;

pub use algorithm::{Algorithm, By};
pub use answer::{Answer, Unanswered, answer, orders};
pub use check::{Basis, Check, Comparison, LeftOut, compare};
pub use choose::{Choice, Cluster, choose, clusters, longest_message};
pub(crate) use farthest_pair::FarthestPair;
pub use fit::{Figure, Fit, Published, fit};
pub use forecast::{Forecast, Limits};
pub use latency::Tier;
pub use limit::{Way, barrier_limit, distances, eccentricity, fork_join_limit};
pub use machine::{ExtraLine, Gap, Local, Machine, Source};
pub(crate) use measured::search;
pub use measured::{Shortest, quickest_measured, shortest, times_limit};
pub use predict::{Prediction, predict, predict_fork_join, predict_quick};
pub use quickest::{Quickest, choice_name, quickest, team_sizes};
pub use range::{MOST_VARIED, add_ranges, add_rivals};
