use std::collections::BTreeMap;

use coho_recording::Access::{Both, Read, Write};
use iced_x86::ConditionCode;
use proptest::prelude::*;

use super::*;

const CODE: u64 = 0x40_0000;

/// Bytes at addresses; all others are missing.
#[derive(Default)]
struct Bytes(BTreeMap<u64, u8>);

impl Bytes {
    fn with(mut self, address: u64, bytes: &[u8]) -> Self {
        self.0.extend((address..).zip(bytes.iter().copied()));
        self
    }
}

impl Memory for Bytes {
    fn read(&mut self, address: u64, to: &mut [u8]) -> usize {
        let there = |at: usize| self.0.get(&address.wrapping_add(at as u64)).copied();
        to.iter_mut().enumerate().map_while(|(at, byte)| there(at).map(|found| *byte = found)).count()
    }
}

/// RAX is 0x1000, RCX 0x2000, and so on in the order of their numbers; FS is at 0xf5000.
fn registers() -> Registers {
    Registers::new(std::array::from_fn(|number| 0x1000 * (1 + number as u64)), 0xf_5000)
}

/// Address, bytes, access and the instruction's number of each operand, and whether all were followed to the last.
fn followed(code: &[u8], memory: Bytes) -> (Vec<(u64, u8, Access, u8)>, bool) {
    followed_from(CODE, code, memory)
}

fn followed_from(pc: u64, code: &[u8], memory: Bytes) -> (Vec<(u64, u8, Access, u8)>, bool) {
    let mut memory = memory.with(CODE, code);
    let mut found = Vec::new();
    let are_followed = Follower::default().follow(
        registers(),
        pc,
        &mut memory,
        |_| true,
        |operand| {
            found.push((operand.address, operand.bytes, operand.access, operand.ahead));
        },
    );
    (found, are_followed)
}

#[test]
fn operands_are_named_by_the_registers_as_they_will_be() {
    // inc qword [rax+8]; lea rdx, [rax+rcx*2+4]; mov byte [rdx], 1; add rdx, 0x10; cmp dword [rdx-4], 0;
    // xor edx, edx; mov rbx, fs:[rdx+0x10]; ret
    let code = b"\x48\xff\x40\x08\x48\x8d\x54\x48\x04\xc6\x02\x01\x48\x83\xc2\x10\x83\x7a\xfc\x00\
                 \x31\xd2\x64\x48\x8b\x5a\x10\xc3";
    let (found, _) = followed(code, Bytes::default());
    let expected =
        [(0x1008, 8, Both, 0), (0x5004, 1, Write, 2), (0x5010, 4, Read, 4), (0xf_5010, 8, Read, 6)];
    assert_eq!(found, expected);
}

#[test]
fn a_pointer_is_reloaded_from_memory_and_from_what_was_stored_on_the_way() {
    // mov rdx, [rax]; lock inc dword [rdx+4]; mov [rcx], rdx; mov rsi, [rcx]; mov al, [rsi]; mov [rcx+4], eax;
    // mov rdi, [rcx]; inc byte [rdi]; ret
    let code =
        b"\x48\x8b\x10\xf0\xff\x42\x04\x48\x89\x11\x48\x8b\x31\x8a\x06\x89\x41\x04\x48\x8b\x39\xfe\x07\xc3";
    let memory = Bytes::default().with(0x1000, &0x77_0000_u64.to_le_bytes()).with(0x2000, &[1; 8]);
    let (found, _) = followed(code, memory);
    let addresses: Vec<u64> = found.iter().map(|operand| operand.0).collect();
    assert_eq!(addresses, [0x1000, 0x77_0004, 0x2000, 0x2000, 0x77_0000, 0x2004, 0x2000]);
    // Half of what the last pointer is read from is no longer what it was.
    assert_eq!(found[1].2, Both);
}

#[test]
fn what_is_not_followed_makes_a_register_unknown() {
    // bswap rax; mov [rax], cl; mov eax, ecx; mov [rax], cl; mov al, 1; mov [rax], cl; mov edx, [0xdead]; mov [rdx], al; ret
    let code =
        b"\x48\x0f\xc8\x88\x08\x89\xc8\x88\x08\xb0\x01\x88\x08\x8b\x14\x25\xad\xde\x00\x00\x88\x02\xc3";
    let (found, _) = followed(code, Bytes::default());
    assert_eq!(found, [(0x2000, 1, Write, 3), (0xdead, 4, Read, 6)]);
}

