//! The loops by kind of register. `_nt` tells the caches that the data is not needed again.

registers! {
    /// General registers, 4 bytes at a time.
    plain_4 {
        each 64 at [0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60];
        "w5", value in "w3": ""
    }
    write_loop write ["str"]
    read_loop read ["ldr"]
    copy_loop copy ["ldr" "str"]
}

registers! {
    /// General registers, 8 bytes at a time.
    plain_8 {
        each 128 at [0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120];
        "x5", value in "x3": ""
    }
    write_loop write ["str"]
    read_loop read ["ldr"]
    copy_loop copy ["ldr" "str"]
}

registers! {
    /// NEON: pairs of 16-byte registers.
    neon {
        each 256 at [0 32 64 96 128 160 192 224];
        "q0, q1", value in "q0, q0": "dup v0.2d, x3"
    }
    write_loop write ["stp"]
    write_loop write_nt ["stnp"]
    read_loop read ["ldp"]
    read_loop read_nt ["ldnp"]
    copy_loop copy ["ldp" "stp"]
    copy_loop copy_nt ["ldp" "stnp"]
}
