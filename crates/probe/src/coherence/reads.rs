//! Loads of lines that another CPU has put in a known state (Molka et al., PACT 2009).
//!
//! The states are reached by the order of accesses, as the protocols define them; no user program can observe them:
//!
//! | state | the owner … | then a third CPU … | then the owner … |
//! |---|---|---|---|
//! | Modified | writes | | |
//! | Exclusive | flushes and loads | | |
//! | Shared | flushes and loads | loads | |
//! | Forward (Intel) | flushes | loads | loads |
//! | Owned (AMD) | writes | loads | |

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coho_platform::pages::{Pages, Paging};
use coho_profile::{Home, LineState, StateRead};

use super::chase::{self, LINE, Ring, STRIDE};
use super::meeting::{Absent, Meeting, Side};
use super::schedule::{Rank, ranks};
use super::survey::Survey;
use super::visit::ABSENCE;
use crate::clock::Clock;
use crate::frame::Phase;
use crate::statistics;
use crate::workers::Job;

const SMALLEST: u64 = 16 << 10;
/// The largest buffer of a quick survey.
const QUICK: u64 = 4 << 20;
/// Repetitions of a figure: the fewest with a 95 % interval even if each gives one sample,
const FEW: u32 = 6;
/// and what buffers below [`LONG`] bytes leave time for.
const MANY: u32 = 9;
const LONG: u64 = 32 << 20;
/// The share of the available memory that may be taken: one byte in this many.
const MEMORY_SHARE: u64 = 8;

/// Which CPU reads which CPU's lines.
#[derive(Debug, Clone, Copy)]
struct Roles {
    reader: Rank,
    owner: Rank,
    third: Option<Rank>,
}

/// Reads for one pair of each claimed class, in both directions, and of each reader's own lines; with the reasons
/// for what is missing.
pub(super) fn measure(survey: &mut Survey<'_>) -> (Vec<StateRead>, BTreeMap<String, String>) {
    let mut reads = survey.options.resume.as_ref().map_or_else(Vec::new, |earlier| {
        earlier.reads.iter().filter(|read| read.ns.stable == Some(true)).cloned().collect::<Vec<_>>()
    });
    let mut not_available = BTreeMap::new();
    let (states, others) = states(survey);
    not_available.extend(others);
    let memory = coho_platform::memory::room();
    let cache = survey.topology.caches.iter().map(|cache| cache.size_bytes).max().unwrap_or(0);
    let sizes = match sizes(cache, memory, survey.options.quick) {
        Ok(sizes) => sizes,
        Err((sizes, why)) => {
            not_available.insert("reads beyond the L3".into(), why);
            sizes
        }
    };
    let roles = roles(survey);
    let homes = if survey.options.quick { &[Home::A][..] } else { &[Home::A, Home::B] };
    // Lines that a CPU reads of its own have their home there, whatever the roles are called.
    let plans: Vec<_> = roles
        .iter()
        .flat_map(|role| homes.iter().map(move |&home| (*role, home)))
        .filter(|(role, home)| role.reader != role.owner || *home == Home::A)
        .collect();
    let total = (plans.len() * sizes.len()) as u64;
    let (mut phase, mut done) = (Phase::new("reads", total), 0);
    for (role, home) in plans {
        let largest = sizes.last().copied().unwrap_or(SMALLEST);
        let mut pages = match chase::memory(largest, Paging::Huge, None) {
            Ok(pages) => pages,
            Err(error) => {
                not_available.insert("reads".into(), error.to_string());
                return (reads, not_available);
            }
        };
        for &bytes in &sizes {
            if survey.frame.end().has_come()
                || !measure_size(
                    survey,
                    role,
                    home,
                    bytes,
                    &states,
                    &mut pages,
                    &mut reads,
                    &mut not_available,
                )
            {
                let why = format!("stopped before {} of {total} buffers were read", total - done);
                not_available.insert("reads".into(), why);
                return (reads, not_available);
            }
            done += 1;
            survey.frame.advance(&mut phase, 1);
        }
    }
    (reads, not_available)
}

