//! What the steps add up to.

use std::collections::HashSet;

use super::{Steps, machine};

/// Bytes of a line.
const LINE: u64 = 64;

/// Counts of a region.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) instructions: u64,
    pub(super) kernel_entries: u64,
    pub(super) unresolved: u64,
    pub(super) signals: u64,
    loads: u64,
    stores: u64,
    code: HashSet<u64>,
    data: HashSet<u64>,
}

/// What an instruction does with an operand in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(target_arch = "aarch64", allow(dead_code, reason = "operands are not decoded there"))]
pub(super) enum Access {
    Load,
    Store,
    Both,
}

impl Tally {
    /// Code of an instruction.
    pub(super) fn code(&mut self, at: u64, bytes: u64) {
        self.code.extend(lines(at, bytes));
    }

    /// `times` accesses that together touch the bytes from `at` on.
    #[cfg_attr(target_arch = "aarch64", allow(dead_code, reason = "operands are not decoded there"))]
    pub(super) fn data(&mut self, at: u64, bytes: u64, times: u64, access: Access) {
        if access != Access::Store {
            self.loads += times;
        }
        if access != Access::Load {
            self.stores += times;
        }
        self.data.extend(lines(at, bytes));
    }

    /// The counts without those of the bracket around the region.
    pub(super) fn less(&self, bracket: &Self) -> Steps {
        let decoded = |count: u64, bracket: u64| machine::OPERANDS.then(|| count.saturating_sub(bracket));
        Steps {
            instructions: self.instructions.saturating_sub(bracket.instructions),
            kernel_entries: self.kernel_entries,
            loads: decoded(self.loads, bracket.loads),
            stores: decoded(self.stores, bracket.stores),
            code_lines: self.code.len().saturating_sub(bracket.code.len()) as u64,
            data_lines: decoded(self.data.len() as u64, bracket.data.len() as u64),
            unresolved: self.unresolved,
            signals: self.signals,
        }
    }
}

/// The lines that hold the bytes from `at` on, by number.
fn lines(at: u64, bytes: u64) -> impl Iterator<Item = u64> {
    let last = at.saturating_add(bytes.max(1) - 1);
    at / LINE..=last / LINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_line_once() {
        let mut tally = Tally::default();
        tally.code(60, 4);
        tally.code(62, 4);
        tally.data(0, 64, 1, Access::Load);
        tally.data(63, 2, 1, Access::Store);
        tally.data(u64::MAX, 8, 1, Access::Both);
        let steps = tally.less(&Tally::default());
        assert_eq!(steps.code_lines, 2);
        if machine::OPERANDS {
            assert_eq!((steps.loads, steps.stores, steps.data_lines), (Some(2), Some(2), Some(3)));
        }
    }
}
