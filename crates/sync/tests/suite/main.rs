//! Barriers and teams by real threads, and the C interface.

#[cfg(feature = "topology")]
mod barrier;
#[cfg(feature = "topology")]
mod c;
#[cfg(feature = "topology")]
mod header;
mod lend;
mod team;
mod team_threads;
#[cfg(feature = "topology")]
mod tso;
