//! Programs in Go.

use std::fs::File;
use std::path::Path;

use object::elf::FileHeader64;
use object::read::elf::FileHeader;
use object::{Endianness, ReadCache};

/// Whether Go's linker made a program.
pub(crate) fn is_go(program: &Path) -> bool {
    let found = || {
        let data = ReadCache::new(File::open(program).ok().filter(is_file)?);
        let header = FileHeader64::<Endianness>::parse(&data).ok()?;
        let endian = header.endian().ok()?;
        header.sections(endian, &data).ok()?.section_by_name(endian, b".go.buildinfo").map(drop)
    };
    found().is_some()
}

fn is_file(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}
