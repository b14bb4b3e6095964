//! A record: 32 bytes, whose first says what the others mean.

use crate::layout::RECORD;

/// What an instruction does to its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It does both, as an increment does.
    Both,
}

impl Access {
    /// Whether it reads, alone or besides.
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Whether it writes, alone or besides.
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    fn encode(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Both => 2,
        }
    }

    fn decode(code: u8) -> Option<Self> {
        [Self::Read, Self::Write, Self::Both].into_iter().find(|access| access.encode() == code)
    }
}

/// What is recorded. Addresses are those of the process that recorded it; `time` is the time-stamp counter, or the
/// nearest thing that the architecture has, and the same for all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// The thread's timer, which runs while the thread does, found it here.
    Tick {
        /// When.
        time: u64,
        /// The instruction that would have been next.
        pc: u64,
    },
    /// An instruction that is about to be executed names this memory.
    Operand {
        /// When it was seen.
        time: u64,
        /// The instruction.
        pc: u64,
        /// The operand's first byte.
        address: u64,
        /// Its bytes; 0 if they are not known.
        bytes: u8,
        /// What is done to it.
        access: Access,
        /// The instruction's bytes: where the next one begins.
        length: u8,
        /// Instructions between the one that was interrupted and this one, 255 at most. 0 if it was stepped to.
        ahead: u8,
        /// Whether the thread comes to it for certain, as no branch between was guessed.
        is_certain: bool,
    },
    /// Memory was allocated.
    Allocated {
        /// When.
        time: u64,
        /// Its first byte.
        address: u64,
        /// Its bytes, less than 2^40.
        bytes: u64,
        /// Where: a number that [`Record::Frame`]s of the same process explain.
        site: u32,
    },
    /// Memory was freed.
    Freed {
        /// When.
        time: u64,
        /// Its first byte.
        address: u64,
    },
    /// One of the places that may have asked for memory, on the way to the allocator.
    Frame {
        /// The site's number.
        site: u32,
        /// 0 for the allocator's caller, more for what may be its callers: words of the stack that point into code.
        depth: u8,
        /// The address that a call returns to.
        pc: u64,
    },
    /// A program or library begins here; its path follows as [`Record::Text`]. What does not begin with `/` is no path
    /// but what the memory there is called.
    Module {
        /// What is added to its file's addresses.
        base: u64,
        /// The first address of its segments.
        start: u64,
        /// The first address after them.
        end: u64,
    },
    /// The next bytes of a text; fewer than 24 end it, and so do none.
    Text {
        /// How many count.
        length: u8,
        /// The bytes.
        bytes: [u8; TEXT],
    },
    /// The thread's stack.
    Stack {
        /// Its lowest address.
        start: u64,
        /// The first address after it.
        end: u64,
    },
    /// The thread's timer ticks at this interval of its CPU time.
    Timer {
        /// In nanoseconds.
        every_ns: u64,
        /// When the thread began; 0 if that is not known.
        begun: u64,
    },
    /// The thread ends.
    End {
        /// When.
        time: u64,
    },
    /// How often a call in the thread's code has accessed memory so, until now.
    Counted {
        /// The call.
        pc: u64,
        /// The first byte.
        address: u64,
        /// How many bytes, at most a line's.
        bytes: u8,
        /// What is done to them.
        access: Access,
        /// How often.
        times: u64,
    },
}

const BYTES_BITS: u32 = 40;
/// Bytes of a text that a record holds.
const TEXT: usize = 24;

