//! A machine with total store order (x86): every state that threads can get into.
//!
//! A store goes into its thread's buffer and from there to memory, in order, at any later time; a load takes the newest
//! store of its own thread, or else memory. Read-modify-writes, fences and system calls wait until their own buffer is
//! empty. `membarrier` empties the other threads' buffers one after another, in any order, and everybody runs on in
//! between: an interrupt reaches each CPU at a time of its own.
//!
//! Two reductions keep the number of states small. A look in vain changes nothing, so a thread that spins takes its step
//! only once there is something to see; this loses nothing. A timeout of the kernel's that finds nothing done is a
//! wake-up for no reason, and the model allows only so many of these. No thread can then go round in circles, so that
//! all finish on every path unless one ends in a state in which nobody can go on.

use stateright::{Model, Property};

use super::code::{Code, Op};

/// A place in memory.
pub type Word = u8;

/// The properties that the model checks in each state.
pub const NOBODY_EARLY: &str = "nobody leaves before all have arrived";
pub const NOBODY_LOST: &str = "whoever has not finished can go on";
pub const ALL_FINISH: &str = "all threads finish";
pub const ALL_BUT_ONE_SLEEP: &str = "all threads but one sleep";

pub struct Machine {
    pub memory: Vec<u8>,
    pub threads: Vec<Code>,
    /// How often a sleeper wakes for no reason.
    pub spurious: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub memory: Vec<u8>,
    pub threads: Vec<Thread>,
    spurious: u8,
    /// A thread has seen what it must not see.
    wrong: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Thread {
    /// The next operation.
    at: u16,
    /// What it read from the word that it is about to sleep on.
    seen: u8,
    asleep: bool,
    /// Its time is up, and its clock does not go back.
    late: bool,
    /// The threads that its `membarrier` has not reached yet, a bit each.
    unreached: u8,
    /// Stores on their way to memory, the oldest first.
    buffer: Vec<(Word, u8)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Step(usize),
    /// A thread that spins goes to sleep.
    LosePatience(usize),
    /// A thread that looks at the clock finds its time up.
    TimeUp(usize),
    /// The oldest store in a thread's buffer becomes visible.
    Drain(usize),
    /// A thread's `membarrier` reaches another.
    Reach(usize, usize),
    /// A sleep ends by its time limit.
    EndSleep(usize),
    /// A sleep ends for no reason.
    WakeSpuriously(usize),
}

impl State {
    /// What a thread reads.
    fn load(&self, thread: usize, word: Word) -> u8 {
        let own = self.threads[thread].buffer.iter().rev().find(|store| store.0 == word);
        own.map_or(self.memory[usize::from(word)], |store| store.1)
    }

    fn drain(&mut self, thread: usize) {
        let (word, value) = self.threads[thread].buffer.remove(0);
        self.memory[usize::from(word)] = value;
    }
}

impl Machine {
    fn op(&self, state: &State, thread: usize) -> Option<&Op> {
        self.threads[thread].op(state.threads[thread].at)
    }

    fn is_set(&self, state: &State, thread: usize, interrupt: &Option<(Word, usize)>) -> bool {
        interrupt.is_some_and(|(word, _)| state.load(thread, word) != 0)
    }

    fn has_finished(&self, state: &State) -> bool {
        let ended =
            |thread: usize| self.op(state, thread).is_none() && state.threads[thread].buffer.is_empty();
        (0..self.threads.len()).all(ended)
    }