#[test]
fn jumps_back_are_taken_and_jumps_forward_are_not() {
    // 0: add rax, 8; 4: mov [rax], ecx; 6: je 8; 8: jne 0
    let (found, _) = followed(b"\x48\x83\xc0\x08\x89\x08\x74\x00\x75\xf6", Bytes::default());
    let expected: Vec<_> = (1..=9).map(|turn| (0x1000 + 8 * turn, 4, Write, (4 * turn - 3) as u8)).collect();
    assert_eq!(found, expected);
    // From within a loop: sub eax, 1; jne to lock add qword [rdi], 1, which is before
    let code = b"\xf0\x48\x83\x07\x01\x83\xe8\x01\x75\xf6\xc3";
    let (found, _) = followed_from(CODE + 5, code, Bytes::default());
    let expected: Vec<_> = (0..11).map(|turn| (0x8000, 8, Both, 3 * turn + 2)).collect();
    assert_eq!(found, expected);
    // jmp over what would be named; mov [rcx], al; ret
    let (found, _) = followed(b"\xeb\x02\x88\x00\x88\x01\xc3\x88\x02", Bytes::default());
    assert_eq!(found, [(0x2000, 1, Write, 1)]);
}

#[test]
fn the_stack_moves_and_is_not_named() {
    // push rax; push rcx; mov rdx, [rsp]; mov [rdx], al; pop rbx; pop rbx; mov [rbx], al; mov [rsp], al; ret
    let code = b"\x50\x51\x48\x8b\x14\x24\x88\x02\x5b\x5b\x88\x03\x88\x04\x24\xc3";
    let (found, _) = followed(code, Bytes::default());
    let addresses: Vec<u64> = found.iter().map(|operand| operand.0).collect();
    assert_eq!(addresses, [0x4ff0, 0x2000, 0x1000, 0x5000]);
}

#[test]
fn what_leads_into_the_kernel_or_nobody_knows_where_ends_it() {
    for end in [&b"\x0f\x05"[..], b"\xcd\x80", b"\xff\xe0", b"\xc3", b"\x0f\x0b"] {
        let (found, are_followed) = followed(&[b"\x88\x08", end, b"\x88\x09"].concat(), Bytes::default());
        assert_eq!(found, [(0x1000, 1, Write, 0)], "{end:02x?}");
        assert!(!are_followed);
    }
}

/// Address and certainty of each operand of code that may enter these addresses.
fn certainty(code: &[u8], enters: impl Fn(u64) -> bool) -> Vec<(u64, bool)> {
    let mut memory = Bytes::default().with(CODE, code);
    let mut found = Vec::new();
    Follower::default().follow(registers(), CODE, &mut memory, enters, |operand| {
        found.push((operand.address, operand.is_certain));
    });
    found
}

#[test]
fn calls_are_followed_and_so_are_their_returns() {
    // 0: call 8; 5: mov [rcx], cl; 7: int3; 8: mov [rax], cl; 10: ret
    let code = b"\xe8\x03\0\0\0\x88\x09\xcc\x88\x08\xc3";
    assert_eq!(certainty(code, |_| true), [(0x1000, true), (0x2000, true)]);
    assert_eq!(certainty(code, |to| to != CODE + 8), []);
}

#[test]
fn a_branch_goes_where_its_condition_says_and_what_is_guessed_is_not_certain() {
    // cmp rax, rcx; jb or jae over mov [rax], cl; mov [rcx], cl; int3
    let code = |branch| [&b"\x48\x39\xc8"[..], &[branch, 2], b"\x88\x08\x88\x09\xcc"].concat();
    assert_eq!(certainty(&code(0x72), |_| true), [(0x2000, true)]);
    assert_eq!(certainty(&code(0x73), |_| true), [(0x1000, true), (0x2000, true)]);
    // The parity is not followed.
    assert_eq!(certainty(&code(0x7a), |_| true), [(0x1000, false), (0x2000, false)]);
}

#[test]
fn a_loop_that_names_nothing_is_left_and_what_it_changes_is_unknown() {
    // 0: dec rcx; jne 0; mov [rax], cl; mov [rcx], al; int3
    assert_eq!(certainty(b"\x48\xff\xc9\x75\xfb\x88\x08\x88\x01\xcc", |_| true), [(0x1000, false)]);
}