impl Record {
    /// A text as the records that follow one another: the last is not full.
    pub fn texts(text: &[u8]) -> impl Iterator<Item = Self> + '_ {
        (0..=text.len() / TEXT).map(|part| {
            let part = &text[TEXT * part..text.len().min(TEXT * (part + 1))];
            let mut bytes = [0; TEXT];
            bytes[..part.len()].copy_from_slice(part);
            Self::Text { length: part.len() as u8, bytes }
        })
    }

    pub(crate) fn encode(self) -> [u64; RECORD / 8] {
        let word = |kind: u8, a: u8, b: u8, c: u8, d: u32| {
            u64::from(kind) | u64::from(a) << 8 | u64::from(b) << 16 | u64::from(c) << 24 | u64::from(d) << 32
        };
        match self {
            Self::Tick { time, pc } => [word(1, 0, 0, 0, 0), time, pc, 0],
            Self::Operand { time, pc, address, bytes, access, length, ahead, is_certain } => {
                let access = access.encode();
                let more = u32::from(ahead) | u32::from(is_certain) << 8;
                [word(2, bytes, access, length, more), time, pc, address]
            }
            Self::Allocated { time, address, bytes, site } => {
                let bytes = bytes.min((1 << BYTES_BITS) - 1);
                [word(3, 0, 0, 0, site), time, address, bytes]
            }
            Self::Freed { time, address } => [word(4, 0, 0, 0, 0), time, address, 0],
            Self::Frame { site, depth, pc } => [word(5, depth, 0, 0, site), pc, 0, 0],
            Self::Module { base, start, end } => [word(6, 0, 0, 0, 0), base, start, end],
            Self::Text { length, bytes } => {
                let part = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
                [word(7, length, 0, 0, 0), part(0), part(8), part(16)]
            }
            Self::Stack { start, end } => [word(8, 0, 0, 0, 0), start, end, 0],
            Self::Timer { every_ns, begun } => [word(9, 0, 0, 0, 0), every_ns, begun, 0],
            Self::End { time } => [word(10, 0, 0, 0, 0), time, 0, 0],
            Self::Counted { pc, address, bytes, access, times } => {
                [word(11, bytes, access.encode(), 0, 0), pc, address, times]
            }
        }
    }

    /// `None` for what no version that is known here writes.
    pub(crate) fn decode(words: [u64; RECORD / 8]) -> Option<Self> {
        let [first, x, y, z] = words;
        let [kind, a, b, c, ..] = first.to_le_bytes();
        let d = (first >> 32) as u32;
        Some(match kind {
            1 => Self::Tick { time: x, pc: y },
            2 => {
                let access = Access::decode(b)?;
                Self::Operand {
                    time: x,
                    pc: y,
                    address: z,
                    bytes: a,
                    access,
                    length: c,
                    ahead: d as u8,
                    is_certain: match d >> 8 {
                        0 => false,
                        1 => true,
                        _ => return None,
                    },
                }
            }
            3 => Self::Allocated { time: x, address: y, bytes: z, site: d },
            4 => Self::Freed { time: x, address: y },
            5 => Self::Frame { site: d, depth: a, pc: x },
            6 => Self::Module { base: x, start: y, end: z },
            7 if a <= 24 => {
                let mut bytes = [0; 24];
                for (part, word) in bytes.chunks_exact_mut(8).zip([x, y, z]) {
                    part.copy_from_slice(&word.to_ne_bytes());
                }
                Self::Text { length: a, bytes }
            }
            8 => Self::Stack { start: x, end: y },
            9 => Self::Timer { every_ns: x, begun: y },
            10 => Self::End { time: x },
            11 => Self::Counted { pc: x, address: y, bytes: a, access: Access::decode(b)?, times: z },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_decoded_is_encoded_to_the_same(words: [u64; 4], kind in 0_u8..13) {
            let words = [words[0] & !0xff | u64::from(kind), words[1], words[2], words[3]];
            if let Some(record) = Record::decode(words) {
                let again = Record::decode(record.encode());
                let is_cut = matches!(record, Record::Allocated { bytes, .. } if bytes >> BYTES_BITS != 0);
                prop_assert!(is_cut || again == Some(record), "{record:?} {again:?}");
            }
        }
    }

    #[test]
    fn every_kind_is_read_as_it_was_written() {
        let all = [
            Record::Tick { time: 1, pc: 2 },
            Record::Operand {
                time: 1,
                pc: 2,
                address: 3,
                bytes: 8,
                access: Access::Both,
                length: 5,
                ahead: 255,
                is_certain: true,
            },
            Record::Allocated { time: 1, address: 2, bytes: 3, site: u32::MAX },
            Record::Freed { time: 1, address: u64::MAX },
            Record::Frame { site: 1, depth: 2, pc: 3 },
            Record::Module { base: 1, start: 2, end: 3 },
            Record::Text { length: 24, bytes: *b"/usr/lib/libpthread.so.0" },
            Record::Stack { start: 1, end: 2 },
            Record::Timer { every_ns: 1_000_000, begun: 7 },
            Record::End { time: 9 },
            Record::Counted { pc: 1, address: 2, bytes: 64, access: Access::Write, times: u64::MAX },
        ];
        for record in all {
            assert_eq!(Record::decode(record.encode()), Some(record));
        }
    }
}