/// The states that this machine has, and why it lacks the others.
fn states(survey: &Survey<'_>) -> (Vec<LineState>, BTreeMap<String, String>) {
    let vendor = survey.topology.cpu.vendor.as_deref().unwrap_or("");
    let third = survey.frame.cpus.len() >= 3;
    let mut reasons = BTreeMap::new();
    let states =
        [LineState::Modified, LineState::Exclusive, LineState::Shared, LineState::Owned, LineState::Forward]
            .into_iter()
            .filter(|state| {
                let why = match state {
                    LineState::Owned if !matches!(vendor, "AuthenticAMD" | "HygonGenuine") => {
                        Some("only AMD's protocol has the state")
                    }
                    LineState::Forward if vendor != "GenuineIntel" => {
                        Some("only Intel's protocol has the state")
                    }
                    LineState::Shared | LineState::Owned | LineState::Forward if !third => {
                        Some("needs a third CPU to share the lines with")
                    }
                    _ => None,
                };
                if let Some(why) = why {
                    reasons.insert(format!("reads of state {state:?}"), why.to_owned());
                }
                why.is_none()
            })
            .collect();
    (states, reasons)
}

/// Sizes by fours from 16 KiB to the power of two that holds the largest cache twice; as many as memory allows, with
/// the reason if it does not allow all. All are powers of two, so that runs have sizes in common.
fn sizes(cache: u64, memory: u64, quick: bool) -> Result<Vec<u64>, (Vec<u64>, String)> {
    let beyond = cache.saturating_mul(2).checked_next_power_of_two().unwrap_or(1 << 63).max(SMALLEST);
    let wanted = if quick { beyond.min(QUICK) } else { beyond };
    // A ring takes a stride for each line.
    let room = memory / MEMORY_SHARE * LINE as u64 / STRIDE as u64;
    let possible = room.checked_ilog2().map_or(0, |power| 1 << power);
    let largest = wanted.min(possible).max(SMALLEST);
    let by = if quick { 16 } else { 4 };
    let below = std::iter::successors(Some(SMALLEST), |bytes| Some(bytes * by));
    let sizes: Vec<u64> = below.take_while(|&bytes| bytes < largest).chain([largest]).collect();
    if cache == 0 {
        Err((sizes, "the machine claims no sizes of caches".into()))
    } else if largest < wanted {
        let why = format!(
            "that needs buffers of {wanted} bytes, but they may have at most {largest} of the {memory} \
             bytes of available memory"
        );
        Err((sizes, why))
    } else {
        Ok(sizes)
    }
}

/// The nearest pair of each claimed class, both ways, and each of their readers with itself.
fn roles(survey: &Survey<'_>) -> Vec<Roles> {
    let mut classes = BTreeSet::new();
    let pairs: Vec<_> = survey
        .shared
        .iter()
        .filter(|shared| classes.insert(shared.claimed.clone()))
        .map(|s| s.pair)
        .collect();
    let third = |reader, owner| ranks(survey.frame.cpus.len()).find(|&rank| rank != reader && rank != owner);
    let local = |cpu| Roles { reader: cpu, owner: cpu, third: third(cpu, cpu) };
    let readers: BTreeSet<_> = pairs.iter().map(|pair| pair.0).collect();
    let across = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
    readers
        .into_iter()
        .map(local)
        .chain(across.map(|(reader, owner)| Roles { reader, owner, third: third(reader, owner) }))
        .collect()
}

/// Reads a buffer in each state; returns whether it came to its end.
#[allow(clippy::too_many_arguments)]
fn measure_size(
    survey: &mut Survey<'_>,
    roles: Roles,
    home: Home,
    bytes: u64,
    states: &[LineState],
    pages: &mut Pages,
    reads: &mut Vec<StateRead>,
    not_available: &mut BTreeMap<String, String>,
) -> bool {
    let (reader, owner) = (survey.cpu(roles.reader), survey.cpu(roles.owner));
    let toucher = if home == Home::A { reader } else { owner };
    let seed = survey.frame.random.u64(..);
    let link: Job<'_, _> = Box::new(move || Ring::link(pages, bytes, &mut fastrand::Rng::with_seed(seed)));
    let ring = match survey.run(toucher, link) {
        Some(Ok(ring)) => ring,
        Some(Err(error)) => {
            not_available.insert(format!("reads of {bytes} bytes"), error.to_string());
            return true;
        }
        None => return true,
    };
    let repeats = if survey.options.quick || bytes >= LONG { FEW } else { MANY };
    for &state in states {
        let known = |read: &StateRead| {
            (read.reader, read.owner, read.state, read.bytes, read.home)
                == (reader, owner, state, bytes, home)
        };
        if reads.iter().any(known) {
            continue;
        }
        let passes = measure_state(survey, roles, state, &ring, repeats);
        if passes.len() < repeats as usize && survey.frame.end().has_come() {
            return false;
        }
        match statistics::estimate(&passes) {
            Some(ns) => reads.push(StateRead { reader, owner, state, bytes, home, ns }),
            None => {
                let what = format!("read by {reader} of {owner}'s {state:?} lines");
                not_available.insert(what, "the CPUs never came together".into());
            }
        }
    }
    true
}

