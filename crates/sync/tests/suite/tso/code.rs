//! A thread's program, operation by operation, and the parts that all waits share: each function here corresponds to
//! the one of the same name in `src/wait`. Loops over episodes are unrolled, so that numbers are constants.

use std::ops::RangeInclusive;

use super::machine::Word;

/// A place in the code, bound later.
pub type Label = usize;

/// A word that no longer holds what it held: what waits wait for.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    pub word: Word,
    pub previous: u8,
}

impl Left {
    pub fn holds(self, value: u8) -> bool {
        value != self.previous
    }
}

/// What ends a wait besides its flag, and where the thread then goes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ends {
    pub interrupt: Option<(Word, Label)>,
    /// There is a time limit.
    pub timed_out: Option<Label>,
}

/// Why the kernel ends a sleep in time.
#[derive(Debug, Clone, Copy)]
pub struct Limited {
    pub by_caller: bool,
    /// By `UNFENCED`, since the kernel did not fence the others.
    pub unfenced: bool,
}

#[derive(Debug, Clone)]
pub enum Op {
    Store(Word, u8),
    /// Read-modify-write.
    Add(Word, i8),
    /// The same, and a branch on what it leaves behind.
    CountDown {
        word: Word,
        unless_last: Label,
    },
    /// Read-modify-write, and a branch if the word held 0.
    Exchange {
        word: Word,
        value: u8,
        if_zero: Option<Label>,
    },
    /// Into the register that a sleep compares with.
    Read(Word),
    Look {
        done: Left,
        then: Label,
    },
    /// Spins until it is done; a thread that `sleeps` may stop after any look in vain, and goes on with the next
    /// operation.
    Spin {
        done: Left,
        then: Label,
        sleeps: bool,
        ends: Ends,
    },
    Clock(Ends),
    Fence,
    /// `membarrier`.
    FenceEverybody,
    /// Futex wait; `until` is what its thread waits for, some flags or an interrupt.
    Sleep {
        word: Word,
        limited: Limited,
        until: (Vec<Left>, Option<Word>),
    },
    /// Futex wake of all.
    Wake(Word),
    Goto(Label),
    /// A note for the checks alone, seen at once.
    Note(Word, u8),
    /// What must be seen here.
    Check(Vec<(Word, RangeInclusive<u8>)>),
}

/// How the two sides of a bell order themselves, by what the bell is for and what the kernel can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fences {
    /// Full ones on both sides.
    Full,
    /// The compiler's on the ringer's side, `membarrier` on the sleeper's.
    Asymmetric,
    /// The same, but the kernel has come to refuse `membarrier`: a sleep lasts a millisecond at most.
    Refused,
    /// The ringer alone: enough on x86, where the sleeper's read-modify-write is a fence.
    RingerAlone,
    /// Mistake: the sleeper alone, and itself alone.
    SleeperAlone,
    /// Mistake: nobody.
    None,
}

/// A mistake planted in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// The ringer looks for sleepers before it takes its step.
    LookBeforeStore,
    /// The sleeper reads the word to sleep on after its last look at the flag.
    SeenAfterDone,
    /// The sleeper reads that word after it has put itself down: whoever woke others meanwhile has taken that away.
    SeenAfterRegistered,
    /// The sleeper does not put itself down.
    Unregistered,
    /// The ringer wakes without changing the word.
    NoAdvance,
    /// A sleep has no limit although the kernel did not fence the others.
    Unbounded,
    /// A thread that timed out at a central barrier is counted again when it comes back.
    CountAgain,
    /// Numbers of episodes alternate.
    TwoNumbers,
    /// The thread that ends the others' waits wakes them before setting the interrupt.
    InterruptAfterWake,
    /// Of several who take the last steps, each looks whether all are taken without a fence behind its own.
    UnfencedLast,
    /// A worker that is called sets its done flag to the number before its first start. It may come to that late, and a
    /// flag from an earlier part in the team then tells the leader that the worker is done.
    WorkerResetsDone,
}

/// How long threads spin before they sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    Endless,
    /// Any time.
    Any,
}

#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub fences: Fences,
    pub patience: Patience,
    /// How often a sleeper wakes for no reason.
    pub spurious: u8,
    pub mistake: Option<Mistake>,
}

