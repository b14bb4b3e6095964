//! An event simulation of cache lines.
//!
//! A line has an owner, which wrote it last, and copies, which the next write invalidates. Requests for a line are
//! served in the order in which they arrive:
//! - a *read* without a copy starts when the line is free, arrives one message later, and keeps the line and the
//!   reader busy for an extra line's gap: readers of one line, and lines of one reader, follow each other at that
//!   gap;
//! - a *write* by a CPU that holds a copy takes effect at once, as invalidating the copies is part of the readers'
//!   message time; a CPU's writes to several such lines follow each other at the gap;
//! - a write by a CPU without a copy brings the line over, which keeps it busy for the whole transfer;
//! - where only the writer has read the line since it was last written, or the writer brought it over, no copy is
//!   left to invalidate. Reading it then takes a transfer, if that is less than a message. So a line that goes back
//!   and forth between two CPUs, which read and write it in turn, costs as much as an atomic operation on it.
//!
//! CPUs that wait for a word hold a copy and ask again when it is invalidated. What a CPU does on lines that it holds
//! takes no time, and is done before anybody else gets the line. So a CPU that reads a flag next to its own may
//! already have raised its next one when the line goes back.

use std::collections::BTreeMap;

use coho_profile::Ns;

use super::Machine;
use super::program::{Line, Program, Step, Word};

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// When each thread finished its last episode.
    pub finished: Vec<Ns>,
    /// Events served.
    pub events: u64,
}

/// Runs a program for some episodes, with all threads starting at 0. `team` holds the CPU index of each rank. `None`
/// if it has not ended by `until`.
pub(super) fn run(
    machine: &Machine,
    team: &[usize],
    program: &Program,
    episodes: u32,
    until: Ns,
) -> Option<Outcome> {
    let mut simulation = Simulation::new(machine, team, program, episodes);
    while let Some((at, threads)) = simulation.events.pop_first() {
        let now = Ns(f64::from_bits(at));
        if now > until {
            return None;
        }
        for thread in threads {
            simulation.serve(thread as usize, now);
        }
    }
    let waiting = simulation.threads.iter().filter(|thread| thread.episode <= episodes).count();
    assert_eq!(waiting, 0, "threads wait for words that nobody writes");
    Some(Outcome {
        finished: simulation.threads.iter().map(|thread| thread.issue).collect(),
        events: simulation.served,
    })
}

#[derive(Default)]
struct Thread {
    /// Counts from 1.
    episode: u32,
    step: usize,
    /// How many words of the current wait have been seen.
    seen: usize,
    /// When the thread may ask for its next line.
    issue: Ns,
    /// When the last of the words seen arrived.
    arrived: Ns,
    /// When its next write to a line that others hold may take effect.
    write: Ns,
    /// Whether its arrival was the last of the episode.
    last: bool,
}

struct LineState {
    owner: u32,
    /// The last reader, or the owner where nobody has read it since the last write.
    reader: u32,
    /// How often it was fetched since the last write.
    readers: u32,
    /// Whether the last write left no copies to invalidate.
    alone: bool,
    /// When the next request is served.
    free: Ns,
    waiting: Vec<u32>,
}

struct Simulation<'a> {
    machine: &'a Machine,
    team: &'a [usize],
    program: &'a Program,
    episodes: u32,
    /// What an atomic operation costs without a transfer.
    local: Ns,
    /// The threads that continue at each future time, in the order of asking. Times are positive, so their bits
    /// sort like them.
    events: BTreeMap<u64, Vec<u32>>,
    served: u64,
    /// Whether the served thread continues at once.
    goes_on: bool,
    /// The threads that must ask again for a line that the served step invalidated.
    woken: Vec<u32>,
    threads: Vec<Thread>,
    lines: Vec<LineState>,
    values: Vec<u64>,
    copies: Copies,
}

impl<'a> Simulation<'a> {
    fn new(machine: &'a Machine, team: &'a [usize], program: &'a Program, episodes: u32) -> Self {
        let thread = || Thread { episode: 1, ..Thread::default() };
        let line = |&owner: &u32| LineState {
            owner,
            reader: owner,
            readers: 0,
            alone: false,
            free: Ns::ZERO,
            waiting: Vec::new(),
        };
        let mut simulation = Self {
            machine,
            team,
            program,
            episodes,
            local: machine.local.time.max(Ns::ZERO),
            events: BTreeMap::new(),
            served: 0,
            goes_on: false,
            woken: Vec::new(),
            threads: team.iter().map(|_| thread()).collect(),
            lines: program.owners.iter().map(line).collect(),
            values: vec![0; program.line_of.len()],
            copies: Copies::everywhere(program.owners.len(), team.len()),
        };
        (0..team.len()).for_each(|thread| simulation.note(thread, Ns::ZERO));
        simulation
    }

    fn note(&mut self, thread: usize, at: Ns) {
        self.events.entry(at.0.to_bits()).or_default().push(thread as u32);
    }

    /// Serves a thread until a step takes time.
    fn serve(&mut self, thread: usize, now: Ns) {
        self.goes_on = true;
        while std::mem::take(&mut self.goes_on) {
            self.served += 1;
            self.step(thread, now);
        }
    }

