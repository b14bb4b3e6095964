//! Other architectures: the vectors that every CPU of theirs has.

/// The vector instructions that loops use on this CPU: `AVX2`, `SSE2`, or a description.
pub fn name() -> &'static str {
    "the architecture's baseline"
}

/// Runs `body`.
#[inline(always)]
pub(in crate::kernels) fn widest<R>(body: impl FnOnce() -> R) -> R {
    body()
}
