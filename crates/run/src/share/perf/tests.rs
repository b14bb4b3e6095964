//! Samples as `perf script` prints them, of a program that a compiler has built.

use std::path::{Path, PathBuf};

use coho_profile::ShareKind;
use coho_testing::{Capability, needs};

use super::super::compiled::built;
use super::text::Samples;
use super::{NotRead, recorded_by_perf};

const PROGRAM: &str = "struct stats { long hits, misses; } stats __attribute__((aligned(64)));\n\
                       void hit(void) { stats.hits++; }\n\
                       void miss(void) { stats.misses++; }\n\
                       int main(void) { hit(); miss(); return 0; }\n";
/// A load and a store that hit the first cache, as perf prints them.
const LOAD: &str = "68100242 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A";
const STORE: &str = "68100144 |OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A";
const UNKNOWN: &str = "1e05080021 |OP N/A|LVL N/A or N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A";

/// The program at fixed addresses, and where its symbols lie.
fn compiled(folder: &Path) -> (PathBuf, impl Fn(&str) -> u64 + use<>) {
    built(folder, "gcc", "stats.c", PROGRAM, &["-g", "-O1", "-no-pie"])
}

/// Two threads, in turn: one at the first field, one at the second or, if `is_true`, at the first, too.
fn printed(program: &Path, symbol: &impl Fn(&str) -> u64, source: &str, is_true: bool) -> String {
    let path = program.display();
    let mut text = format!(
        "    0/0         0.000000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x120bb08) @ 0]: x [kernel]_text\n\
         \x20 416/416   26983.661440001: PERF_RECORD_MMAP2 416/416: [0x400000(0x1000) @ 0 fe:00 9 4]: r--p {path}\n\
         \x20 416/416   26983.661448001: PERF_RECORD_MMAP2 416/416: [0x401000(0x1000) @ 0x1000 fe:00 9 4]: r-xp {path}\n"
    );
    for turn in 0..60 {
        let (thread, code, field) = match turn % 2 {
            0 => (417, symbol("hit"), 0),
            _ => (418, symbol("miss"), if is_true { 0 } else { 8 }),
        };
        let (time, address) = (700_000_000 + 1_000 * turn, symbol("stats") + field);
        text += &format!("  416/{thread}   26983.{time:09}:  {address:16x}  {source} {code:16x}\n");
    }
    text
}

fn share(folder: &Path, text: &str) -> Result<coho_profile::Share, NotRead> {
    let path = folder.join("samples.txt");
    std::fs::write(&path, text).unwrap();
    recorded_by_perf(&path)
}

#[test]
fn samples_of_two_threads_name_the_fields_of_a_line() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let (program, symbol) = compiled(folder.path());
    let share = |source, is_true| share(folder.path(), &printed(&program, &symbol, source, is_true)).unwrap();
    let falsely = share(STORE, false);
    assert_eq!(falsely.command, [program.to_string_lossy()]);
    let [line] = &falsely.lines.unwrap()[..] else { panic!("one line") };
    assert_eq!((&*line.object, line.kind, line.threads), ("global stats", ShareKind::False, 2));
    let names: Vec<_> = line.parts.iter().map(|part| &*part.name).collect();
    assert_eq!(names, ["stats.hits", "stats.misses"]);
    assert_eq!(line.at, ["stats.c:2", "stats.c:3"]);
    assert!(falsely.total.why_not.is_some() && line.cost_share.is_none(), "samples tell no cost");
    let truly = share(STORE, true);
    assert_eq!(truly.lines.unwrap()[0].kind, ShareKind::True);
    // What is only read goes nowhere.
    assert_eq!(share(LOAD, true).lines.unwrap(), []);
}

#[test]
fn a_locked_load_writes() {
    let of = |source: &str| {
        let text = format!("  1/2  5.000000001: {:x} {source} 401000\n", 0x40_4080);
        Samples::read(text.as_bytes()).unwrap()
    };
    let access = |source: &str| match of(source).items[1].record {
        coho_recording::Record::Operand { access, .. } => access,
        _ => unreachable!(),
    };
    assert_eq!(access("2000002 |OP LOAD|LCK Yes|"), coho_recording::Access::Both);
    assert_eq!(access(LOAD), coho_recording::Access::Read);
    assert_eq!(access("68100144 |OP LOAD|"), coho_recording::Access::Write, "only the number counts");
    assert_eq!((of(UNKNOWN).items.len(), of(UNKNOWN).unknown), (0, 1));
}

#[test]
fn a_file_without_such_samples_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str| share(folder.path(), text).unwrap_err().to_string();
    assert!(refused("").ends_with("as `perf script -F pid,tid,time,ip,addr,data_src` prints them"));
    assert!(refused("{}\n1/1 2: 3\n").contains("no memory samples"));
    let samples = format!("1/2 5.0: 404080 {UNKNOWN} 401000\n").repeat(3);
    let told = refused(&samples);
    assert!(told.contains("none of 3 samples") && told.contains("`perf mem record`"), "{told}");
    let own = refused("PERFILE2 that is none");
    assert!(own.contains("perf script"), "{own}");
    assert!(matches!(recorded_by_perf(folder.path()), Err(NotRead::Io(..))));
}

#[test]
fn damaged_lines_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let text = printed(&folder.path().join("none"), &|_| 0x40_4000, STORE, false).into_bytes();
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..2000 {
        let mut damaged = text.clone();
        for _ in 0..random.usize(1..40) {
            let at = random.usize(..damaged.len());
            damaged[at] = *b"/:. |xf0[(@9\n\xff".get(random.usize(..13)).unwrap();
        }
        damaged.truncate(random.usize(..=damaged.len()));
        let samples = Samples::read(&*damaged).unwrap();
        assert!(samples.items.len() <= 120);
        samples.modules();
    }
}
