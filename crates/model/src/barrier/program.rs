//! Barriers, forks and joins as steps of each thread on words.

use std::rc::Rc;

use coho_profile::Ns;

/// Bytes of a line (Nakamura et al.); each can be a flag.
const LINE_BYTES: usize = 128;

/// A line, by number.
pub(super) type Line = u32;
/// A word on one of the lines, by number. A flag holds the number of the last episode reached, a counter the number
/// of additions to it. All words only grow, except locks.
pub(super) type Word = u32;

/// Part of a ring of words, starting at one of them.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    pub words: Rc<[Word]>,
    pub from: usize,
    pub count: usize,
}

/// What a thread does next.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Writes the episode's number.
    Store(Word),
    /// Reads words one after the other and waits until each holds the episode's number or a later one.
    Wait(Ring),
    /// Adds one to a counter, which is full after `of` arrivals per episode.
    Arrive { counter: Word, of: u32 },
    /// Writes the episode's number if the thread's own arrival has filled the counter.
    StoreIfLast(Word),
    /// Takes a lock.
    Lock(Word),
    /// Releases it.
    Unlock(Word),
    /// Computes, before the first barrier of a region.
    Serial,
}

/// One episode of each thread, and where its words are.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub steps: Vec<Vec<Step>>,
    /// The line of each word.
    pub line_of: Vec<Line>,
    /// The first owner of each line, by rank.
    pub owners: Vec<u32>,
    /// What a [`Step::Serial`] takes.
    pub serial: Ns,
    /// Episodes per region: two barriers, or one run of a program that begins and ends it; 0 counts as 1.
    pub episodes_per_region: u32,
}

impl Program {
    pub(super) fn new(threads: usize) -> Self {
        Self { steps: vec![Vec::new(); threads], ..Self::default() }
    }

    pub(super) fn line(&self, word: Word) -> Line {
        self.line_of[word as usize]
    }

    /// The number of threads.
    pub(super) fn threads(&self) -> usize {
        self.steps.len()
    }

    /// Adds a word on a line of its own.
    pub(super) fn flag(&mut self, owner: usize) -> Word {
        self.owners.push(owner as u32);
        self.word_on(self.owners.len() as Line - 1)
    }

    /// Adds a word for each owner, each on a line of its own.
    pub(super) fn flags(&mut self, owners: impl IntoIterator<Item = usize>) -> Rc<[Word]> {
        owners.into_iter().map(|owner| self.flag(owner)).collect()
    }

    /// Adds `n` words, as many on a line as it has bytes.
    pub(super) fn packed(&mut self, n: usize) -> Rc<[Word]> {
        (0..n)
            .map(|at| {
                if at % LINE_BYTES == 0 {
                    self.owners.push(at as u32);
                }
                self.word_on(self.owners.len() as Line - 1)
            })
            .collect()
    }

    fn word_on(&mut self, line: Line) -> Word {
        self.line_of.push(line);
        self.line_of.len() as Word - 1
    }

    pub(super) fn then(&mut self, thread: usize, step: Step) {
        self.steps[thread].push(step);
    }

    /// Turns the program into one of regions of this many episodes, each preceded by a serial part of rank 0 that
    /// lasts until all others are waiting.
    pub(super) fn with_serial_part(mut self, episodes_per_region: u32, serial: Ns) -> Self {
        self.steps[0].insert(0, Step::Serial);
        (self.episodes_per_region, self.serial) = (episodes_per_region, serial);
        self
    }

    pub(super) fn store(&mut self, thread: usize, word: Word) {
        self.then(thread, Step::Store(word));
    }

    /// Waits for one word.
    pub(super) fn wait(&mut self, thread: usize, word: Word) {
        self.wait_all(thread, [word].into());
    }

    /// Waits for several words, in order.
    pub(super) fn wait_all(&mut self, thread: usize, words: Rc<[Word]>) {
        let count = words.len();
        if count > 0 {
            self.then(thread, Step::Wait(Ring { words, from: 0, count }));
        }
    }

    /// Waits for all words of a ring except the thread's own, beginning after it, so that no two threads read the
    /// same line at the same time.
    pub(super) fn wait_others(&mut self, thread: usize, words: &Rc<[Word]>, own: usize) {
        if words.len() > 1 {
            let ring = Ring { words: words.clone(), from: own + 1, count: words.len() - 1 };
            self.then(thread, Step::Wait(ring));
        }
    }
}