    /// What the thread may do next, but for draining its buffer.
    fn choices(&self, state: &State, thread: usize, actions: &mut Vec<Action>) {
        let Some(op) = self.op(state, thread) else { return };
        let me = &state.threads[thread];
        match op {
            Op::Sleep { until, limited, .. } if me.asleep => {
                let (done, interrupt) = until;
                let something = done.iter().all(|left| left.holds(state.load(thread, left.word)))
                    || interrupt.is_some_and(|word| state.load(thread, word) != 0);
                if limited.by_caller || limited.unfenced && something {
                    actions.push(Action::EndSleep(thread));
                }
                if state.spurious > 0 {
                    actions.push(Action::WakeSpuriously(thread));
                }
            }
            Op::Add(..)
            | Op::CountDown { .. }
            | Op::Exchange { .. }
            | Op::Fence
            | Op::Wake(_)
            | Op::Sleep { .. } => {
                if me.buffer.is_empty() {
                    actions.push(Action::Step(thread));
                }
            }
            Op::FenceEverybody => {
                let reached = |&other: &usize| me.unreached >> other & 1 != 0;
                if me.buffer.is_empty() {
                    let others = (0..self.threads.len()).filter(reached);
                    actions.extend(others.map(|other| Action::Reach(thread, other)));
                }
            }
            Op::Spin { done, then: _, sleeps, ends } => {
                if done.holds(state.load(thread, done.word)) || self.is_set(state, thread, &ends.interrupt) {
                    actions.push(Action::Step(thread));
                } else {
                    if *sleeps {
                        actions.push(Action::LosePatience(thread));
                    }
                    if ends.timed_out.is_some() {
                        actions.push(Action::TimeUp(thread));
                    }
                }
            }
            Op::Clock(ends) => {
                actions.push(Action::Step(thread));
                if ends.timed_out.is_some() && !me.late && !self.is_set(state, thread, &ends.interrupt) {
                    actions.push(Action::TimeUp(thread));
                }
            }
            Op::Store(..) | Op::Read(_) | Op::Look { .. } | Op::Check(_) | Op::Goto(_) | Op::Note(..) => {
                actions.push(Action::Step(thread));
            }
        }
    }

    /// Takes the thread's next operation.
    fn step(&self, state: &mut State, thread: usize) {
        let code = &self.threads[thread];
        let next = state.threads[thread].at + 1;
        let at = match self.op(state, thread).expect("only who has not finished steps") {
            Op::Store(word, value) => {
                state.threads[thread].buffer.push((*word, *value));
                next
            }
            Op::Add(word, summand) => {
                let word = &mut state.memory[usize::from(*word)];
                *word = word.wrapping_add_signed(*summand);
                next
            }
            Op::CountDown { word, unless_last } => {
                let word = &mut state.memory[usize::from(*word)];
                *word = word.wrapping_sub(1);
                if *word == 0 { next } else { code.place(*unless_last) }
            }
            Op::Exchange { word, value, if_zero } => {
                let held = std::mem::replace(&mut state.memory[usize::from(*word)], *value);
                if_zero.filter(|_| held == 0).map_or(next, |label| code.place(label))
            }
            Op::Read(word) => {
                state.threads[thread].seen = state.load(thread, *word);
                next
            }
            Op::Look { done, then } => {
                if done.holds(state.load(thread, done.word)) {
                    code.place(*then)
                } else {
                    next
                }
            }
            Op::Spin { done, then, ends, .. } => match ends.interrupt {
                _ if done.holds(state.load(thread, done.word)) => code.place(*then),
                Some((_, interrupted)) => code.place(interrupted),
                None => unreachable!("it steps when it sees something"),
            },
            Op::Clock(ends) => match (ends.interrupt, ends.timed_out) {
                (Some((_, interrupted)), _) if self.is_set(state, thread, &ends.interrupt) => {
                    code.place(interrupted)
                }
                (_, Some(timed_out)) if state.threads[thread].late => {
                    state.threads[thread].late = false;
                    code.place(timed_out)
                }
                _ => next,
            },
            Op::Sleep { word, .. } => {
                // The kernel compares and puts to sleep under a lock that wakers take as well.
                if state.memory[usize::from(*word)] == state.threads[thread].seen {
                    state.threads[thread].asleep = true;
                    return;
                }
                return self.wake(state, thread);
            }
            Op::Wake(word) => {
                for sleeper in 0..self.threads.len() {
                    let sleeps_here =
                        matches!(self.op(state, sleeper), Some(Op::Sleep { word: at, .. }) if at == word);
                    if sleeps_here && state.threads[sleeper].asleep {
                        self.wake(state, sleeper);
                    }
                }
                next
            }
            Op::Check(bounds) => {
                let within = |(word, bounds): &(Word, std::ops::RangeInclusive<u8>)| {
                    bounds.contains(&state.load(thread, *word))
                };
                state.wrong |= !bounds.iter().all(within);
                state.threads[thread].late = false;
                next
            }
            Op::Note(word, value) => {
                state.memory[usize::from(*word)] = *value;
                next
            }
            Op::Fence => next,
            Op::FenceEverybody | Op::Goto(_) => unreachable!("not taken as steps"),
        };
        self.go(state, thread, at);
    }

