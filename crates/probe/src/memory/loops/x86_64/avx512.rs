//! AVX-512: 64 bytes at a time.

write_loop! {
    /// Stores through the caches.
    write: "vpbroadcastq zmm0, rcx";
    each 512: at!([0 64 128 192 256 320 384 448] "vmovdqa64 zmmword ptr [rdi + " "], zmm0");
    "vzeroupper"
}

write_loop! {
    /// Stores past the caches.
    write_nt: "vpbroadcastq zmm0, rcx";
    each 512: at!([0 64 128 192 256 320 384 448] "vmovntdq zmmword ptr [rdi + " "], zmm0");
    "vzeroupper"
}

read_loop! {
    /// Loads.
    read: "";
    each 512: at!([0 64 128 192 256 320 384 448] "vmovdqa64 zmm0, zmmword ptr [rsi + " "]");
    "vzeroupper"
}

read_loop! {
    /// MOVNTDQA: loads that gather a line of write-combining memory; elsewhere like any other.
    read_movntdqa: "";
    each 512: at!([0 64 128 192 256 320 384 448] "vmovntdqa zmm0, zmmword ptr [rsi + " "]");
    "vzeroupper"
}

read_loop! {
    /// Loads through PREFETCHNTA.
    read_prefetchnta: first_ahead!(512);
    each 512: concat!(
        ahead!([0 64 128 192 256 320 384 448]),
        at!([0 64 128 192 256 320 384 448] "vmovdqa64 zmm0, zmmword ptr [rsi + " "]")
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads and stores through the caches.
    copy: "";
    each 512: at!(
        [0 64 128 192 256 320 384 448]
        "vmovdqa64 zmm0, zmmword ptr [rsi + " "]\nvmovdqa64 zmmword ptr [rdi + " "], zmm0"
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads, and stores past the caches.
    copy_nt: "";
    each 512: at!(
        [0 64 128 192 256 320 384 448]
        "vmovdqa64 zmm0, zmmword ptr [rsi + " "]\nvmovntdq zmmword ptr [rdi + " "], zmm0"
    );
    "vzeroupper"
}

copy_loop! {
    /// MOVNTDQA, and stores past the caches.
    copy_movntdqa_nt: "";
    each 512: at!(
        [0 64 128 192 256 320 384 448]
        "vmovntdqa zmm0, zmmword ptr [rsi + " "]\nvmovntdq zmmword ptr [rdi + " "], zmm0"
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads through PREFETCHNTA, and stores through the caches.
    copy_prefetchnta: first_ahead!(512);
    each 512: concat!(
        ahead!([0 64 128 192 256 320 384 448]),
        at!(
            [0 64 128 192 256 320 384 448]
            "vmovdqa64 zmm0, zmmword ptr [rsi + " "]\nvmovdqa64 zmmword ptr [rdi + " "], zmm0"
        )
    );
    "vzeroupper"
}

copy_loop! {
    /// Loads through PREFETCHNTA, and stores past the caches.
    copy_prefetchnta_nt: first_ahead!(512);
    each 512: concat!(
        ahead!([0 64 128 192 256 320 384 448]),
        at!(
            [0 64 128 192 256 320 384 448]
            "vmovdqa64 zmm0, zmmword ptr [rsi + " "]\nvmovntdq zmmword ptr [rdi + " "], zmm0"
        )
    );
    "vzeroupper"
}
