//! What is recorded of allocations, and memory in lines of its own.

use std::path::Path;
use std::process::Command;

use coho_recording::Record;
use coho_testing::{Capability, needs};

use crate::common::{Run, compiled, library, run};

/// The recorded allocation of these first byte and length, with its site's frames; it is reported before any operand in it.
#[track_caller]
fn allocated(run: &Run, address: u64, bytes: u64) -> Vec<u64> {
    let mut found = None;
    let mut first_use = u64::MAX;
    for item in &run.items {
        match item.record {
            Record::Allocated { time, address: at, bytes: of, site } if at == address => {
                assert!(found.is_none() && of == bytes, "{item:?}");
                found = Some((time, site));
            }
            Record::Operand { time, address: at, .. } if (address..address + bytes).contains(&at) => {
                first_use = first_use.min(time);
            }
            _ => {}
        }
    }
    let (time, site) = found.unwrap_or_else(|| panic!("{address:x} {:?}", run.output));
    assert!(time < first_use && first_use != u64::MAX, "{time} {first_use}");
    let mut frames: Vec<(u8, u64)> = run
        .items
        .iter()
        .filter_map(|item| match item.record {
            Record::Frame { site: of, depth, pc } if of == site => Some((depth, pc)),
            _ => None,
        })
        .collect();
    frames.sort_unstable();
    assert!(frames.iter().map(|frame| frame.0).eq(0..frames.len() as u8), "{frames:?}");
    frames.into_iter().map(|frame| frame.1).collect()
}

#[track_caller]
fn is_within(pc: u64, function: u64) {
    assert!((function..function + 64).contains(&pc), "{pc:x} {function:x}");
}

/// When it was recorded that a block was freed.
fn freed(run: &Run, block: u64) -> usize {
    run.items
        .iter()
        .filter(|item| matches!(item.record, Record::Freed { address, .. } if address == block))
        .count()
}

#[test]
fn blocks_are_told_with_their_sites() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("blocks.c", "cc", &[]), &["small"]);
    let [one, two, by_malloc, by_another] = run.numbers()[..] else { panic!("{:?}", run.output) };
    is_within(allocated(&run, one, 24)[0], by_malloc);
    is_within(allocated(&run, two, 40)[0], by_another);
    assert_eq!((freed(&run, one), freed(&run, two)), (1, 1));
    // No block is told of that no thread was seen to use.
    let told = run.items.iter().filter(|item| matches!(item.record, Record::Allocated { .. })).count();
    assert!(told < 10, "{told}");
}

#[test]
fn large_blocks_and_mappings_are_told_from_their_middles() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("blocks.c", "cc", &[]), &["large"]);
    let [block, mapped, by_malloc] = run.numbers()[..] else { panic!("{:?}", run.output) };
    is_within(allocated(&run, block, 1 << 20)[0], by_malloc);
    allocated(&run, mapped, 3 << 12);
    assert_eq!((freed(&run, block), freed(&run, mapped)), (1, 1));
}

#[test]
fn objects_are_told_by_who_makes_them() {
    needs!(Capability::CppCompiler);
    let run = run(&compiled("objects.cpp", "c++", &["-std=c++17"]), &[]);
    let [one, two, make, wrong] = run.numbers()[..] else { panic!("{:?}", run.output) };
    assert_eq!(wrong, 0);
    is_within(allocated(&run, one, 8)[0], make);
    is_within(allocated(&run, two, 8)[0], make);
}

#[test]
fn the_heap_is_as_without_the_library() {
    needs!(Capability::CCompiler);
    let program = compiled("blocks.c", "cc", &[]);
    // It begins at a page, which is another one in each run.
    let in_pages = |printed: &str| -> Vec<u64> {
        let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
        printed.split_whitespace().map(|word| number(word) % 4096).collect()
    };
    let plain = Command::new(&program).arg("addresses").env_remove("LD_PRELOAD").output().unwrap();
    let plain = in_pages(&String::from_utf8(plain.stdout).unwrap());
    assert!(plain.len() > 20, "{plain:x?}");
    assert_eq!(in_pages(&run(&program, &["addresses"]).printed()), plain);
}

#[test]
fn every_function_does_what_the_c_library_s_does() {
    needs!(Capability::CCompiler);
    let program = compiled("blocks.c", "cc", &[]);
    assert_eq!(run(&program, &["grow"]).numbers(), [0]);
}

/// The sites of two functions of a program, as `COHO_SHARE_PAD` names them: the addresses that calls in them return to.
fn sites(program: &Path, functions: &[&str]) -> String {
    let listed = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let name = program.file_name().unwrap().to_str().unwrap();
    let mut sites = Vec::new();
    let (mut within, mut after_call) = (false, false);
    for line in listed.lines() {
        if line.ends_with(">:") {
            within = functions.iter().any(|function| line.contains(function));
        }
        let address = line.trim_start().split(':').next().unwrap();
        if within && after_call {
            sites.push(format!("{name}+0x{address}"));
        }
        after_call = line.contains("call ");
    }
    sites.join(",")
}

#[test]
fn padded_sites_have_lines_of_their_own() {
    needs!(Capability::CCompiler);
    let program = compiled("blocks.c", "cc", &[]);
    let addresses = |sites: &str| -> Vec<Vec<u64>> {
        let mut command = Command::new(&program);
        command.arg("addresses").env("LD_PRELOAD", library()).env(coho_recording::PAD, sites);
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        printed.lines().take(10).map(|line| line.split(' ').map(number).collect()).collect()
    };
    let plain = addresses("");
    assert!(plain.iter().flatten().any(|address| !address.is_multiple_of(128)), "{plain:x?}");
    // By one site, its blocks are padded and no others; by all, what is grown too.
    let one = addresses(&sites(&program, &["<by_another>"]));
    assert!(one.iter().all(|pair| pair[1].is_multiple_of(128)), "{one:x?}");
    assert!(one.iter().any(|pair| !pair[0].is_multiple_of(128)), "{one:x?}");
    let mut all: Vec<u64> =
        addresses(&sites(&program, &["<by_another>", "<by_malloc>", "<addresses>"])).concat();
    all.sort_unstable();
    assert!(all.iter().all(|address| address.is_multiple_of(128)), "{all:x?}");
    assert!(all.windows(2).all(|pair| pair[1] - pair[0] >= 128), "{all:x?}");
}

#[test]
fn padded_memory_grows_and_is_freed_as_any_other() {
    needs!(Capability::CCompiler, Capability::CppCompiler);
    let blocks = compiled("blocks.c", "cc", &[]);
    let objects = compiled("objects.cpp", "c++", &["-std=c++17"]);
    for (program, functions, argument) in [
        (blocks, ["<by_another>", "<by_malloc>", "<grow>"], "grow"),
        (objects, ["<main>", "make", "<main>"], ""),
    ] {
        let sites = sites(&program, &functions);
        assert!(sites.contains("+0x"), "{sites}");
        let run = crate::common::run_with(&program, &[argument], |command| {
            command.env(coho_recording::PAD, &sites);
        });
        assert_eq!(run.numbers().last(), Some(&0), "{:?}", run.output);
    }
}
