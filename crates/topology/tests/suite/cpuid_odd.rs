//! Dumps that say less than others, or head their CPUs otherwise: what they do not tell is not claimed, or said to be
//! assumed.

use coho_testing::data;
use coho_topology::cpuid::{self, CpuAnswers, Dump, Registers};
use coho_topology::{Level, Source, Topology, load, load_text};

use crate::cpuid_support::assert_consistent;

fn odd(name: &str) -> Topology {
    let topology = load(&data(&format!("cpuid/odd/{name}"))).unwrap().topology;
    assert_consistent(&topology);
    topology
}

/// Name; packages, L3, cores, CPUs; a part of a note, if there must be one.
const ODD: [(&str, [usize; 4], &str); 8] = [
    ("headings-affmask-celeron-g1610.test", [1, 1, 2, 2], ""),
    ("headings-from-0-mendocino.txt", [1, 1, 4, 8], ""),
    ("p6-dual-pentium-iii-1266mhz.test", [2, 0, 2, 2], "no APIC id"),
    ("p6-dual-pentium-iii-katmai.test", [2, 0, 2, 2], "no APIC id"),
    ("ryzen-5-1500x-without-l3-subleaf.txt", [1, 0, 4, 8], "L3: 16 MiB is the sum of the package"),
    ("unknown-vendor-virtual-cpu-snapdragon-850.txt", [1, 0, 8, 8], "no leaf that tells cores"),
    ("zen-no-8000001d-hygon-c86-7185.test", [1, 1, 1, 1], "L3: 64 MiB is the sum of the package"),
    ("../AMD-17h-Zen-2xEpyc-7451.cpuid", [2, 16, 48, 96], ""),
];

#[test]
fn what_odd_dumps_tell_and_do_not_tell() {
    for (name, expected, note) in ODD {
        let topology = odd(name);
        let counts = topology.counts();
        assert_eq!([counts.package, counts.l3, counts.core, counts.pu], expected, "{name}");
        let said = topology.notes.iter().any(|told| told.contains(note));
        assert!(
            if note.is_empty() { topology.notes.is_empty() } else { said },
            "{name}: {:?}",
            topology.notes
        );
    }
}

/// A CPU of a vendor, with answers to leaves of no sub-leaf.
fn cpu(os: u32, vendor: &[u8; 12], leaves: &[(u32, [u32; 4])]) -> CpuAnswers {
    let word = |at: usize| u32::from_le_bytes(vendor[at..at + 4].try_into().unwrap());
    let mut cpu = CpuAnswers::new(os);
    let basic = leaves.iter().map(|(leaf, _)| *leaf).filter(|leaf| *leaf < 0x8000_0000).max().unwrap();
    cpu.leaves.insert((0, 0), Registers { eax: basic, ebx: word(0), edx: word(4), ecx: word(8) });
    let extended = leaves.iter().map(|(leaf, _)| *leaf).max().unwrap();
    if extended >= 0x8000_0000 {
        cpu.leaves.insert((0x8000_0000, 0), Registers { eax: extended, ..Registers::default() });
    }
    for (leaf, registers) in leaves {
        cpu.leaves.insert((*leaf, 0), Registers::new(*registers));
    }
    cpu
}

const SEVERAL: u32 = 1 << 28;

#[test]
fn cores_that_no_leaf_tells_are_assumed() {
    for (vendor, last_leaf) in [(b"SomeoneElse!", 2), (b"GenuineIntel", 0xD)] {
        let answers = |os: u32| {
            cpu(os, vendor, &[(1, [0x0006_0F12, os << 24 | 4 << 16, 0, SEVERAL]), (last_leaf, [0; 4])])
        };
        let topology = cpuid::decode(&Dump { cpus: (0..4).map(answers).collect() }).unwrap();
        assert_eq!((topology.counts().package, topology.counts().core), (1, 4));
        let assumed =
            topology.facts.iter().any(|fact| fact.level == Level::Core && fact.source == Source::Assumed);
        assert!(
            assumed && topology.notes.iter().any(|note| note.contains("assumed")),
            "{:?}",
            topology.notes
        );
    }
    // A Pentium 4 had one core and no leaf 4: its ids are of threads.
    let answers =
        |os: u32| cpu(os, b"GenuineIntel", &[(1, [0x0F29, os << 24 | 2 << 16, 0, SEVERAL]), (2, [0; 4])]);
    let topology = cpuid::decode(&Dump { cpus: (0..2).map(answers).collect() }).unwrap();
    assert_eq!((topology.counts().core, topology.notes.len()), (1, 0));
}

