//! Loops along the way. A long one is left early, so that what follows it is reached.

use super::effects::Written;
use super::registers::Registers;

/// Backward branches that are remembered.
const MOST: usize = 4;

/// A backward branch, and what was known when it was last taken.
#[derive(Clone, Copy)]
struct Turn {
    branch: u64,
    registers: Registers,
    /// How many writes and operands there had been.
    writes: usize,
    operands: usize,
}

/// The backward branches that were taken.
#[derive(Default)]
pub struct Loops {
    turns: [Option<Turn>; MOST],
    next: usize,
}

impl Loops {
    /// Whether to leave the loop that ends with this branch: if its last turn named no operand, or half of the way is
    /// behind. What its turns change is not known then.
    pub fn leave(
        &mut self,
        branch: u64,
        operands: usize,
        is_late: bool,
        registers: &mut Registers,
        written: &mut Written,
    ) -> bool {
        let known = self.turns.iter_mut().flatten().find(|turn| turn.branch == branch);
        let now = Turn { branch, registers: *registers, writes: written.count(), operands };
        match known {
            Some(before) if before.operands == operands || is_late => {
                registers.keep_same(&before.registers);
                written.forget_since(before.writes);
                true
            }
            Some(before) => {
                *before = now;
                false
            }
            None => {
                self.turns[self.next % MOST] = Some(now);
                self.next += 1;
                false
            }
        }
    }
}
