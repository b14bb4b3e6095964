//! NEON: pairs of 16-byte registers.

write_loop! {
    /// Stores through the caches.
    write: "dup v0.2d, x3";
    each 256: at!([0 32 64 96 128 160 192 224] "stp q0, q0, [x0, #" "]")
}

read_loop! {
    /// Loads through the caches.
    read:
    each 256: at!([0 32 64 96 128 160 192 224] "ldp q0, q1, [x1, #" "]")
}

copy_loop! {
    /// Loads, and stores through the caches.
    copy:
    each 256: at!([0 32 64 96 128 160 192 224] "ldp q0, q1, [x1, #" "]\nstp q0, q1, [x0, #" "]")
}

write_loop! {
    /// Stores that tell the caches that the data is not needed again.
    write_nt: "dup v0.2d, x3";
    each 256: at!([0 32 64 96 128 160 192 224] "stnp q0, q0, [x0, #" "]")
}

read_loop! {
    /// Loads that tell the caches that the data is not needed again.
    read_nt:
    each 256: at!([0 32 64 96 128 160 192 224] "ldnp q0, q1, [x1, #" "]")
}

copy_loop! {
    /// Loads, and stores that tell the caches that the data is not needed again.
    copy_nt:
    each 256: at!([0 32 64 96 128 160 192 224] "ldp q0, q1, [x1, #" "]\nstnp q0, q1, [x0, #" "]")
}
