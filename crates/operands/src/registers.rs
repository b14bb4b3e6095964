//! The general registers, as far as their values are known.

use iced_x86::Register;

/// Values of the general registers, in the order of their numbers in instructions, and of FS's base.
#[derive(Debug, Clone, Copy, Default)]
pub struct Registers {
    values: [Option<u64>; 16],
    fs: Option<u64>,
}

impl Registers {
    /// All known.
    pub fn new(values: [u64; 16], fs: u64) -> Self {
        Self { values: values.map(Some), fs: Some(fs) }
    }

    /// The value of a general register or a part of it, or a segment's base; `None` if it is not known.
    pub fn value(&self, register: Register) -> Option<u64> {
        match register {
            Register::None => return Some(0),
            Register::FS => return self.fs,
            Register::CS | Register::DS | Register::ES | Register::SS => return Some(0),
            Register::RIP | Register::EIP => return None,
            _ => {}
        }
        let value = self.values[place(register)?]?;
        Some(match register.size() {
            1 if is_high(register) => value >> 8 & 0xff,
            1 => value & 0xff,
            2 => value & 0xffff,
            4 => value & 0xffff_ffff,
            _ => value,
        })
    }

    /// Forgets all values but those that are the same in both.
    pub fn keep_same(&mut self, other: &Self) {
        for (value, other) in self.values.iter_mut().zip(other.values) {
            *value = value.filter(|value| other == Some(*value));
        }
    }

    /// Sets a register: writing 32 bits clears the others, writing fewer leaves a value that is not followed.
    pub fn set(&mut self, register: Register, value: Option<u64>) {
        let Some(place) = place(register) else { return };
        self.values[place] = match register.size() {
            8 => value,
            4 => value.map(|value| value & 0xffff_ffff),
            _ => None,
        };
    }
}

fn place(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

fn is_high(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

/// A register by its number in DWARF; `None` for what is no general register.
pub(crate) fn dwarf_number(register: Register) -> Option<u16> {
    const NUMBERS: [u16; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];
    Some(NUMBERS[place(register)?])
}
