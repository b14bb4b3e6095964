//! What memory the next instructions name, followed from the registers' values without executing anything.

mod effects;
mod registers;

use coho_recording::Access;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register, UsedMemory,
};

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
    pub address: u64,
    /// 0 if that is not known.
    pub bytes: u8,
    pub access: Access,
    /// The instruction's bytes.
    pub length: u8,
    /// Instructions before it.
    pub ahead: u8,
}

/// Follows the instructions from `pc` on: a jump that depends on something is taken if it leads back. Ends at calls, returns,
/// system calls, and what cannot be read. Returns how many operands' addresses were not known.
pub fn follow(
    mut registers: Registers,
    mut pc: u64,
    memory: &mut impl Memory,
    factory: &mut InstructionInfoFactory,
    mut each: impl FnMut(Operand),
) -> u32 {
    let mut unknown = 0;
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
            break;
        }
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        let used = factory.info(&instruction);
        for memory in used.used_memory().iter().filter(|memory| !is_the_stack_s(&instruction, memory)) {
            let Some(access) = access(memory.access()) else { continue };
            let Some(operand) = operand(&instruction, memory, &registers) else {
                unknown += 1;
                continue;
            };
            if operand.0 != 0 {
                let (bytes, address) = (u8::try_from(operand.0).unwrap_or(0), operand.1);
                each(Operand { pc, address, bytes, access, length: instruction.len() as u8, ahead });
            }
        }
        let target = match instruction.flow_control() {
            FlowControl::Next => instruction.next_ip(),
            FlowControl::UnconditionalBranch => instruction.near_branch_target(),
            FlowControl::ConditionalBranch => {
                let target = instruction.near_branch_target();
                if target <= pc { target } else { instruction.next_ip() }
            }
            _ => break,
        };
        effects::apply(&instruction, used, &mut registers, &mut written, memory);
        pc = target;
    }
    unknown
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
