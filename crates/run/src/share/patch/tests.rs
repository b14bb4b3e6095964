//! Patches of programs that compilers have built: the patched file is compiled, and what was on one line is on several.

use std::path::{Path, PathBuf};
use std::process::Command;

use coho_model::share_lines::{Files, InFile};
use coho_profile::SharePart;
use coho_testing::{Capability, needs};
use object::{Object, ObjectSymbol};

use super::super::symbols::{Symbols, Variable};
use super::patch;

const C: &str = include_str!("../../../tests/programs/stats.c");
const CPP: &str = include_str!("../../../tests/programs/queue.cpp");
const RUST: &str = include_str!("../../../tests/programs/stats.rs");

/// Compiles a text and returns the program.
fn compiled(folder: &Path, name: &str, text: &str, options: &[&str]) -> PathBuf {
    let source = folder.join(name);
    let program = source.with_extension("out");
    std::fs::write(&source, text).unwrap();
    let compiler = match source.extension().unwrap().to_str().unwrap() {
        "c" => "gcc",
        "rs" => "rustc",
        _ => "g++",
    };
    let mut command = Command::new(compiler);
    command.args(["-g", "-o"]).arg(&program).arg(&source).args(options);
    assert!(command.status().unwrap().success(), "{text}");
    program
}

/// The global of this name, and the parts of it at these offsets, each of 4 bytes and written by a thread of its own.
fn variable(program: &Path, name: &str) -> Variable {
    let bytes = std::fs::read(program).unwrap();
    let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).unwrap();
    let is_it =
        |symbol: &object::read::elf::ElfSymbol64<'_, '_, object::Endianness>| symbol.name() == Ok(name);
    let address = elf.symbols().find(is_it).unwrap().address();
    let mut files = Files::default();
    let file = files.number(program.to_owned());
    Symbols::new(&files).variable(InFile { file, address }).unwrap()
}

fn patched(variables: &[(&Variable, u64)]) -> Option<String> {
    let part =
        |thread: usize| SharePart { bytes: 4, written_by: vec![thread as u64], ..SharePart::default() };
    let parts: Vec<SharePart> = (1..=variables.len()).map(part).collect();
    let parts = parts.iter().zip(variables);
    patch(&parts.map(|(part, (variable, into))| (part, *variable, *into)).collect::<Vec<_>>())
}

/// A text with a diff of it applied.
fn applied(text: &str, diff: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (mut new, mut at) = (String::new(), 0);
    for line in diff.lines().skip(2) {
        if let Some(hunk) = line.strip_prefix("@@ -") {
            let start: usize = hunk.split(',').next().unwrap().parse().unwrap();
            lines[at..start - 1].iter().for_each(|line| new += &format!("{line}\n"));
            at = start - 1;
            continue;
        }
        let (sign, line) = line.split_at(1);
        if sign != "+" {
            assert_eq!(lines[at], line);
            at += 1;
        }
        if sign != "-" {
            new += &format!("{line}\n");
        }
    }
    lines[at..].iter().for_each(|line| new += &format!("{line}\n"));
    new
}

/// The lines on which what a program prints lies.
fn lines(program: &Path) -> Vec<u64> {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    printed.split_whitespace().map(|word| u64::from_str_radix(&word[2..], 16).unwrap() / 64).collect()
}

fn are_apart(lines: &[u64]) -> bool {
    lines.iter().enumerate().all(|(at, line)| !lines[at + 1..].contains(line))
}

#[test]
fn fields_elements_and_globals_of_c_lie_apart_once_the_file_is_patched() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    for options in [&[][..], &["-gdwarf-4", "-std=gnu99"]] {
        let program = compiled(folder.path(), "stats.c", C, options);
        assert!(!are_apart(&lines(&program)));
        let [stats, alone] = ["stats", "alone"].map(|name| variable(&program, name));
        let diff = patched(&[(&stats, 0), (&stats, 20), (&stats, 32), (&stats, 48), (&alone, 0)]).unwrap();
        let name = folder.path().join("stats.c");
        assert!(diff.starts_with(&format!("--- {0}\n+++ {0}\n", name.display())), "{diff}");
        let word = if options.is_empty() { "_Alignas(64) " } else { "__attribute__((aligned(64))) " };
        assert!(diff.contains(&format!("+    {word}unsigned\n")), "{diff}");
        assert!(diff.contains(&format!("+    {word}struct {{ {word}char *name;")), "{diff}");
        let again = compiled(folder.path(), "patched.c", &applied(C, &diff), options);
        assert!(are_apart(&lines(&again)), "{diff}");
    }
}

