//! A program or library as a file: its symbols, its code, and where its debugging information lies.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::{fs, str};

use object::read::elf::ElfFile64;
use object::{CompressionFormat, Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

/// More than this is not read of a file, nor unpacked of a section.
const MOST: u64 = 1 << 30;

type Elf<'a> = ElfFile64<'a, Endianness>;

/// A symbol with its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    address: u64,
    bytes: u64,
    name: String,
}

/// A file.
pub(super) struct File {
    bytes: Vec<u8>,
    functions: Vec<Symbol>,
    objects: Vec<Symbol>,
}

impl File {
    /// Reads an ELF file; `None` for anything else, such as what memory of no file is called.
    pub(super) fn read(path: &Path) -> Option<Self> {
        if !path.is_absolute() {
            return None;
        }
        let file = fs::File::open(path).ok()?;
        if !file.metadata().ok().filter(|metadata| metadata.len() <= MOST)?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes).ok()?;
        let elf = Elf::parse(&*bytes).ok()?;
        let [functions, objects] = [SymbolKind::Text, SymbolKind::Data].map(|kind| symbols(&elf, kind));
        Some(Self { bytes, functions, objects })
    }

    fn elf(&self) -> Option<Elf<'_>> {
        Elf::parse(&*self.bytes).ok()
    }

    /// A section's content; nothing if the file has none of that name, or in a form that is not known.
    pub(super) fn section(&self, name: &str) -> Rc<[u8]> {
        let read = || {
            let section = self.elf()?.section_by_name(name)?.compressed_data().ok()?;
            Some(match section.format {
                CompressionFormat::None => section.data.into(),
                CompressionFormat::Zlib => {
                    let size = section.uncompressed_size.min(MOST) as usize;
                    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(section.data, size).ok()?.into()
                }
                _ => return None,
            })
        };
        read().unwrap_or_else(|| [].into())
    }

    /// The file that holds the debugging information of this one where distributions put it.
    pub(super) fn debugging_apart(&self) -> Option<Self> {
        let elf = self.elf()?;
        let id: String = elf.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, rest) = id.split_at_checked(2)?;
        let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"));
        Self::read(&path)
    }

    /// With the symbols of another file if it has more.
    pub(super) fn with_symbols_of(mut self, other: Option<Self>) -> Self {
        if let Some(other) = other {
            for (mine, theirs) in [(&mut self.functions, other.functions), (&mut self.objects, other.objects)]
            {
                if theirs.len() > mine.len() {
                    *mine = theirs;
                }
            }
        }
        self
    }

    /// The function that holds an address, and how far in.
    pub(super) fn function(&self, address: u64) -> Option<(String, u64)> {
        let symbol = holds(&self.functions, address)?;
        Some((symbol.name.clone(), address - symbol.address))
    }

    /// The global that holds an address, where it begins, and its size.
    pub(super) fn object(&self, address: u64) -> Option<(String, u64, u64)> {
        let symbol = holds(&self.objects, address)?;
        Some((symbol.name.clone(), symbol.address, symbol.bytes))
    }

    /// So many bytes of code from an address on, or as many as there are.
    pub(super) fn code(&self, address: u64, bytes: u64) -> Option<Vec<u8>> {
        self.elf()?.segments().find_map(|segment| {
            let left = (segment.address() + segment.file_range().1).checked_sub(address)?;
            segment.data_range(address, bytes.min(left)).ok()?.map(<[u8]>::to_vec)
        })
    }

    /// Whether an address comes right after a call.
    pub(super) fn is_after_call(&self, address: u64) -> bool {
        let code = address.checked_sub(7).and_then(|start| self.code(start, 7));
        let Some(code) = code.filter(|code| code.len() == 7) else { return false };
        // `call` to a place relative to the next instruction, or to where a register or memory says.
        let direct = code[2] == 0xe8;
        let indirect = |at: usize| code[at] == 0xff && code[at + 1] >> 3 & 7 == 2;
        direct || [5, 4, 3, 1, 0].into_iter().any(indirect)
    }
}

fn symbols(elf: &Elf<'_>, kind: SymbolKind) -> Vec<Symbol> {
    let all = elf.symbols().chain(elf.dynamic_symbols());
    let mine = all.filter(|symbol| symbol.kind() == kind && symbol.is_definition() && symbol.size() > 0);
    let named = mine.filter_map(|symbol| {
        let name = str::from_utf8(symbol.name_bytes().ok()?).ok()?.to_owned();
        Some(Symbol { address: symbol.address(), bytes: symbol.size(), name })
    });
    let mut symbols: Vec<Symbol> = named.filter(|symbol| !symbol.name.is_empty()).collect();
    symbols.sort_unstable();
    symbols.dedup_by_key(|symbol| symbol.address);
    symbols
}

fn holds(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let next = symbols.partition_point(|symbol| symbol.address <= address);
    let symbol = &symbols[next.checked_sub(1)?];
    (address - symbol.address < symbol.bytes).then_some(symbol)
}
