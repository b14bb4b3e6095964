//! What an allocated block holds, by what the instructions that use it take it for.

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
    let mut ways: Vec<(Block, usize)> = Vec::new();
    for part in &line.evidence.parts {
        let Ok(place) = u64::try_from(offset + part.offset as i64) else { continue };
        let mut here: Vec<Block> = Vec::new();
        for pointed in symbols.pointed(part.code) {
            let block = Block::new(pointed, place, bytes).filter(|block| !here.contains(block));
            here.extend(block);
        }
        for block in here {
            match ways.iter_mut().find(|(known, _)| *known == block) {
                Some((_, times)) => *times += 1,
                None => ways.push((block, 1)),
            }
        }
    }
    // What most parts agree on; of that, the largest, as it holds the others.
    let (block, _) = ways.into_iter().max_by_key(|(block, times)| (*times, block.pointed.kind.bytes))?;
    Some((block.variable(bytes), offset))
}

/// A block with structures in it.
#[derive(PartialEq)]
struct Block {
    pointed: Pointed,
    /// Where the first begins.
    start: u64,
    count: u64,
}

impl Block {
    /// The operand is at this place of a block of so many bytes.
    fn new(pointed: &Pointed, place: u64, bytes: u64) -> Option<Self> {
        let size = pointed.kind.bytes;
        let start = place.checked_sub(pointed.into)?;
        let pointed = Pointed { into: 0, ..pointed.clone() };
        let first = start % size;
        if first <= LONGEST_COUNT && (bytes - first).is_multiple_of(size) {
            return Some(Self { pointed, start: first, count: (bytes - first) / size });
        }
        (start + size <= bytes).then_some(Self { pointed, start, count: 1 })
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
