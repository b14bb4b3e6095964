//! MRS of PMEVCNTRn_EL0 and PMCCNTR_EL0.

/// What a process gets that may not use it.
pub const REFUSAL: libc::c_int = libc::SIGILL;

/// The page's index of a counter.
pub fn index(counter: u32) -> u32 {
    counter + 1
}

/// Executes the instruction in the CPU's place; whether it was that instruction.
pub fn answer(context: &mut libc::ucontext_t, value: impl Fn(u32) -> Option<u64>) -> bool {
    let machine = &mut context.uc_mcontext;
    // SAFETY: this is the instruction that has just been refused, so it can be read.
    let instruction = unsafe { (machine.pc as *const u32).read() };
    let number = match instruction {
        // PMCCNTR_EL0, which the page calls index 32.
        cycles if cycles & !0x1F == 0xD53B_9D00 => 31,
        // PMEVCNTRn_EL0, n in bits 5 to 9.
        event if event & !0x3FF == 0xD53B_E800 => event >> 5 & 0x1F,
        _ => return false,
    };
    let Some(value) = value(number) else { return false };
    let destination = (instruction & 0x1F) as usize;
    if destination < 31 {
        machine.regs[destination] = value;
    }
    machine.pc += 4;
    true
}
