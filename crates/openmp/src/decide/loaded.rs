//! What the loaded objects import and define: the names in their relocations and tables, read from where the loader has
//! put them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;

use libc::{Elf64_Addr, Elf64_Rela, Elf64_Sym, dl_phdr_info};

const DT_NEEDED: i64 = 1;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_SONAME: i64 = 14;
const DT_PLTRELSZ: i64 = 2;
const DT_PLTREL: i64 = 20;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_VERNEED: i64 = 0x6fff_fffe;

/// How the files of runtimes begin whose programs may run on coho's teams.
const RUNTIMES: [&str; 4] = ["libgomp", "libomp.", "libomp-", "libiomp5"];

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

/// A loaded object. Valid as long as it is loaded.
#[derive(Clone, Copy)]
pub struct Object {
    path: *const c_char,
    base: u64,
    end: u64,
    tables: Tables,
}

/// Calls `found` with each loaded object, none of which is unloaded meanwhile. `found` may iterate over the objects
/// again.
///
/// The loader does not hold this lock while a library's constructors run. So it may be taken where `dlsym` would wait
/// for a thread in `dlopen` that waits for this one.
pub fn each_object(found: &mut dyn FnMut(&Object)) {
    unsafe extern "C" fn object(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's, and what `each_object` has handed over.
        unsafe {
            let found = &mut *data.cast::<&mut dyn FnMut(&Object)>();
            if let Some(object) = Object::new(&*info) {
                found(&object);
            }
        }
        0
    }
    let mut found = found;
    // SAFETY: the callback uses only what it is given.
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

/// Where an object's tables are, by its dynamic section.
#[derive(Clone, Copy, Default)]
struct Tables {
    dynamic: u64,
    strings: u64,
    symbols: u64,
    hash: u64,
    relocations: [(u64, u64); 2],
    plt_has_addends: bool,
    versions: u64,
    needed: u64,
}

impl Object {
    /// # Safety
    /// `info` is a loaded object's.
    unsafe fn new(info: &dl_phdr_info) -> Option<Self> {
        if info.dlpi_phdr.is_null() {
            return None;
        }
        // SAFETY: the loader's table has this many entries.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let base: Elf64_Addr = info.dlpi_addr;
        let end = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
            .map(|header| header.p_vaddr + header.p_memsz)
            .max()?;
        // The loader has turned some objects' offsets into addresses (not the vDSO's).
        let address = |value: u64| if value < base { base.wrapping_add(value) } else { value };
        let mut tables = Tables { dynamic: base.wrapping_add(dynamic.p_vaddr), ..Tables::default() };
        // SAFETY: the section is the object's.
        unsafe {
            each_entry(tables.dynamic, |tag, value| match tag {
                DT_STRTAB => tables.strings = address(value),
                DT_SYMTAB => tables.symbols = address(value),
                DT_GNU_HASH => tables.hash = address(value),
                DT_RELA => tables.relocations[0].0 = address(value),
                DT_RELASZ => tables.relocations[0].1 = value,
                DT_JMPREL => tables.relocations[1].0 = address(value),
                DT_PLTRELSZ => tables.relocations[1].1 = value,
                DT_PLTREL => tables.plt_has_addends = value == DT_RELA as u64,
                DT_VERSYM => tables.versions = address(value),
                DT_VERNEED => tables.needed = address(value),
                _ => {}
            });
        }
        if !tables.plt_has_addends {
            tables.relocations[1] = (0, 0);
        }
        (tables.strings != 0 && tables.symbols != 0).then_some(Self {
            path: info.dlpi_name,
            base,
            end: base.wrapping_add(end),
            tables,
        })
    }

    pub fn range(&self) -> Range<usize> {
        self.base as usize..self.end as usize
    }

    pub fn path(&self) -> &CStr {
        // SAFETY: the object's.
        if self.path.is_null() { c"" } else { unsafe { CStr::from_ptr(self.path) } }
    }

    /// Its name, without folders.
    pub fn file(&self) -> &[u8] {
        let path = self.path().to_bytes();
        path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
    }

    /// Whether it is libgomp or LLVM's runtime, also under another name, such as Python wheels give it.
    pub fn is_runtime(&self) -> bool {
        RUNTIMES.iter().any(|name| self.file().starts_with(name.as_bytes()))
    }

    pub fn is_libgomp(&self) -> bool {
        self.file().starts_with(RUNTIMES[0].as_bytes())
    }

    fn string(&self, at: u64) -> &CStr {
        // SAFETY: the object's own string.
        unsafe { CStr::from_ptr((self.tables.strings + at) as *const _) }
    }

    /// The strings of the dynamic section that have this tag.
    fn strings(&self, wanted: i64) -> Vec<&[u8]> {
        let mut found = Vec::new();
        let add = |tag, value| {
            if tag == wanted {
                found.push(self.string(value).to_bytes());
            }
        };
        // SAFETY: the section is the object's.
        unsafe { each_entry(self.tables.dynamic, add) };
        found
    }

    /// This object and those that it needs, breadth first, as the loader searches them.
    pub fn scope<'a>(&self, objects: &'a [Self]) -> Vec<&'a Self> {
        let mut scope: Vec<_> = objects.iter().filter(|object| object.base == self.base).collect();
        let mut at = 0;
        while let Some(object) = scope.get(at) {
            for name in object.strings(DT_NEEDED) {
                let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
                let is_it = |other: &&Self| other.file() == file || other.strings(DT_SONAME).contains(&name);
                if let Some(found) = objects.iter().find(is_it)
                    && scope.iter().all(|other| other.base != found.base)
                {
                    scope.push(found);
                }
            }
            at += 1;
        }
        scope
    }

    /// A function that the object exports.
    pub fn function(&self, name: &str) -> Option<*mut c_void> {
        const FUNCTION: u8 = 2;
        if self.tables.hash == 0 {
            return None;
        }
        let hash = name.bytes().fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(byte.into()));
        let word = |at: u64| (self.tables.hash + 4 * at) as *const u32;
        // SAFETY: the object's own table: numbers of buckets, of the first symbol, and of 64-bit words of a filter; that; the
        // buckets; and for each symbol its hash, which is odd at a bucket's end.
        unsafe {
            let (buckets, first, filter) = (*word(0), *word(1), *word(2));
            let begin = 4 + 2 * u64::from(filter);
            if buckets == 0 {
                return None;
            }
            let mut symbol = *word(begin + u64::from(hash % buckets));
            while symbol >= first && symbol != 0 {
                let found = *word(begin + u64::from(buckets) + u64::from(symbol - first));
                let entry = &*(self.tables.symbols as *const Elf64_Sym).add(symbol as usize);
                if found | 1 == hash | 1
                    && entry.st_shndx != 0
                    && entry.st_info & 15 == FUNCTION
                    && self.string(entry.st_name.into()).to_bytes() == name.as_bytes()
                {
                    return Some(self.base.wrapping_add(entry.st_value) as *mut c_void);
                }
                if found & 1 == 1 {
                    return None;
                }
                symbol += 1;
            }
        }
        None
    }

    /// Calls `found` with the name and the version of each function that it imports.
    pub fn each_import(&self, found: &mut dyn FnMut(&str, Option<&str>)) {
        for (begin, bytes) in self.tables.relocations {
            let count = if begin == 0 { 0 } else { bytes as usize / size_of::<Elf64_Rela>() };
            for index in 0..count {
                // SAFETY: indices are within the object's own tables.
                unsafe {
                    let relocation = &*(begin as *const Elf64_Rela).add(index);
                    let symbol = (relocation.r_info >> 32) as usize;
                    if symbol == 0 {
                        continue;
                    }
                    let entry = &*(self.tables.symbols as *const Elf64_Sym).add(symbol);
                    if entry.st_shndx != 0 {
                        continue;
                    }
                    let name = self.string(entry.st_name.into());
                    // Most names have nothing to do with OpenMP.
                    if matches!(name.to_bytes().first(), Some(b'G' | b'o' | b'a' | b'_' | b'k'))
                        && let Ok(name) = name.to_str()
                    {
                        found(name, version(&self.tables, symbol));
                    }
                }
            }
        }
    }
}