#[test]
fn threads_of_zen_without_their_leaves_are_assumed() {
    let answers = |os: u32| {
        cpu(
            os,
            b"AuthenticAMD",
            &[
                (1, [0x0080_0F11, os << 24 | 4 << 16, 0, SEVERAL]),
                (0x8000_0006, [0, 0, 0x0200_6140, 0x0040_8140]),
                (0x8000_0008, [0, 0, 2 << 12 | 3, 0]),
            ],
        )
    };
    let topology = cpuid::decode(&Dump { cpus: (0..4).map(answers).collect() }).unwrap();
    assert_eq!((topology.counts().core, topology.counts().l3), (4, 0));
    assert!(topology.notes.iter().any(|note| note.contains("CPUs 0-3: no leaf that tells cores")));
    assert!(topology.notes.iter().any(|note| note.contains("L3: 8 MiB is the sum")), "{:?}", topology.notes);
}

#[test]
fn two_old_processors_are_two_packages_and_two_young_ones_asked_alike_are_refused() {
    let pair = |vendor: &[u8; 12], signature: u32| {
        let answers = |os| cpu(os, vendor, &[(1, [signature, 0, 0, 0]), (2, [0; 4])]);
        cpuid::decode(&Dump { cpus: (0..2).map(answers).collect() })
    };
    for (vendor, signature) in [
        (b"GenuineIntel", 0x0543),
        (b"GenuineIntel", 0x0681),
        (b"GenuineIntel", 0x06D8),
        (b"AuthenticAMD", 0x0662),
    ] {
        let topology = pair(vendor, signature).unwrap();
        assert_eq!((topology.counts().package, topology.counts().core), (2, 2), "{signature:x}");
        assert_eq!(topology.pus[1].apic_id, None);
    }
    for (vendor, signature) in
        [(b"GenuineIntel", 0x06F6), (b"GenuineIntel", 0x0F29), (b"AuthenticAMD", 0x0F51)]
    {
        let error = pair(vendor, signature).unwrap_err().to_string();
        assert!(error.contains("both claim APIC id"), "{signature:x}: {error}");
    }
}

/// A CPU's answers under a heading; the APIC id tells the CPUs apart.
fn headed(heading: &str, apic_id: u32) -> String {
    format!(
        "{heading}\nCPUID 00000000: 00000001-756E6547-6C65746E-49656E69\nCPUID 00000001: 00000F29-{apic_id:02X}000000-00000000-00000000\n"
    )
}

/// The CPUs of a report and their APIC ids.
fn ids(text: &str) -> Vec<(u32, u32)> {
    let dump = load_text(text).unwrap().dump.unwrap();
    dump.cpus.iter().map(|cpu| (cpu.os, cpu.query(1, 0).ebx >> 24)).collect()
}

#[test]
fn headings_that_repeat_a_number_are_told_apart_by_their_masks() {
    let with_masks = |masks: [&str; 3]| -> String {
        let heading = |mask: &str| format!("CPU#000 AffMask: 0x{mask}");
        masks.iter().zip([0, 2, 4]).map(|(mask, id)| headed(&heading(mask), id)).collect()
    };
    // As masks, and merely counted.
    for masks in [["01", "02", "04"], ["01", "02", "03"]] {
        assert_eq!(ids(&with_masks(masks)), [(0, 0), (1, 2), (2, 4)]);
    }
    let error = load_text(&with_masks(["01", "02", "02"])).unwrap_err().to_string();
    assert!(error.contains("second heading for CPU 0"), "{error}");
    // Numbers that differ stay.
    let numbered = headed("CPU#004 AffMask: 0x10", 0) + &headed("CPU#007 AffMask: 0x80", 2);
    assert_eq!(ids(&numbered), [(4, 0), (7, 2)]);
}

#[test]
fn headings_count_from_one_unless_one_is_zero() {
    let report = |first: u32| -> String {
        (0..4)
            .map(|at| {
                headed(
                    &format!(
                        "CPUID Registers (CPU #{}{}):",
                        first + at,
                        [" Virtual", ""][usize::from(at % 2 == 0)]
                    ),
                    at,
                )
            })
            .collect()
    };
    assert_eq!(ids(&report(0)), [(0, 0), (1, 1), (2, 2), (3, 3)]);
    assert_eq!(ids(&report(1)), ids(&report(0)));
}