#[test]
fn members_of_cpp_lie_apart_once_the_file_is_patched() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "queue.cpp", CPP, &["-std=c++17"]);
    let all = variable(&program, "_ZN1a3allE");
    let diff = patched(&[(&all, 0), (&all, 8), (&all, 16)]).unwrap();
    assert!(diff.contains("+    std::atomic<long> head{0}; alignas(64) long size = 1;\n"), "{diff}");
    assert!(diff.contains("+private: alignas(64) std::atomic<long> tail{0};\n"), "{diff}");
    let again = compiled(folder.path(), "patched.cpp", &applied(CPP, &diff), &["-std=c++17"]);
    assert!(are_apart(&lines(&again)), "{diff}");
}

#[test]
fn without_the_source_the_declaration_is_that_of_the_debugging_information() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "stats.c", C, &[]);
    let stats = variable(&program, "stats");
    // One that has changed since is no source of it, and neither is what is no file.
    for change in ["\n\n\n", ""] {
        let source = folder.path().join("stats.c");
        if change.is_empty() {
            std::fs::remove_file(&source).unwrap();
            std::fs::create_dir(&source).unwrap();
        } else {
            std::fs::write(&source, format!("{change}{C}")).unwrap();
        }
        let told = patched(&[(&stats, 0), (&stats, 20)]).unwrap();
        let fields = "    long int hits; /* 0 */\n    long int *last; /* 8 */\n\
                      \x20   _Alignas(64) unsigned int misses[2]; /* 16 */\n";
        let struct_ = format!("struct stats {{\n{fields}");
        assert!(told.starts_with("/* By debugging information") && told.contains(&struct_), "{told}");
    }
}

#[test]
fn what_one_thread_touches_stays_together_and_what_is_not_known_has_no_patch() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "stats.c", C, &[]);
    let stats = variable(&program, "stats");
    let part = |thread: u64| SharePart { bytes: 4, written_by: vec![thread], ..SharePart::default() };
    let (one, two) = (part(1), part(2));
    assert_eq!(patch(&[(&one, &stats, 0), (&one, &stats, 20)]), None);
    let reader = SharePart { bytes: 4, read_by: vec![2], ..SharePart::default() };
    assert_eq!(patch(&[(&reader, &stats, 0), (&reader, &stats, 20)]), None);
    assert!(patch(&[(&reader, &stats, 0), (&one, &stats, 20)]).is_some());
    let plain = Variable { name: "x".into(), bytes: 16, ..Variable::default() };
    assert_eq!(patch(&[(&one, &plain, 0), (&two, &plain, 8)]), None);
}

#[test]
fn rusts_declarations_are_told_with_a_wrapper_that_compiles() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "stats.rs", RUST, &[]);
    let (stats, each) = (variable(&program, "STATS"), variable(&program, "EACH"));
    let told = patched(&[(&stats, 0), (&stats, 8)]).unwrap();
    let check = "fn main() {\n    use std::mem::offset_of;\n\
                 \x20   assert!(offset_of!(Stats, hits) / 64 != offset_of!(Stats, misses) / 64);\n\
                 \x20   assert!(align_of::<Stats>() == 64);\n}\n";
    let head = "#![allow(dead_code)]\nuse std::sync::atomic::*;\n";
    let program = compiled(folder.path(), "patched.rs", &format!("{head}{told}{check}"), &[]);
    assert!(Command::new(program).status().unwrap().success(), "{told}");
    let told = patched(&[(&each, 0), (&each, 8)]).unwrap();
    assert!(told.contains("static EACH: [Aligned<AtomicU64>; 4];\n"), "{told}");
}
