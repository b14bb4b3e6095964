//! The loops by kind of register. `_nt` stores past the caches, `_movntdqa` loads by the instruction that gathers a line
//! of write-combining memory, and `_prefetchnta` loads through PREFETCHNTA.

registers! {
    /// General registers, 4 bytes at a time.
    plain_4 {
        each 64 at [0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60] lines [0];
        "dword ptr" by "r11d", value in "ecx": ""; ""
    }
    write_loop write ["mov"]
    write_loop write_nt ["movnti"]
    read_loop read ["mov"]
    read_loop read_prefetchnta [ahead "mov"]
    copy_loop copy ["mov" "mov"]
    copy_loop copy_prefetchnta [ahead "mov" "mov"]
}

registers! {
    /// General registers, 8 bytes at a time.
    plain_8 {
        each 128 at [0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120] lines [0 64];
        "qword ptr" by "r11", value in "rcx": ""; ""
    }
    write_loop write ["mov"]
    write_loop write_nt ["movnti"]
    read_loop read ["mov"]
    read_loop read_prefetchnta [ahead "mov"]
    copy_loop copy ["mov" "mov"]
    copy_loop copy_nt ["mov" "movnti"]
    copy_loop copy_prefetchnta [ahead "mov" "mov"]
}

/// The loops that every kind of vector register has.
macro_rules! vectors {
    ($(#[$doc:meta])* $module:ident $load:literal $store:literal $load_nt:literal $store_nt:literal $registers:tt) => {
        registers! {
            $(#[$doc])*
            $module $registers
            write_loop write [$store]
            write_loop write_nt [$store_nt]
            read_loop read [$load]
            read_loop read_movntdqa [$load_nt]
            read_loop read_prefetchnta [ahead $load]
            copy_loop copy [$load $store]
            copy_loop copy_nt [$load $store_nt]
            copy_loop copy_movntdqa_nt [$load_nt $store_nt]
            copy_loop copy_prefetchnta [ahead $load $store]
            copy_loop copy_prefetchnta_nt [ahead $load $store_nt]
        }
    };
}

vectors! {
    /// SSE2, and SSE4.1's MOVNTDQA: 16 bytes at a time.
    sse2 "movdqa" "movdqa" "movntdqa" "movntdq" {
        each 256 at [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240] lines [0 64 128 192];
        "xmmword ptr" by "xmm0", value in "xmm0": "movq xmm0, rcx\npunpcklqdq xmm0, xmm0"; ""
    }
}

vectors! {
    /// AVX2: 32 bytes at a time.
    avx2 "vmovdqa" "vmovdqa" "vmovntdqa" "vmovntdq" {
        each 256 at [0 32 64 96 128 160 192 224] lines [0 64 128 192];
        "ymmword ptr" by "ymm0", value in "ymm0": "vmovq xmm0, rcx\nvpbroadcastq ymm0, xmm0"; "vzeroupper"
    }
}

vectors! {
    /// AVX-512: 64 bytes at a time.
    avx512 "vmovdqa64" "vmovdqa64" "vmovntdqa" "vmovntdq" {
        each 512 at [0 64 128 192 256 320 384 448] lines [0 64 128 192 256 320 384 448];
        "zmmword ptr" by "zmm0", value in "zmm0": "vpbroadcastq zmm0, rcx"; "vzeroupper"
    }
}
