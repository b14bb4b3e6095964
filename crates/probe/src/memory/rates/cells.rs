//! What is compared: each loop with each size, number of threads, state and fence.

use std::collections::BTreeMap;

use coho_profile::{BlockState, CacheType, Fence, Operation};
use coho_topology::{CpuSet, Topology};

use super::super::Options;
use super::super::loops::{Loop, Stores};
use super::visit::Work;
use super::{Extent, Typed};

/// The paper's sizes.
const PAPER: [u64; 3] = [512, 64 << 10, 1 << 20];
/// The largest block that is prepared before each call, and the largest of another type than write-back.
const SMALL: usize = 1 << 20;

/// Which side of a copy is not write-back; writes and reads have only one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    To,
    From,
}

/// One thing to measure, and its figures so far.
pub(super) struct Cell {
    pub(super) one: &'static Loop,
    pub(super) work: Work,
    pub(super) cpus: Vec<u32>,
    pub(super) mapping: &'static str,
    /// If the memory is not write-back: which memory, and on which side.
    pub(super) kind: Option<(usize, Side)>,
    /// By pass.
    pub(super) passes: Vec<Vec<f64>>,
    /// Windows in which a thread was interrupted.
    pub(super) dropped: u64,
}

/// Everything that is asked for and available; for the rest, the reason why not.
pub(super) fn all(
    cpus: &[u32],
    topology: &Topology,
    options: &Options,
    extent: Extent,
    typed: &[Typed],
    not_available: &mut BTreeMap<String, String>,
) -> Vec<Cell> {
    let loops = loops(options, not_available);
    let teams = teams(cpus, topology, options);
    let mut cells = Vec::new();
    for one in &loops {
        let leads = !options.instructions.is_empty() || leading(&loops, one);
        for (team, mapping) in &teams {
            let several = team.len() > 1;
            if several && !leads {
                continue;
            }
            for bytes in sizes(options, extent, several, not_available) {
                for (state, fence) in conditions(options, extent, one, bytes, several) {
                    let work = Work {
                        op: one.op(),
                        code: one.code().expect("those that are missing are left out"),
                        bytes,
                        state,
                        fence,
                        resident: blocks(one) * bytes <= extent.cache,
                    };
                    let cell = |kind| Cell {
                        one,
                        work,
                        cpus: team.clone(),
                        mapping,
                        kind,
                        passes: Vec::new(),
                        dropped: 0,
                    };
                    if options.types.is_empty() || options.types.contains(&CacheType::WriteBack) {
                        cells.push(cell(None));
                    }
                    let other = state == BlockState::Warm && bytes <= SMALL && !several;
                    for (at, typed) in typed.iter().enumerate().filter(|_| other) {
                        if bytes <= typed.region.bytes() {
                            let sides: &[Side] = match one.op() {
                                Operation::Write => &[Side::To],
                                Operation::Read => &[Side::From],
                                Operation::Copy => &[Side::From, Side::To],
                            };
                            cells.extend(sides.iter().map(|&side| cell(Some((at, side)))));
                        }
                    }
                }
            }
        }
    }
    cells
}

/// Blocks that a loop touches.
fn blocks(one: &Loop) -> usize {
    if one.op() == Operation::Copy { 2 } else { 1 }
}

pub(super) fn loops(options: &Options, not_available: &mut BTreeMap<String, String>) -> Vec<&'static Loop> {
    let named = |one: &&Loop| {
        (options.operations.is_empty() || options.operations.contains(&one.op()))
            && (options.instructions.is_empty() || options.instructions.iter().any(|name| one.is_named(name)))
    };
    let mut loops = Vec::new();
    for one in Loop::all().iter().filter(named) {
        match one.missing() {
            None => loops.push(one),
            Some(why) => {
                not_available.insert(format!("{} {}", one.op(), one.instruction()), why);
            }
        }
    }
    if options.quick && options.instructions.is_empty() {
        let all = loops.clone();
        // Words of 4 bytes are what Hamada et al. call plain.
        loops.retain(|one| leading(&all, one) || one.instruction().starts_with("plain-4"));
    }
    loops
}

