//! What a jump at a function's entry takes: which instructions give way to it, and how they read elsewhere.

use std::ops::Range;

use iced_x86::{ConstantOffsets, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

/// `jmp rel32`.
const JUMP_BYTES: usize = 5;
/// What is stored at once.
const STORE_BYTES: usize = 8;
/// Where the displaced instructions stand in a slot, behind an absolute jump.
const DISPLACED: usize = 16;
/// A slot's length.
pub const SLOT_BYTES: usize = 64;

/// A change of a function's code.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where the jump is stored: the entry, or behind its ENDBR64.
    pub at: u64,
    /// The eight bytes that are stored.
    pub bytes: [u8; STORE_BYTES],
    /// A slot's contents: a jump to the hook, then the displaced instructions and a jump to what follows them.
    pub slot: [u8; SLOT_BYTES],
    /// Where the displaced instructions stand: who calls this, calls the function as it was.
    pub original: u64,
}

/// Plans a jump from a function's entry to a hook, through a slot. `None` for code of another shape than expected: branches
/// among the first instructions, or to them, or data that is out of the slot's reach.
pub fn plan(code: &[u8], entry: u64, slot: u64, hook: u64) -> Option<Plan> {
    let all = decode(code, entry);
    // A landing pad for indirect calls stays where it is.
    let at = if all.first()?.0.mnemonic() == Mnemonic::Endbr64 { all.get(1)?.0.ip() } else { entry };
    let displaced = all.iter().skip_while(|(one, _)| one.ip() < at);
    let end = displaced.clone().map(|(one, _)| one.next_ip()).find(|&end| end - at >= JUMP_BYTES as u64)?;
    if all.iter().any(|(one, _)| branches_into(one, at..end)) {
        return None;
    }
    let offset = |address: u64| (address - entry) as usize;
    let mut contents = [0xcc; SLOT_BYTES];
    // jmp [rip]
    contents[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    contents[6..14].copy_from_slice(&hook.to_le_bytes());
    let mut filled = DISPLACED;
    for (instruction, offsets) in displaced.take_while(|(one, _)| one.ip() < end) {
        let old = code.get(offset(instruction.ip())..offset(instruction.next_ip()))?;
        let new = contents.get_mut(filled..filled + old.len())?;
        new.copy_from_slice(old);
        relocate(new, instruction, offsets, slot + filled as u64)?;
        filled += old.len();
    }
    contents.get_mut(filled..filled + JUMP_BYTES)?.copy_from_slice(&jump(slot + filled as u64, end)?);
    let mut bytes: [u8; STORE_BYTES] = code.get(offset(at)..)?.get(..STORE_BYTES)?.try_into().ok()?;
    bytes[..JUMP_BYTES].copy_from_slice(&jump(at, slot)?);
    Some(Plan { at, bytes, slot: contents, original: slot + DISPLACED as u64 })
}

/// The instructions, each with the places of its constants.
fn decode(code: &[u8], entry: u64) -> Vec<(Instruction, ConstantOffsets)> {
    let mut decoder = Decoder::with_ip(64, code, entry, DecoderOptions::NONE);
    let next = || {
        decoder.can_decode().then(|| {
            let instruction = decoder.decode();
            (instruction, decoder.get_constant_offsets(&instruction))
        })
    };
    std::iter::from_fn(next).collect()
}

/// Whether it cannot be displaced, or leads to what is.
fn branches_into(instruction: &Instruction, displaced: Range<u64>) -> bool {
    let flow = instruction.flow_control();
    let is_displaced = displaced.contains(&instruction.ip());
    // Of targets elsewhere, those that are known.
    instruction.is_invalid()
        || is_displaced && flow != FlowControl::Next
        || displaced.contains(&instruction.near_branch_target())
}

/// Has an instruction's copy reach the data that the instruction reaches.
fn relocate(copy: &mut [u8], instruction: &Instruction, offsets: &ConstantOffsets, at: u64) -> Option<()> {
    if !instruction.is_ip_rel_memory_operand() {
        return Some(());
    }
    let place = copy.get_mut(offsets.displacement_offset()..)?.get_mut(..offsets.displacement_size())?;
    let distance = distance(at + instruction.len() as u64, instruction.ip_rel_memory_address())?;
    (place.len() == distance.len()).then(|| place.copy_from_slice(&distance))
}

fn jump(from: u64, to: u64) -> Option<[u8; JUMP_BYTES]> {
    let [a, b, c, d] = distance(from + JUMP_BYTES as u64, to)?;
    Some([0xe9, a, b, c, d])
}

fn distance(from: u64, to: u64) -> Option<[u8; 4]> {
    let distance = i32::try_from(to.wrapping_sub(from).cast_signed()).ok()?;
    Some(distance.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: u64 = 0x10_0000;
    const SLOT: u64 = 0x20_0000;
    const HOOK: u64 = 0x7000_0000_0000;
    /// cmp byte ptr [rip + 0x100], 0; mov eax, 1; syscall; ret
    const CALL: [u8; 15] = [0x80, 0x3d, 0, 1, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0xc3];

    #[test]
    fn a_jump_goes_through_the_slot_and_comes_back_behind_what_it_displaced() {
        let planned = plan(&CALL, ENTRY, SLOT, HOOK).unwrap();
        assert_eq!((planned.at, planned.original), (ENTRY, SLOT + 16));
        assert_eq!(planned.bytes, [0xe9, 0xfb, 0xff, 0x0f, 0, 0, 0, 0xb8]);
        let slot: Vec<_> =
            Decoder::with_ip(64, &planned.slot[16..], planned.original, 0).iter().take(2).collect();
        assert_eq!(slot[0].ip_rel_memory_address(), ENTRY + 7 + 0x100, "the same data");
        assert_eq!(slot[1].near_branch_target(), ENTRY + 7);
        assert_eq!(planned.slot[6..14], HOOK.to_le_bytes());
    }

    #[test]
    fn landing_pads_stay() {
        let code = [&[0xf3, 0x0f, 0x1e, 0xfa][..], &CALL].concat();
        let planned = plan(&code, ENTRY, SLOT, HOOK).unwrap();
        assert_eq!(planned.at, ENTRY + 4);
        assert_eq!(planned.bytes[..1], [0xe9]);
    }

    #[test]
    fn what_cannot_be_moved_stays_as_it_is() {
        let refused = |code: &[u8]| plan(code, ENTRY, SLOT, HOOK).is_none();
        let padding = [0x90; 8];
        // A branch among the first, a call, a system call, and the end.
        for first in [&[0x75, 2][..], &[0xe8, 0, 0, 0, 0], &[0x0f, 0x05], &[0xc3]] {
            assert!(refused(&[first, &padding].concat()), "{first:x?}");
        }
        // A branch back to what would be displaced: from behind a whole instruction of the displaced, and to the entry.
        assert!(refused(&[&padding[..], &[0xeb, 0xf8]].concat()));
        assert!(refused(&[&padding[..], &[0xeb, 0xf6]].concat()));
        assert!(!refused(&[&padding[..], &[0xeb, 0xfb]].concat()));
        // Too short, and not code.
        assert!(refused(&CALL[..7]) && refused(&[]) && refused(&[0x06; 16]));
        // Too far.
        assert!(plan(&CALL, ENTRY, ENTRY + (3 << 30), HOOK).is_none());
    }
}
