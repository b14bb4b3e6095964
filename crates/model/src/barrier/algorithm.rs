//! The algorithms as programs.

use std::fmt;
use std::rc::Rc;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::program::{Program, Step, Word};

/// How threads wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Fast Barrier Synchronization with a line for each flag (Nakamura et al., 3.2): every thread reads every
    /// other's flag.
    Fbs,
    /// As [`Fbs`](Self::Fbs) with all flags, a byte each, on one line; one more line for each further 128 flags.
    FbsOneLine,
    /// FBS in two rounds: within groups of near threads, then between threads of equal rank in their groups.
    Grid,
    /// Log₂ n rounds, in each of which a thread signals another twice as far away by rank (Hensgen, Finkel &
    /// Manber, 1988).
    Dissemination,
    /// An atomic counter; the last arrival releases all through one word. Sense-reversing.
    Central,
    /// A counter under a spin lock; the last arrival releases all through one word.
    Lock,
    /// Flags up and down a tree of ranks with four children each (Mellor-Crummey & Scott, 1991).
    Tree,
    /// Pairs, then pairs of winners, and so on; the champion releases the way back (Hensgen, Finkel & Manber,
    /// 1988).
    Tournament,
    /// The grid with a round for each level of the machine.
    Hierarchical,
    /// Members of groups of near threads report to a leader; the leaders run FBS and release their groups.
    Leaders,
}

/// Groups of ranks; every rank is in exactly one.
pub(super) type Partition = Vec<Vec<usize>>;

/// Children of a tree node.
const ARITY: usize = 4;

impl Algorithm {
    /// Every barrier algorithm.
    pub const BARRIERS: [Self; 10] = [
        Self::Fbs,
        Self::FbsOneLine,
        Self::Grid,
        Self::Dissemination,
        Self::Central,
        Self::Lock,
        Self::Tree,
        Self::Tournament,
        Self::Hierarchical,
        Self::Leaders,
    ];

    /// The algorithms that can fork and join by a go flag: a caller starts the others and continues when all are
    /// done.
    pub const BY_GO_FLAG: [Self; 6] =
        [Self::Fbs, Self::FbsOneLine, Self::Central, Self::Lock, Self::Tree, Self::Leaders];

    /// The algorithms of Nakamura et al., where a region begins and ends with a barrier.
    pub const BY_BARRIER: [Self; 3] = [Self::Fbs, Self::FbsOneLine, Self::Lock];

    /// The algorithm's name in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fbs | Self::FbsOneLine => "fbs",
            Self::Grid => "grid",
            Self::Dissemination => "dissemination-2",
            Self::Central => "central",
            Self::Lock => "spin-lock",
            Self::Tree => "tree",
            Self::Tournament => "tournament-2",
            Self::Hierarchical => "hierarchical",
            Self::Leaders => "leaders",
        }
    }

    /// Where the flags are, as profiles name it; empty where there is no choice.
    pub fn layout(self) -> &'static str {
        match self {
            Self::Fbs => "separate-lines",
            Self::FbsOneLine => "one-line",
            _ => "",
        }
    }

    /// Whether its threads learn of each other by stores alone, never by an atomic operation.
    pub fn has_only_flags(self) -> bool {
        !matches!(self, Self::Central | Self::Lock)
    }

    /// Whether the first thread always learns of all arrivals before any other can. No such barrier is quicker
    /// than the round trip to that thread. Where the last arrival releases the others, the root moves, and a
    /// series of barriers may be quicker.
    pub fn has_fixed_root(self) -> bool {
        matches!(self, Self::Tree | Self::Tournament)
    }

    /// One barrier of `n` threads. `levels` of groups, finest first, matter only to algorithms that gather in
    /// groups.
    pub(super) fn barrier(self, n: usize, levels: &[Partition]) -> Program {
        let mut program = Program::new(n);
        let p = &mut program;
        match self {
            Self::Fbs => {
                let flags = p.flags(0..n);
                (0..n).for_each(|rank| exchange(p, rank, &flags, rank));
            }
            Self::FbsOneLine => {
                let flags = p.packed(n);
                (0..n).for_each(|rank| exchange(p, rank, &flags, rank));
            }
            Self::Grid | Self::Hierarchical => rounds(p, levels),
            Self::Dissemination => dissemination(p),
            Self::Central => {
                let (counter, go) = (p.flag(0), p.flag(0));
                for rank in 0..n {
                    p.then(rank, Step::Arrive { counter, of: n as u32 });
                    p.then(rank, Step::StoreIfLast(go));
                    p.wait(rank, go);
                }
            }
            Self::Lock => {
                let go = count_under_lock(p);
                (0..n).for_each(|rank| p.wait(rank, go));
            }
            Self::Tree => {
                let tree = Tree::new(p);
                for rank in 0..n {
                    tree.gather(p, rank);
                    tree.wait_for_parent(p, rank);
                    tree.release(p, rank);
                }
            }
            Self::Tournament => tournament(p),
            Self::Leaders => leaders(p, &levels[0]),
        }
        program
    }

    /// One fork and join of an empty region by rank 0, with a go flag; `None` where the algorithm has no way to
    /// start threads.
    pub(super) fn by_go_flag(self, n: usize, levels: &[Partition]) -> Option<Program> {
        let mut program = Program::new(n);
        let p = &mut program;
        match self {
            Self::Fbs => {
                let (go, done) = (p.flag(0), p.flags(1..n));
                go_and_done(p, go, &done);
            }
            Self::FbsOneLine => {
                let words = p.packed(n);
                go_and_done(p, words[0], &words[1..].into());
            }
            Self::Central => {
                let (go, counter, done) = (p.flag(0), p.flag(1), p.flag(1));
                p.store(0, go);
                p.wait(0, done);
                for rank in 1..n {
                    p.wait(rank, go);
                    p.then(rank, Step::Arrive { counter, of: n as u32 - 1 });
                    p.then(rank, Step::StoreIfLast(done));
                }
            }
            Self::Lock => {
                let go = p.flag(0);
                p.store(0, go);
                (1..n).for_each(|rank| p.wait(rank, go));
                let done = count_under_lock(p);
                p.wait(0, done);
            }
            Self::Tree => {
                let tree = Tree::new(p);
                for rank in 0..n {
                    tree.wait_for_parent(p, rank);
                    tree.release(p, rank);
                    tree.gather(p, rank);
                }
            }
            Self::Leaders => fork_join_by_groups(p, &levels[0]),
            Self::Grid | Self::Hierarchical | Self::Dissemination | Self::Tournament => return None,
        }
        Some(program)
    }
}

