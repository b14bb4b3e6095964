//! The CPUs that a thread may use, as the kernel has them. No other memory is asked for, which a handler may not.

use coho_delegate::Request;

/// Of CPUs, as the kernel has them: enough for every machine that Linux runs on.
pub const WORDS: usize = 128;
pub type Mask = [u64; WORDS];

/// What a thread could use, and what it kept of that.
pub struct Left {
    pub before: Mask,
    pub kept: Mask,
}

/// Those of a mask that others lack.
pub fn without(mask: &Mask, others: &Mask) -> Mask {
    std::array::from_fn(|word| mask[word] & !others[word])
}

/// The calling thread's; `None` if the kernel has more than fit.
pub fn allowed() -> Option<Mask> {
    let mut mask: Mask = [0; WORDS];
    let arguments = [0, size_of::<Mask>(), (&raw mut mask) as usize, 0, 0, 0];
    // SAFETY: the kernel writes no more than the mask.
    unsafe { Request::system(libc::SYS_sched_getaffinity, arguments).execute() }
        .result()
        .is_ok()
        .then_some(mask)
}

/// Confines the calling thread to these; whether the kernel does.
pub fn allow(mask: &Mask) -> bool {
    let arguments = [0, size_of::<Mask>(), std::ptr::from_ref(mask) as usize, 0, 0, 0];
    // SAFETY: the kernel reads the mask.
    unsafe { Request::system(libc::SYS_sched_setaffinity, arguments).execute() }.result().is_ok()
}
