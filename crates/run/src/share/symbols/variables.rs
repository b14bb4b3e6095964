//! Globals with their fields, by DWARF.

use std::path::{Path, PathBuf};

use gimli::{
    AttributeValue, DW_AT_byte_size, DW_AT_count, DW_AT_data_member_location, DW_AT_decl_column,
    DW_AT_decl_file, DW_AT_decl_line, DW_AT_language, DW_AT_location, DW_AT_name, DW_AT_specification,
    DW_AT_type, DW_AT_upper_bound, DW_TAG_array_type, DW_TAG_class_type, DW_TAG_const_type,
    DW_TAG_enumeration_type, DW_TAG_inheritance, DW_TAG_member, DW_TAG_pointer_type, DW_TAG_structure_type,
    DW_TAG_subrange_type, DW_TAG_typedef, DW_TAG_union_type, DW_TAG_variable, DW_TAG_volatile_type,
    DebugInfoOffset, DwTag, Operation, Reader, UnitOffset,
};

use super::lines::{Dwarf, Slice};

pub(super) type Unit = gimli::Unit<Slice>;
pub(super) type Entry<'a> = gimli::DebuggingInformationEntry<'a, 'a, Slice>;

/// More entries than are looked at for a global.
const MOST_ENTRIES: usize = 20_000_000;
/// Fields and dimensions beyond these are not told.
const MOST_FIELDS: usize = 1024;
const MOST_DEPTH: usize = 12;

/// A global, or what an allocated block holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::share) struct Variable {
    pub(in crate::share) name: String,
    /// Its address in the file, or its place in the block.
    pub(in crate::share) start: u64,
    pub(in crate::share) bytes: u64,
    /// What it is made of, if that is known.
    pub(in crate::share) kind: Kind,
    /// Where it is declared.
    pub(in crate::share) declared: Option<Declared>,
    pub(in crate::share) language: Language,
    /// Whether it is in an allocated block; its name is that of its type then.
    pub(in crate::share) is_allocated: bool,
}

/// What a global is declared in, as far as declarations differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::share) enum Language {
    /// C from C11 on, which has `_Alignas`.
    C,
    /// C before that.
    OldC,
    Cpp,
    Rust,
    #[default]
    Other,
}

/// Where something is declared: a place in a source file, from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::share) struct Declared {
    pub(in crate::share) file: PathBuf,
    pub(in crate::share) line: usize,
    pub(in crate::share) column: Option<usize>,
}

/// What a type is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::share) struct Kind {
    /// `struct stats`, or nothing for a type without a name.
    pub(in crate::share) name: String,
    pub(in crate::share) bytes: u64,
    pub(in crate::share) shape: Shape,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::share) enum Shape {
    /// Nothing that is told apart.
    #[default]
    Whole,
    /// Fields by their offsets.
    Fields(Vec<Field>),
    /// Elements of one kind.
    Elements(Box<Kind>),
}

/// A field of a structure, or what it inherits.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::share) struct Field {
    pub(in crate::share) offset: u64,
    pub(in crate::share) name: String,
    pub(in crate::share) kind: Kind,
    pub(in crate::share) declared: Option<Declared>,
}

impl Variable {
    /// What lies at an offset: `stats.hits`, `slots[2].sum`.
    pub(in crate::share) fn at(&self, offset: u64) -> String {
        format!("{}{}", self.name, self.kind.at(offset))
    }
}

impl Kind {
    /// What lies at an offset: `.hits`, `[2].sum`.
    pub(in crate::share) fn at(&self, offset: u64) -> String {
        match &self.shape {
            Shape::Whole => String::new(),
            Shape::Elements(kind) if kind.bytes > 0 => {
                format!("[{}]{}", offset / kind.bytes, kind.at(offset % kind.bytes))
            }
            Shape::Elements(_) => String::new(),
            // What wraps one field is that field.
            Shape::Fields(_) => {
                let found = self.field(offset);
                found.map_or_else(
                    || self.wrapped().map_or_else(String::new, |only| only.kind.at(offset)),
                    |found| format!(".{}{}", found.name, found.kind.at(offset - found.offset)),
                )
            }
        }
    }

    /// The field that all of it is: what wraps one field is that field.
    pub(in crate::share) fn wrapped(&self) -> Option<&Field> {
        match &self.shape {
            Shape::Fields(fields) if fields.len() == 1 && fields[0].kind.bytes == self.bytes => {
                fields.first()
            }
            _ => None,
        }
    }

    /// The field at an offset, unless it is all there is.
    pub(in crate::share) fn field(&self, offset: u64) -> Option<&Field> {
        match &self.shape {
            Shape::Fields(fields) if self.wrapped().is_none() => {
                fields.iter().rfind(|field| field.offset <= offset)
            }
            _ => None,
        }
    }
}

