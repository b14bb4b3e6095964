//! What the files of a recording call a place: a source line, a function, a global with its fields. Files can hold
//! anything; nothing that they say is taken for more than a name.

mod elf;
mod lines;
mod pointed;
mod site;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use coho_model::share_lines::{Files, InFile};

use elf::File;
use lines::Lines;
pub(super) use pointed::Pointed;
#[cfg(test)]
pub(super) use variables::Field;
pub(super) use variables::{Declared, Kind, Language, Shape, Variable};

/// A source line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    /// The file, as the compiler was given it.
    pub(super) file: String,
    pub(super) line: u32,
    /// The function as the linker knows it; empty if that is not known.
    pub(super) function: String,
}

/// A file with what is known of its debugging information.
struct Known {
    file: File,
    lines: Option<Lines>,
    variables: BTreeMap<u64, Option<Variable>>,
    pointed: BTreeMap<u64, Vec<Pointed>>,
    /// Time spent on that.
    searched: Duration,
}

/// Time that a file's variables are searched for: a unit of a large program has a million entries.
const MOST_SEARCHED: Duration = Duration::from_secs(5);

/// The files of a recording, each read when something of it is asked for.
pub(super) struct Symbols<'a> {
    files: &'a Files,
    known: BTreeMap<u32, Option<Known>>,
    /// What was told already: of thousands of lines, most have the same.
    places: BTreeMap<InFile, String>,
    sites: BTreeMap<Vec<InFile>, Option<InFile>>,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(files: &'a Files) -> Self {
        Self { files, known: BTreeMap::new(), places: BTreeMap::new(), sites: BTreeMap::new() }
    }

    /// The source lines of an instruction, from the innermost inlined function to the one that holds the instruction.
    pub(super) fn sources(&mut self, at: InFile) -> Vec<Source> {
        let Some(known) = self.known(at.file) else { return Vec::new() };
        known.lines.as_ref().map(|lines| lines.at(at.address)).unwrap_or_default()
    }

    /// What people call an instruction: the source line that is the program's own if there is one, `server.c:140`, or
    /// else its file and address.
    pub(super) fn place(&mut self, at: InFile) -> String {
        if let Some(place) = self.places.get(&at) {
            return place.clone();
        }
        let place = self.find_place(at);
        self.places.insert(at, place.clone());
        place
    }

    fn find_place(&mut self, at: InFile) -> String {
        let sources = self.sources(at);
        let own = sources.iter().find(|source| !site::is_of_library(&source.file)).or(sources.first());
        if let Some(source) = own {
            return format!("{}:{}", short(&source.file), source.line);
        }
        let name = self.file_name(at.file);
        match self.known(at.file).and_then(|known| known.file.function(at.address)) {
            Some((function, offset)) => format!("{name} ({function}+{offset:#x})"),
            None => format!("{name}+{:#x}", at.address),
        }
    }

    /// Of the places that an allocation may have been asked for from, the innermost that is not part of an allocator.
    pub(super) fn site(&mut self, frames: &[InFile]) -> Option<InFile> {
        if let Some(site) = self.sites.get(frames) {
            return *site;
        }
        let site = self.find_site(frames);
        self.sites.insert(frames.to_vec(), site);
        site
    }

    fn find_site(&mut self, frames: &[InFile]) -> Option<InFile> {
        let called = |symbols: &mut Self, at: &InFile| {
            symbols.known(at.file).is_some_and(|known| known.file.is_after_call(at.address))
        };
        // The innermost is one by its nature; the others are only words of the stack.
        let mut calls = Vec::new();
        for (depth, frame) in frames.iter().enumerate() {
            if depth == 0 || called(self, frame) {
                calls.push(InFile { address: frame.address.wrapping_sub(1), ..*frame });
            }
        }
        let own = calls.iter().find(|call| !self.is_of_allocator(**call));
        own.or(calls.first()).copied()
    }

    fn is_of_allocator(&mut self, call: InFile) -> bool {
        if site::is_library(&self.file_name(call.file)) {
            return true;
        }
        let sources = self.sources(call);
        if !sources.is_empty() {
            let is_wrapper =
                |source: &Source| site::is_of_library(&source.file) || site::is_allocator(&source.function);
            return sources.iter().all(is_wrapper);
        }
        let function = self.known(call.file).and_then(|known| known.file.function(call.address));
        function.is_some_and(|(function, _)| site::is_allocator(&function))
    }

    /// The global that holds an address.
    pub(super) fn variable(&mut self, at: InFile) -> Option<Variable> {
        let known = self.known(at.file)?;
        let (name, start, bytes) = known.file.object(at.address)?;
        if let Some(found) = known.variables.get(&start) {
            return found.clone();
        }
        let found = known.lines.as_ref().and_then(|lines| variables::find(lines.dwarf(), start));
        let plain = Variable { name, start, bytes, ..Variable::default() };
        let found = found.map(|found| Variable { bytes: found.bytes.max(bytes), ..found });
        let found = Some(found.unwrap_or(plain));
        known.variables.insert(start, found.clone());
        found
    }

    /// The structures that an instruction's operand is part of, by the variables that point to them.
    pub(super) fn pointed(&mut self, at: InFile) -> &[Pointed] {
        let Some(Known { file, lines, pointed, searched, .. }) = self.known(at.file) else { return &[] };
        // Once the time is used up, fields go unnamed.
        let has_time = *searched < MOST_SEARCHED || pointed.contains_key(&at.address);
        if !has_time {
            return &[];
        }
        let started = Instant::now();
        let find = || {
            let unit = lines.as_ref()?.unit(at.address)?;
            Some(pointed::find(unit.dwarf, unit.unit, at.address, |start, bytes| file.code(start, bytes)))
        };
        let found = pointed.entry(at.address).or_insert_with(|| find().unwrap_or_default());
        *searched += started.elapsed();
        found
    }

    /// A file's name without its folder.
    pub(super) fn file_name(&self, number: u32) -> String {
        let name = self.files.path(number).and_then(|path| path.file_name());
        name.map_or_else(|| "unknown code".into(), |name| name.to_string_lossy().into_owned())
    }

    fn known(&mut self, number: u32) -> Option<&mut Known> {
        let path = self.files.path(number);
        let known = self.known.entry(number).or_insert_with(|| path.and_then(|path| Known::read(path)));
        known.as_mut()
    }
}

impl Known {
    fn read(path: &Path) -> Option<Self> {
        let file = File::read(path)?;
        let apart = file.debugging_apart();
        let lines = Lines::of(&file).or_else(|| Lines::of(apart.as_ref()?));
        let file = file.with_symbols_of(apart);
        Some(Self {
            file,
            lines,
            variables: BTreeMap::new(),
            pointed: BTreeMap::new(),
            searched: Duration::ZERO,
        })
    }
}

/// A source file without its folders.
fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}