    /// A sleep, or one that did not begin, is over.
    fn wake(&self, state: &mut State, thread: usize) {
        let me = &mut state.threads[thread];
        (me.asleep, me.seen) = (false, 0);
        let next = me.at + 1;
        self.go(state, thread, next);
    }

    /// Goes to an operation, and through those that neither look at anything shared nor change it.
    fn go(&self, state: &mut State, thread: usize, mut at: u16) {
        let me = &mut state.threads[thread];
        loop {
            at = match self.threads[thread].op(at) {
                Some(Op::Goto(label)) => self.threads[thread].place(*label),
                Some(Op::Fence) if me.buffer.is_empty() => at + 1,
                Some(Op::Clock(ends)) if ends.interrupt.is_none() && ends.timed_out.is_none() => at + 1,
                Some(Op::FenceEverybody) => {
                    me.unreached = ((1 << self.threads.len()) - 1) & !(1 << thread);
                    break;
                }
                _ => break,
            };
        }
        me.at = at;
    }

    /// The model's steps, each with the function of the library that it stands for.
    pub fn describe(&self, state: &State, action: Action) -> String {
        let thread = match action {
            Action::Step(thread)
            | Action::LosePatience(thread)
            | Action::TimeUp(thread)
            | Action::Drain(thread)
            | Action::Reach(thread, _)
            | Action::EndSleep(thread)
            | Action::WakeSpuriously(thread) => thread,
        };
        match (action, self.op(state, thread)) {
            (Action::Drain(_), _) => format!("{action:?} {:?}", state.threads[thread].buffer[0]),
            (_, Some(op)) => {
                let of = self.threads[thread].function(state.threads[thread].at);
                format!("{action:?} in {of}: {op:?}")
            }
            (_, None) => format!("{action:?}"),
        }
    }
}

impl Model for Machine {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let threads = vec![Thread::default(); self.threads.len()];
        let mut state = State { memory: self.memory.clone(), threads, spurious: self.spurious, wrong: false };
        (0..self.threads.len()).for_each(|thread| self.go(&mut state, thread, 0));
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (thread, me) in state.threads.iter().enumerate() {
            self.choices(state, thread, actions);
            if !me.buffer.is_empty() {
                actions.push(Action::Drain(thread));
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Step(thread) => self.step(&mut state, thread),
            Action::LosePatience(thread) => {
                let next = state.threads[thread].at + 1;
                self.go(&mut state, thread, next);
            }
            Action::TimeUp(thread) => {
                let Some(Op::Spin { ends, .. } | Op::Clock(ends)) = self.op(&state, thread) else {
                    unreachable!("only these look at the clock")
                };
                let timed_out = ends.timed_out.expect("it has a limit");
                let at = self.threads[thread].place(timed_out);
                self.go(&mut state, thread, at);
            }
            Action::Drain(thread) => state.drain(thread),
            Action::Reach(thread, other) => {
                while !state.threads[other].buffer.is_empty() {
                    state.drain(other);
                }
                state.threads[thread].unreached &= !(1 << other);
                if state.threads[thread].unreached == 0 {
                    let next = state.threads[thread].at + 1;
                    self.go(&mut state, thread, next);
                }
            }
            Action::EndSleep(thread) => {
                let Some(Op::Sleep { limited, .. }) = self.op(&state, thread) else {
                    unreachable!("only who sleeps")
                };
                state.threads[thread].late = limited.by_caller;
                self.wake(&mut state, thread);
            }
            Action::WakeSpuriously(thread) => {
                state.spurious -= 1;
                self.wake(&mut state, thread);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let can_go_on = |machine: &Machine, state: &State| {
            let mut actions = Vec::new();
            machine.actions(state, &mut actions);
            actions.iter().any(|action| !matches!(action, Action::WakeSpuriously(_)))
                || machine.has_finished(state)
        };
        let mut properties = vec![
            Property::always(NOBODY_EARLY, |_, state: &State| !state.wrong),
            Property::always(NOBODY_LOST, can_go_on),
            Property::sometimes(ALL_FINISH, |machine: &Machine, state| machine.has_finished(state)),
        ];
        if self.threads.iter().any(Code::sleeps) {
            properties.push(Property::sometimes(ALL_BUT_ONE_SLEEP, |_, state: &State| {
                state.threads.iter().filter(|thread| !thread.asleep).count() == 1
            }));
        }
        properties
    }
}
