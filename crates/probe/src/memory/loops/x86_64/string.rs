//! String instructions: the CPU's microcode chooses how.

/// REP STOSB.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn write(to: *mut u8, from: *const u8, bytes: usize, value: u64) {
    std::arch::naked_asm!("mov eax, ecx", "mov rcx, rdx", "rep stosb", "ret")
}

/// REP MOVSB.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn copy(to: *mut u8, from: *const u8, bytes: usize, value: u64) {
    std::arch::naked_asm!("mov rcx, rdx", "rep movsb", "ret")
}
