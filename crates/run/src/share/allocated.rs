//! What an allocated block holds, by what the instructions that use it take it for.

use std::collections::BTreeSet;

use coho_model::share_lines::{Merged, Object};

use super::symbols::{Kind, Pointed, Shape, Symbols, Variable};

/// What C's and C++'s allocators may put before the elements of an array.
const LONGEST_COUNT: u64 = 16;

/// The structures in the one block that a line lies in, as a variable that begins where the block does; with it, where
/// the line begins within the block. `None` if its instructions do not tell, or counted accesses, which name no
/// registers.
pub(super) fn block<L>(symbols: &mut Symbols<'_>, line: &Merged<L>) -> Option<(Variable, i64)> {
    let [Object::Allocated { bytes, offset, .. }] = line.shown[..] else { return None };
    if line.allocations > 1 || line.evidence.parts.iter().any(|part| !part.counts.is_empty()) {
        return None;
    }
    let mut ways: Vec<(Block, BTreeSet<usize>)> = Vec::new();
    for (number, part) in line.evidence.parts.iter().enumerate() {
        let Ok(place) = u64::try_from(offset + part.offset as i64) else { continue };
        for pointed in symbols.pointed(part.code) {
            let one = Block::of_one(pointed, place, bytes);
            // Other parts may be of other elements.
            for block in one.iter().flat_map(|one| [Some(one.clone()), one.elements(bytes)]).flatten() {
                match ways.iter_mut().find(|(known, _)| *known == block) {
                    Some((_, parts)) => drop(parts.insert(number)),
                    None => ways.push((block, [number].into())),
                }
            }
        }
    }
    // What most parts agree on; of that, the largest, as it holds the others. It is one structure unless two parts tell
    // of several: a class that inherits another may be just as long as an array of that.
    let rank =
        |block: &Block, parts: &BTreeSet<usize>| (parts.len(), block.pointed.kind.bytes, block.count == 1);
    let (block, _) = ways.into_iter().max_by_key(|(block, parts)| rank(block, parts))?;
    Some((block.variable(bytes), offset))
}

/// A block with structures in it.
#[derive(Clone, PartialEq)]
struct Block {
    pointed: Pointed,
    /// Where the first begins.
    start: u64,
    count: u64,
}

impl Block {
    /// One structure, of which the operand at this place is part, in a block of so many bytes.
    fn of_one(pointed: &Pointed, place: u64, bytes: u64) -> Option<Self> {
        let start = place.checked_sub(pointed.into)?;
        let pointed = Pointed { into: 0, ..pointed.clone() };
        (start.checked_add(pointed.kind.bytes)? <= bytes).then_some(Self { pointed, start, count: 1 })
    }

    /// As many as the block has room for, if that leaves none.
    fn elements(&self, bytes: u64) -> Option<Self> {
        let size = self.pointed.kind.bytes;
        let start = self.start % size;
        let count = (bytes - start) / size;
        (count > 1 && start <= LONGEST_COUNT && count * size == bytes - start).then(|| Self {
            start,
            count,
            ..self.clone()
        })
    }

    fn variable(self, bytes: u64) -> Variable {
        let Pointed { kind, language, .. } = self.pointed;
        let name = kind.name.clone();
        let kind = match self.count {
            1 => kind,
            count => Kind {
                name: String::new(),
                bytes: count * kind.bytes,
                shape: Shape::Elements(Box::new(kind)),
            },
        };
        Variable { name, start: self.start, bytes, kind, declared: None, language, is_allocated: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::symbols::{Field, Language};

    /// A structure of two fields of 8 bytes.
    fn pointed(into: u64) -> Pointed {
        let whole = || Kind { bytes: 8, ..Kind::default() };
        let field = |offset, name: &str| Field { offset, name: name.into(), kind: whole(), declared: None };
        let fields = Shape::Fields(vec![field(0, "hits"), field(8, "misses")]);
        let kind = Kind { name: "stats".into(), bytes: 16, shape: fields };
        Pointed { kind, into, language: Language::C }
    }

    #[test]
    fn a_structure_lies_where_its_fields_are_used() {
        let one = Block::of_one(&pointed(8), 24, 40).unwrap();
        assert_eq!((one.start, one.count), (16, 1));
        assert_eq!(one.clone().variable(40).at(8), "stats.misses");
        assert!(Block::of_one(&pointed(8), 7, 40).is_none(), "it would begin before the block");
        assert!(Block::of_one(&pointed(0), 32, 40).is_none(), "it would end after the block");
    }

    #[test]
    fn a_block_is_an_array_if_elements_fill_it() {
        let elements = |place, bytes| Block::of_one(&pointed(8), place, bytes)?.elements(bytes);
        let four = elements(24, 64).unwrap();
        assert_eq!((four.start, four.count), (0, 4));
        assert_eq!(four.variable(64).at(56), "stats[3].misses");
        let after_a_count = elements(32, 40).unwrap();
        assert_eq!((after_a_count.start, after_a_count.count), (8, 2));
        assert!(elements(24, 72).is_none(), "something is left");
        assert!(elements(8, 16).is_none(), "it is one");
    }
}
