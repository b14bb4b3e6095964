//! What a compiler says of a program, and what a file that lies does.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use coho_model::share_lines::{Files, InFile};
use coho_testing::{Capability, needs};

use super::super::compiled::built;
use super::Symbols;

const PROGRAM: &str = r#"
#include <stdlib.h>
struct slot { long hits; int misses[3]; };
typedef struct { long turn; struct slot slots[4]; } table;
volatile table shared;
static long alone;
void *xmalloc(size_t bytes) { return malloc(bytes); }
void *new_queue(void)
{
    return xmalloc(40);
}
int main(void)
{
    shared.slots[1].misses[2] = 1;
    alone = 2;
    return new_queue() == NULL;
}
"#;

/// A field of what a parameter points to is used.
const POINTED: &str = "struct slot { long hits; int misses[3]; };\n\
                       extern \"C\" void work(struct slot *slot) { slot->misses[2]++; }\n\
                       int main(void) { struct slot slot = {}; work(&slot); return slot.misses[2] != 1; }\n";
/// What a class's own function uses, inlined.
const POINTED_CPP: &str = "struct slot {\n    long hits;\n    int misses[3];\n\
                           \x20   void miss() { misses[2]++; }\n};\n\
                           struct holder { slot *only; };\n\
                           extern \"C\" void work(holder held) { held.only->miss(); }\n\
                           int main() { slot s{}; work({&s}); return s.misses[2] != 1; }\n";

/// What a closure uses whose captured pointer lies in memory.
const POINTED_LAMBDA: &str = "struct slot {\n    long hits;\n    int misses[3];\n};\n\
                              struct closure { long times; slot *only;\n\
                              \x20   void run() { for (long i = 0; i < times; i++) { slot *mine = only; \
                              __atomic_fetch_add(&mine->misses[2], 1, 0); } } };\n\
                              extern \"C\" void work(closure *held) { held->run(); }\n\
                              int main() { slot s{}; closure c{1, &s}; work(&c); return s.misses[2] != 1; }\n";

fn compiled(folder: &Path, options: &[&str]) -> (PathBuf, impl Fn(&str) -> u64 + use<>) {
    built(folder, "cc", "queue.c", PROGRAM, options)
}

/// Where functions return to from the calls in them: after each byte that begins a call.
fn returns(symbols: &mut Symbols<'_>, file: u32, start: u64) -> InFile {
    let mut places = (start + 1..start + 64).map(|address| InFile { file, address });
    places.find(|at| symbols.known(file).is_some_and(|known| known.file.is_after_call(at.address))).unwrap()
}

#[test]
fn lines_globals_and_sites_are_named() {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-g", "-O0"][..], &["-g", "-gdwarf-4", "-O0"], &["-g", "-gz", "-O0"]] {
        let (program, symbol) = compiled(folder.path(), options);
        let mut files = Files::default();
        let file = files.number(program);
        let mut symbols = Symbols::new(&files);
        let at = |address| InFile { file, address };
        assert_eq!(symbols.place(at(symbol("new_queue"))), "queue.c:9", "{options:?}");
        let shared = symbols.variable(at(symbol("shared") + 8 + 24 + 16)).unwrap();
        assert_eq!((&*shared.name, shared.bytes, shared.start), ("shared", 8 + 4 * 24, symbol("shared")));
        assert_eq!(
            [0, 8, 8 + 24 + 16].map(|at| shared.at(at)),
            ["shared.turn", "shared.slots[0].hits", "shared.slots[1].misses[2]"]
        );
        assert_eq!(symbols.variable(at(symbol("alone"))).unwrap().at(0), "alone");
        let [wrapper, caller] =
            ["xmalloc", "new_queue"].map(|name| returns(&mut symbols, file, symbol(name)));
        // The second word points into code, but not to where a call returns.
        let site = symbols.site(&[wrapper, at(symbol("main") + 1), caller]).unwrap();
        assert_eq!(symbols.place(site), "queue.c:10");
    }
}

/// What the instructions of a function are parts of, as `slots.misses[2]`.
fn pointed(program: PathBuf, start: u64) -> BTreeSet<String> {
    let mut files = Files::default();
    let file = files.number(program);
    let mut symbols = Symbols::new(&files);
    // Within an instruction another one may begin, which is none of the program's.
    let each = (start..start + 64).flat_map(|address| symbols.pointed(InFile { file, address }).to_vec());
    each.map(|one| format!("{}{}", one.kind.name, one.kind.at(one.into))).collect()
}

#[test]
fn instructions_tell_which_field_they_use_of_what_a_variable_points_to() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    for (name, text, options) in [
        ("pointed.c", POINTED, &["-O2"][..]),
        ("pointed.c", POINTED, &["-O1", "-gdwarf-4"]),
        ("pointed.c", POINTED, &["-O0"]),
        ("pointed.cpp", POINTED_CPP, &["-O2"]),
        ("lambda.cpp", POINTED_LAMBDA, &["-O2"]),
    ] {
        let (program, symbol) = built(folder.path(), "g++", name, text, &[&["-g"], options].concat());
        let used = pointed(program, symbol("work"));
        assert!(used.contains("slot.misses[2]"), "{name} {options:?}: {used:?}");
        assert!(!used.contains("slot.hits"), "{name} {options:?}: {used:?}");
    }
    let (program, symbol) = built(folder.path(), "g++", "plain.c", POINTED, &["-O2"]);
    assert!(pointed(program, symbol("work")).is_empty(), "without debugging information");
}

#[test]
fn without_debugging_information_the_linkers_names_are_left() {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    let (program, symbol) = compiled(folder.path(), &["-O0"]);
    let mut files = Files::default();
    let file = files.number(program);
    let mut symbols = Symbols::new(&files);
    let at = |address| InFile { file, address };
    assert_eq!(symbols.place(at(symbol("main") + 4)), "queue (main+0x4)");
    assert_eq!(symbols.variable(at(symbol("shared") + 8)).unwrap().at(8), "shared");
    assert_eq!(symbols.place(at(1)), "queue+0x1");
    assert_eq!(symbols.place(InFile { file: Files::NONE, address: 7 }), "unknown code+0x7");
}

#[test]
fn a_damaged_file_gives_no_names_and_no_panic() {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    let (program, symbol) = compiled(folder.path(), &["-g", "-O0"]);
    let whole = std::fs::read(&program).unwrap();
    let mut random = fastrand::Rng::with_seed(8);
    for turn in 0..300 {
        let mut bytes = whole.clone();
        if turn % 3 == 0 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        for _ in 0..random.usize(..400) {
            if let Some(last) = bytes.len().checked_sub(1) {
                bytes[random.usize(..=last)] = random.u8(..);
            }
        }
        let path = folder.path().join("damaged");
        std::fs::File::create(&path).unwrap().write_all(&bytes).unwrap();
        let mut files = Files::default();
        let file = files.number(path);
        let mut symbols = Symbols::new(&files);
        let at = |address| InFile { file, address };
        symbols.place(at(symbol("main")));
        symbols.variable(at(symbol("shared")));
        (0..48).for_each(|byte| drop(symbols.pointed(at(symbol("main") + byte)).to_vec()));
        symbols.site(&[at(symbol("main")), at(u64::MAX), at(symbol("xmalloc") + 9)]);
    }
}
