//! AVX2: 32 bytes at a time.

write_loop! {
    /// Stores through the caches.
    write: "vmovq xmm0, rcx\nvpbroadcastq ymm0, xmm0";
    each 256: at!([0 32 64 96 128 160 192 224] "vmovdqa ymmword ptr [rdi + " "], ymm0");
    "vzeroupper"
}

write_loop! {
    /// Stores past the caches.
    write_nt: "vmovq xmm0, rcx\nvpbroadcastq ymm0, xmm0";
    each 256: at!([0 32 64 96 128 160 192 224] "vmovntdq ymmword ptr [rdi + " "], ymm0");
    "vzeroupper"
}

read_loop! {
    /// Loads.
    read: "";
    each 256: at!([0 32 64 96 128 160 192 224] "vmovdqa ymm0, ymmword ptr [rsi + " "]");
    "vzeroupper"
}

read_loop! {
    /// MOVNTDQA: loads that gather a line of write-combining memory; elsewhere like any other.
    read_movntdqa: "";
    each 256: at!([0 32 64 96 128 160 192 224] "vmovntdqa ymm0, ymmword ptr [rsi + " "]");
    "vzeroupper"
}

read_loop! {
    /// Loads through PREFETCHNTA.
    read_prefetchnta: first_ahead!(256);
    each 256: concat!(
        ahead!([0 64 128 192]),
        at!([0 32 64 96 128 160 192 224] "vmovdqa ymm0, ymmword ptr [rsi + " "]")
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads and stores through the caches.
    copy: "";
    each 256: at!(
        [0 32 64 96 128 160 192 224]
        "vmovdqa ymm0, ymmword ptr [rsi + " "]\nvmovdqa ymmword ptr [rdi + " "], ymm0"
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads, and stores past the caches.
    copy_nt: "";
    each 256: at!(
        [0 32 64 96 128 160 192 224]
        "vmovdqa ymm0, ymmword ptr [rsi + " "]\nvmovntdq ymmword ptr [rdi + " "], ymm0"
    );
    "vzeroupper"
}

copy_loop! {
    /// MOVNTDQA, and stores past the caches.
    copy_movntdqa_nt: "";
    each 256: at!(
        [0 32 64 96 128 160 192 224]
        "vmovntdqa ymm0, ymmword ptr [rsi + " "]\nvmovntdq ymmword ptr [rdi + " "], ymm0"
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads through PREFETCHNTA, and stores through the caches.
    copy_prefetchnta: first_ahead!(256);
    each 256: concat!(
        ahead!([0 64 128 192]),
        at!(
            [0 32 64 96 128 160 192 224]
            "vmovdqa ymm0, ymmword ptr [rsi + " "]\nvmovdqa ymmword ptr [rdi + " "], ymm0"
        )
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads through PREFETCHNTA, and stores past the caches.
    copy_prefetchnta_nt: first_ahead!(256);
    each 256: concat!(
        ahead!([0 64 128 192]),
        at!(
            [0 32 64 96 128 160 192 224]
            "vmovdqa ymm0, ymmword ptr [rsi + " "]\nvmovntdq ymmword ptr [rdi + " "], ymm0"
        )
    );
    "vzeroupper"
}
