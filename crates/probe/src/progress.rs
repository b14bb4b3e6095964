//! How far an experiment is.

use std::time::Duration;

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What is being measured.
    pub phase: &'static str,
    /// Steps done.
    pub done: u64,
    /// Steps in all, as far as known.
    pub total: u64,
    /// Time left, estimated from the steps done.
    pub left: Option<Duration>,
}
