//! What was allocated when: an address means something only at a time.

use std::collections::BTreeMap;

/// An allocation from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) site: u32,
    /// When it was freed; `u64::MAX` if it never was.
    pub(super) until: u64,
    /// Whether an allocator may have handed out parts of it unseen.
    pub(super) is_of_allocator: bool,
}

/// From so many bytes on, what holds another allocation is an allocator's, and not one whose end was missed.
const LARGE: u64 = 64 << 10;

/// Memory in the course of time.
#[derive(Debug, Default)]
pub(super) struct Memory {
    lives: Vec<Life>,
    /// Those that live, by their addresses.
    now: BTreeMap<u64, usize>,
}

impl Memory {
    /// Adds an allocation. Earlier ones that it overlaps end here: their end was not recorded.
    pub(super) fn allocate(&mut self, time: u64, address: u64, bytes: u64, site: u32) {
        let bytes = bytes.max(1).min(u64::MAX - address);
        let end = address + bytes;
        let before = self.now.range(..address).next_back().map(|(start, _)| *start);
        let within = self.now.range(address..end).map(|(start, _)| *start);
        let overlapped: Vec<u64> = before.into_iter().chain(within).collect();
        for start in overlapped {
            let life = &mut self.lives[self.now[&start]];
            if life.address + life.bytes > address {
                life.is_of_allocator = life.bytes >= LARGE && bytes <= life.bytes / 2;
                self.free(time, start);
            }
        }
        self.now.insert(address, self.lives.len());
        self.lives.push(Life { address, bytes, site, until: u64::MAX, is_of_allocator: false });
    }

    /// Ends the allocation that begins there, if one does.
    pub(super) fn free(&mut self, time: u64, address: u64) {
        if let Some(life) = self.now.remove(&address) {
            self.lives[life].until = time;
        }
    }

    /// The allocation that holds an address now, by its number.
    pub(super) fn at(&self, address: u64) -> Option<usize> {
        let (_, life) = self.now.range(..=address).next_back()?;
        let found = self.lives[*life];
        (address - found.address < found.bytes).then_some(*life)
    }

    /// All allocations by their numbers.
    pub(super) fn lives(&self) -> &[Life] {
        &self.lives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_what_lives_there() {
        let mut memory = Memory::default();
        memory.allocate(1, 100, 50, 7);
        memory.allocate(2, 150, 50, 8);
        assert_eq!(
            [99, 100, 149, 150, 199, 200].map(|at| memory.at(at)),
            [None, Some(0), Some(0), Some(1), Some(1), None]
        );
        memory.free(3, 100);
        assert_eq!((memory.at(120), memory.lives()[0].until), (None, 3));
        // The end of the second was not seen.
        memory.allocate(4, 120, 100, 9);
        assert_eq!([119, 120, 160].map(|at| memory.at(at)), [None, Some(2), Some(2)]);
        assert_eq!(memory.lives()[1].until, 4);
        memory.free(5, 1000);
        memory.allocate(6, u64::MAX - 3, 100, 9);
        assert_eq!(memory.at(u64::MAX - 1), Some(3));
    }

    #[test]
    fn what_is_handed_out_in_parts_is_an_allocator_s() {
        let mut memory = Memory::default();
        let is_of_allocator =
            |memory: &Memory| Vec::from_iter(memory.lives().iter().map(|life| life.is_of_allocator));
        memory.allocate(1, 0x10_0000, 1 << 20, 7);
        memory.allocate(2, 0x10_0040, 8, 8);
        assert_eq!(is_of_allocator(&memory), [true, false]);
        // The end of a large block and of a small one was not seen.
        memory.allocate(3, 0x40_0000, 1 << 20, 7);
        memory.allocate(4, 0x40_0000, 1 << 20, 7);
        memory.allocate(5, 0x10_0040, 4, 8);
        assert_eq!(is_of_allocator(&memory), [true, false, false, false, false]);
    }
}