/// The global that begins at an address.
pub(super) fn find(dwarf: &Dwarf, address: u64) -> Option<Variable> {
    let mut left = MOST_ENTRIES;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let mut entries = unit.entries();
        while let Ok(Some((_, entry))) = entries.next_dfs() {
            left = left.checked_sub(1)?;
            if entry.tag() == DW_TAG_variable && is_at(dwarf, &unit, entry, address) {
                return variable(dwarf, &unit, entry, address);
            }
        }
    }
    None
}

fn is_at(dwarf: &Dwarf, unit: &Unit, entry: &Entry<'_>, address: u64) -> bool {
    let Ok(Some(AttributeValue::Exprloc(place))) = entry.attr_value(DW_AT_location) else { return false };
    match place.operations(unit.encoding()).next() {
        Ok(Some(Operation::Address { address: found })) => found == address,
        Ok(Some(Operation::AddressIndex { index })) => {
            dwarf.address(unit, index).is_ok_and(|found| found == address)
        }
        _ => false,
    }
}

fn variable(dwarf: &Dwarf, unit: &Unit, entry: &Entry<'_>, start: u64) -> Option<Variable> {
    let declared = match entry.attr_value(DW_AT_specification).ok()? {
        Some(AttributeValue::UnitRef(at)) => unit.entry(at).ok(),
        _ => None,
    };
    let has = [Some(entry), declared.as_ref()];
    let name = has.iter().flatten().find_map(|entry| text(dwarf, unit, entry))?;
    let kind =
        has.iter().flatten().find_map(|entry| kind_of(dwarf, unit, entry, MOST_DEPTH)).unwrap_or_default();
    // A definition that refers to a declaration has a line of its own, where the object is.
    let declared = declared_at(dwarf, unit, entry);
    let (bytes, language) = (kind.bytes, language(unit));
    Some(Variable { name, start, bytes, kind, declared, language, is_allocated: false })
}

pub(super) fn language(unit: &Unit) -> Language {
    let mut entries = unit.entries();
    let Ok(Some((_, root))) = entries.next_dfs() else { return Language::Other };
    let Ok(Some(AttributeValue::Language(language))) = root.attr_value(DW_AT_language) else {
        return Language::Other;
    };
    match language {
        gimli::DW_LANG_C11 | gimli::DW_LANG_C17 => Language::C,
        gimli::DW_LANG_C | gimli::DW_LANG_C89 | gimli::DW_LANG_C99 => Language::OldC,
        gimli::DW_LANG_C_plus_plus
        | gimli::DW_LANG_C_plus_plus_03
        | gimli::DW_LANG_C_plus_plus_11
        | gimli::DW_LANG_C_plus_plus_14
        | gimli::DW_LANG_C_plus_plus_17
        | gimli::DW_LANG_C_plus_plus_20 => Language::Cpp,
        gimli::DW_LANG_Rust => Language::Rust,
        _ => Language::Other,
    }
}

fn declared_at(dwarf: &Dwarf, unit: &Unit, entry: &Entry<'_>) -> Option<Declared> {
    let place = |name| usize::try_from(number(entry, name)?).ok();
    let at = match entry.attr_value(DW_AT_decl_file).ok()?? {
        AttributeValue::FileIndex(at) => at,
        other => other.udata_value()?,
    };
    let program = unit.line_program.as_ref()?;
    let file = program.header().file(at)?;
    let path = |value: AttributeValue<Slice>| {
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(PathBuf::from(text.to_string_lossy().ok()?.into_owned()))
    };
    let mut whole = PathBuf::new();
    if let Some(folder) = &unit.comp_dir {
        whole.push(Path::new(&*folder.to_string_lossy().ok()?));
    }
    if let Some(folder) = file.directory(program.header()) {
        whole.push(path(folder)?);
    }
    whole.push(path(file.path_name())?);
    Some(Declared { file: whole, line: place(DW_AT_decl_line)?, column: place(DW_AT_decl_column) })
}

fn text(dwarf: &Dwarf, unit: &Unit, entry: &Entry<'_>) -> Option<String> {
    let name = dwarf.attr_string(unit, entry.attr_value(DW_AT_name).ok()??).ok()?;
    Some(name.to_string_lossy().ok()?.into_owned())
}

pub(super) fn number(entry: &Entry<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name).ok()??.udata_value()
}

/// The kind that an entry names as its type.
pub(super) fn kind_of(dwarf: &Dwarf, unit: &Unit, entry: &Entry<'_>, depth: usize) -> Option<Kind> {
    match entry.attr_value(DW_AT_type).ok()?? {
        AttributeValue::UnitRef(at) => kind(dwarf, unit, at, depth.checked_sub(1)?),
        AttributeValue::DebugInfoRef(at) => {
            let (unit, at) = elsewhere(dwarf, at)?;
            kind(dwarf, &unit, at, depth.checked_sub(1)?)
        }
        _ => None,
    }
}

