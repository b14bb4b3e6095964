//! What each dialect allows; and errors name the line.

use coho_topology::cpuid::{self, Registers};

#[test]
fn every_dialect_is_recognised_by_its_first_answer() {
    for text in [
        "# a comment\ncpu 0 0x00000000 0x00000000 0x1 0x2 0x3 0x4",
        "# mask e[abcd]x => e[abcd]x\n1 0 0 0 0 => d 756e6547 6c65746e 49656e69",
        "version=0.6.2\n\nbasic_cpuid[0]=0000000d 68747541 444d4163 69746e65",
        "------[ Logical CPU #0 ]------\n\nCPUID 00000000: 0000000D-68747541-444D4163-69746E65 [AuthenticAMD]",
        "CPU 0:\n   0x00000000 0x00: eax=0x0000000d ebx=0x68747541 ecx=0x444d4163 edx=0x69746e65",
    ] {
        assert!(cpuid::looks_like(text), "{text}");
        assert_eq!(cpuid::parse(text).unwrap().cpus.len(), 1, "{text}");
    }
    for text in
        ["", "<?xml version=\"1.0\"?>", "cpu 0", "processor : 0", "CPUID says no", "=> => => => => =>"]
    {
        assert!(!cpuid::looks_like(text), "{text}");
        assert!(cpuid::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_first_matching_line_of_hwloc_wins_and_one_without_ecx_answers_any() {
    let text = "1 0 0 0 0 => d 1 2 3\n5 4 0 0 0 => 1 1 1 1\n5 4 0 0 0 => 2 2 2 2\n1 4 0 0 0 => 3 3 3 3\n\
                5 4 0 7 0 => 4 4 4 4\n";
    let cpu = &cpuid::parse(text).unwrap().cpus[0];
    assert_eq!(cpu.query(4, 0).eax, 1);
    assert_eq!(cpu.query(4, 1).eax, 3);
    assert_eq!(cpu.query(4, 7).eax, 3, "the line after the one for any ECX is never reached");
    assert_eq!(cpu.query(5, 0), Registers::default());
}

#[test]
fn leaves_without_subleaves_answer_whatever_ecx_holds() {
    let cpu = &cpuid::parse("1 1 0 0 0 => a b c d").unwrap().cpus[0];
    assert_eq!(cpu.query(1, 9), Registers::new([10, 11, 12, 13]));
}

#[test]
fn repeated_lines_of_old_reports_are_successive_subleaves() {
    let old = "------[ Logical CPU #0 ]------\n\
               CPUID 00000004: 00000001-00000000-00000000-00000000\n\
               CPUID 00000004: 00000002-00000000-00000000-00000000\n\
               ------[ Logical CPU #1 ]------\n\
               CPUID 00000004: 00000003-00000000-00000000-00000000 [SL 00]\n\
               CPUID 00000004: 00000004-00000000-00000000-00000000 [SL 0A] [note]\n";
    let dump = cpuid::parse(old).unwrap();
    assert_eq!((dump.cpus[0].query(4, 0).eax, dump.cpus[0].query(4, 1).eax), (1, 2));
    assert_eq!((dump.cpus[1].query(4, 0).eax, dump.cpus[1].query(4, 10).eax), (3, 4));
}

#[test]
fn what_follows_a_rule_is_not_part_of_the_dump() {
    let text = "basic_cpuid[0]=1 2 3 4\n---------------------------\nx86\n15\nIntel whatever\n";
    assert_eq!(cpuid::parse(text).unwrap().cpus[0].leaves.len(), 1);
}

#[test]
fn libcpuid_arrays_are_leaves_and_subleaves() {
    let text = "basic_cpuid[0]=d 2 3 4\next_cpuid[30]=9 0 0 0\nintel_fn4[2]=5 0 0 0\nintel_fn11[1]=6 0 0 0\n\
                amd_fn8000001dh[3]=7 0 0 0\namd_fn80000026h[1]=8 0 0 0\nsome_new[0]=1 2\n\
                _________________ Logical CPU #1 _________________\nbasic_cpuid[0]=e 2 3 4\n";
    let dump = cpuid::parse(text).unwrap();
    let eax = |leaf, subleaf| dump.cpus[0].query(leaf, subleaf).eax;
    assert_eq!([eax(4, 2), eax(0xB, 1), eax(0x8000_001D, 3), eax(0x8000_0026, 1)], [5, 6, 7, 8]);
    assert_eq!([eax(0x8000_001E, 0), dump.cpus[1].query(0, 0).eax], [9, 0xE]);
}

#[test]
fn errors_name_the_line() {
    let neutral = "cpu 0 0x0 0x0 0x1 0x2 0x3 0x4\n";
    let aida = "CPUID 00000000: 0000000D-68747541-444D4163-69746E65\n";
    let leaf_1 = "CPUID 00000001: 1-2-3-4\n";
    let other = "CPUID 00000000: 0000000E-68747541-444D4163-69746E65\n";
    let head = "------[ Logical CPU #0 ]------\n";
    let etallen = "CPU 0:\n 0x00000000 0x00: eax=0x1 ebx=0x2 ecx=0x3 edx=0x4\n";
    for (text, line, part) in [
        (format!("{neutral}cpu 1 0 0 0 0 0\n"), 2, "expected"),
        (format!("{neutral}\ncpu 65536 0 0 0 0 0 0\n"), 3, "beyond"),
        (format!("{neutral}cpu 1 0 0 0 0 0 123456789\n"), 2, "'123456789'"),
        (format!("{neutral}{neutral}cpu 0 0 0 2 2 3 4\n"), 3, "CPU 0 has answered leaf 0x0 otherwise"),
        (format!("{neutral}cpu -1 0 0 0 0 0 0\n"), 2, "'-1'"),
        ("1 0 0 0 0 => 1 2 3 4\n1 0 0 0 0 => 1 2 3 g\n".to_string(), 2, "'g'"),
        ("1 0 0 0 0 => 1 2 3 4\n4 0 0 0 0 => 1 2 3 4\n".to_string(), 2, "inmask"),
        ("basic_cpuid[0]=1 2 3 4\nbasic_cpuid[1=1 2 3 4\n".to_string(), 2, "index"),
        ("basic_cpuid[0]=1 2 3 4\nnonsense\n".to_string(), 2, "nonsense"),
        (format!("{aida}CPUID 00000001: 1-2-3\n"), 2, "found 3 in 'CPUID 00000001: 1-2-3'"),
        (format!("{aida}CPUID 00000004: 1-2-3-4 [SL zz]\n"), 2, "SL zz"),
        (format!("{head}{aida}{head}{other}"), 3, "second heading"),
        (format!("{head}{aida}{aida}"), 3, "answered twice"),
        (format!("{head}{aida}{leaf_1}CPUID 00000001: 1-2-3-5\n"), 4, "answered twice"),
        (format!("{head}{aida}------[ Logical CPU #1 ]------\n"), 3, "no answers"),
        (
            "basic_cpuid[0]=1 2 3 4\nbasic_cpuid[1]=1 2 3 4\nbasic_cpuid[1]=1 2 3 5\n".to_string(),
            3,
            "answered twice",
        ),
        (format!("{etallen} 0x1 0x00: eax=0x1 ecx=0x2 ebx=0x3 edx=0x4\n"), 3, "ebx"),
        (format!("{etallen}CPU 99999999999:\n"), 3, "99999999999"),
    ] {
        let error = cpuid::parse(&text).unwrap_err();
        assert_eq!(error.line(), Some(line), "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn a_report_without_headings_begins_a_cpu_at_each_leaf_0() {
    let cpu = |apic_id: u32| {
        format!("CPUID 00000000 1-756E6547-6C65746E-49656E69\nCPUID 00000001 10677-{apic_id:X}000000-0-0\n")
    };
    let dump = cpuid::parse(&[0, 1, 2].map(cpu).concat()).unwrap();
    assert_eq!(dump.cpus.iter().map(|cpu| cpu.os).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(cpuid::decode(&dump).unwrap().counts().pu, 3);
    // The same CPU asked twice is not a second CPU.
    let error = cpuid::decode(&cpuid::parse(&[0, 0].map(cpu).concat()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("APIC id"), "{error}");
}

#[test]
fn a_repeated_heading_continues_its_cpu() {
    let text = "CPUID Registers (CPU #1):\nCPUID 00000000: 1-2-3-4\nCPUID Registers (CPU #1 Virtual):\n\
                CPUID 40000000: 5-6-7-8\nCPUID 00000000: 1-2-3-4\n";
    let dump = cpuid::parse(text).unwrap();
    assert_eq!(dump.cpus.len(), 1);
    assert_eq!((dump.cpus[0].os, dump.cpus[0].query(0x4000_0000, 0).eax), (0, 5));
    // Another CPU's answers under the same number are the core's other thread.
    let other =
        text.replace("40000000: 5", "00000001: 9") + "CPUID Registers (CPU #1):\nCPUID 00000001: A-6-7-8\n";
    let error = cpuid::parse(&other).unwrap_err().to_string();
    assert!(error.contains("second heading for CPU 0"), "{error}");
}
