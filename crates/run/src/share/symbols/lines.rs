//! From an instruction to source lines, by DWARF.

use gimli::{EndianRcSlice, RunTimeEndian, SectionId, UnitRef};

use super::Source;
use super::elf::File;

/// DWARF as it is read here.
pub(super) type Slice = EndianRcSlice<RunTimeEndian>;
pub(super) type Dwarf = gimli::Dwarf<Slice>;

/// More functions inlined into each other than anybody asks for.
const MOST_INLINED: usize = 64;

/// A file's source lines.
pub(super) struct Lines {
    context: addr2line::Context<Slice>,
    sections: Dwarf,
}

impl Lines {
    /// `None` for a file without debugging information.
    pub(super) fn of(file: &File) -> Option<Self> {
        let load = || {
            let section = |id: SectionId| -> Result<Slice, gimli::Error> {
                Ok(EndianRcSlice::new(file.section(id.name()), RunTimeEndian::Little))
            };
            Dwarf::load(section).ok()
        };
        if file.section(SectionId::DebugInfo.name()).is_empty() {
            return None;
        }
        Some(Self { context: addr2line::Context::from_dwarf(load()?).ok()?, sections: load()? })
    }

    pub(super) fn dwarf(&self) -> &Dwarf {
        &self.sections
    }

    /// The unit that an instruction is of.
    pub(super) fn unit(&self, address: u64) -> Option<UnitRef<'_, Slice>> {
        self.context.find_dwarf_and_unit(address).skip_all_loads()
    }

    /// From the innermost inlined function to the one that holds the address.
    pub(super) fn at(&self, address: u64) -> Vec<Source> {
        let mut sources = Vec::new();
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else { return sources };
        while let (Ok(Some(frame)), true) = (frames.next(), sources.len() < MOST_INLINED) {
            let Some((file, line)) =
                frame.location.and_then(|location| Some((location.file?.to_owned(), location.line?)))
            else {
                continue;
            };
            let name =
                frame.function.as_ref().and_then(|function| Some(function.raw_name().ok()?.into_owned()));
            sources.push(Source { file, line, function: name.unwrap_or_default() });
        }
        sources
    }
}
