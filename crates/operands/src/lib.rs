//! What memory the next instructions of an x86-64 program name, followed from the registers' values without executing
//! anything.
#![warn(missing_docs)]

mod effects;
mod memory;
mod registers;

use std::fmt;

use coho_recording::Access;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic,
    OpAccess, Register, UsedMemory,
};

pub use memory::ProcessMemory;
pub use registers::Registers;

/// Instructions that are followed.
const MOST: u8 = 32;
/// Bytes of code that are read at once.
const WINDOW: usize = 128;
const LONGEST: usize = 15;

/// The memory of the program.
pub trait Memory {
    /// Reads from an address on; how many bytes could be read.
    fn read(&mut self, address: u64, to: &mut [u8]) -> usize;
}

/// An operand in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// The instruction.
    pub pc: u64,
    /// The operand's first byte.
    pub address: u64,
    /// Its bytes; 0 if they are not known.
    pub bytes: u8,
    /// What is done to it.
    pub access: Access,
    /// The instruction's bytes.
    pub length: u8,
    /// Instructions before it.
    pub ahead: u8,
}

/// Reads instructions. Neither its making nor its use allocates once one was made before, so that signal handlers may use it.
pub struct Follower {
    factory: InstructionInfoFactory,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

impl Default for Follower {
    fn default() -> Self {
        // The decoder makes its tables at its first use, which must not be in a signal handler.
        let _ = Decoder::new(64, &[0x90], DecoderOptions::NONE).decode();
        Self { factory: InstructionInfoFactory::new() }
    }
}

impl Follower {
    /// Follows the instructions from `pc` on: a jump that depends on something is taken if it leads back. Ends at calls,
    /// returns, system calls, and what cannot be read. Returns whether it came to the last of them and knew every operand's
    /// address.
    pub fn follow(
        &mut self,
        mut registers: Registers,
        mut pc: u64,
        memory: &mut impl Memory,
        mut each: impl FnMut(Operand),
    ) -> bool {
        let mut are_known = true;
        let mut code = [0; WINDOW];
        let (mut start, mut bytes) = (pc, 0);
        let mut written = effects::Written::default();
        for ahead in 0..MOST {
            let mut at = pc.wrapping_sub(start) as usize;
            if at >= bytes || bytes - at < LONGEST && bytes == WINDOW {
                (start, at) = (pc, 0);
                bytes = memory.read(pc, &mut code).min(WINDOW);
            }
            let mut decoder = Decoder::with_ip(64, &code[at..bytes], pc, DecoderOptions::NONE);
            if !decoder.can_decode() {
                return false;
            }
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                return false;
            }
            let used = self.factory.info(&instruction);
            are_known &= name(&instruction, used, &registers, ahead, &mut each);
            let target = match instruction.flow_control() {
                FlowControl::Next => instruction.next_ip(),
                FlowControl::UnconditionalBranch => instruction.near_branch_target(),
                FlowControl::ConditionalBranch => {
                    let target = instruction.near_branch_target();
                    if target <= pc { target } else { instruction.next_ip() }
                }
                _ => return false,
            };
            effects::apply(&instruction, used, &mut registers, &mut written, memory);
            pc = target;
        }
        are_known
    }

    /// Names the operands of one instruction, and returns whether the thread may be stopped after it: not if it enters the
    /// kernel, where signals may be blocked, or looks at the flags, which say that it is stepped.
    pub fn look_at(
        &mut self,
        registers: &Registers,
        pc: u64,
        memory: &mut impl Memory,
        mut each: impl FnMut(Operand),
    ) -> bool {
        let mut code = [0; LONGEST];
        let bytes = memory.read(pc, &mut code);
        let mut decoder = Decoder::with_ip(64, &code[..bytes.min(LONGEST)], pc, DecoderOptions::NONE);
        if !decoder.can_decode() {
            return false;
        }
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return false;
        }
        name(&instruction, self.factory.info(&instruction), registers, 0, &mut each);
        match instruction.flow_control() {
            FlowControl::Next => !matches!(
                instruction.mnemonic(),
                Mnemonic::Pushf | Mnemonic::Pushfq | Mnemonic::Popf | Mnemonic::Popfq
            ),
            FlowControl::Call => instruction.is_call_near(),
            FlowControl::IndirectCall => instruction.is_call_near_indirect(),
            FlowControl::Return => matches!(instruction.mnemonic(), Mnemonic::Ret),
            FlowControl::UnconditionalBranch
            | FlowControl::ConditionalBranch
            | FlowControl::IndirectBranch => true,
            _ => false,
        }
    }
}

/// Names the operands whose addresses are known; whether all are.
fn name(
    instruction: &Instruction,
    used: &InstructionInfo,
    registers: &Registers,
    ahead: u8,
    each: &mut impl FnMut(Operand),
) -> bool {
    let mut are_known = true;
    for memory in used.used_memory().iter().filter(|memory| !is_the_stack_s(instruction, memory)) {
        let Some(access) = access(memory.access()) else { continue };
        let Some((bytes, address)) = operand(instruction, memory, registers) else {
            are_known = false;
            continue;
        };
        if bytes != 0 {
            let (pc, length) = (instruction.ip(), instruction.len() as u8);
            let bytes = u8::try_from(bytes).unwrap_or(0);
            each(Operand { pc, address, bytes, access, length, ahead });
        }
    }
    are_known
}

/// What a push, a pop, a call or a return does to the stack by itself is the thread's own.
fn is_the_stack_s(instruction: &Instruction, memory: &UsedMemory) -> bool {
    instruction.is_stack_instruction() && memory.base() == Register::RSP
}

/// Bytes and address: an instruction that repeats names memory once, the first 255 bytes of it at most.
fn operand(instruction: &Instruction, memory: &UsedMemory, registers: &Registers) -> Option<(usize, u64)> {
    let address = memory.virtual_address(0, |register, _, _| registers.value(register))?;
    let repeats = instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
    if !repeats {
        let bytes = memory.memory_size().size();
        // Not known, as of a state that is saved.
        return Some((if bytes == 0 { 256 } else { bytes }, address));
    }
    let times = registers.value(Register::RCX)?.min(255) as usize;
    Some(((instruction.memory_size().size() * times).min(255), address))
}

/// What depends on a mask counts as done.
fn access(access: OpAccess) -> Option<Access> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(Access::Read),
        OpAccess::Write | OpAccess::CondWrite => Some(Access::Write),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(Access::Both),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
