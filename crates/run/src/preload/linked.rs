//! What a program or library is linked with, read from its file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::read::elf::{Dyn, ElfFile64, Sym};
use object::{Endianness, elf};

/// Larger files are not read.
const LARGEST: u64 = 1 << 30;

/// What a file says to the loader, and what it says of itself.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// The libraries that it needs, by their names.
    pub(crate) needs: BTreeSet<String>,
    /// The symbols that it defines for others.
    pub(crate) defines: BTreeSet<String>,
    /// The symbols that it must find in others.
    pub(crate) asks: BTreeSet<String>,
    /// The symbols that it has for itself, if it was not stripped.
    pub(crate) holds: BTreeSet<String>,
}

/// What a file is linked with; `None` if it is no 64-bit ELF file that is linked dynamically, or cannot be read.
pub(crate) fn linked(path: &Path) -> Option<Linked> {
    if path.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let file = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let (dynamic, link) = sections.dynamic(endian, &*bytes).ok()??;
    let strings = sections.strings(endian, &*bytes, link).ok()?;
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let needed = dynamic.iter().filter(|entry| entry.tag32(endian) == Some(elf::DT_NEEDED));
    let needs = needed.filter_map(|entry| entry.string(endian, strings).ok()).map(text).collect();
    let mut linked = Linked { needs, ..Linked::default() };
    for kind in [elf::SHT_DYNSYM, elf::SHT_SYMTAB] {
        let symbols = sections.symbols(endian, &*bytes, kind).ok()?;
        for symbol in symbols.iter() {
            let Ok(name) = symbols.symbol_name(endian, symbol) else { continue };
            let all = match (kind, symbol.is_undefined(endian)) {
                (elf::SHT_SYMTAB, true) => continue,
                (elf::SHT_SYMTAB, false) => &mut linked.holds,
                (_, false) => &mut linked.defines,
                (_, true) if symbol.st_bind() == elf::STB_WEAK => continue,
                (_, true) => &mut linked.asks,
            };
            all.insert(text(name));
        }
    }
    Some(linked)
}