/// Calls `found` with the entries of a dynamic section.
///
/// # Safety
/// It is one.
unsafe fn each_entry(dynamic: u64, mut found: impl FnMut(i64, u64)) {
    let mut entry = dynamic as *const Dynamic;
    // SAFETY: the section ends with an entry of tag 0.
    unsafe {
        while (*entry).tag != 0 {
            found((*entry).tag, (*entry).value);
            entry = entry.add(1);
        }
    }
}

/// # Safety
/// The tables are a loaded object's.
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
        each_object(&mut |object| {
            object
                .each_import(&mut |name, version| found.push((name.to_owned(), version.map(str::to_owned))));
        });
        let object = found.iter().find(|(name, _)| name == "__cxa_finalize" || name == "__errno_location");
        assert!(
            object.is_some_and(|(_, version)| version.as_deref().is_some_and(|of| of.starts_with("GLIBC_"))),
            "{found:?}"
        );
        assert!(added() > 0);
    }

    #[test]
    fn finds_what_this_program_needs_and_where_it_is() {
        let mut objects = Vec::new();
        each_object(&mut |object| objects.push(*object));
        let scope = objects[0].scope(&objects);
        let libc = scope.iter().find(|object| object.file().starts_with(b"libc.so")).unwrap();
        assert_eq!(libc.function("getpid"), Some(libc::getpid as *mut c_void));
        assert_eq!(libc.function("omp_get_thread_num"), None);
        assert!(libc.range().contains(&(libc::getpid as *const () as usize)));
        assert!(!libc.is_runtime());
    }
}