/// Whether a loop represents its kind: the widest registers, plain by 8 bytes, or the microcode.
pub(super) fn leading(all: &[&Loop], one: &Loop) -> bool {
    let rank = |instruction: &str| {
        let kinds = ["sse", "neon", "avx2", "avx512"];
        kinds.iter().rposition(|kind| instruction.starts_with(kind))
    };
    let kind = |instruction: &str| instruction.split_once('-').map_or("", |(_, rest)| rest).to_owned();
    let same = |other: &&&Loop| {
        other.op() == one.op()
            && rank(other.instruction()).is_some()
            && kind(other.instruction()) == kind(one.instruction())
    };
    match rank(one.instruction()) {
        Some(own) => {
            let widest = all.iter().filter(same).filter_map(|other| rank(other.instruction())).max();
            // A load past the caches differs from others in write-combining memory only.
            widest == Some(own) && !one.instruction().contains("movntdqa")
        }
        None => one.instruction().starts_with("plain-8") || one.stores() == Stores::Chosen,
    }
}

/// The CPUs for each number of threads, by mapping; teams with the same CPUs occur once.
fn teams(cpus: &[u32], topology: &Topology, options: &Options) -> Vec<(Vec<u32>, &'static str)> {
    let mut numbers = options.threads.iter().map(|&n| n as usize).collect::<Vec<_>>();
    if numbers.is_empty() {
        numbers = if options.quick {
            vec![1]
        } else {
            std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < cpus.len()).collect()
        };
        numbers.push(cpus.len());
    }
    numbers.retain(|n| (1..=cpus.len()).contains(n));
    numbers.sort_unstable();
    numbers.dedup();
    let allowed: CpuSet = cpus.iter().copied().collect();
    let mut teams: Vec<(Vec<u32>, &'static str)> = Vec::new();
    for n in numbers {
        for &mapping in &options.mappings {
            let mut team: Vec<u32> = mapping.order(topology, &allowed).into_iter().take(n).collect();
            team.sort_unstable();
            if teams.iter().all(|(other, _)| *other != team) {
                teams.push((team, if n == 1 { "" } else { mapping.name() }));
            }
        }
    }
    // For one thread the mapping makes no difference.
    let mut alone = 0;
    teams.retain(|(team, _)| {
        alone += usize::from(team.len() == 1);
        team.len() > 1 || alone == 1
    });
    teams
}

fn sizes(
    options: &Options,
    extent: Extent,
    several: bool,
    not_available: &mut BTreeMap<String, String>,
) -> Vec<usize> {
    let pool = if several { extent.shared_pool } else { extent.pool };
    let mut sizes: Vec<u64> = if !options.sizes.is_empty() {
        options.sizes.clone()
    } else if options.quick || several {
        PAPER.into_iter().chain([pool as u64]).collect()
    } else {
        let sweep = std::iter::successors(Some(1u64 << 10), |bytes| Some(4 * bytes));
        PAPER
            .into_iter()
            .chain(sweep.take_while(|bytes| 2 * bytes < pool as u64))
            .chain([pool as u64])
            .collect()
    };
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|&bytes| {
        let fits = bytes as usize <= pool;
        if !fits {
            let why = format!("no room: the available memory allows at most {pool} bytes a buffer");
            not_available.insert(format!("blocks of {bytes} bytes"), why);
        }
        fits
    });
    sizes.into_iter().map(|bytes| bytes as usize).collect()
}

