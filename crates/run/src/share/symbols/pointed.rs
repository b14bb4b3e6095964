//! What the registers of an instruction point to, by DWARF: optimising compilers tell which variable is in which
//! register from where to where.

use coho_operands::{Based, based, loaded};
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_data_member_location, DW_AT_frame_base, DW_AT_location,
    DW_AT_type, DW_TAG_class_type, DW_TAG_const_type, DW_TAG_formal_parameter, DW_TAG_inlined_subroutine,
    DW_TAG_lexical_block, DW_TAG_member, DW_TAG_namespace, DW_TAG_pointer_type, DW_TAG_reference_type,
    DW_TAG_restrict_type, DW_TAG_rvalue_reference_type, DW_TAG_structure_type, DW_TAG_subprogram,
    DW_TAG_typedef, DW_TAG_variable, DW_TAG_volatile_type, EntriesTreeNode, Expression, Operation,
    UnitOffset,
};

use super::lines::{Dwarf, Slice};
use super::variables::{Entry, Kind, Language, Shape, Unit, each_child, kind_of, language, number};

/// Functions and blocks within each other, at most.
const MOST_NESTED: usize = 256;
/// Bytes of a function before an instruction within which its register's load is looked for.
const MOST_CODE: u64 = 64 << 10;
/// The register that a function's frame is told by, in DWARF.
const RBP: u16 = 6;
/// Types that lead to each other, at most.
const MOST_DEPTH: usize = 12;
/// Bytes of the longest instruction.
const LONGEST: u64 = 15;

/// A structure that an instruction uses a field of.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::share) struct Pointed {
    pub(in crate::share) kind: Kind,
    /// How far into it the operand lies.
    pub(in crate::share) into: u64,
    pub(in crate::share) language: Language,
}

/// What an instruction's operand is part of, by each variable that points to where its register does. `code` reads bytes
/// from an address on.
pub(super) fn find(
    dwarf: &Dwarf,
    unit: &Unit,
    address: u64,
    code: impl Fn(u64, u64) -> Option<Vec<u8>>,
) -> Vec<Pointed> {
    let Some(based) = code(address, LONGEST).and_then(|code| based(&code)) else { return Vec::new() };
    let loaded = |start: u64| {
        let bytes = address.checked_sub(start).filter(|bytes| *bytes <= MOST_CODE)?;
        loaded(&code(start, bytes)?, start, based.register)
    };
    let mut search =
        Search { dwarf, unit, address, based, find_load: &loaded, load: None, found: Vec::new() };
    if let Ok(mut tree) = unit.entries_tree(None)
        && let Ok(root) = tree.root()
    {
        search.within(root, MOST_NESTED);
    }
    search.found
}

/// Where a variable in memory was loaded from.
struct Load {
    /// The instruction that loaded it.
    address: u64,
    from: Based,
    /// What the function's frame is told by: a register, and how far its value lies below the frame's base.
    frame: Option<(u16, i64)>,
}

struct Search<'a> {
    dwarf: &'a Dwarf,
    unit: &'a Unit,
    address: u64,
    based: Based,
    /// By the address at which a function begins.
    find_load: &'a dyn Fn(u64) -> Option<(u64, Based)>,
    load: Option<Load>,
    found: Vec<Pointed>,
}

