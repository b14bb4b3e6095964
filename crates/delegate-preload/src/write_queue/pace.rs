//! Whether writing later pays for a program that waits for its writes anyway.
//!
//! A program that writes faster than the host, or that reads after each write, waits for the host. That may take less
//! time than writing itself, or more. So once most writes are waited for, blocks of writes in both ways take
//! turns, and the program goes on in the quicker one. It compares again later, and each time later if nothing has changed.
//! While nobody waits, this costs nothing.
//!
//! Writing at home also ends the host: in a process with a second thread, the kernel takes more time for every call on a
//! file, delegated or not.

/// So many waits within at most twice as many writes begin a comparison.
const WAITS: u64 = 32;
/// Writes in a block, and those at its beginning that do not count: a host starts and warms its caches, or ends.
const BLOCK: u32 = 384;
const UNCOUNTED: u32 = 128;
/// Pairs of blocks. The other way is taken unless it is slower in more than this many.
const PAIRS: u32 = 6;
const CONTRARY: u32 = 1;
/// Writes between two comparisons, at first and at most.
const FIRST: u32 = 1 << 13;
const LONGEST: u32 = 1 << 18;
/// Writes at home between two looks at the clock.
pub const LOOK: u32 = 16;
/// Waits that are this many times further apart than before, for this many looks, mean that the program now does
/// something else.
const APART: u64 = 2;
const LOOKS_APART: u32 = 8;

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Home,
    Later,
}

#[derive(Debug)]
enum Stage {
    /// Writes go on in the way that was chosen.
    Settled {
        left: u32,
        looked: Option<u64>,
        apart: u32,
    },
    Comparing(Comparison),
}

#[derive(Debug, Default)]
struct Comparison {
    /// Of the block.
    is_other: bool,
    writes: u32,
    since: u64,
    /// What the pair's first block took.
    first: Option<u64>,
    pairs: u32,
    contrary: u32,
}

/// What is known of the process's writes.
#[derive(Debug)]
pub struct Pace {
    chosen: Way,
    stage: Stage,
    /// Writes until the next comparison.
    wait: u32,
    waits: u64,
    /// So many writes were accepted when the first of these waits began, and are to be before the next comparison.
    counted: u64,
    not_before: u64,
    /// Ticks between two writes in the last block at home.
    usual: u64,
    is_free: bool,
    compared: u32,
}

impl Pace {
    pub const fn new() -> Self {
        Self {
            chosen: Way::Later,
            stage: Stage::Settled { left: 0, looked: None, apart: 0 },
            wait: FIRST,
            waits: 0,
            counted: 0,
            not_before: 0,
            usual: u64::MAX,
            is_free: true,
            compared: 0,
        }
    }

    /// How often both ways were compared, and the one that is in use, if ever.
    pub fn found(&self) -> Option<(u32, Way)> {
        (self.compared > 0).then_some((self.compared, self.chosen))
    }

    /// Whether the next write is done later without more ado.
    #[inline(always)]
    pub const fn is_free(&self) -> bool {
        self.is_free
    }

    /// A caller has waited for writes; this many had been accepted until then.
    pub fn waited(&mut self, accepted: u64) {
        self.waits += 1;
        if self.waits < WAITS || !self.is_free {
            return;
        }
        let writes = accepted - self.counted;
        (self.waits, self.counted) = (0, accepted);
        if writes <= 2 * WAITS && accepted >= self.not_before {
            self.compare();
        }
    }

    /// The host was off its CPU: what is being compared says nothing.
    pub fn disturbed(&mut self, accepted: u64) {
        if !matches!(self.stage, Stage::Settled { .. }) {
            self.settle(accepted);
        }
    }

    /// How the next write is done, if that is not [free](Self::is_free), now; at home, it and those until so many [are
    /// done](LOOK). So many were accepted until now.
    pub fn next(&mut self, now: u64, accepted: u64) -> Way {
        let Stage::Settled { left, looked, apart } = &mut self.stage else {
            return self.go_on(now, accepted);
        };
        let between = looked.replace(now).map_or(0, |then| now.saturating_sub(then)) / u64::from(LOOK);
        *apart = if between / APART > self.usual { *apart + 1 } else { 0 };
        *left = left.saturating_sub(LOOK);
        if *left == 0 || *apart == LOOKS_APART {
            self.compare();
            return self.go_on(now, accepted);
        }
        self.chosen
    }

