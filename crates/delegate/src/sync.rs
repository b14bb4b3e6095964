//! The primitives under the ring. The model checker replaces this module, and nothing else (`tests/models`).

pub(crate) use std::sync::atomic::{AtomicIsize, AtomicU32, AtomicUsize, Ordering};
