//! Operands that lie at a fixed distance from where a register points to.

use iced_x86::{Decoder, DecoderOptions, Register};

use crate::registers::dwarf_number;

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
    let has_operand = !instruction.is_invalid() && instruction.memory_size().size() > 0;
    if !has_operand || instruction.memory_index() != Register::None || instruction.is_stack_instruction() {
        return None;
    }
    let register = dwarf_number(instruction.memory_base())?;
    Some(Based { register, distance: instruction.memory_displacement64() as i64 })
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
