//! Other architectures: the vectors that every CPU of theirs has.

/// The vectors that loops are compiled for on this CPU: `AVX2`, `SSE2`, or in words.
pub fn name() -> &'static str {
    "the architecture's baseline"
}

/// Runs `body`.
#[inline(always)]
pub(in crate::kernels) fn widest<R>(body: impl FnOnce() -> R) -> R {
    body()
}
