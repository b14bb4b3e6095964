//! Lays out the known work in memory, and runs it.

use std::ptr::NonNull;

use super::Caches;
use super::work::{BLOCK, FLUSHED_STRIDE, Kind, NOP_PASSES, Reach, Work};
use crate::{Error, clock};

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
mod cycle;
mod loops;
mod mapping;

use cycle::Cycle;
use mapping::{Mapping, Sled};

/// All work that fits this machine, ready to run.
#[derive(Debug)]
pub(super) struct Bench {
    pieces: Vec<(Work, Ready)>,
}

/// What a piece of work needs.
#[derive(Debug)]
enum Ready {
    Chase(Cycle),
    Nops(Sled),
    Additions,
    Stores(Mapping),
}

impl Bench {
    /// Lays out the work that fits `caches`.
    ///
    /// # Errors
    /// If there is no room, or the system forbids executable memory.
    pub(super) fn lay_out(caches: &Caches) -> Result<Self, Error> {
        let line = caches.line_bytes;
        let pieces = Work::that_fits(caches)
            .into_iter()
            .map(|work| {
                let ready = match work.kind {
                    Kind::Chase(Reach::Memory) => {
                        Ready::Chase(Cycle::new(work.bytes, FLUSHED_STRIDE * line)?)
                    }
                    Kind::Chase(_) => Ready::Chase(Cycle::new(work.bytes, line)?),
                    Kind::Nops => Ready::Nops(Sled::new(work.bytes)?),
                    Kind::Additions => Ready::Additions,
                    Kind::Stores => Ready::Stores(Mapping::new(work.bytes)?),
                };
                Ok((work, ready))
            })
            .collect::<Result<_, Error>>()?;
        Ok(Self { pieces })
    }

    /// Each piece of work that is laid out.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.pieces.iter().map(|(work, ready)| Piece { work, ready })
    }
}

/// One piece of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'b> {
    pub(super) work: &'b Work,
    ready: &'b Ready,
}

impl Piece<'_> {
    /// Brings the caches into the state from which the work is counted.
    pub(super) fn prepare(&self) {
        match (self.work.kind, self.ready) {
            (Kind::Chase(Reach::Memory), Ready::Chase(cycle)) => cycle.flush(),
            _ => self.run(),
        }
    }

    /// Does the work.
    #[inline(never)]
    pub(super) fn run(&self) {
        let n = self.work.operations;
        match self.ready {
            Ready::Chase(cycle) => cycle.walk(n),
            Ready::Nops(sled) => (0..NOP_PASSES).for_each(|_| sled.run()),
            Ready::Additions => clock::additions(n / BLOCK),
            // SAFETY: the mapping is as large as the work says, which is a power of two of at least a word.
            Ready::Stores(mapping) => unsafe { loops::stores(mapping.start(), self.work.bytes, n) },
        }
    }
}

/// A place in memory that is one line's first word.
type Word = NonNull<u8>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_can_be_done() {
        let kib = |n: usize| Some(n << 10);
        let caches = Caches {
            line_bytes: 64,
            l1d_bytes: kib(32),
            l1i_bytes: kib(32),
            l2_bytes: kib(512),
            l3_bytes: kib(32 << 10),
        };
        let bench = Bench::lay_out(&caches).unwrap();
        assert_eq!(bench.pieces().count(), Work::that_fits(&caches).len());
        for piece in bench.pieces() {
            piece.prepare();
            piece.run();
        }
    }
}
