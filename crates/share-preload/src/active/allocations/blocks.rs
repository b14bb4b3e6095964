//! A word for each block, at a place that its address says: nothing is searched when memory is allocated or freed.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use coho_preload::{ByAddress, REGION};
use coho_recording::{Record, Writer};

use super::super::tick;
use super::{frames, large, sites};

/// Blocks begin at multiples of it.
const STEP: usize = 16;
/// A block of so many bytes is in a list as well, as too many words lie between its beginning and its end.
pub const LARGE: usize = 64 << 10;

static WORDS: ByAddress<AtomicU64, STEP> = ByAddress::new();

/// A block: a site, and its bytes; and in which process, counted by forks, it was reported last. Zero is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block(u64);

const SITE_BITS: u32 = 16;
const GENERATION_BITS: u32 = 7;
const BYTES_BITS: u32 = 64 - 1 - SITE_BITS - GENERATION_BITS - 1;

impl Block {
    fn new(site: u16, bytes: usize, is_padded: bool) -> Self {
        let bytes = (bytes as u64).min((1 << BYTES_BITS) - 1);
        Self(
            1 | u64::from(is_padded) << 1 | u64::from(site) << 2 | bytes << (2 + SITE_BITS + GENERATION_BITS),
        )
    }

    pub fn site(self) -> u16 {
        (self.0 >> 2) as u16
    }

    pub fn is_padded(self) -> bool {
        self.0 & 2 != 0
    }

    pub fn bytes(self) -> usize {
        (self.0 >> (2 + SITE_BITS + GENERATION_BITS)) as usize
    }

    fn is_reported(self, generation: u64) -> bool {
        (self.0 >> (2 + SITE_BITS)) & ((1 << GENERATION_BITS) - 1) == generation
    }

    fn reported(self, generation: u64) -> Self {
        let mask = ((1 << GENERATION_BITS) - 1) << (2 + SITE_BITS);
        Self(self.0 & !mask | generation << (2 + SITE_BITS))
    }
}

/// A block was allocated.
#[inline(always)]
pub fn add(address: usize, bytes: usize, site: u16, is_padded: bool) {
    // A few allocators have blocks of 8 bytes, which would take each other's word.
    let Some(word) = WORDS.get(address).or_else(|| WORDS.make(address)) else { return };
    if !address.is_multiple_of(STEP) {
        return;
    }
    word.store(Block::new(site, bytes, is_padded).0, Relaxed);
    if bytes >= LARGE {
        large::add(address);
    }
}

/// The block that begins at an address.
#[inline]
pub fn at(address: usize) -> Option<Block> {
    let block = WORDS.get(address)?.load(Relaxed);
    (block != 0 && address.is_multiple_of(STEP)).then_some(Block(block))
}

/// A block is about to be freed.
#[inline(always)]
pub fn remove(address: usize) {
    let Some(word) = WORDS.get(address).filter(|_| address.is_multiple_of(STEP)) else { return };
    let block = Block(word.load(Relaxed));
    if block.0 == 0 {
        return;
    }
    word.store(0, Relaxed);
    if !block.is_reported(0) || block.bytes() >= LARGE {
        tell_end(address, block);
    }
}

#[cold]
fn tell_end(address: usize, block: Block) {
    if block.is_reported(sites::generation()) {
        super::super::thread::this().write(|writer| {
            writer.write(Record::Freed { time: tick::time(), address: address as u64 });
        });
    }
    if block.bytes() >= LARGE {
        large::remove(address);
    }
}

/// Reports the block that an address is in, once.
pub fn report(address: u64, writer: &mut Writer) {
    let address = address as usize;
    if WORDS.get(address).is_none() || frames::is_in_module(address as u64) {
        return;
    }
    let first = address / STEP * STEP;
    let lowest = first.saturating_sub(LARGE).max(address / REGION * REGION);
    let mut start = first;
    while start >= lowest {
        if let Some(block) = at(start) {
            if address - start < block.bytes() {
                report_block(start, writer);
            }
            return;
        }
        start -= STEP;
    }
}

/// Reports the block that begins at an address, once in each process.
pub fn report_block(start: usize, writer: &mut Writer) {
    let (Some(word), Some(block)) = (WORDS.get(start), at(start)) else { return };
    let generation = sites::generation();
    if block.is_reported(generation) {
        return;
    }
    // Before others can see that it is reported: what they then see happens later.
    let time = tick::time();
    if word.compare_exchange(block.0, block.reported(generation).0, AcqRel, Relaxed).is_ok() {
        sites::report(block.site(), writer);
        let (address, bytes) = (start as u64, block.bytes() as u64);
        writer.write(Record::Allocated { time, address, bytes, site: block.site().into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_holds_what_it_is_made_of() {
        for (site, bytes, is_padded) in [(0, 0, false), (u16::MAX, 1 << 38, true), (7, 24, false)] {
            let block = Block::new(site, bytes, is_padded);
            let reported = block.reported(5);
            assert!(reported.is_reported(5) && !block.is_reported(5) && !reported.is_reported(4));
            for block in [block, reported, reported.reported(127)] {
                assert_eq!((block.site(), block.bytes(), block.is_padded()), (site, bytes, is_padded));
                assert_ne!(block.0, 0);
            }
        }
    }
}
