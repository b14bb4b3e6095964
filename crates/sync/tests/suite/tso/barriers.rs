//! The barriers' programs: FBS with separate flags, and central with an atomic counter.

use std::fmt;

use super::code::{Bell, Code, Ends, Label, Left, Mistake, Op, Variant};
use super::machine::{Machine, Word};
use super::memory::Memory;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Fbs,
    Central,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fbs => "FBS",
            Self::Central => "central",
        })
    }
}

/// What may happen besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    None,
    /// These first ranks wait with a limit, and if it is over once more without one.
    Timeouts(usize),
    /// The last rank panics in place of arriving at the last episode.
    Poison,
}

struct Barrier {
    algorithm: Algorithm,
    flags: Vec<Word>,
    missing: Word,
    generation: Word,
    bell: Bell,
    spread: Word,
    /// For each rank the last episode that it came to. What is not read by the barrier need not wait in a buffer: it would
    /// come to memory before the flag.
    came: Vec<Word>,
}

/// Threads that meet for some episodes.
pub fn meet(algorithm: Algorithm, threads: usize, episodes: u8, event: Event, variant: Variant) -> Machine {
    let mut memory = Memory::default();
    // What an algorithm does not use is not there, but for the spread of poison.
    let of_ranks = if algorithm == Algorithm::Fbs { threads } else { 0 };
    let barrier = Barrier {
        algorithm,
        flags: memory.words(of_ranks),
        missing: memory.word(threads as u8),
        generation: memory.word(0),
        bell: memory.bell(),
        spread: memory.word(0),
        came: memory.words(threads),
    };
    let threads = (0..threads).map(|rank| barrier.thread(rank, episodes, event, variant)).collect();
    Machine { memory: memory.0, threads, spurious: variant.spurious }
}

impl Barrier {
    fn thread(&self, rank: usize, episodes: u8, event: Event, variant: Variant) -> Code {
        let mut code = Code::new(variant);
        let (interrupted, end) = (code.label(), code.label());
        let interrupt = (event == Event::Poison).then_some((self.spread, interrupted));
        for episode in 1..=episodes {
            if event == Event::Poison && episode == episodes && rank + 1 == self.came.len() {
                self.poison(&mut code);
                code.push("Team::run", Op::Goto(end));
                break;
            }
            code.push("the caller", Op::Note(self.came[rank], episode));
            let (timed_out, left) = (code.label(), code.label());
            let limited = matches!(event, Event::Timeouts(ranks) if rank < ranks);
            let ends = Ends { interrupt, timed_out: limited.then_some(timed_out) };
            self.arrive(&mut code, rank, episode, false, ends);
            if limited {
                code.push("the caller", Op::Goto(left));
                code.bind(timed_out);
                self.arrive(&mut code, rank, episode, true, Ends { interrupt, timed_out: None });
            } else {
                code.bind(timed_out);
            }
            code.bind(left);
            let seen = self.came.iter().map(|&word| (word, episode..=episode + 1));
            code.push("the caller", Op::Check(seen.collect()));
        }
        code.push("Team::run", Op::Goto(end));
        code.bind(interrupted);
        if interrupt.is_some() {
            // The unwinding of an interrupted member poisons once more.
            self.poison(&mut code);
        }
        code.bind(end);
        code
    }

    /// `Barrier::arrive`; `again` if the rank has arrived at this episode before.
    fn arrive(&self, code: &mut Code, rank: usize, episode: u8, again: bool, ends: Ends) {
        let numbers = if code.variant.errs(Mistake::TwoNumbers) { 2 } else { 3 };
        let (previous, number) = ((episode - 1) % numbers, episode % numbers);
        let end = code.label();
        match self.algorithm {
            Algorithm::Fbs => {
                let others = (rank + 1..self.flags.len()).chain(0..rank);
                let others: Vec<_> = others.map(|other| Left { word: self.flags[other], previous }).collect();
                code.raise_if(self.flags[rank], number, self.bell, &others);
                code.until_all(&others, self.bell, ends);
            }
            Algorithm::Central => {
                if !again || code.variant.errs(Mistake::CountAgain) {
                    self.count(code, number, end);
                }
                code.until(self.generation, previous, self.bell, ends);
            }
        }
        code.bind(end);
    }

    /// `Counter::count` of `Atomic`, and what `Central::wait` does as the last.
    fn count(&self, code: &mut Code, number: u8, end: Label) {
        let wait = code.label();
        code.push("Atomic::count", Op::CountDown { word: self.missing, unless_last: wait });
        code.push("Atomic::count", Op::Store(self.missing, self.came.len() as u8));
        code.raise(self.generation, number, self.bell);
        code.push("Central::wait", Op::Goto(end));
        code.bind(wait);
    }

    /// `State::poison`, of which only the barrier's part matters here.
    fn poison(&self, code: &mut Code) {
        let late = code.variant.errs(Mistake::InterruptAfterWake);
        if !late {
            code.push("Poison::keep", Op::Store(self.spread, 1));
        }
        code.wake(self.bell);
        if late {
            code.push("Poison::keep", Op::Store(self.spread, 1));
        }
    }
}
