//! The programs of `Fork`: a leader, its workers, and the benches where workers without a part wait.

use super::code::{Bell, Code, Ends, Left, Mistake, Op, Variant};
use super::machine::{Machine, Word};
use super::memory::Memory;

/// What the leader does.
#[derive(Debug, Clone, Copy)]
pub enum Deed {
    /// Begins with a team of this size that has been called.
    Have(usize),
    /// Calls the workers of a team of this size.
    Call(usize),
    /// Makes them run the body of this number.
    Run(u8),
    /// Sends them to their benches.
    Part,
    Dismiss,
}

/// The order to go to the benches, and the call to leave for good.
const PART: u8 = 100;
const DISMISSED: u8 = 200;
const SIZE: u8 = 4;

struct Fork {
    go: Word,
    order: Word,
    go_bell: Bell,
    only_done: Word,
    /// For each rank, of which the leader's is not used.
    done: Vec<Word>,
    done_bell: Bell,
    benches: Vec<Bench>,
    outputs: Vec<Word>,
}

#[derive(Clone, Copy)]
struct Bench {
    flag: Word,
    bell: Bell,
    call: Word,
}

/// A leader that follows a plan, and so many workers.
pub fn follow(plan: &[Deed], workers: usize, variant: Variant) -> Machine {
    let mut memory = Memory::default();
    let ranks = 0..=workers;
    let fork = Fork {
        go: memory.word(0),
        order: memory.word(0),
        go_bell: memory.bell(),
        only_done: memory.word(0),
        done: memory.words(workers + 1),
        done_bell: memory.bell(),
        benches: ranks.clone().map(|_| memory.bench()).collect(),
        outputs: memory.words(workers + 1),
    };
    let thread = |rank| {
        let mut code = Code::new(variant);
        if rank == 0 {
            fork.lead(&mut code, plan)
        } else {
            fork.work(&mut code, plan, rank)
        }
        code
    };
    Machine { threads: ranks.map(thread).collect(), memory: memory.0, spurious: variant.spurious }
}

impl Memory {
    fn bench(&mut self) -> Bench {
        Bench { flag: self.word(0), bell: self.bell(), call: self.word(0) }
    }
}

/// What the leader calls a worker with.
fn call_word(number: u8, size: usize) -> u8 {
    number + size as u8 * SIZE
}

impl Fork {
    fn done(&self, rank: usize, size: usize) -> Word {
        if size == 2 { self.only_done } else { self.done[rank] }
    }

    /// The workers' flags from this rank on.
    fn all_done(&self, from: usize, size: usize, previous: u8) -> Vec<Left> {
        (from..size).map(|rank| Left { word: self.done(rank, size), previous }).collect()
    }

    fn lead(&self, code: &mut Code, plan: &[Deed]) {
        let (mut number, mut size) = (0, 1);
        let mut calls = vec![0; self.benches.len()];
        let mut to_bench = |code: &mut Code, rank: usize, call: u8| {
            let bench = self.benches[rank];
            code.push("Fork::to_bench", Op::Store(bench.call, call));
            calls[rank] = (calls[rank] + 1) % 3;
            code.raise(bench.flag, calls[rank], bench.bell);
        };
        for &deed in plan {
            match deed {
                Deed::Have(had) => size = had,
                Deed::Call(new) => {
                    size = new;
                    for rank in 1..size {
                        if !code.variant.errs(Mistake::WorkerResetsDone) {
                            code.push("Fork::call", Op::Store(self.done(rank, size), number));
                        }
                        to_bench(code, rank, call_word(number, size));
                    }
                }
                Deed::Run(_) | Deed::Part => {
                    let order = if let Deed::Run(run) = deed { run } else { PART };
                    code.push("Fork::start", Op::Store(self.order, order));
                    let previous = number;
                    number = (number + 1) % 3;
                    code.raise(self.go, number, self.go_bell);
                    code.until_all(&self.all_done(1, size, previous), self.done_bell, Ends::default());
                    if let Deed::Run(run) = deed {
                        let outputs = self.outputs[1..size].iter().map(|&output| (output, run..=run));
                        code.push("the caller", Op::Check(outputs.collect()));
                    }
                }
                Deed::Dismiss => (1..self.benches.len()).for_each(|rank| to_bench(code, rank, DISMISSED)),
            }
        }
    }

    fn work(&self, code: &mut Code, plan: &[Deed], rank: usize) {
        let (mut number, mut heard, mut size) = (0, 0, 1);
        for &deed in plan {
            match deed {
                Deed::Have(had) => size = had,
                Deed::Call(new) => {
                    size = new;
                    if rank < size {
                        self.sit(code, rank, &mut heard, call_word(number, size));
                        if code.variant.errs(Mistake::WorkerResetsDone) {
                            code.push("Fork::sit", Op::Store(self.done(rank, size), number));
                        }
                    }
                }
                Deed::Run(_) | Deed::Part => {
                    let previous = number;
                    number = (number + 1) % 3;
                    if rank >= size {
                        continue;
                    }
                    code.until(self.go, previous, self.go_bell, Ends::default());
                    let order = if let Deed::Run(run) = deed { run } else { PART };
                    code.push("Fork::await_start", Op::Check(vec![(self.order, order..=order)]));
                    if let Deed::Run(run) = deed {
                        code.push("worker::run", Op::Store(self.outputs[rank], run));
                    }
                    let all = self.all_done(1, size, previous);
                    code.raise_if(self.done(rank, size), number, self.done_bell, &all);
                }
                Deed::Dismiss => self.sit(code, rank, &mut heard, DISMISSED),
            }
        }
    }

    /// Waits for the call after those it has heard.
    fn sit(&self, code: &mut Code, rank: usize, heard: &mut u8, call: u8) {
        let bench = self.benches[rank];
        code.until(bench.flag, *heard, bench.bell, Ends::default());
        *heard = (*heard + 1) % 3;
        code.push("Fork::sit", Op::Check(vec![(bench.call, call..=call)]));
    }
}
