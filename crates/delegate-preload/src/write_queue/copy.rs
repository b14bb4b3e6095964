//! Copies of payloads for the host to read.

/// From here on a copy goes past the caches.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 1024;

/// Copies bytes to memory that begins with a line. The host has read that memory since it was last written to, so ordinary
/// stores wait until its copy of each line is gone. Those of long payloads do not: they go to memory, from where the host
/// fetches them.
///
/// # Safety
/// As `copy_nonoverlapping`'s, and the memory begins with a line.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    let past = if bytes < LONG { 0 } else { bytes - bytes % STEP };
    if past > 0 {
        // SAFETY: as the caller promises.
        unsafe { copy_past(from, to, past) };
    }
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(from.add(past), to.add(past), bytes - past) };
}

/// Bytes of a line.
#[cfg(target_arch = "x86_64")]
const STEP: usize = 64;

/// Copies whole lines.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    const PARTS: usize = STEP / size_of::<__m128i>();
    for at in (0..bytes).step_by(STEP) {
        // SAFETY: as the caller promises.
        unsafe {
            let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let parts: [__m128i; PARTS] = std::array::from_fn(|part| _mm_loadu_si128(from.add(part)));
            (0..PARTS).for_each(|part| _mm_stream_si128(to.add(part), parts[part]));
        }
    }
    // SAFETY: every x86-64 processor has it. They are there before the request is posted.
    unsafe { _mm_sfence() };
}

/// Copies bytes.
///
/// # Safety
/// As `copy_nonoverlapping`'s.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Lines([u8; 5000]);

    #[test]
    fn all_bytes_arrive_and_no_others() {
        let from: Vec<u8> = (0..5000).map(|at| (at % 251) as u8 + 1).collect();
        for (skip, bytes) in [(0, 1), (1, 1023), (0, 1024), (3, 1087), (8, 4096), (5, 4097), (0, 4999)] {
            let mut to = Lines([0; 5000]);
            // SAFETY: both are at least as long, and the lines begin with one.
            unsafe { copy(from[skip..].as_ptr(), to.0.as_mut_ptr(), bytes.min(5000 - skip)) };
            let bytes = bytes.min(5000 - skip);
            assert_eq!(to.0[..bytes], from[skip..skip + bytes]);
            assert!(to.0[bytes..].iter().all(|&byte| byte == 0), "{skip} {bytes}");
        }
    }
}
