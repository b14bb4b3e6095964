//! Other architectures: the vectors that every CPU of theirs has.

/// What [`widest`] compiles for on this CPU.
pub fn name() -> &'static str {
    "the architecture's baseline"
}

/// Runs `body`.
#[inline(always)]
pub(in crate::kernels) fn widest<R>(body: impl FnOnce() -> R) -> R {
    body()
}
