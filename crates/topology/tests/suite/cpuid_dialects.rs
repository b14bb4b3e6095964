//! Real machines' answers printed as every tool prints them, and read back: one topology, whatever the dialect.

use std::fmt::Write;

use coho_testing::data;
use coho_topology::cpuid::{self, CpuAnswers, Dump, Registers};
use coho_topology::{Topology, load, load_text};

/// Dumps of all makes and sizes.
fn machines() -> Vec<(String, Dump)> {
    let mut machines: Vec<_> = std::fs::read_dir(data("cpuid"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpuid"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), cpuid::read(&path).unwrap()))
        .collect();
    machines.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(machines.len() > 10);
    machines
}

/// The answers whose sub-leaves count up from 0, so that tools that do not number them can print them.
fn countable(cpu: &CpuAnswers) -> Vec<(u32, u32, Registers)> {
    let mut answers: Vec<(u32, u32, Registers)> = Vec::new();
    for (&(leaf, subleaf), &registers) in &cpu.leaves {
        let next = answers.last().filter(|last| last.0 == leaf).map_or(0, |last| last.1 + 1);
        if subleaf == next {
            answers.push((leaf, subleaf, registers));
        }
    }
    answers
}

/// How a tool prints the heading of the CPU at a position, and an answer.
struct Tool {
    name: &'static str,
    heading: fn(usize) -> String,
    answer: fn(u32, u32, [u32; 4]) -> String,
}

const TOOLS: [Tool; 8] = [
    Tool {
        name: "AIDA64",
        heading: |cpu| {
            format!(
                "------[ CPUID Registers / Logical CPU #{cpu} ]------\n\nallcpu: Package 0 / Core 0 / Thread 0: Valid"
            )
        },
        answer: |leaf, subleaf, [a, b, c, d]| {
            format!("CPUID {leaf:08X}: {a:08X}-{b:08X}-{c:08X}-{d:08X} [SL {subleaf:02X}] [{a}]")
        },
    },
    Tool {
        name: "AIDA64, before it numbered sub-leaves",
        heading: |cpu| format!("CPU#{cpu:03} AffMask: 0x{:016X}", 1u64.rotate_left(cpu as u32)),
        answer: |leaf, _, [a, b, c, d]| format!("CPUID {leaf:08X}: {a:08X}-{b:08X}-{c:08X}-{d:08X} [text]"),
    },
    Tool {
        name: "EVEREST",
        heading: |cpu| format!("    CPUID Registers (CPU #{}):", cpu + 1),
        answer: |leaf, _, [a, b, c, d]| format!("      CPUID {leaf:08X}\t\t{a:08X}-{b:08X}-{c:08X}-{d:08X}"),
    },
    Tool {
        name: "EVEREST's virtual CPUs",
        heading: |cpu| {
            format!("CPUID Registers (CPU #{}{}):", cpu / 2 + 1, if cpu % 2 == 1 { " Virtual" } else { "" })
        },
        answer: |leaf, _, [a, b, c, d]| format!("CPUID {leaf:08x}: {a:08x}-{b:08x}-{c:08x}-{d:08x}"),
    },
    Tool {
        name: "no headings",
        heading: |_| String::new(),
        answer: |leaf, _, [a, b, c, d]| {
            format!("cpuid 0x{leaf:08x} = 0x{a:08x} 0x{b:08x} 0x{c:08x} 0x{d:08x}")
        },
    },
    Tool {
        name: "CPU-Z",
        heading: |cpu| format!("CPU Thread {cpu}\n\tAPIC ID\t\t\t{cpu}\n\tCPUID"),
        answer: |leaf, _, [a, b, c, d]| {
            format!("\t\t0x{leaf:08X}\t0x{a:08X}\t0x{b:08X}\t0x{c:08X}\t0x{d:08X}")
        },
    },
    Tool {
        name: "cpuid -r",
        heading: |cpu| format!("CPU {cpu}:"),
        answer: |leaf, subleaf, [a, b, c, d]| {
            format!(
                "   0x{leaf:08x} 0x{subleaf:02x}: eax=0x{a:08x} ebx=0x{b:08x} ecx=0x{c:08x} edx=0x{d:08x}"
            )
        },
    },
    Tool {
        name: "x86info",
        heading: |cpu| format!("CPU #{cpu}"),
        answer: |leaf, _, [a, b, c, d]| {
            format!("eax in: 0x{leaf:08x}, eax = {a:08x} ebx = {b:08x} ecx = {c:08x} edx = {d:08x}")
        },
    },
];

fn print(dump: &Dump, tool: &Tool) -> String {
    let mut text = String::from("Some Tool v1.0\n\n");
    for (position, cpu) in dump.cpus.iter().enumerate() {
        let _ = writeln!(text, "{}\n", (tool.heading)(position));
        for (leaf, subleaf, Registers { eax, ebx, ecx, edx }) in countable(cpu) {
            let _ = writeln!(text, "{}", (tool.answer)(leaf, subleaf, [eax, ebx, ecx, edx]));
        }
        text.push('\n');
    }
    text
}

/// What the CPUs are, apart from their numbers.
fn shape(topology: &Topology) -> impl PartialEq + std::fmt::Debug {
    let mut caches: Vec<_> = topology
        .caches
        .iter()
        .map(|cache| (cache.level, cache.kind, cache.size_bytes, cache.cpus.len()))
        .collect();
    caches.sort_unstable();
    (topology.counts(), topology.cpu.clone(), caches)
}

#[test]
fn every_tool_describes_the_same_machine() {
    for (name, dump) in machines() {
        let dump = Dump {
            cpus: dump
                .cpus
                .iter()
                .map(|cpu| CpuAnswers {
                    leaves: countable(cpu)
                        .into_iter()
                        .map(|(leaf, subleaf, answer)| ((leaf, subleaf), answer))
                        .collect(),
                    ..CpuAnswers::new(cpu.os)
                })
                .collect(),
        };
        let own = cpuid::decode(&dump).unwrap();
        for tool in &TOOLS {
            let read = load_text(&print(&dump, tool))
                .unwrap_or_else(|error| panic!("{name}, {}: {error}", tool.name));
            assert_eq!(shape(&read.topology), shape(&own), "{name}, {}", tool.name);
            if !tool.name.contains("virtual") {
                assert_eq!(read.dump.unwrap(), dump, "{name}, {}", tool.name);
            }
        }
    }
}

#[test]
fn line_ends_encodings_and_expected_output_change_nothing() {
    let (_, dump) = machines().swap_remove(0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.txt");
    for tool in &TOOLS {
        let text = print(&dump, tool);
        let plain = load_text(&text).unwrap().topology;
        let windows = text.replace('\n', "\r\n");
        let with_mark = format!("\u{feff}{text}");
        let with_nuls = format!("{text}\0\0\0");
        let expected = format!(
            "{text}{}\nx86\nx86-64-v2\n15\n2\n-1\n64 (authoritative)\nfpu vme 3dnow\n",
            "-".repeat(80)
        );
        for variant in [&windows, &with_mark, &with_nuls, &expected] {
            assert_eq!(load_text(variant).unwrap().topology, plain, "{}", tool.name);
        }
        let utf_16: Vec<u8> = windows.encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(&file, [&[0xFF, 0xFE], &utf_16[..]].concat()).unwrap();
        assert_eq!(load(&file).unwrap().topology, plain, "{}", tool.name);
        assert_eq!(cpuid::read(&file).unwrap(), load(&file).unwrap().dump.unwrap(), "{}", tool.name);
    }
}

/// A dump that has lost lines, headings or CPUs is refused or read as what is left, never as fewer CPUs than it has
/// answers for.
#[test]
fn a_lost_heading_is_an_error() {
    for (name, dump) in machines().into_iter().filter(|(_, dump)| dump.cpus.len() > 2) {
        for tool in TOOLS.iter().filter(|tool| !(tool.heading)(0).is_empty()) {
            let text = print(&dump, tool);
            let lost = (tool.heading)(2);
            let text = text.replacen(&format!("{lost}\n"), "", 1);
            let error =
                load_text(&text).err().unwrap_or_else(|| panic!("{name}, {}: read all the same", tool.name));
            assert!(error.line().is_some(), "{name}, {}: {error}", tool.name);
        }
    }
}
