//! What the loops consist of, read back from memory.

use std::collections::BTreeMap;

use coho_profile::Operation;
use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpAccess, OpKind,
};
use iced_x86::{InstructionInfoFactory, Register};

use super::*;

/// More than any loop has.
const MOST_BYTES: usize = 2048;

/// The instructions of a loop, to its end.
fn decode(one: &Loop) -> Vec<Instruction> {
    let start = one.code as *const u8;
    // SAFETY: machine code of this program, which holds more behind its loops than is read here; it ends at the first
    // return.
    let bytes = unsafe { std::slice::from_raw_parts(start, MOST_BYTES) };
    let mut all = Vec::new();
    for instruction in Decoder::with_ip(64, bytes, start as u64, DecoderOptions::NONE) {
        all.push(instruction);
        if instruction.flow_control() == FlowControl::Return {
            return all;
        }
    }
    panic!("{} {} does not end", one.op, one.instruction);
}

/// The unrolled part: from the target of the first branch back over more than a byte's loop to that branch.
fn body(all: &[Instruction]) -> &[Instruction] {
    let loops = all.iter().enumerate().filter(|(_, one)| {
        one.flow_control() == FlowControl::ConditionalBranch && one.near_branch_target() <= one.ip()
    });
    let (end, begin) = loops
        .map(|(end, branch)| {
            let begin = all.iter().position(|one| one.ip() == branch.near_branch_target()).unwrap();
            (end, begin)
        })
        .max_by_key(|(end, begin)| end - begin)
        .expect("a loop");
    &all[begin..end]
}

/// Mnemonic, and width in bytes.
type Access = (Mnemonic, u32);

/// A loop's loads and its stores.
fn expected(one: &Loop) -> (Option<Access>, Option<Access>) {
    let name = one.instruction;
    let (width, temporal, past, movntdqa) = match name.split(['-', '.']).next().unwrap() {
        "plain" if name.contains("-4") => (4, Mnemonic::Mov, Mnemonic::INVALID, Mnemonic::INVALID),
        "plain" => (8, Mnemonic::Mov, Mnemonic::INVALID, Mnemonic::INVALID),
        "movnti" if name.contains("-4") => (4, Mnemonic::Mov, Mnemonic::Movnti, Mnemonic::INVALID),
        "movnti" => (8, Mnemonic::Mov, Mnemonic::Movnti, Mnemonic::INVALID),
        "sse2" | "sse4" => (16, Mnemonic::Movdqa, Mnemonic::Movntdq, Mnemonic::Movntdqa),
        "avx2" => (32, Mnemonic::Vmovdqa, Mnemonic::Vmovntdq, Mnemonic::Vmovntdqa),
        "avx512" => (64, Mnemonic::Vmovdqa64, Mnemonic::Vmovntdq, Mnemonic::Vmovntdqa),
        other => panic!("unknown kind {other}"),
    };
    let load = if name.contains("movntdqa") { movntdqa } else { temporal };
    let store = if one.stores == Stores::NonTemporal { past } else { temporal };
    (
        (one.op != Operation::Write).then_some((load, width)),
        (one.op != Operation::Read).then_some((store, width)),
    )
}

/// Displacements of the accesses through one register: by mnemonic and width.
fn accesses(body: &[Instruction], base: Register, access: OpAccess) -> BTreeMap<Access, Vec<u64>> {
    let mut factory = InstructionInfoFactory::new();
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for one in body {
        let memory = (0..one.op_count()).any(|operand| one.op_kind(operand) == OpKind::Memory);
        if !memory || one.mnemonic() == Mnemonic::Prefetchnta || one.mnemonic() == Mnemonic::Lea {
            continue;
        }
        for used in factory.info(one).used_memory().iter().filter(|used| used.access() == access) {
            assert_eq!((used.base(), used.index()), (base, Register::None), "{one:?}");
            found
                .entry((one.mnemonic(), used.memory_size().size() as u32))
                .or_default()
                .push(used.displacement());
        }
    }
    found
}

/// How far a register moves on in a step.
fn advance(body: &[Instruction], register: Register) -> u64 {
    let moves = |one: &&Instruction| one.mnemonic() == Mnemonic::Add && one.op0_register() == register;
    body.iter().filter(moves).map(|one| one.immediate(1)).sum()
}

#[test]
fn a_step_is_covered_once_by_the_instruction_that_it_is_named_for() {
    for one in Loop::all().iter().filter(|one| one.stores != Stores::Chosen) {
        let name = format!("{} {}", one.op, one.instruction);
        let all = decode(one);
        let body = body(&all);
        let (loads, stores) = expected(one);
        for (expected, base, access) in
            [(loads, Register::RSI, OpAccess::Read), (stores, Register::RDI, OpAccess::Write)]
        {
            let found = accesses(body, base, access);
            let step = advance(body, base);
            match expected {
                None => assert_eq!((found.len(), step), (0, 0), "{name}"),
                Some(key) => {
                    assert_eq!(found.keys().collect::<Vec<_>>(), [&key], "{name}");
                    let covered: Vec<_> = (0..step).step_by(key.1 as usize).collect();
                    assert!(step >= 64 && found[&key] == covered, "{name}: {:?}", found[&key]);
                }
            }
        }
        let prefetched = body.iter().filter(|one| one.mnemonic() == Mnemonic::Prefetchnta).count() as u64;
        let lines = if name.contains("prefetchnta") { advance(body, Register::RSI) / 64 } else { 0 };
        assert_eq!(prefetched, lines, "{name}");
        // Nothing else than the step, moving on, asking ahead and counting down.
        let step = advance(body, Register::RSI).max(advance(body, Register::RDI));
        let moved: u64 = [loads, stores].iter().flatten().map(|(_, width)| step / u64::from(*width)).sum();
        let overhead = body.len() as u64 - moved - prefetched;
        assert!(overhead <= if lines > 0 { 7 } else { 3 }, "{name}: {overhead} more instructions");
    }
}

#[test]
fn strings_are_left_to_the_microcode() {
    for (op, code) in [(Operation::Write, Opcode::Stosb_m8_AL), (Operation::Copy, Opcode::Movsb_m8_m8)] {
        let one = Loop::all().iter().find(|one| one.op == op && one.stores == Stores::Chosen).unwrap();
        let all = decode(one);
        let repeated: Vec<_> = all.iter().filter(|one| one.has_rep_prefix()).map(Instruction::code).collect();
        assert_eq!(repeated, [code]);
        assert!(all.len() <= 4, "{all:?}");
    }
}
