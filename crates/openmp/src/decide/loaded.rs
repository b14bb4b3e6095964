//! What the loaded objects import: the names in their relocations, read where the loader has put them.

use std::ffi::{CStr, c_int, c_void};

use libc::{Elf64_Addr, Elf64_Rela, Elf64_Sym, dl_phdr_info};

const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_PLTRELSZ: i64 = 2;
const DT_PLTREL: i64 = 20;
const DT_JMPREL: i64 = 23;
const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_VERNEED: i64 = 0x6fff_fffe;

/// An entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// A library's versions that are needed (`Elf64_Verneed`), and one of them (`Elf64_Vernaux`).
#[repr(C)]
struct Needed {
    version: u16,
    count: u16,
    file: u32,
    first: u32,
    next: u32,
}

#[repr(C)]
struct NeededVersion {
    hash: u32,
    flags: u16,
    index: u16,
    name: u32,
    next: u32,
}

/// Calls `found` with the name and the version of each function that a loaded object imports; libgomp itself is left out.
pub fn each_import(found: &mut dyn FnMut(&str, Option<&str>)) {
    unsafe extern "C" fn object(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's, and what `each_import` has handed over.
        unsafe {
            let found = &mut *data.cast::<&mut dyn FnMut(&str, Option<&str>)>();
            let path = if (*info).dlpi_name.is_null() { c"" } else { CStr::from_ptr((*info).dlpi_name) };
            let path = path.to_bytes();
            let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            if !file.starts_with(b"libgomp") {
                imports(&*info, found);
            }
        }
        0
    }
    let mut found = found;
    // SAFETY: the callback keeps to what it is given.
    unsafe { libc::dl_iterate_phdr(Some(object), (&raw mut found).cast()) };
}

/// How many objects the loader has added since the process began.
pub fn added() -> u64 {
    unsafe extern "C" fn first(info: *mut dl_phdr_info, size: usize, added: *mut c_void) -> c_int {
        if size >= std::mem::offset_of!(dl_phdr_info, dlpi_subs) {
            // SAFETY: the loader's structure has the field, and the place is the caller's.
            unsafe { *added.cast::<u64>() = (*info).dlpi_adds };
        }
        1
    }
    let mut added = 0u64;
    // SAFETY: as above.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut added).cast()) };
    added
}

/// What an object's dynamic section says of where things are.
#[derive(Default)]
struct Tables {
    strings: u64,
    symbols: u64,
    relocations: [(u64, u64); 2],
    plt_has_addends: bool,
    versions: u64,
    needed: u64,
}

/// # Safety
/// `info` is a loaded object's.
unsafe fn imports(info: &dl_phdr_info, found: &mut dyn FnMut(&str, Option<&str>)) {
    if info.dlpi_phdr.is_null() {
        return;
    }
    // SAFETY: the loader's table has so many entries.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return };
    let base: Elf64_Addr = info.dlpi_addr;
    // The loader has made addresses of some objects' offsets (not of the vDSO's).
    let address = |value: u64| if value < base { base.wrapping_add(value) } else { value };
    let mut tables = Tables::default();
    let mut entry = base.wrapping_add(dynamic.p_vaddr) as *const Dynamic;
    // SAFETY: the section ends with an entry of tag 0.
    unsafe {
        while (*entry).tag != 0 {
            let value = (*entry).value;
            match (*entry).tag {
                DT_STRTAB => tables.strings = address(value),
                DT_SYMTAB => tables.symbols = address(value),
                DT_RELA => tables.relocations[0].0 = address(value),
                DT_RELASZ => tables.relocations[0].1 = value,
                DT_JMPREL => tables.relocations[1].0 = address(value),
                DT_PLTRELSZ => tables.relocations[1].1 = value,
                DT_PLTREL => tables.plt_has_addends = value == DT_RELA as u64,
                DT_VERSYM => tables.versions = address(value),
                DT_VERNEED => tables.needed = address(value),
                _ => {}
            }
            entry = entry.add(1);
        }
        if !tables.plt_has_addends {
            tables.relocations[1] = (0, 0);
        }
        if tables.strings != 0 && tables.symbols != 0 {
            each_relocation(&tables, found);
        }
    }
}

/// # Safety
/// The tables are a loaded object's.
unsafe fn each_relocation(tables: &Tables, found: &mut dyn FnMut(&str, Option<&str>)) {
    for (begin, bytes) in tables.relocations {
        let count = if begin == 0 { 0 } else { bytes as usize / size_of::<Elf64_Rela>() };
        for index in 0..count {
            // SAFETY: as the caller promises: indices are within the object's own tables.
            unsafe {
                let relocation = &*(begin as *const Elf64_Rela).add(index);
                let symbol = (relocation.r_info >> 32) as usize;
                if symbol == 0 {
                    continue;
                }
                let entry = &*(tables.symbols as *const Elf64_Sym).add(symbol);
                if entry.st_shndx != 0 {
                    continue;
                }
                let name = CStr::from_ptr((tables.strings + u64::from(entry.st_name)) as *const _);
                // Most names have nothing to do with OpenMP.
                if matches!(name.to_bytes().first(), Some(b'G' | b'o' | b'a' | b'_'))
                    && let Ok(name) = name.to_str()
                {
                    found(name, version(tables, symbol));
                }
            }
        }
    }
}

/// # Safety
/// As [`each_relocation`].
unsafe fn version(tables: &Tables, symbol: usize) -> Option<&str> {
    if tables.versions == 0 || tables.needed == 0 {
        return None;
    }
    // SAFETY: as the caller promises; each list says where its next entry is.
    unsafe {
        let index = *(tables.versions as *const u16).add(symbol) & 0x7fff;
        let mut library = tables.needed as *const Needed;
        loop {
            let mut version = library.byte_add((*library).first as usize).cast::<NeededVersion>();
            for _ in 0..(*library).count {
                if (*version).index & 0x7fff == index {
                    return CStr::from_ptr((tables.strings + u64::from((*version).name)) as *const _)
                        .to_str()
                        .ok();
                }
                version = version.byte_add((*version).next as usize);
            }
            if (*library).next == 0 {
                return None;
            }
            library = library.byte_add((*library).next as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_this_program_imports() {
        let mut found = Vec::new();
        each_import(&mut |name, version| found.push((name.to_owned(), version.map(str::to_owned))));
        let object = found.iter().find(|(name, _)| name == "__cxa_finalize" || name == "__errno_location");
        assert!(
            object.is_some_and(|(_, version)| version.as_deref().is_some_and(|of| of.starts_with("GLIBC_"))),
            "{found:?}"
        );
        assert!(added() > 0);
    }
}
