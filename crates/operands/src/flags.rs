//! The flags that branches test, derived from what the last instruction to set them compared or computed.

use iced_x86::{ConditionCode, Instruction, Mnemonic};

/// What the flags tell of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flags {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Two values and their difference, all sign-extended.
    Difference(i64, i64, i64),
    /// The sign-extended result of an operation that neither carries nor overflows.
    Value(i64),
    /// A sign-extended result whose carry and overflow are not known.
    Sum(i64),
}

impl Flags {
    /// After an instruction that sets flags, whose operands were these, of so many bytes.
    pub fn of(instruction: &Instruction, left: Option<u64>, right: Option<u64>, bytes: usize) -> Self {
        let known = |value: Option<u64>| value.map(|value| signed(value, bytes));
        let both = || Some((known(left)?, known(right)?));
        let flags = match instruction.mnemonic() {
            Mnemonic::Cmp | Mnemonic::Sub => {
                both().map(|(a, b)| Self::Difference(a, b, signed(a.wrapping_sub(b) as u64, bytes)))
            }
            Mnemonic::Test | Mnemonic::And => both().map(|(a, b)| Self::Value(a & b)),
            Mnemonic::Or => both().map(|(a, b)| Self::Value(a | b)),
            Mnemonic::Xor => both().map(|(a, b)| Self::Value(a ^ b)),
            Mnemonic::Add => both().map(|(a, b)| Self::Sum(signed(a.wrapping_add(b) as u64, bytes))),
            Mnemonic::Inc => known(left).map(|a| Self::Sum(signed(a.wrapping_add(1) as u64, bytes))),
            Mnemonic::Dec => known(left).map(|a| Self::Sum(signed(a.wrapping_sub(1) as u64, bytes))),
            _ => None,
        };
        flags.unwrap_or_default()
    }

    /// Whether a condition holds, if that is known.
    pub fn hold(self, condition: ConditionCode) -> Option<bool> {
        let (value, below, less) = match self {
            Self::Unknown => return None,
            Self::Difference(a, b, value) => (value, Some((a as u64) < b as u64), Some(a < b)),
            Self::Value(value) => (value, Some(false), Some(value < 0)),
            Self::Sum(value) => (value, None, None),
        };
        let is_zero = value == 0;
        match condition {
            ConditionCode::e => Some(is_zero),
            ConditionCode::ne => Some(!is_zero),
            ConditionCode::s => Some(value < 0),
            ConditionCode::ns => Some(value >= 0),
            ConditionCode::b => below,
            ConditionCode::ae => below.map(|below| !below),
            ConditionCode::be => below.map(|below| below || is_zero),
            ConditionCode::a => below.map(|below| !below && !is_zero),
            ConditionCode::l => less,
            ConditionCode::ge => less.map(|less| !less),
            ConditionCode::le => less.map(|less| less || is_zero),
            ConditionCode::g => less.map(|less| !less && !is_zero),
            _ => None,
        }
    }
}

/// A value of so many bytes with its sign.
pub fn signed(value: u64, bytes: usize) -> i64 {
    match bytes {
        1 => (value as i8).into(),
        2 => (value as i16).into(),
        4 => (value as i32).into(),
        _ => value as i64,
    }
}
