//! Files in the memory of a process: where a program or library lies, of which parts are mapped.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::elf::{FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};

const PAGE: u64 = 4096;

/// A part of a file in memory, or other memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_accessible: bool,
    pub(crate) offset: u64,
    /// A path, or a name in brackets; empty if it has none.
    pub(crate) name: Vec<u8>,
}

/// A file in memory, or memory that has a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Module {
    pub(crate) base: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) name: Vec<u8>,
}

impl Mapping {
    /// `7f12a000-7f12b000 r--p 00001000 fe:00 1234   /path`
    pub(crate) fn parsed(line: &[u8]) -> Option<Self> {
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let mut field = || str::from_utf8(fields.next()?).ok();
        let (range, access, offset, _, _) = (field()?, field()?, field()?, field()?, field()?);
        let (start, end) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Self {
            start: number(start)?,
            end: number(end)?,
            is_accessible: !access.starts_with("---"),
            offset: number(offset)?,
            name: fields.next().unwrap_or_default().trim_ascii_start().to_vec(),
        })
    }
}

/// Where a file lies, of which these are mapped.
pub(crate) fn of_file(path: &[u8], mappings: &[&Mapping]) -> Option<Module> {
    let name = path.to_vec();
    if let Some(module) = program(path, mappings) {
        return Some(module);
    }
    let (first, last) = (mappings.first()?, mappings.last()?);
    let base = first.start.wrapping_sub(first.offset);
    Some(Module { base, start: first.start, end: last.end, name })
}

/// The same if it is a program or library.
fn program(path: &[u8], mappings: &[&Mapping]) -> Option<Module> {
    let file = Path::new(OsStr::from_bytes(path));
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let data = ReadCache::new(File::open(file).ok()?);
    let header = FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, &data).ok()?;
    let segments = || headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
    let page = |at: u64| at & !(PAGE - 1);
    let base = mappings.iter().find_map(|mapping| {
        let of = segments().find(|header| page(header.p_offset(endian)) == mapping.offset)?;
        Some(mapping.start.wrapping_sub(page(of.p_vaddr(endian))))
    })?;
    let start = segments().map(|header| header.p_vaddr(endian)).min()?;
    let end = segments().map(|header| header.p_vaddr(endian).wrapping_add(header.p_memsz(endian))).max()?;
    Some(Module { base, start: base.wrapping_add(start), end: base.wrapping_add(end), name: path.to_vec() })
}
