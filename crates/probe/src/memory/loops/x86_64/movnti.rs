//! MOVNTI: stores from general registers past the caches.

write_loop! {
    /// Stores of 4 bytes.
    write_4: "";
    each 64: at!([0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60] "movnti dword ptr [rdi + " "], ecx");
    ""
}

write_loop! {
    /// Stores of 8 bytes.
    write_8: "";
    each 128: at!(
        [0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120]
        "movnti qword ptr [rdi + " "], rcx"
    );
    ""
}

copy_loop! {
    /// Plain loads and MOVNTI of 8 bytes.
    copy_8: "";
    each 128: at!(
        [0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120]
        "mov r11, qword ptr [rsi + " "]\nmovnti qword ptr [rdi + " "], r11"
    );
    ""
}