/// The unit that holds an entry, as Go's types lie in others than what has them.
fn elsewhere(dwarf: &Dwarf, at: DebugInfoOffset) -> Option<(Unit, UnitOffset)> {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if let Some(at) = at.to_unit_offset(&header) {
            return Some((dwarf.unit(header).ok()?, at));
        }
    }
    None
}

fn kind(dwarf: &Dwarf, unit: &Unit, at: UnitOffset, depth: usize) -> Option<Kind> {
    let entry = unit.entry(at).ok()?;
    let name = || text(dwarf, unit, &entry).unwrap_or_default();
    let bytes = number(&entry, DW_AT_byte_size).unwrap_or(0);
    let is = |tags: &[DwTag]| tags.contains(&entry.tag());
    if is(&[DW_TAG_typedef]) {
        let kind = kind_of(dwarf, unit, &entry, depth)?;
        return Some(if kind.name.is_empty() { Kind { name: name(), ..kind } } else { kind });
    }
    if is(&[DW_TAG_const_type, DW_TAG_volatile_type]) || entry.tag().0 == gimli::DW_TAG_atomic_type.0 {
        return kind_of(dwarf, unit, &entry, depth);
    }
    if is(&[DW_TAG_structure_type, DW_TAG_class_type]) {
        let shape = Shape::Fields(fields(dwarf, unit, at, depth));
        return Some(Kind { name: name(), bytes, shape });
    }
    if is(&[DW_TAG_array_type]) {
        return array(unit, at, kind_of(dwarf, unit, &entry, depth)?);
    }
    if is(&[DW_TAG_pointer_type]) {
        let name = pointer(dwarf, unit, &entry, depth);
        let bytes = if bytes == 0 { u64::from(unit.encoding().address_size) } else { bytes };
        return Some(Kind { name, bytes, shape: Shape::Whole });
    }
    let is_known = is(&[DW_TAG_union_type, DW_TAG_enumeration_type, gimli::DW_TAG_base_type]);
    is_known.then(|| Kind { name: name(), bytes, shape: Shape::Whole })
}

/// What a pointer's type is called; what it points to is not looked into, as it may hold the pointer.
fn pointer(dwarf: &Dwarf, unit: &Unit, entry: &Entry<'_>, depth: usize) -> String {
    let to = match entry.attr_value(DW_AT_type) {
        Ok(Some(AttributeValue::UnitRef(at))) => unit.entry(at).ok(),
        Ok(None) => return "void *".into(),
        _ => None,
    };
    let named = |to: Entry<'_>| match depth.checked_sub(1).filter(|_| to.tag() == DW_TAG_pointer_type) {
        Some(depth) => Some(pointer(dwarf, unit, &to, depth)),
        None => text(dwarf, unit, &to),
    };
    to.and_then(named).map_or_else(String::new, |name| format!("{name} *"))
}

fn fields(dwarf: &Dwarf, unit: &Unit, at: UnitOffset, depth: usize) -> Vec<Field> {
    let mut fields = Vec::new();
    each_child(unit, at, |entry| {
        if ![DW_TAG_member, DW_TAG_inheritance].contains(&entry.tag()) || fields.len() >= MOST_FIELDS {
            return;
        }
        let Some(offset) = number(entry, DW_AT_data_member_location) else { return };
        let name = text(dwarf, unit, entry).unwrap_or_default();
        if let Some(kind) = kind_of(dwarf, unit, entry, depth) {
            fields.push(Field { offset, name, kind, declared: declared_at(dwarf, unit, entry) });
        }
    });
    fields.sort_by_key(|field| field.offset);
    fields
}

/// An array, the last of whose dimensions is the innermost.
fn array(unit: &Unit, at: UnitOffset, element: Kind) -> Option<Kind> {
    let mut counts = Vec::new();
    each_child(unit, at, |entry| {
        if entry.tag() == DW_TAG_subrange_type && counts.len() < MOST_DEPTH {
            let last = || number(entry, DW_AT_upper_bound).and_then(|last| last.checked_add(1));
            counts.push(number(entry, DW_AT_count).or_else(last));
        }
    });
    let mut kind = element;
    for count in counts.into_iter().rev() {
        let bytes = count.and_then(|count| count.checked_mul(kind.bytes))?;
        kind = Kind { name: String::new(), bytes, shape: Shape::Elements(Box::new(kind)) };
    }
    Some(kind)
}

pub(super) fn each_child(unit: &Unit, at: UnitOffset, mut each: impl FnMut(&Entry<'_>)) {
    let Ok(mut tree) = unit.entries_tree(Some(at)) else { return };
    let Ok(root) = tree.root() else { return };
    let mut children = root.children();
    while let Ok(Some(child)) = children.next() {
        each(child.entry());
    }
}