    fn step(&mut self, thread: usize, now: Ns) {
        let program = self.program;
        let episode = u64::from(self.threads[thread].episode);
        match &program.steps[thread][self.threads[thread].step] {
            &Step::Store(word) => self.store(thread, now, word, episode),
            Step::Wait(ring) => self.wait(thread, now, ring.from, ring.count, &ring.words, episode),
            &Step::Arrive { counter, of } => {
                let done = self.own(program.line(counter), thread, now, self.local);
                self.values[counter as usize] += 1;
                self.threads[thread].last = self.values[counter as usize] == episode * u64::from(of);
                self.next(thread, now, done);
            }
            &Step::StoreIfLast(word) if self.threads[thread].last => self.store(thread, now, word, episode),
            Step::StoreIfLast(_) => self.next(thread, now, now),
            &Step::Lock(word) => self.lock(thread, now, word),
            &Step::Unlock(word) => self.store(thread, now, word, 0),
            Step::Serial => {
                let begins = (episode - 1) % u64::from(program.episodes_per_region.max(1)) == 0;
                self.next(thread, now, if begins { now + program.serial } else { now });
            }
        }
    }

    /// Continues with the next step, or the next episode's first, before the threads that this one woke.
    fn next(&mut self, thread: usize, now: Ns, at: Ns) {
        let steps = self.program.steps[thread].len();
        let state = &mut self.threads[thread];
        (state.step, state.seen, state.issue, state.arrived) = (state.step + 1, 0, at, at);
        if state.step == steps {
            (state.step, state.episode) = (0, state.episode + 1);
        }
        if state.episode <= self.episodes {
            match at > now {
                true => self.note(thread, at),
                false => self.goes_on = true,
            }
        }
        for woken in std::mem::take(&mut self.woken) {
            let issue = self.threads[woken as usize].issue;
            self.note(woken as usize, at.max(issue));
        }
    }

    fn store(&mut self, thread: usize, now: Ns, word: Word, value: u64) {
        let done = self.own(self.program.line(word), thread, now, Ns::ZERO);
        self.values[word as usize] = value;
        self.next(thread, now, done);
    }

    /// Waits for words, in order, until each holds the episode's number or a later one.
    fn wait(&mut self, thread: usize, now: Ns, from: usize, count: usize, words: &[Word], episode: u64) {
        while self.threads[thread].seen < count {
            let word = words[(from + self.threads[thread].seen) % words.len()];
            let line = self.program.line(word);
            let fetched = self.fetch(line, thread, now);
            if self.values[word as usize] < episode {
                self.lines[line as usize].waiting.push(thread as u32);
                return;
            }
            self.threads[thread].seen += 1;
            if fetched && self.threads[thread].seen < count {
                return self.note(thread, self.threads[thread].issue);
            }
        }
        self.next(thread, now, now.max(self.threads[thread].arrived));
    }

    /// Takes a free lock, or watches it with loads; a thread that loses a race for it does not take the line.
    fn lock(&mut self, thread: usize, now: Ns, word: Word) {
        let line = self.program.line(word);
        if self.values[word as usize] == 0 {
            let done = self.own(line, thread, now, self.local);
            self.values[word as usize] = 1;
            return self.next(thread, now, done);
        }
        self.fetch(line, thread, now);
        self.lines[line as usize].waiting.push(thread as u32);
    }

    /// Reads a line; returns whether it had to be fetched.
    fn fetch(&mut self, line: Line, thread: usize, now: Ns) -> bool {
        if self.copies.holds(line, thread) {
            return false;
        }
        let state = &mut self.lines[line as usize];
        let (from, to) = (self.team[state.owner as usize], self.team[thread]);
        let start = now.max(state.free);
        let message = match state.alone {
            true => self.machine.one_way(from, to),
            false => self.machine.message(from, to),
        };
        let next = start + self.machine.gap(message);
        (state.free, state.reader, state.readers) = (next, thread as u32, state.readers + 1);
        let reader = &mut self.threads[thread];
        reader.issue = next;
        reader.arrived = reader.arrived.max(start + message);
        self.copies.add(line, thread);
        true
    }

    /// Makes a thread the only holder of a line and wakes the threads that wait for it; returns when it holds it.
    /// A line that it held already takes `held`.
    fn own(&mut self, line: Line, thread: usize, now: Ns, held: Ns) -> Ns {
        let state = &mut self.lines[line as usize];
        let cpu = self.team[thread];
        let start = now.max(state.free);
        let holds = self.copies.holds(line, thread);
        let by_itself = state.readers == 0 && state.owner == thread as u32;
        let alone = !holds || state.readers == 1 && state.reader == thread as u32 || by_itself && state.alone;
        let done = if !holds {
            start + self.machine.transfer(self.team[state.owner as usize], cpu)
        } else if state.reader == thread as u32 {
            start + held
        } else {
            let writer = &mut self.threads[thread];
            let start = start.max(writer.write);
            let message = self.machine.message(cpu, self.team[state.reader as usize]);
            writer.write = start + self.machine.gap(message);
            start + held
        };
        (state.owner, state.reader, state.free) = (thread as u32, thread as u32, done);
        (state.readers, state.alone) = (0, alone);
        self.copies.keep_only(line, thread);
        self.woken = std::mem::take(&mut state.waiting);
        done
    }
}

/// Who holds a copy of which line.
struct Copies {
    words_per_line: usize,
    bits: Vec<u64>,
}

impl Copies {
    fn everywhere(lines: usize, threads: usize) -> Self {
        let words_per_line = threads.div_ceil(64);
        Self { words_per_line, bits: vec![u64::MAX; lines * words_per_line] }
    }

    fn at(&self, line: Line, thread: usize) -> (usize, u64) {
        (line as usize * self.words_per_line + thread / 64, 1 << (thread % 64))
    }

    fn holds(&self, line: Line, thread: usize) -> bool {
        let (at, bit) = self.at(line, thread);
        self.bits[at] & bit != 0
    }

    fn add(&mut self, line: Line, thread: usize) {
        let (at, bit) = self.at(line, thread);
        self.bits[at] |= bit;
    }

    fn keep_only(&mut self, line: Line, thread: usize) {
        let first = line as usize * self.words_per_line;
        self.bits[first..first + self.words_per_line].fill(0);
        self.add(line, thread);
    }
}
