//! Operands that lie at a fixed distance from where a register points to.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::registers::dwarf_number;

/// Instructions before another one among which its register may have been loaded.
const NEAR: usize = 8;

/// Where an instruction's operand lies: so many bytes from where a register points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Based {
    /// The register's number in DWARF.
    pub register: u16,
    /// Bytes from there on.
    pub distance: i64,
}

/// The operand in memory of the instruction that these bytes begin with; `None` if it has none, or if another register
/// says how far it is away.
pub fn based(code: &[u8]) -> Option<Based> {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let instruction = decoder.can_decode().then(|| decoder.decode())?;
    operand(&instruction)
}

fn operand(instruction: &Instruction) -> Option<Based> {
    let has_operand = !instruction.is_invalid() && instruction.memory_size().size() > 0;
    if !has_operand || instruction.memory_index() != Register::None || instruction.is_stack_instruction() {
        return None;
    }
    let register = dwarf_number(instruction.memory_base())?;
    Some(Based { register, distance: instruction.memory_displacement64() as i64 })
}

/// Where the register was loaded from to which the instruction's operand lies at a fixed distance: the address of the
/// instruction that loaded it, and that one's operand. `code` are the bytes from the beginning of a function at `start`
/// up to the instruction. `None` if it was not loaded right before, or if threads may have come another way.
pub fn loaded(code: &[u8], start: u64, register: u16) -> Option<(u64, Based)> {
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    let mut last: Option<(Instruction, usize)> = None;
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let goes_on =
            matches!(instruction.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch);
        let info = factory.info(&instruction);
        let writes = info.used_registers().iter().any(|used| {
            dwarf_number(used.register()) == Some(register)
                && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::None)
        });
        last = match last {
            _ if !goes_on || instruction.is_invalid() => None,
            _ if writes => Some((instruction, 0)),
            Some((before, age)) => (age + 1 < NEAR).then_some((before, age + 1)),
            None => None,
        };
    }
    let (load, _) = last?;
    let is_load = load.mnemonic() == Mnemonic::Mov
        && load.op0_kind() == OpKind::Register
        && load.op0_register().size() == 8
        && load.op1_kind() == OpKind::Memory;
    Some((load.ip(), operand(&load).filter(|_| is_load)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_and_a_distance_say_where_an_operand_lies() {
        let at = |register, distance| Some(Based { register, distance });
        // add qword [rsi+8],1; lock inc dword [r12]; mov eax,[rdi-4]
        assert_eq!(based(&[0x48, 0x83, 0x46, 0x08, 0x01]), at(4, 8));
        assert_eq!(based(&[0xf0, 0x41, 0xff, 0x04, 0x24]), at(12, 0));
        assert_eq!(based(&[0x8b, 0x47, 0xfc]), at(5, -4));
    }

    #[test]
    fn a_load_right_before_says_where_a_register_comes_from() {
        // mov rdx,[rdi+16]; add rax,1: rdx is DWARF's 1, rax its 0
        let code = [0x48, 0x8b, 0x57, 0x10, 0x48, 0x83, 0xc0, 0x01];
        assert_eq!(loaded(&code, 0x1000, 1), Some((0x1000, Based { register: 5, distance: 16 })));
        assert_eq!(loaded(&code, 0x1000, 0), None, "what is added to is not loaded");
        assert_eq!(loaded(&code, 0x1000, 2), None);
        // A jump that always goes elsewhere lies between: what follows is come to another way.
        assert_eq!(loaded(&[&code[..], &[0xeb, 0x00]].concat(), 0x1000, 1), None);
        assert_eq!(loaded(&[&code[..], &[0x90; NEAR]].concat(), 0x1000, 1), None, "too far");
    }

    #[test]
    fn what_is_at_no_fixed_distance_is_not_told() {
        // mov rax,[rdi+rcx*8]; mov rax,[rip+16]; push rax; mov rax,rdi; lea rax,[rdi+8]; nothing; half an instruction
        let codes: [&[u8]; 7] = [
            &[0x48, 0x8b, 0x04, 0xcf],
            &[0x48, 0x8b, 0x05, 0x10, 0, 0, 0],
            &[0x50],
            &[0x48, 0x89, 0xf8],
            &[0x48, 0x8d, 0x47, 0x08],
            &[],
            &[0x48],
        ];
        codes.into_iter().for_each(|code| assert_eq!(based(code), None, "{code:x?}"));
    }
}
