//! What memory the next instructions of an x86-64 program name, followed from the registers' values without executing
//! anything.
#![warn(missing_docs)]

mod based;
mod effects;
mod flags;
mod loops;
mod memory;
mod registers;

use std::fmt;

use coho_recording::{Access, Record};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic,
    OpAccess, Register, UsedMemory,
};

pub use based::{Based, based, loaded};
use effects::State;
use flags::Flags;
use loops::Loops;
pub use memory::ProcessMemory;
pub use registers::Registers;

/// Instructions that are followed.
const MOST: u8 = 64;
/// Bytes of code that are read at once.
const WINDOW: usize = 128;
const LONGEST: usize = 15;
/// How many bytes before an instruction are decoded to find the instructions right before it.
const BEHIND: usize = 64;
/// How many instructions before it are looked at.
const MOST_BEHIND: usize = 4;

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
    /// Whether the thread is certain to reach it: no branch on the way was guessed.
    pub is_certain: bool,
}

impl Operand {
    /// As it is recorded when it was named at this time, by the time-stamp counter.
    pub fn record(&self, time: u64) -> Record {
        let Self { pc, address, bytes, access, length, ahead, is_certain } = *self;
        Record::Operand { time, pc, address, bytes, access, length, ahead, is_certain }
    }
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
    /// Follows the instructions from `pc` on, through calls and returns, as far as `enters` allows. A branch whose condition is
    /// not known is taken if it leads back, and a loop is left after some turns. Ends at system calls, and where it is not known
    /// what is next. Returns whether it came to the last of them and knew every operand's address.
    pub fn follow(
        &mut self,
        mut registers: Registers,
        mut pc: u64,
        memory: &mut impl Memory,
        enters: impl Fn(u64) -> bool,
        mut each: impl FnMut(Operand),
    ) -> bool {
        let (mut are_known, mut is_certain) = (true, true);
        let mut code = [0; WINDOW];
        let (mut start, mut bytes) = (pc, 0);
        let mut state = State::default();
        let mut loops = Loops::default();
        let mut operands = 0;
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
            are_known &= name(&instruction, used, &registers, ahead, &mut |operand| {
                operands += 1;
                each(Operand { is_certain, ..operand });
            });
            let target = match instruction.flow_control() {
                FlowControl::ConditionalBranch => {
                    let target = instruction.near_branch_target();
                    let is_back = target <= pc;
                    let holds = state.flags.hold(instruction.condition_code());
                    is_certain &= holds.is_some();
                    let is_late = ahead >= MOST / 2;
                    if !holds.unwrap_or(is_back) {
                        instruction.next_ip()
                    } else if is_back
                        && loops.leave(pc, operands, is_late, &mut registers, &mut state.written)
                    {
                        (is_certain, state.flags) = (false, Flags::Unknown);
                        instruction.next_ip()
                    } else {
                        target
                    }
                }
                _ => match effects::next(&instruction, &registers, &state.written, memory) {
                    Some(next) if next == instruction.next_ip() || enters(next) => next,
                    _ => return false,
                },
            };
            effects::apply(&instruction, used, &mut registers, &mut state, memory);
            pc = target;
        }
        are_known
    }

    /// Names the operands of the instructions right before `pc`, in the order of memory: a thread that waits for memory is found
    /// behind the instruction that waits. Whether it came from there is not certain.
    pub fn look_behind(
        &mut self,
        registers: &Registers,
        pc: u64,
        memory: &mut impl Memory,
        mut each: impl FnMut(Operand),
    ) {
        let mut code = [0; BEHIND];
        let start = pc.wrapping_sub(BEHIND as u64);
        if memory.read(start, &mut code) != BEHIND {
            return;
        }
        // From a wrong beginning, decoding soon finds the right boundaries: the first half is for that.
        let ends_here = |from: usize| {
            let mut found = [Instruction::default(); MOST_BEHIND];
            let mut decoder =
                Decoder::with_ip(64, &code[from..], start.wrapping_add(from as u64), DecoderOptions::NONE);
            while decoder.can_decode() {
                found.rotate_left(1);
                found[MOST_BEHIND - 1] = decoder.decode();
                if found[MOST_BEHIND - 1].is_invalid() {
                    return None;
                }
            }
            Some(found)
        };
        let Some(found) = (0..BEHIND / 2).find_map(ends_here) else { return };
        let mut registers = *registers;
        for instruction in found.iter().rev() {
            if instruction.flow_control() != FlowControl::Next || instruction.is_invalid() {
                return;
            }
            let used = self.factory.info(instruction);
            // What it has written was something else before.
            effects::undo(used, &mut registers);
            name(instruction, used, &registers, 0, &mut |operand| {
                each(Operand { is_certain: false, ..operand })
            });
        }
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
            each(Operand { pc, address, bytes, access, length, ahead, is_certain: true });
        }
    }
    are_known
}

/// What a push, a pop, a call or a return does to the stack by itself is the thread's own.
fn is_the_stack_s(instruction: &Instruction, memory: &UsedMemory) -> bool {
    instruction.is_stack_instruction() && memory.base() == Register::RSP
}

/// How many bytes, and their address. An instruction that repeats counts as one operand, of at most its first 255 bytes.
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
