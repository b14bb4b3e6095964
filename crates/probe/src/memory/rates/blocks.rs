//! Where the blocks of successive calls are.

use coho_platform::pages::PAGE;

/// The most that one call of a loop moves: larger blocks are moved in parts, so that a window stays short.
pub(super) const PART: usize = 64 << 10;

/// A call's part of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// From the beginning of the region, in bytes.
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// Whether it ends its block.
    pub(super) last: bool,
}

/// Blocks of one size, one after the other, for ever.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    base: usize,
    block: usize,
    pitch: usize,
    count: usize,
    stride: usize,
    index: usize,
    within: usize,
}

impl Blocks {
    /// The same block again and again.
    pub(super) fn same(base: usize, bytes: usize) -> Self {
        Self { base, block: bytes, pitch: bytes, count: 1, stride: 1, index: 0, within: 0 }
    }

    /// One block as large as a region, beginning somewhere inside.
    pub(super) fn whole(bytes: usize, within: usize) -> Self {
        Self { within, ..Self::same(0, bytes) }
    }

    /// `count` blocks, in an order that no prefetcher can follow.
    pub(super) fn scattered(base: usize, bytes: usize, count: usize) -> Self {
        let mut stride = (count as f64 * 0.618) as usize | 1;
        while gcd(stride, count) != 1 {
            stride += 2;
        }
        Self {
            base,
            block: bytes,
            pitch: Self::pitch(bytes),
            count,
            stride: stride % count.max(1),
            index: 0,
            within: 0,
        }
    }

    /// Distance of scattered blocks: each small block has a page of its own, as prefetchers stop at pages, and is at a
    /// different offset in it, as offsets decide the cache set.
    pub(super) fn pitch(bytes: usize) -> usize {
        if bytes < PAGE { (PAGE + bytes).next_multiple_of(64) } else { bytes.next_multiple_of(64) }
    }

    /// The part for the next call.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Part {
        let offset = self.base + self.index * self.pitch + self.within;
        let left = self.block - self.within;
        if left > PART {
            self.within += PART;
            return Part { offset, bytes: PART, last: false };
        }
        self.within = 0;
        self.index += self.stride;
        if self.index >= self.count {
            self.index -= self.count;
        }
        Part { offset, bytes: left, last: true }
    }

    /// How far it is within its block.
    pub(super) fn within(&self) -> usize {
        self.within
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn scattered_blocks_come_once_each_and_do_not_overlap() {
        for (bytes, count) in [(512, 100), (512, 1), (4096, 7), (65536, 16), (3 * PART + 5, 3), (100, 2)] {
            let mut blocks = Blocks::scattered(1 << 20, bytes, count);
            let mut begins = BTreeSet::new();
            for _ in 0..count {
                let mut moved = 0;
                loop {
                    let part = blocks.next();
                    if moved == 0 {
                        begins.insert(part.offset);
                    }
                    moved += part.bytes;
                    assert!(part.bytes <= PART);
                    if part.last {
                        break;
                    }
                }
                assert_eq!(moved, bytes);
            }
            assert_eq!(begins.len(), count);
            assert!(begins.iter().zip(begins.iter().skip(1)).all(|(a, b)| b - a >= bytes && a % 64 == 0));
            assert!(begins.iter().all(|begin| (1 << 20..).contains(begin)));
        }
    }

    #[test]
    fn a_large_block_goes_on_where_it_was() {
        let mut blocks = Blocks::whole(2 * PART + 64, PART);
        assert_eq!(blocks.next(), Part { offset: PART, bytes: PART, last: false });
        assert_eq!(blocks.next(), Part { offset: 2 * PART, bytes: 64, last: true });
        assert_eq!(blocks.within(), 0);
        assert_eq!(blocks.next().offset, 0);
    }
}