    /// Goes on comparing.
    fn go_on(&mut self, now: u64, accepted: u64) -> Way {
        let Stage::Comparing(comparison) = &mut self.stage else { return self.chosen };
        let way = comparison.way(self.chosen);
        if let (Some(ticks), Way::Home) = (comparison.step(self.chosen, now), way) {
            self.usual = ticks / u64::from(BLOCK - UNCOUNTED);
        }
        let (pairs, is_lost) = (comparison.pairs, comparison.contrary > CONTRARY);
        let way = comparison.way(self.chosen);
        if !is_lost && pairs < PAIRS {
            return way;
        }
        if !is_lost {
            (self.chosen, self.wait) = (self.chosen.other(), FIRST);
        } else {
            self.wait = (2 * self.wait).min(LONGEST);
        }
        self.compared += 1;
        self.settle(accepted);
        self.chosen
    }

    fn compare(&mut self) {
        self.stage = Stage::Comparing(Comparison::default());
        self.is_free = false;
    }

    fn settle(&mut self, accepted: u64) {
        self.stage = Stage::Settled { left: self.wait, looked: None, apart: 0 };
        self.is_free = self.chosen == Way::Later;
        (self.waits, self.counted) = (0, accepted);
        self.not_before = accepted + u64::from(self.wait);
    }
}

impl Way {
    const fn other(self) -> Self {
        match self {
            Self::Home => Self::Later,
            Self::Later => Self::Home,
        }
    }

    /// Writes that are decided at once.
    const fn at_once(self) -> u32 {
        match self {
            Self::Home => LOOK,
            Self::Later => 1,
        }
    }
}

impl Comparison {
    /// The block's way, if this one is chosen.
    fn way(&self, chosen: Way) -> Way {
        if self.is_other { chosen.other() } else { chosen }
    }

    /// One more write, or a look's, is next. If the block is over before it, returns what that took.
    fn step(&mut self, chosen: Way, now: u64) -> Option<u64> {
        if self.writes == UNCOUNTED {
            self.since = now;
        }
        if self.writes < BLOCK {
            self.writes += self.way(chosen).at_once();
            return None;
        }
        let taken = now.saturating_sub(self.since);
        match self.first.take() {
            None => {
                self.first = Some(taken);
                self.is_other = !self.is_other;
            }
            Some(first) => {
                let (chosen, other) = if self.is_other { (first, taken) } else { (taken, first) };
                self.contrary += u32::from(other >= chosen);
                self.pairs += 1;
                // The next pair begins with the block that this one ends with, so that both are first as often.
            }
        }
        self.writes = self.way(chosen).at_once();
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that writes at the pace of whoever does it.
    struct Program {
        pace: Pace,
        now: u64,
        accepted: u64,
        home: u64,
        unasked: u32,
        waits: bool,
    }

    impl Program {
        fn new() -> Self {
            Self { pace: Pace::new(), now: 0, accepted: 0, home: 0, unasked: 0, waits: true }
        }

        /// So many writes, each of which takes so long at home and later. Returns how many were made at home.
        fn write(&mut self, writes: u64, home: u64, later: u64) -> u64 {
            let before = self.home;
            for _ in 0..writes {
                let is_home = if self.unasked > 0 {
                    self.unasked -= 1;
                    true
                } else {
                    !self.pace.is_free() && self.pace.next(self.now, self.accepted) == Way::Home && {
                        self.unasked = LOOK - 1;
                        true
                    }
                };
                self.now += if is_home { home } else { later };
                self.home += u64::from(is_home);
                self.accepted += u64::from(!is_home);
                if !is_home && self.waits {
                    self.pace.waited(self.accepted);
                }
            }
            self.home - before
        }
    }

    #[test]
    fn who_does_not_wait_writes_later_always() {
        let mut program = Program::new();
        program.waits = false;
        assert_eq!(program.write(1_000_000, 100, 1000), 0);
    }

    #[test]
    fn what_loses_is_made_at_home_but_for_a_small_part() {
        let mut program = Program::new();
        let home = program.write(1_000_000, 1000, 1350);
        assert!(home > 990_000, "{home}");
    }

    #[test]
    fn what_gains_is_done_later_but_for_a_small_part() {
        let mut program = Program::new();
        let home = program.write(1_000_000, 1000, 800);
        assert!(home > 384 && home < 10_000, "{home}");
    }

    #[test]
    fn a_program_that_changes_is_followed() {
        let mut program = Program::new();
        program.write(100_000, 1000, 1350);
        let home = program.write(400_000, 1000, 700);
        assert!(home < 150_000, "{home}: as many writes as before, and a comparison");
        let mut program = Program::new();
        program.write(500_000, 1000, 1350);
        let home = program.write(10_000, 3000, 2000);
        assert!(home < 3000, "{home}: writes are further apart, so it compares at once");
    }

    #[test]
    fn what_a_host_disturbs_says_nothing() {
        let mut program = Program::new();
        program.write(600, 1000, 1350);
        assert!(!program.pace.is_free() && program.home > 0);
        program.pace.disturbed(program.accepted);
        assert!(program.pace.is_free());
        assert!(program.write(2000, 1000, 1350) < LOOK.into(), "a while passes");
    }
}
