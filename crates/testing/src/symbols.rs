//! What shared libraries export.

use std::collections::BTreeSet;
use std::path::Path;

use object::Endianness;
use object::read::elf::{ElfFile64, Sym};

/// Asserts that the shared library of this name, built beside the running test, exports what a committed file lists, a
/// symbol a line: what is gone breaks programs that were linked against it, and what is new is there to stay.
/// `COHO_BLESS=1` writes the list.
///
/// # Panics
/// If it exports other symbols, or cannot be read.
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