/// How a region begins and ends. Either way all threads but the caller are waiting when it begins: the caller comes
/// from a serial part (Nakamura et al., equation 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// One word starts the threads, and a word of each ends the region: coho's teams.
    GoFlag,
    /// All meet at a barrier at the beginning of the region and at its end: the paper's way.
    Barrier,
}

impl By {
    /// The name in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::GoFlag => "go-flag",
            Self::Barrier => "barrier",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layout() {
            "" => f.pad(self.name()),
            layout => f.pad(&format!("{} {layout}", self.name())),
        }
    }
}

/// As profiles name it: an algorithm, and its layout.
impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut named = serializer.serialize_struct("Algorithm", 2)?;
        named.serialize_field("name", self.name())?;
        named.serialize_field("layout", self.layout())?;
        named.end()
    }
}

/// FBS: raises the thread's own flag and waits for all others.
fn exchange(p: &mut Program, thread: usize, flags: &Rc<[Word]>, own: usize) {
    p.store(thread, flags[own]);
    p.wait_others(thread, flags, own);
}

/// FBS between the parts of each group, level by level, and finally between all groups: a thread exchanges flags with
/// the thread at its own place in each other part. Parts need not be equal: a thread without a counterpart in a
/// smaller part looks to the one at its place modulo that part's size.
fn rounds(p: &mut Program, levels: &[Partition]) {
    let n = p.threads();
    let mut inner: Partition = (0..n).map(|rank| vec![rank]).collect();
    let all = vec![(0..n).collect()];
    for outer in levels.iter().chain([&all]) {
        let flags = p.flags(0..n);
        for parts in parts(&inner, outer) {
            for place in 0..parts.iter().map(|part| part.len()).max().unwrap_or(0) {
                let column: Rc<[Word]> = parts.iter().map(|part| flags[part[place % part.len()]]).collect();
                for (own, part) in parts.iter().enumerate() {
                    if let (Some(&rank), true) = (part.get(place), parts.len() > 1) {
                        exchange(p, rank, &column, own);
                    }
                }
            }
        }
        inner.clone_from(outer);
    }
}

/// The groups of a finer partition that lie in each group of a coarser one.
fn parts<'a>(finer: &'a Partition, coarser: &Partition) -> Vec<Vec<&'a Vec<usize>>> {
    let n = finer.iter().map(Vec::len).sum();
    let mut group_index = vec![0; n];
    for (index, group) in coarser.iter().enumerate() {
        group.iter().for_each(|&rank| group_index[rank] = index);
    }
    let mut parts = vec![Vec::new(); coarser.len()];
    finer.iter().for_each(|part| parts[group_index[part[0]]].push(part));
    parts
}

/// The most threads that exchange flags in each round of a grid; empty if there is only one round.
pub(super) fn shape(n: usize, levels: &[Partition]) -> Vec<usize> {
    let alone: Partition = (0..n).map(|rank| vec![rank]).collect();
    let all = vec![(0..n).collect()];
    let mut finer = std::iter::once(&alone).chain(levels);
    let round = |coarser: &Partition| parts(finer.next()?, coarser).iter().map(Vec::len).max();
    let mut shape: Vec<usize> =
        levels.iter().chain([&all]).filter_map(round).filter(|&many| many > 1).collect();
    if shape.len() < 2 {
        shape.clear();
    }
    shape
}

