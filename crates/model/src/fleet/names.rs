//! Texts that many machines share, each kept once.

use std::collections::HashMap;
use std::rc::Rc;

/// Numbers for texts.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_text: HashMap<Rc<str>, u32>,
    all: Vec<Rc<str>>,
}

impl Names {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.by_text.get(text) {
            return *number;
        }
        let (text, number) = (Rc::<str>::from(text), self.all.len() as u32);
        self.all.push(text.clone());
        self.by_text.insert(text, number);
        number
    }

    /// The text of a number.
    pub(super) fn text(&self, number: u32) -> &str {
        &self.all[number as usize]
    }
}
