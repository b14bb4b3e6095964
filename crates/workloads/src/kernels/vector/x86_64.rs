//! x86-64: vectors of 32 bytes if the CPU has AVX2, otherwise SSE2's.

/// The vector instructions that loops use on this CPU: `AVX2`, `SSE2`, or a description.
pub fn name() -> &'static str {
    if is_x86_feature_detected!("avx2") { "AVX2" } else { "SSE2" }
}

/// Runs `body` compiled for the widest vectors of this CPU.
#[inline]
pub(in crate::kernels) fn widest<R>(body: impl FnOnce() -> R) -> R {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has it.
        unsafe { avx2(body) }
    } else {
        body()
    }
}

#[target_feature(enable = "avx2")]
fn avx2<R>(body: impl FnOnce() -> R) -> R {
    body()
}