fn dissemination(p: &mut Program) {
    let n = p.threads();
    let mut distance = 1;
    while distance < n {
        let flags = p.flags(0..n);
        for rank in 0..n {
            p.store(rank, flags[rank]);
            p.wait(rank, flags[(rank + n - distance) % n]);
        }
        distance *= 2;
    }
}

/// Every thread counts itself under a lock; returns the word that the last one writes.
fn count_under_lock(p: &mut Program) -> Word {
    let (lock, counter, full) = (p.flag(0), p.flag(0), p.flag(0));
    let n = p.threads();
    for rank in 0..n {
        p.then(rank, Step::Lock(lock));
        p.then(rank, Step::Arrive { counter, of: n as u32 });
        p.then(rank, Step::StoreIfLast(full));
        p.then(rank, Step::Unlock(lock));
    }
    full
}

/// A tree of ranks: each child signals its parent on a line of its own, a parent all its children on one line.
struct Tree {
    up: Rc<[Word]>,
    down: Rc<[Word]>,
}

impl Tree {
    fn new(p: &mut Program) -> Self {
        let n = p.threads();
        Self { up: p.flags(0..n), down: p.flags(0..n) }
    }

    fn children(&self, rank: usize) -> std::ops::Range<usize> {
        let n = self.up.len();
        (rank * ARITY + 1).min(n)..(rank * ARITY + 1 + ARITY).min(n)
    }

    fn gather(&self, p: &mut Program, rank: usize) {
        p.wait_all(rank, self.up[self.children(rank)].into());
        if rank > 0 {
            p.store(rank, self.up[rank]);
        }
    }

    fn wait_for_parent(&self, p: &mut Program, rank: usize) {
        if rank > 0 {
            p.wait(rank, self.down[(rank - 1) / ARITY]);
        }
    }

    fn release(&self, p: &mut Program, rank: usize) {
        if !self.children(rank).is_empty() {
            p.store(rank, self.down[rank]);
        }
    }
}

fn tournament(p: &mut Program) {
    let n = p.threads();
    let up = p.flags(0..n);
    // Written by the thread that beat this rank: the nearest one below it with one bit less.
    let down = p.flags((0..n).map(|rank| rank & rank.wrapping_sub(1)));
    for rank in 0..n {
        let rounds = if rank == 0 { usize::BITS } else { rank.trailing_zeros() };
        let beaten: Vec<usize> = (0..rounds.min(n.ilog2() + 1))
            .map(|round| rank + (1 << round))
            .filter(|&other| other < n)
            .collect();
        beaten.iter().for_each(|&other| p.wait(rank, up[other]));
        if rank > 0 {
            p.store(rank, up[rank]);
            p.wait(rank, down[rank]);
        }
        beaten.iter().rev().for_each(|&other| p.store(rank, down[other]));
    }
}

/// The members of each group signal its first.
fn gather_in_groups(p: &mut Program, groups: &[Vec<usize>]) {
    for group in groups {
        let up = p.flags(group[1..].iter().copied());
        group[1..].iter().zip(up.iter()).for_each(|(&member, &flag)| p.store(member, flag));
        p.wait_all(group[0], up);
    }
}

fn leaders(p: &mut Program, groups: &[Vec<usize>]) {
    gather_in_groups(p, groups);
    let flags = p.flags(groups.iter().map(|group| group[0]));
    for (own, group) in groups.iter().enumerate() {
        let leader = group[0];
        exchange(p, leader, &flags, own);
        let go = p.flag(leader);
        p.store(leader, go);
        group[1..].iter().for_each(|&member| p.wait(member, go));
    }
}

/// One go word for all, and a word of each thread that is done.
fn go_and_done(p: &mut Program, go: Word, done: &Rc<[Word]>) {
    p.store(0, go);
    for (at, &word) in done.iter().enumerate() {
        p.wait(at + 1, go);
        p.store(at + 1, word);
    }
    p.wait_all(0, done.clone());
}

/// The caller writes a go word for each group; members signal their group's first, and the firsts signal the caller.
fn fork_join_by_groups(p: &mut Program, groups: &[Vec<usize>]) {
    for group in groups {
        let go = p.flag(0);
        p.store(0, go);
        group.iter().filter(|&&rank| rank != 0).for_each(|&rank| p.wait(rank, go));
    }
    gather_in_groups(p, groups);
    let leaders: Vec<usize> = groups.iter().map(|group| group[0]).filter(|&leader| leader != 0).collect();
    let done = p.flags(leaders.iter().copied());
    leaders.iter().zip(done.iter()).for_each(|(&leader, &flag)| p.store(leader, flag));
    p.wait_all(0, done);
}
