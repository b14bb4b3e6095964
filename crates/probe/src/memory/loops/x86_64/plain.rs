//! General registers, 4 and 8 bytes at a time.

write_loop! {
    /// Stores of 4 bytes.
    write_4: "";
    each 64: at!([0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60] "mov dword ptr [rdi + " "], ecx");
    ""
}

read_loop! {
    /// Loads of 4 bytes.
    read_4: "";
    each 64: at!([0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60] "mov r11d, dword ptr [rsi + " "]");
    ""
}

read_loop! {
    /// Loads of 4 bytes through PREFETCHNTA.
    read_4_prefetchnta: first_ahead!(64);
    each 64: concat!(
        ahead!([0]),
        at!([0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60] "mov r11d, dword ptr [rsi + " "]")
    );
    ""
}

copy_loop! {
    /// Loads and stores of 4 bytes.
    copy_4: "";
    each 64: at!(
        [0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60]
        "mov r11d, dword ptr [rsi + " "]\nmov dword ptr [rdi + " "], r11d"
    );
    ""
}

copy_loop! {
    /// Loads through PREFETCHNTA and stores, of 4 bytes.
    copy_4_prefetchnta: first_ahead!(64);
    each 64: concat!(
        ahead!([0]),
        at!(
            [0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60]
            "mov r11d, dword ptr [rsi + " "]\nmov dword ptr [rdi + " "], r11d"
        )
    );
    ""
}

write_loop! {
    /// Stores of 8 bytes.
    write_8: "";
    each 128: at!([0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120] "mov qword ptr [rdi + " "], rcx");
    ""
}

read_loop! {
    /// Loads of 8 bytes.
    read_8: "";
    each 128: at!([0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120] "mov r11, qword ptr [rsi + " "]");
    ""
}

read_loop! {
    /// Loads of 8 bytes through PREFETCHNTA.
    read_8_prefetchnta: first_ahead!(128);
    each 128: concat!(
        ahead!([0 64]),
        at!([0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120] "mov r11, qword ptr [rsi + " "]")
    );
    ""
}

copy_loop! {
    /// Loads and stores of 8 bytes.
    copy_8: "";
    each 128: at!(
        [0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120]
        "mov r11, qword ptr [rsi + " "]\nmov qword ptr [rdi + " "], r11"
    );
    ""
}

copy_loop! {
    /// Loads through PREFETCHNTA and stores, of 8 bytes.
    copy_8_prefetchnta: first_ahead!(128);
    each 128: concat!(
        ahead!([0 64]),
        at!(
            [0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120]
            "mov r11, qword ptr [rsi + " "]\nmov qword ptr [rdi + " "], r11"
        )
    );
    ""
}
