//! Sizes of threads' stacks, as the C library sees them.

/// As `pthread_create` gives without attributes: the limit on the first thread's stack, mostly.
pub fn default_bytes() -> usize {
    let mut bytes = 0;
    // SAFETY: the attributes are initialised, and the size is written to a variable.
    with_attributes(|attributes| unsafe { libc::pthread_attr_getstacksize(attributes, &raw mut bytes) });
    if bytes == 0 { 8 << 20 } else { bytes }
}

/// Whether the C library accepts a stack of this size. libgomp ignores a size that it refuses.
pub fn is_enough(bytes: usize) -> bool {
    // SAFETY: the attributes are initialised.
    with_attributes(|attributes| unsafe { libc::pthread_attr_setstacksize(attributes, bytes) })
        .is_none_or(|error| error == 0)
}

/// The result of a call on a new thread's attributes; `None` without memory for them.
fn with_attributes<T>(call: impl FnOnce(*mut libc::pthread_attr_t) -> T) -> Option<T> {
    // SAFETY: the attributes are initialised before the call, and destroyed after it.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_attr_init(&raw mut attributes) != 0 {
            return None;
        }
        let returned = call(&raw mut attributes);
        libc::pthread_attr_destroy(&raw mut attributes);
        Some(returned)
    }
}