impl Search<'_> {
    fn within(&mut self, node: EntriesTreeNode<'_, '_, '_, Slice>, nested: usize) {
        let Some(nested) = nested.checked_sub(1) else { return };
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let tag = entry.tag();
            if [DW_TAG_formal_parameter, DW_TAG_variable].contains(&tag) {
                let found = self.points_to(entry);
                self.found.extend(found);
            } else if tag == DW_TAG_namespace {
                self.within(child, nested);
            } else if [DW_TAG_subprogram, DW_TAG_inlined_subroutine, DW_TAG_lexical_block].contains(&tag)
                && let Some(start) = self.begins(entry)
            {
                if tag == DW_TAG_subprogram {
                    let load = |(address, from)| Load { address, from, frame: self.frame(entry) };
                    self.load = (self.find_load)(start).map(load);
                }
                self.within(child, nested);
            }
        }
    }

    /// Where the part of a function or a block begins in which the instruction is.
    fn begins(&self, entry: &Entry<'_>) -> Option<u64> {
        let mut ranges = self.dwarf.die_ranges(self.unit, entry).ok()?;
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&self.address) {
                return Some(range.begin);
            }
        }
        None
    }

    /// What a function's variables lie at distances from.
    fn frame(&self, function: &Entry<'_>) -> Option<(u16, i64)> {
        let Ok(Some(AttributeValue::Exprloc(base))) = function.attr_value(DW_AT_frame_base) else {
            return None;
        };
        match base.operations(self.unit.encoding()).next().ok()?? {
            Operation::Register { register } => Some((register.0, 0)),
            // RBP of a function that has set it up lies two words below.
            Operation::CallFrameCFA => Some((RBP, 16)),
            _ => None,
        }
    }

    /// The structure that a variable points to, or a part of the variable, if the operand lies in it.
    fn points_to(&self, entry: &Entry<'_>) -> Option<Pointed> {
        let held = self.held(entry)?;
        let into = u64::try_from(self.based.distance.checked_sub(held.beyond)?).ok()?;
        let kind = self.pointee(entry, held.part, MOST_DEPTH)?;
        let has_fields = matches!(kind.shape, Shape::Fields(_)) && kind.wrapped().is_none();
        (has_fields && into < kind.bytes).then(|| Pointed { kind, into, language: language(self.unit) })
    }

    /// What of a variable the instruction's register holds.
    fn held(&self, entry: &Entry<'_>) -> Option<Held> {
        let in_register = self.place(entry, self.address).and_then(|place| self.in_register(place));
        in_register.or_else(|| {
            let load = self.load.as_ref()?;
            self.in_memory(self.place(entry, load.address)?, load)
        })
    }

    /// Where a variable is when an instruction begins.
    fn place(&self, entry: &Entry<'_>, address: u64) -> Option<Expression<Slice>> {
        let location = entry.attr_value(DW_AT_location).ok()??;
        if let AttributeValue::Exprloc(place) = location {
            return Some(place);
        }
        let mut places = self.dwarf.attr_locations(self.unit, location).ok()??;
        while let Ok(Some(place)) = places.next() {
            if (place.range.begin..place.range.end).contains(&address) {
                return Some(place.data);
            }
        }
        None
    }

    /// What of a variable in memory was loaded.
    fn in_memory(&self, place: Expression<Slice>, load: &Load) -> Option<Held> {
        let mut steps = place.operations(self.unit.encoding());
        let (register, start) = match steps.next().ok()?? {
            Operation::RegisterOffset { register, offset, .. } => (register.0, offset),
            Operation::FrameOffset { offset } => {
                let (register, below) = load.frame?;
                (register, offset.checked_add(below)?)
            }
            _ => return None,
        };
        let part = u64::try_from(load.from.distance.checked_sub(start)?).ok()?;
        let is_all = matches!(steps.next(), Ok(None));
        (is_all && register == load.from.register).then_some(Held { part, beyond: 0 })
    }

    /// Of a variable in several places, each is told by its bytes, in order; one without a place has nothing before them.
    fn in_register(&self, place: Expression<Slice>) -> Option<Held> {
        let mut steps = place.operations(self.unit.encoding());
        let (mut held, mut part) = (None, 0_u64);
        while let Ok(Some(step)) = steps.next() {
            match step {
                Operation::Register { register } if register.0 == self.based.register => {
                    held = Some(Held { part, beyond: 0 });
                }
                Operation::RegisterOffset { register, offset, .. } if register.0 == self.based.register => {
                    let is_value = matches!(steps.next(), Ok(Some(Operation::StackValue)));
                    held = is_value.then_some(Held { part, beyond: offset });
                }
                Operation::Piece { size_in_bits, bit_offset: None } if held.is_none() => {
                    part = part.checked_add(size_in_bits / 8)?;
                }
                Operation::Piece { .. } => return held,
                // Any other calculation of a place that is no part's.
                _ if held.is_some() => return None,
                _ => {}
            }
        }
        held
    }

    /// The type that a variable's type, or a part of it that begins there, points to.
    fn pointee(&self, entry: &Entry<'_>, part: u64, depth: usize) -> Option<Kind> {
        let depth = depth.checked_sub(1)?;
        if let Ok(Some(AttributeValue::UnitRef(origin))) = entry.attr_value(DW_AT_abstract_origin) {
            return self.pointee(&self.unit.entry(origin).ok()?, part, depth);
        }
        let Ok(Some(AttributeValue::UnitRef(at))) = entry.attr_value(DW_AT_type) else { return None };
        let entry = self.unit.entry(at).ok()?;
        let is = |tags: &[gimli::DwTag]| tags.contains(&entry.tag());
        if is(&[DW_TAG_pointer_type, DW_TAG_reference_type, DW_TAG_rvalue_reference_type]) {
            return kind_of(self.dwarf, self.unit, &entry, depth).filter(|_| part == 0);
        }
        if is(&[DW_TAG_typedef, DW_TAG_const_type, DW_TAG_volatile_type, DW_TAG_restrict_type]) {
            return self.pointee(&entry, part, depth);
        }
        if is(&[DW_TAG_structure_type, DW_TAG_class_type]) {
            let (member, start) = self.member(at, part)?;
            return self.pointee(&self.unit.entry(member).ok()?, part - start, depth);
        }
        None
    }

    /// The member of a structure in which a place lies, and where it begins.
    fn member(&self, at: UnitOffset, place: u64) -> Option<(UnitOffset, u64)> {
        let mut found = None;
        each_child(self.unit, at, |entry| {
            let Some(start) = number(entry, DW_AT_data_member_location) else { return };
            // Of members that are empty, several begin at one place.
            let bytes = kind_of(self.dwarf, self.unit, entry, MOST_DEPTH).map_or(0, |kind| kind.bytes);
            if entry.tag() == DW_TAG_member && (start..start.saturating_add(bytes)).contains(&place) {
                found = Some((entry.offset(), start));
            }
        });
        found
    }
}

/// What a register holds of a variable.
struct Held {
    /// Where the part that it holds begins.
    part: u64,
    /// How far the part's value lies beyond the register's.
    beyond: i64,
}