#[test]
fn what_was_just_touched_is_named_unless_its_address_is_gone() {
    let behind = |code: &[u8]| {
        let mut memory = Bytes::default().with(CODE - 64, &[0x90; 64]).with(CODE, code);
        let mut found = Vec::new();
        let pc = CODE + code.len() as u64;
        Follower::default().look_behind(&registers(), pc, &mut memory, |operand| {
            found.push((operand.pc - CODE, operand.address, operand.access, operand.is_certain));
        });
        found
    };
    // mov eax, [rcx+8]; and with inc rcx behind it; and with a call; mov rcx, [rcx]
    assert_eq!(behind(b"\x8b\x41\x08"), [(0, 0x2008, Read, false)]);
    assert_eq!(behind(b"\x8b\x41\x08\x48\xff\xc1"), []);
    assert_eq!(behind(b"\x8b\x41\x08\xe8\0\0\0\0"), []);
    assert_eq!(behind(b"\x48\x8b\x09"), []);
}

proptest! {
    #[test]
    fn conditions_hold_as_numbers_compare(a: i8, b: i8, wide: bool) {
        use ConditionCode::{ae, be, e, g, ge, l, le, ne};
        // cmp al, cl; cmp rax, rcx
        let (code, bytes) = if wide { (&b"\x48\x39\xc8"[..], 8) } else { (&b"\x38\xc8"[..], 1) };
        let compare = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
        let value = |value: i8| Some(if wide { value as u64 } else { u64::from(value as u8) });
        let flags = flags::Flags::of(&compare, value(a), value(b), bytes);
        let (x, y) = (a as u8, b as u8);
        for (condition, holds) in [
            (e, a == b), (ne, a != b), (l, a < b), (le, a <= b), (g, a > b), (ge, a >= b),
            (ConditionCode::b, x < y), (be, x <= y), (ConditionCode::a, x > y), (ae, x >= y),
        ] {
            prop_assert_eq!(flags.hold(condition), Some(holds), "{:?}", condition);
        }
    }
}

#[test]
fn a_repeated_instruction_names_what_it_begins_with() {
    // rep movsq, 0x2000 times; then xor ecx, ecx; rep stosb
    let (found, _) = followed(b"\xf3\x48\xa5\xc3", Bytes::default());
    assert_eq!(found, [(0x8000, 255, Write, 0), (0x7000, 255, Read, 0)]);
    assert_eq!(followed(b"\x31\xc9\xf3\xaa\xc3", Bytes::default()).0, []);
}

#[test]
fn where_steps_end() {
    let goes_on = |code: &[u8]| {
        let mut memory = Bytes::default().with(CODE, code);
        Follower::default().look_at(&registers(), CODE, &mut memory, |_| {})
    };
    // mov; call; call [rax]; jmp rax; ret; rep movsq
    for code in [&b"\x89\xc0"[..], b"\xe8\0\0\0\0", b"\xff\x10", b"\xff\xe0", b"\xc3", b"\xf3\x48\xa5"] {
        assert!(goes_on(code), "{code:02x?}");
    }
    // syscall; sysenter; int 0x80; pushf; popf; ud2; int3; iretq; xbegin; nothing
    for code in [
        &b"\x0f\x05"[..],
        b"\x0f\x34",
        b"\xcd\x80",
        b"\x9c",
        b"\x9d",
        b"\x0f\x0b",
        b"\xcc",
        b"\x48\xcf",
        b"\xc7\xf8\0\0\0\0",
        b"",
    ] {
        assert!(!goes_on(code), "{code:02x?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Whatever the code and the memory, it ends, and what it names is in order.
    #[test]
    fn any_bytes_are_followed_to_an_end(code in prop::collection::vec(any::<u8>(), 0..200), values: [u64; 16]) {
        struct Hash(Vec<u8>);
        impl Memory for Hash {
            fn read(&mut self, address: u64, to: &mut [u8]) -> usize {
                let code = address.checked_sub(CODE).and_then(|at| self.0.get(at as usize..)).unwrap_or(&[]);
                if !code.is_empty() {
                    let bytes = code.len().min(to.len());
                    to[..bytes].copy_from_slice(&code[..bytes]);
                    return bytes;
                }
                to.fill(address as u8);
                if address.is_multiple_of(3) { to.len() / 2 } else { to.len() }
            }
        }
        let mut last = 0;
        let registers = Registers::new(values, values[0]);
        let (mut follower, middle) = (Follower::default(), CODE + code.len() as u64 / 2);
        follower.look_behind(&registers, middle, &mut Hash(code.clone()), |_| {});
        follower.follow(registers, CODE, &mut Hash(code), |_| true, |operand| {
            assert!(operand.ahead >= last && operand.ahead < MOST && (1..=15).contains(&operand.length));
            last = operand.ahead;
        });
    }
}
