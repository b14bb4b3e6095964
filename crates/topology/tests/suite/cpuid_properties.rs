//! For any input: no panic, and whatever decodes is consistent.

use coho_topology::cpuid::{self, CpuAnswers, Dump, Registers};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::cpuid_support;

/// Leaves that decoding reads; the second half takes sub-leaves.
const PLAIN: [u32; 10] =
    [1, 2, 0x1A, 0x4000_0000, 0x8000_0001, 0x8000_0002, 0x8000_0005, 0x8000_0006, 0x8000_0008, 0x8000_001E];
const INDEXED: [u32; 6] = [4, 7, 0xB, 0x1F, 0x8000_001D, 0x8000_0026];
const VENDORS: [&[u8; 12]; 5] =
    [b"GenuineIntel", b"AuthenticAMD", b"HygonGenuine", b"  Shanghai  ", b"\xFF\xFFnonsense\0\0"];

fn registers() -> impl Strategy<Value = Registers> {
    // Both small and large values, so that counts and shifts reach their limits.
    let value = || prop_oneof![Just(0), 0..64u32, any::<u32>(), Just(u32::MAX)];
    [value(), value(), value(), value()].prop_map(Registers::new)
}

fn question() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![
        prop::sample::select(&PLAIN).prop_map(|leaf| (leaf, 0)),
        (prop::sample::select(&INDEXED), 0..6u32),
    ]
}

/// The answers that all CPUs of a machine share.
fn machine() -> impl Strategy<Value = CpuAnswers> {
    let answers = btree_map(question(), registers(), 0..24);
    let any_subleaf = btree_map(prop::sample::select(&INDEXED), registers(), 0..2);
    let family = prop::sample::select(&[0x0010_0F91, 0x0060_0F12, 0x0080_0F12, 0x00A0_0F11, 0x0005_0654]);
    (prop::sample::select(&VENDORS), answers, any_subleaf, family, any::<bool>()).prop_map(
        |(vendor, leaves, any_subleaf, family, known)| {
            let mut cpu = CpuAnswers { os: 0, leaves, any_subleaf };
            let word = |at: usize| u32::from_le_bytes(vendor[at..at + 4].try_into().unwrap());
            cpu.leaves.insert((0, 0), Registers::new([0x20, word(0), word(8), word(4)]));
            cpu.leaves.insert((0x8000_0000, 0), Registers::new([0x8000_0026, 0, 0, 0]));
            if known {
                cpu.leaves.entry((1, 0)).or_default().eax = family;
            }
            cpu
        },
    )
}

/// The answers in which one CPU differs from the others.
type Own = (u8, Option<((u32, u32), Registers)>);

/// CPUs that differ in their APIC ids, as real ones do, and occasionally in more.
fn dump() -> impl Strategy<Value = Dump> {
    let own = (any::<u8>(), prop::option::weighted(0.2, (question(), registers())));
    (machine(), vec(own, 1..20)).prop_map(|(machine, own)| {
        let cpu = |(os, (apic_id, more)): (usize, Own)| {
            let mut cpu = CpuAnswers { os: os as u32, ..machine.clone() };
            let apic_id = u32::from(apic_id);
            for (&(leaf, _), answer) in &mut cpu.leaves {
                match leaf {
                    1 => answer.ebx = answer.ebx & 0x00FF_FFFF | apic_id << 24,
                    0xB | 0x1F | 0x8000_0026 => answer.edx = apic_id,
                    0x8000_001E => answer.eax = apic_id,
                    _ => {}
                }
            }
            cpu.leaves.extend(more);
            cpu
        };
        Dump { cpus: own.into_iter().enumerate().map(cpu).collect() }
    })
}

/// Lines of every dialect, whole and broken.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "cpu [0-9]{1,7} (0x)?[0-9a-f]{1,9} ([0-9]|\\*) 0x[0-9a-f]{1,8} 0 0 0",
        "[0-9a-f] [0-9a-f]{1,8} 0 [0-9] 0 => [0-9a-f]{1,8} 0 0 [0-9a-g]",
        "(basic_cpuid|ext_cpuid|intel_fn4|other)\\[[0-9]{1,10}\\]=[0-9a-f]{1,8} 0 0 0",
        "_+ Logical CPU #[0-9]{0,6} _+",
        "CPUID [0-9A-F]{8}: [0-9A-F]{1,8}-0-0-0( \\[SL [0-9A-Z]{1,2}\\])?",
        "------\\[ (CPUID Registers / )?Logical CPU #[0-9]{0,9} \\]------",
        "CPUID Registers \\(CPU #[0-9]( Virtual)?\\):",
        "CPUID [0-9A-F]{8} \t[0-9A-F]{8}-[0-9A-F]{7,9}-0-0( [A-F]{4})?",
        "CPU (Thread )?#?[0-9]{0,9}:?",
        "eax in: 0x[0-9]{1,8}, eax = [0-9a-f]{8} ebx = 0 e[cd]x = 0 edx = 0",
        "\t\t0x[0-9A-F]{8}(\t0x[0-9A-F]{8}){3,5}",
        "   0x[0-9a-f]{8} 0x[0-9a-f]{2}: eax=0x[0-9a-f]{1,9} ebx=0x0 ecx=0x0 edx=0x0",
        "\\PC{0,40}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_parse_or_fail(bytes in vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(cpuid::looks_like(&text) || cpuid::parse(&text).is_err(), true);
    }

    #[test]
    fn any_lines_parse_or_fail(lines in vec(line(), 0..30)) {
        if let Ok(dump) = cpuid::parse(&lines.join("\n")) {
            let _ = cpuid::decode(&dump);
            prop_assert_eq!(cpuid::parse(&dump.to_string()).unwrap().to_string(), dump.to_string());
        }
    }

    #[test]
    fn any_answers_decode_to_something_consistent_or_fail(dump in dump()) {
        if let Ok(topology) = cpuid::decode(&dump) {
            cpuid_support::assert_consistent(&topology);
            prop_assert_eq!(topology.pus.len(), dump.cpus.len());
        }
    }

    #[test]
    fn what_is_printed_parses_back(dump in dump()) {
        prop_assert_eq!(cpuid::parse(&dump.to_string()).unwrap(), dump);
    }
}
