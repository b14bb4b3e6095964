//! What instructions do to the registers, as far as it is followed. What else they write is not known afterwards.

use iced_x86::{FlowControl, Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind, Register};

use super::Memory;
use super::flags::{Flags, signed};
use super::registers::Registers;

/// What is followed beside the registers.
#[derive(Debug, Default)]
pub struct State {
    pub written: Written,
    pub flags: Flags,
}

/// Memory that the instructions that were followed would have written by now, the last few places.
#[derive(Debug, Default)]
pub struct Written {
    places: [(u64, u64, Option<u64>); 16],
    next: usize,
}

impl Written {
    fn add(&mut self, address: u64, bytes: usize, value: Option<u64>) {
        let value = match bytes {
            8 => value,
            1 | 2 | 4 => value.map(|value| value & ((1 << (8 * bytes)) - 1)),
            _ => None,
        };
        self.places[self.next % self.places.len()] = (address, bytes as u64, value);
        self.next += 1;
    }

    /// How many writes there were.
    pub fn count(&self) -> usize {
        self.next
    }

    /// The values of all writes but so many are not known any more.
    pub fn forget_since(&mut self, count: usize) {
        let kept = self.places.len();
        for at in count.max(self.next.saturating_sub(kept))..self.next {
            self.places[at % kept].2 = None;
        }
    }

    /// What was written last there: the value, if it is known and of this length; `None` if nothing was.
    fn find(&self, address: u64, bytes: usize) -> Option<Option<u64>> {
        let kept = self.places.len();
        let last = (0..kept.min(self.next)).map(|back| self.places[(self.next - 1 - back) % kept]);
        last.into_iter().find_map(|(from, length, value)| {
            let overlaps = address.wrapping_sub(from) < length || from.wrapping_sub(address) < bytes as u64;
            overlaps.then(|| value.filter(|_| from == address && length == bytes as u64))
        })
    }
}

/// Follows one instruction.
pub fn apply(
    instruction: &Instruction,
    used: &InstructionInfo,
    registers: &mut Registers,
    State { written, flags }: &mut State,
    memory: &mut impl Memory,
) {
    if instruction.rflags_modified() != 0 {
        let mut operand = |at: u32| {
            (at < instruction.op_count()).then(|| source(instruction, at, registers, written, memory))?
        };
        let [left, right] = [0, 1].map(&mut operand);
        *flags = Flags::of(instruction, left, right, bytes_of_first(instruction));
    }
    let result = result(instruction, registers, written, memory);
    let stored = match instruction.op0_kind() {
        OpKind::Memory if instruction.mnemonic() == Mnemonic::Mov => {
            source(instruction, 1, registers, written, memory)
        }
        _ => None,
    };
    let pushed = match instruction.mnemonic() {
        Mnemonic::Push => source(instruction, 0, registers, written, memory),
        Mnemonic::Call => Some(instruction.next_ip()),
        _ => None,
    };
    for used in used.used_memory().iter().filter(|used| writes(used.access())) {
        let address = used.virtual_address(0, |register, _, _| registers.value(register));
        if let Some(address) = address {
            written.add(address, used.memory_size().size(), stored.or(pushed));
        }
    }
    let stack = registers.value(Register::RSP);
    for used in used.used_registers().iter().filter(|used| writes(used.access())) {
        registers.set(used.register().full_register(), None);
    }
    if instruction.is_stack_instruction()
        && !matches!(instruction.mnemonic(), Mnemonic::Leave | Mnemonic::Enter)
    {
        let moved =
            stack.map(|stack| stack.wrapping_add_signed(instruction.stack_pointer_increment().into()));
        registers.set(Register::RSP, moved);
    }
    if let Some(result) = result {
        registers.set(instruction.op0_register(), Some(result));
    }
}

/// Where an instruction leads that is no conditional branch; `None` if that is not known, or the kernel's matter.
pub fn next(
    instruction: &Instruction,
    registers: &Registers,
    written: &Written,
    memory: &mut impl Memory,
) -> Option<u64> {
    match instruction.flow_control() {
        FlowControl::Next => Some(instruction.next_ip()),
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => {
            Some(instruction.near_branch_target())
        }
        FlowControl::Call if instruction.is_call_near() => Some(instruction.near_branch_target()),
        FlowControl::IndirectCall if instruction.is_call_near_indirect() => {
            source(instruction, 0, registers, written, memory)
        }
        FlowControl::IndirectBranch if instruction.is_jmp_near_indirect() => {
            source(instruction, 0, registers, written, memory)
        }
        FlowControl::Return if instruction.mnemonic() == Mnemonic::Ret => {
            load(registers.value(Register::RSP)?, 8, written, memory)
        }
        _ => None,
    }
}