/// One figure per window of the ring and repetition; fewer repetitions if it has to end.
fn measure_state(
    survey: &mut Survey<'_>,
    roles: Roles,
    state: LineState,
    ring: &Ring<&mut Pages>,
    repeats: u32,
) -> Vec<Vec<f64>> {
    let clock = Clock::get();
    let (with_reader, with_third) = (Meeting::new(), Meeting::new());
    let shares = matches!(state, LineState::Shared | LineState::Owned | LineState::Forward);
    let meet = |meeting: &Meeting, side| meeting.meet(side, ABSENCE + Duration::from_secs(1));
    let end = survey.frame.end().clone();
    let prepare = || -> Result<(), Absent> {
        if end.has_come() {
            with_reader.abandon();
            with_third.abandon();
            return Err(Absent);
        }
        match state {
            LineState::Modified | LineState::Owned => ring.write(),
            LineState::Exclusive | LineState::Shared => {
                ring.flush();
                ring.load();
            }
            LineState::Forward => ring.flush(),
        }
        if shares {
            meet(&with_third, Side::Leader)?;
            meet(&with_third, Side::Leader)?;
        }
        if state == LineState::Forward {
            ring.load();
        }
        Ok(())
    };
    let mut jobs: Vec<(u32, Job<'_, Vec<Vec<f64>>>)> = Vec::new();
    if roles.reader == roles.owner {
        let alone = || (0..repeats).map_while(|_| prepare().ok().map(|()| ring.chase(&clock))).collect();
        jobs.push((survey.cpu(roles.reader), Box::new(alone)));
    } else {
        let read = || {
            let one = |_| {
                meet(&with_reader, Side::Follower).ok()?;
                let times = ring.chase(&clock);
                meet(&with_reader, Side::Follower).ok()?;
                Some(times)
            };
            (0..repeats).map_while(one).collect()
        };
        let own = || {
            for _ in 0..repeats {
                let met = prepare().and_then(|()| meet(&with_reader, Side::Leader));
                if met.and_then(|()| meet(&with_reader, Side::Leader)).is_err() {
                    break;
                }
            }
            Vec::new()
        };
        jobs.push((survey.cpu(roles.reader), Box::new(read)));
        jobs.push((survey.cpu(roles.owner), Box::new(own)));
    }
    if let Some(third) = roles.third.filter(|_| shares) {
        let share = || {
            for _ in 0..repeats {
                if meet(&with_third, Side::Follower).is_err() {
                    break;
                }
                ring.load();
                if meet(&with_third, Side::Follower).is_err() {
                    break;
                }
            }
            Vec::new()
        };
        jobs.push((survey.cpu(third), Box::new(share)));
    }
    let cpus: Vec<u32> = jobs.iter().map(|(cpu, _)| *cpu).collect();
    let results = survey.frame.workers.run(jobs);
    survey.take_note(&cpus, results).swap_remove(0).unwrap_or_default()
}

/// How the buffers are laid out, for the method's parameters.
pub(super) fn layout(quick: bool) -> String {
    let sizes = if quick { format!("; quick: of up to {QUICK} bytes") } else { String::new() };
    format!(
        "one line of {LINE} bytes every {STRIDE}; from 2 MiB huge pages are asked for, below they are small{sizes}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn buffers_reach_beyond_the_largest_cache() {
        let sizes = |cache| super::sizes(cache, 1 << 50, false).unwrap();
        assert_eq!(sizes(105 * MIB).last(), Some(&(256 * MIB)));
        assert_eq!(sizes(504 * MIB).last(), Some(&(1024 * MIB)));
        assert_eq!(sizes(2 * MIB), [16 << 10, 64 << 10, 256 << 10, MIB, 4 * MIB]);
        assert_eq!(super::sizes(105 * MIB, 1 << 50, true).unwrap(), [16 << 10, 256 << 10, QUICK]);
    }

    #[test]
    fn too_little_memory_is_a_reason_and_leaves_sizes_that_compare() {
        let (sizes, why) = super::sizes(32 * MIB, 300 * MIB, false).unwrap_err();
        assert_eq!(sizes, [16 << 10, 64 << 10, 256 << 10, MIB, 4 * MIB, 16 * MIB]);
        assert!(why.contains("available memory"), "{why}");
        assert_eq!(super::sizes(32 * MIB, 0, false).unwrap_err().0, [SMALLEST]);
        assert!(super::sizes(0, 1 << 50, false).unwrap_err().1.contains("no sizes"));
    }
}
