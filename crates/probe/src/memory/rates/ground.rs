//! The memory between which one thread moves data.

use coho_profile::Operation;

use super::super::Region;

/// Two regions, of which equal parts are destination and source.
pub(super) struct Ground<'a> {
    to: &'a Region,
    from: &'a Region,
    bytes: usize,
    /// Up to where they have been used for blocks that must be in no cache.
    cursor: &'a mut usize,
}

impl<'a> Ground<'a> {
    /// The first `bytes` of both, or as much as there is.
    pub(super) fn new(to: &'a Region, from: &'a Region, cursor: &'a mut usize) -> Self {
        Self { to, from, bytes: to.bytes().min(from.bytes()), cursor }
    }

    pub(super) fn to(&self) -> &Region {
        self.to
    }

    pub(super) fn from(&self) -> &Region {
        self.from
    }

    /// Bytes of each.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The regions that an operation touches.
    pub(super) fn regions(&self, op: Operation) -> impl Iterator<Item = &'a Region> + use<'a> {
        let (to, from) = (self.to, self.from);
        [(op != Operation::Read).then_some(to), (op != Operation::Write).then_some(from)]
            .into_iter()
            .flatten()
    }

    /// Takes the part of the regions that has been unused for longest; returns where it begins.
    pub(super) fn take(&mut self, bytes: usize) -> usize {
        if *self.cursor + bytes > self.bytes {
            *self.cursor = 0;
        }
        let begin = *self.cursor;
        *self.cursor += bytes;
        begin
    }

    pub(super) fn cursor(&self) -> usize {
        (*self.cursor).min(self.bytes.saturating_sub(64))
    }

    pub(super) fn go_to(&mut self, cursor: usize) {
        *self.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_part_comes_next() {
        let (to, from) = (Region::write_back(8192).unwrap(), Region::write_back(4096).unwrap());
        let mut cursor = 0;
        let mut ground = Ground::new(&to, &from, &mut cursor);
        assert_eq!(ground.bytes(), 4096);
        assert_eq!([ground.take(1024), ground.take(2048), ground.take(1024)], [0, 1024, 3072]);
        assert_eq!(ground.take(64), 0);
        let of = |op| ground.regions(op).map(Region::bytes).collect::<Vec<_>>();
        assert_eq!((of(Operation::Write), of(Operation::Read)), (vec![8192], vec![4096]));
        assert_eq!(of(Operation::Copy), [8192, 4096]);
    }
}
