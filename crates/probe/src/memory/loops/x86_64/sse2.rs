//! SSE2, and SSE4.1's MOVNTDQA: 16 bytes at a time.

write_loop! {
    /// Stores through the caches.
    write: "movq xmm0, rcx\npunpcklqdq xmm0, xmm0";
    each 256: at!(
        [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
        "movdqa xmmword ptr [rdi + " "], xmm0"
    );
    ""
}

write_loop! {
    /// Stores past the caches.
    write_nt: "movq xmm0, rcx\npunpcklqdq xmm0, xmm0";
    each 256: at!(
        [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
        "movntdq xmmword ptr [rdi + " "], xmm0"
    );
    ""
}

read_loop! {
    /// Loads.
    read: "";
    each 256: at!(
        [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
        "movdqa xmm0, xmmword ptr [rsi + " "]"
    );
    ""
}

read_loop! {
    /// MOVNTDQA: loads that gather a line of write-combining memory; elsewhere like any other.
    read_movntdqa: "";
    each 256: at!(
        [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
        "movntdqa xmm0, xmmword ptr [rsi + " "]"
    );
    ""
}

read_loop! {
    /// Loads through PREFETCHNTA.
    read_prefetchnta: first_ahead!(256);
    each 256: concat!(
        ahead!([0 64 128 192]),
        at!(
            [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
            "movdqa xmm0, xmmword ptr [rsi + " "]"
        )
    );
    ""
}

copy_loop! {
    /// Loads and stores through the caches.
    copy: "";
    each 256: at!(
        [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
        "movdqa xmm0, xmmword ptr [rsi + " "]\nmovdqa xmmword ptr [rdi + " "], xmm0"
    );
    ""
}

copy_loop! {
    /// Loads, and stores past the caches.
    copy_nt: "";
    each 256: at!(
        [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
        "movdqa xmm0, xmmword ptr [rsi + " "]\nmovntdq xmmword ptr [rdi + " "], xmm0"
    );
    ""
}

copy_loop! {
    /// MOVNTDQA, and stores past the caches.
    copy_movntdqa_nt: "";
    each 256: at!(
        [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
        "movntdqa xmm0, xmmword ptr [rsi + " "]\nmovntdq xmmword ptr [rdi + " "], xmm0"
    );
    ""
}

copy_loop! {
    /// Loads through PREFETCHNTA, and stores through the caches.
    copy_prefetchnta: first_ahead!(256);
    each 256: concat!(
        ahead!([0 64 128 192]),
        at!(
            [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
            "movdqa xmm0, xmmword ptr [rsi + " "]\nmovdqa xmmword ptr [rdi + " "], xmm0"
        )
    );
    ""
}

copy_loop! {
    /// Loads through PREFETCHNTA, and stores past the caches.
    copy_prefetchnta_nt: first_ahead!(256);
    each 256: concat!(
        ahead!([0 64 128 192]),
        at!(
            [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]
            "movdqa xmm0, xmmword ptr [rsi + " "]\nmovntdq xmmword ptr [rdi + " "], xmm0"
        )
    );
    ""
}
