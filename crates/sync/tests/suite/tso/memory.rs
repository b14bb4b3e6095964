//! Where a model's words lie.

use super::code::Bell;
use super::machine::Word;

/// What each word holds at first.
#[derive(Default)]
pub struct Memory(pub Vec<u8>);

impl Memory {
    pub fn word(&mut self, initial: u8) -> Word {
        self.0.push(initial);
        self.0.len() as Word - 1
    }

    /// Words that hold 0 at first.
    pub fn words(&mut self, count: usize) -> Vec<Word> {
        (0..count).map(|_| self.word(0)).collect()
    }

    pub fn bell(&mut self) -> Bell {
        Bell { sleeps: self.word(0), rings: self.word(0) }
    }
}