fn conditions(
    options: &Options,
    extent: Extent,
    one: &Loop,
    bytes: usize,
    several: bool,
) -> Vec<(BlockState, Fence)> {
    let states: &[BlockState] = match (options.states.as_slice(), options.quick || several) {
        ([], true) => &[BlockState::Warm, BlockState::Fresh],
        ([], false) => &BlockState::ALONE,
        (named, _) => named,
    };
    let paper = PAPER.contains(&(bytes as u64));
    let fences: &[Fence] = match options.fences.as_slice() {
        _ if one.op() == Operation::Read => &[Fence::None],
        [] if one.stores() != Stores::NonTemporal || several || !paper => &[Fence::Run],
        [] if options.quick => &[Fence::Call, Fence::Run],
        [] => &Fence::ALL,
        named => named,
    };
    let possible = |state: &&BlockState| match state {
        BlockState::Warm => true,
        // Beyond the caches every block is in memory.
        BlockState::Fresh => blocks(one) * bytes <= extent.cache && 4 * bytes <= extent.shared_pool,
        BlockState::Dirty | BlockState::Flushed => bytes <= SMALL && !several,
        // Measured separately: another CPU must prepare them.
        BlockState::Shared | BlockState::Remote => false,
    };
    let wanted = |state: &&BlockState| paper || !options.states.is_empty() || **state != BlockState::Dirty;
    states
        .iter()
        .filter(possible)
        .filter(wanted)
        .flat_map(|&state| fences.iter().map(move |&fence| (state, fence)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENT: Extent = Extent { cache: 32 << 20, pool: 128 << 20, shared_pool: 64 << 20 };

    fn cells(options: &Options) -> (Vec<Cell>, BTreeMap<String, String>) {
        let mut not_available = BTreeMap::new();
        let cells = all(&[0, 1], &Topology::default(), options, EXTENT, &[], &mut not_available);
        (cells, not_available)
    }

    #[test]
    fn only_what_is_asked_for_is_measured() {
        let options = Options {
            operations: vec![Operation::Copy],
            instructions: vec!["plain-8".into()],
            sizes: vec![4096],
            threads: vec![1],
            states: vec![BlockState::Fresh],
            fences: vec![Fence::Call],
            ..Options::default()
        };
        let (cells, _) = cells(&options);
        assert!(cells.iter().all(|cell| cell.one.instruction().starts_with("plain-8")));
        assert!(cells.iter().all(|cell| cell.work.fence == Fence::Call && cell.cpus.len() == 1));
        let expected = Loop::all()
            .iter()
            .filter(|one| one.op() == Operation::Copy && one.instruction().starts_with("plain-8"));
        assert_eq!(cells.len(), expected.count());
    }

    #[test]
    fn the_papers_sizes_meet_every_state_and_the_sweep_leaves_the_caches() {
        let (cells, _) = cells(&Options { threads: vec![1], ..Options::default() });
        for size in PAPER {
            for state in BlockState::ALONE {
                let found = |cell: &Cell| cell.work.bytes as u64 == size && cell.work.state == state;
                assert!(cells.iter().any(found), "{size} {state}");
            }
        }
        assert!(cells.iter().any(|cell| cell.work.bytes == EXTENT.pool && !cell.work.resident));
        assert!(cells.iter().all(|cell| cell.work.bytes <= EXTENT.pool));
    }

    #[test]
    fn a_quick_run_has_each_operation_and_few_instructions() {
        let (quick, _) = cells(&Options::quick());
        let (full, _) = cells(&Options::default());
        assert!(quick.len() * 2 < full.len(), "{} of {}", quick.len(), full.len());
        for op in Operation::ALL {
            assert!(quick.iter().any(|cell| cell.one.op() == op));
        }
    }

    #[test]
    fn sizes_without_room_are_told() {
        let options = Options { sizes: vec![1 << 40, 4096], ..Options::default() };
        let (cells, not_available) = cells(&options);
        assert!(cells.iter().all(|cell| cell.work.bytes == 4096));
        assert!(not_available.keys().any(|what| what.contains("1099511627776")), "{not_available:?}");
    }
}
