//! What shared libraries export, and what they are called.

use std::collections::BTreeSet;
use std::path::Path;

use object::Endianness;
use object::read::elf::{Dyn, ElfFile64, Sym};

/// Asserts that the shared library of this name, built beside the running test, exports what a committed file lists, a
/// symbol a line: what is gone breaks programs that were linked against it, and what is new is there to stay.
/// `COHO_BLESS=1` writes the list. The library's own name must be that of the list, `libNAME.so.0`.
///
/// # Panics
/// If it exports other symbols, has another name, or cannot be read.
pub fn assert_exports(library: &str, list: &Path) {
    let test = std::env::current_exe().expect("this program");
    let path = test.with_file_name(format!("lib{library}.so"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let exported: String = exported(&bytes).into_iter().map(|name| name + "\n").collect();
    if std::env::var_os("COHO_BLESS").is_some() {
        std::fs::write(list, &exported).expect("the list can be written");
    }
    let listed = std::fs::read_to_string(list).unwrap_or_default();
    assert_eq!(exported, listed, "{}; COHO_BLESS=1 writes it", list.display());
    let name = list.file_stem().expect("a list").display();
    assert_eq!(soname(&path), Some(format!("lib{name}.so.0")));
}

/// The name that programs linked against a shared library look for; `None` if it has none.
///
/// # Panics
/// If it cannot be read.
pub fn soname(library: &Path) -> Option<String> {
    let bytes = std::fs::read(library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let file = ElfFile64::<Endianness>::parse(&*bytes).expect("an ELF library");
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let (entries, link) = sections.dynamic(endian, &*bytes).expect("a section").expect("a dynamic section");
    let strings = sections.strings(endian, &*bytes, link).expect("its strings");
    let name = entries.iter().find(|entry| entry.tag32(endian) == Some(object::elf::DT_SONAME))?;
    let name = name.string(endian, strings).expect("a string");
    Some(String::from_utf8_lossy(name).into_owned())
}

/// The names of dynamic symbols that a library defines for others.
fn exported(library: &[u8]) -> BTreeSet<String> {
    let file = ElfFile64::<Endianness>::parse(library).expect("an ELF library");
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let symbols = sections.symbols(endian, library, object::elf::SHT_DYNSYM).expect("dynamic symbols");
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined(endian) && !symbol.is_local());
    let name = |symbol| symbols.symbol_name(endian, symbol).map(String::from_utf8_lossy).map(String::from);
    defined.filter_map(|symbol| name(symbol).ok()).filter(|name| !name.is_empty()).collect()
}
