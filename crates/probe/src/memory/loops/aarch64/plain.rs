//! General registers, 4 and 8 bytes at a time.

write_loop! {
    /// Stores of 4 bytes.
    write_4: "";
    each 64: at!([0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60] "str w3, [x0, #" "]")
}

read_loop! {
    /// Loads of 4 bytes.
    read_4:
    each 64: at!([0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60] "ldr w5, [x1, #" "]")
}

copy_loop! {
    /// Loads and stores of 4 bytes.
    copy_4:
    each 64: at!(
        [0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60]
        "ldr w5, [x1, #" "]\nstr w5, [x0, #" "]"
    )
}

write_loop! {
    /// Stores of 8 bytes.
    write_8: "";
    each 128: at!([0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120] "str x3, [x0, #" "]")
}

read_loop! {
    /// Loads of 8 bytes.
    read_8:
    each 128: at!([0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120] "ldr x5, [x1, #" "]")
}

copy_loop! {
    /// Loads and stores of 8 bytes.
    copy_8:
    each 128: at!(
        [0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120]
        "ldr x5, [x1, #" "]\nstr x5, [x0, #" "]"
    )
}
