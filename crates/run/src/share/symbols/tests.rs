//! What a compiler says of a program, and what a file that lies does.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_model::share_lines::{Files, InFile};
use coho_testing::{Capability, needs};
use object::{Object, ObjectSymbol};

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

/// The program, compiled so, and where its symbols lie.
fn compiled(folder: &Path, options: &[&str]) -> (PathBuf, impl Fn(&str) -> u64) {
    let (source, program) = (folder.join("queue.c"), folder.join("queue"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("cc");
    let compiled = compiler.args(options).arg("-o").arg(&program).arg(&source).status().unwrap();
    assert!(compiled.success());
    let bytes = std::fs::read(&program).unwrap();
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).unwrap();
    let symbols: Vec<(String, u64)> =
        file.symbols().map(|symbol| (symbol.name().unwrap_or("").to_owned(), symbol.address())).collect();
    (program, move |name: &str| symbols.iter().find(|(known, _)| known == name).unwrap().1)
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
        symbols.site(&[at(symbol("main")), at(u64::MAX), at(symbol("xmalloc") + 9)]);
    }
}
