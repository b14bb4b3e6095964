//! RDPMC: 0F 33, counter number in ECX, result in EDX:EAX.

use libc::{REG_RAX, REG_RCX, REG_RDX, REG_RIP};

/// What a process gets that may not use it.
pub const REFUSAL: libc::c_int = libc::SIGSEGV;

/// The first of the counters' numbers: no CPU has a counter of such a number, so that each refuses the instruction, also
/// where a process may use it.
const FIRST: u32 = 0x1000_0000;

/// The page's index of a counter.
pub fn index(counter: u32) -> u32 {
    FIRST + counter + 1
}

/// Executes the instruction in the CPU's place; whether it was that instruction.
pub fn answer(context: &mut libc::ucontext_t, value: impl Fn(u32) -> Option<u64>) -> bool {
    let registers = &mut context.uc_mcontext.gregs;
    // SAFETY: these are the bytes of the instruction that has just been refused, so they can be read.
    let instruction = unsafe { (registers[REG_RIP as usize] as *const [u8; 2]).read_unaligned() };
    let Some(value) = value((registers[REG_RCX as usize] as u32).wrapping_sub(FIRST))
        .filter(|_| instruction == [0x0F, 0x33])
    else {
        return false;
    };
    registers[REG_RAX as usize] = i64::from(value as u32);
    registers[REG_RDX as usize] = (value >> 32) as i64;
    registers[REG_RIP as usize] += 2;
    true
}