impl Variant {
    pub fn errs(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Bell {
    pub sleeps: Word,
    pub rings: Word,
}

/// One thread's program.
pub struct Code {
    ops: Vec<(Op, &'static str)>,
    labels: Vec<u16>,
    pub variant: Variant,
}

impl Code {
    pub fn new(variant: Variant) -> Self {
        Self { ops: Vec::new(), labels: Vec::new(), variant }
    }

    pub fn op(&self, at: u16) -> Option<&Op> {
        self.ops.get(usize::from(at)).map(|(op, _)| op)
    }

    pub fn function(&self, at: u16) -> &'static str {
        self.ops[usize::from(at)].1
    }

    pub fn place(&self, label: Label) -> u16 {
        self.labels[label]
    }

    pub fn sleeps(&self) -> bool {
        self.ops.iter().any(|(op, _)| matches!(op, Op::Sleep { .. }))
    }

    pub fn push(&mut self, function: &'static str, op: Op) {
        self.ops.push((op, function));
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(u16::MAX);
        self.labels.len() - 1
    }

    /// Makes the next operation the label's place.
    pub fn bind(&mut self, label: Label) {
        self.labels[label] = self.ops.len() as u16;
    }

    fn look(&mut self, function: &'static str, word: Word, previous: u8, then: Label) {
        self.push(function, Op::Look { done: Left { word, previous }, then });
    }

    /// `Flag::raise` and `Bell::ring`, as every step that others may sleep for is taken.
    pub fn raise(&mut self, flag: Word, number: u8, bell: Bell) {
        self.raise_if(flag, number, bell, &[]);
    }

    /// The same with `Bell::is_awaited` and `Bell::wake_if`, for sleepers who need the `others`, too.
    pub fn raise_if(&mut self, flag: Word, number: u8, bell: Bell, others: &[Left]) {
        if self.variant.errs(Mistake::LookBeforeStore) {
            let (wake, end) = (self.label(), self.label());
            self.look("Bell::ring", bell.sleeps, 0, wake);
            self.push("Flag::raise", Op::Store(flag, number));
            self.push("Bell::ring", Op::Goto(end));
            self.bind(wake);
            self.push("Flag::raise", Op::Store(flag, number));
            self.wake_if(bell, others);
            self.bind(end);
        } else {
            self.push("Flag::raise", Op::Store(flag, number));
            self.ring(bell, others);
        }
    }

    /// `Bell::wake_if`; without others, `Bell::wake_sleepers`.
    fn wake_if(&mut self, bell: Bell, others: &[Left]) {
        let end = self.label();
        if !others.is_empty() && !self.variant.errs(Mistake::UnfencedLast) {
            self.push("Bell::wake_if", Op::Fence);
        }
        self.unless_all("Bell::wake_if", others, end);
        let taken = Op::Exchange { word: bell.sleeps, value: 0, if_zero: Some(end) };
        self.push("Bell::wake_sleepers", taken);
        self.wake(bell);
        self.bind(end);
    }

    /// Goes to `otherwise` unless all are done, as looks at one after the other tell.
    fn unless_all(&mut self, function: &'static str, all: &[Left], otherwise: Label) {
        for left in all {
            let next = self.label();
            self.look(function, left.word, left.previous, next);
            self.push(function, Op::Goto(otherwise));
            self.bind(next);
        }
    }

    fn ring(&mut self, bell: Bell, others: &[Left]) {
        let (wake, end) = (self.label(), self.label());
        if matches!(self.variant.fences, Fences::Full | Fences::RingerAlone) {
            self.push("light_fence", Op::Fence);
        }
        self.look("Bell::ring", bell.sleeps, 0, wake);
        self.push("Bell::ring", Op::Goto(end));
        self.bind(wake);
        self.wake_if(bell, others);
        self.bind(end);
    }

    pub fn wake(&mut self, bell: Bell) {
        if !self.variant.errs(Mistake::NoAdvance) {
            self.push("Futex::advance", Op::Add(bell.rings, 1));
        }
        self.push("Futex::wake_all", Op::Wake(bell.rings));
    }

    /// `Waiter::until` and the way through `Waiter::keep_on`.
    pub fn until(&mut self, word: Word, previous: u8, bell: Bell, ends: Ends) {
        self.until_all(&[Left { word, previous }], bell, ends);
    }

    /// The same for several flags, looked at in this order: `Waiter::sees` and `Waiter::keep_on`.
    pub fn until_all(&mut self, all: &[Left], bell: Bell, ends: Ends) {
        let (left, again) = (self.label(), self.label());
        let sleeps = self.variant.patience == Patience::Any;
        for &done in all {
            let then = self.label();
            self.push("Waiter::spin", Op::Spin { done, then, sleeps, ends });
            if sleeps {
                // The look before the first sleep is the last one of spinning.
                self.push("Waiter::keep_on", Op::Goto(again));
            }
            self.bind(then);
        }
        if sleeps {
            self.push("Waiter::sees", Op::Goto(left));
            self.bind(again);
            self.push("Wait::look_at_clock", Op::Clock(ends));
            self.sleep(all, bell, ends);
            self.unless_all("Waiter::keep_on", all, again);
        } else {
            self.bind(again);
        }
        self.bind(left);
    }

    fn sleep(&mut self, all: &[Left], bell: Bell, ends: Ends) {
        let (awake, interrupt) = (self.label(), ends.interrupt.map(|(word, _)| word));
        let registers = !self.variant.errs(Mistake::Unregistered);
        let late = self.variant.errs(Mistake::SeenAfterDone);
        let after = self.variant.errs(Mistake::SeenAfterRegistered);
        if !late && !after {
            self.push("Futex::load", Op::Read(bell.rings));
        }
        if registers {
            self.push("Bell::sleep", Op::Exchange { word: bell.sleeps, value: 1, if_zero: None });
        }
        if after {
            self.push("Futex::load", Op::Read(bell.rings));
        }
        match self.variant.fences {
            Fences::Asymmetric => {
                self.push("heavy_fence", Op::Fence);
                self.push("heavy_fence", Op::FenceEverybody);
            }
            Fences::Full | Fences::Refused | Fences::SleeperAlone => self.push("heavy_fence", Op::Fence),
            Fences::RingerAlone | Fences::None => {}
        }
        let vain = self.label();
        self.unless_all("Bell::sleep", all, vain);
        self.push("Bell::sleep", Op::Goto(awake));
        self.bind(vain);
        if let Some(interrupt) = interrupt {
            self.look("Bell::sleep", interrupt, 0, awake);
        }
        if late {
            self.push("Futex::load", Op::Read(bell.rings));
        }
        let unfenced = self.variant.fences == Fences::Refused && !self.variant.errs(Mistake::Unbounded);
        let limited = Limited { by_caller: ends.timed_out.is_some(), unfenced };
        self.push("Futex::wait", Op::Sleep { word: bell.rings, limited, until: (all.to_vec(), interrupt) });
        self.bind(awake);
    }
}