/// What is written to the first operand, a register.
fn result(
    instruction: &Instruction,
    registers: &Registers,
    written: &Written,
    memory: &mut impl Memory,
) -> Option<u64> {
    if instruction.op_count() == 0 || instruction.op0_kind() != OpKind::Register {
        return None;
    }
    let to = instruction.op0_register();
    if !to.is_gpr() {
        return None;
    }
    let mut operand = |at| source(instruction, at, registers, written, memory);
    let bits = 8 * to.size() as u32;
    Some(match instruction.mnemonic() {
        Mnemonic::Mov => operand(1)?,
        Mnemonic::Movzx => operand(1)?,
        Mnemonic::Movsx | Mnemonic::Movsxd => signed(operand(1)?, source_bytes(instruction)) as u64,
        Mnemonic::Pop => load(registers.value(Register::RSP)?, to.size(), written, memory)?,
        Mnemonic::Lea => {
            let value = |register| registers.value(register);
            let index = value(instruction.memory_index())?;
            let base = match instruction.memory_base() {
                Register::RIP | Register::EIP => return Some(instruction.memory_displacement64()),
                base => value(base)?,
            };
            let index = index.wrapping_mul(instruction.memory_index_scale().into());
            base.wrapping_add(index).wrapping_add(instruction.memory_displacement64())
        }
        Mnemonic::Add => operand(0)?.wrapping_add(operand(1)?),
        Mnemonic::Sub => operand(0)?.wrapping_sub(operand(1)?),
        Mnemonic::Inc => operand(0)?.wrapping_add(1),
        Mnemonic::Dec => operand(0)?.wrapping_sub(1),
        Mnemonic::Xor if instruction.op1_kind() == OpKind::Register && instruction.op1_register() == to => 0,
        Mnemonic::Xor => operand(0)? ^ operand(1)?,
        Mnemonic::Imul if instruction.op_count() == 2 => operand(0)?.wrapping_mul(operand(1)?),
        Mnemonic::Imul if instruction.op_count() == 3 => operand(1)?.wrapping_mul(operand(2)?),
        Mnemonic::Not => !operand(0)?,
        Mnemonic::Neg => operand(0)?.wrapping_neg(),
        Mnemonic::And => operand(0)? & operand(1)?,
        Mnemonic::Or => operand(0)? | operand(1)?,
        Mnemonic::Shl => operand(0)?.checked_shl(operand(1)? as u32 & (bits.max(32) - 1))?,
        Mnemonic::Shr => operand(0)?.checked_shr(operand(1)? as u32 & (bits.max(32) - 1))?,
        _ => return None,
    })
}

/// Goes back by one instruction: what it has written is not known before it.
pub fn undo(used: &InstructionInfo, registers: &mut Registers) {
    for used in used.used_registers().iter().filter(|used| writes(used.access())) {
        registers.set(used.register().full_register(), None);
    }
}

fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// The bytes of the first operand.
fn bytes_of_first(instruction: &Instruction) -> usize {
    match instruction.op0_kind() {
        OpKind::Register => instruction.op0_register().size(),
        _ => instruction.memory_size().size(),
    }
}

/// The bytes of what is extended.
fn source_bytes(instruction: &Instruction) -> usize {
    match instruction.op1_kind() {
        OpKind::Register => instruction.op1_register().size(),
        _ => instruction.memory_size().size(),
    }
}

/// An operand's value.
fn source(
    instruction: &Instruction,
    at: u32,
    registers: &Registers,
    written: &Written,
    memory: &mut impl Memory,
) -> Option<u64> {
    match instruction.op_kind(at) {
        OpKind::Register => {
            registers.value(instruction.op_register(at)).filter(|_| instruction.op_register(at).is_gpr())
        }
        OpKind::Memory => {
            let address = instruction.virtual_address(at, 0, |register, _, _| registers.value(register))?;
            load(address, instruction.memory_size().size(), written, memory)
        }
        _ => instruction.try_immediate(at).ok(),
    }
}

fn load(address: u64, bytes: usize, written: &Written, memory: &mut impl Memory) -> Option<u64> {
    if let Some(value) = written.find(address, bytes) {
        return value;
    }
    let mut value = [0; 8];
    let part = value.get_mut(..bytes).filter(|part| !part.is_empty())?;
    (memory.read(address, part) == bytes).then(|| u64::from_le_bytes(value))
}
