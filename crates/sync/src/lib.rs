//! Barriers and the fork-join team.
#![warn(missing_docs)]
