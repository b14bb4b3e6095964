//! Kawabe & Furuya: times between CPUs, and what they do to the CPI.

use super::*;

fn unit(cpus: std::ops::Range<u32>) -> Unit {
    Unit { id: None, cpus: cpus.collect() }
}

fn cache(level: u8, size_bytes: u64, cpus: std::ops::Range<u32>) -> Cache {
    Cache {
        level,
        kind: CacheKind::Unified,
        size_bytes,
        line_bytes: Some(64),
        ways: None,
        cpus: cpus.collect(),
    }
}

/// Four packages of two cores of two threads, an L3 each, in a line: 0 - 1 - 2 - 3.
pub(super) fn packages() -> TopologySection {
    let node = |n: u32| NumaNode {
        os: n,
        cpus: (4 * n..4 * n + 4).collect(),
        memory_bytes: None,
        distances: (0..4u32).map(|m| [10, 21, 31, 31][m.abs_diff(n) as usize]).collect(),
    };
    TopologySection::from(Topology {
        pus: (0..16).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: (0..4).map(|p| unit(4 * p..4 * p + 4)).collect(),
        cores: (0..8).map(|c| unit(2 * c..2 * c + 2)).collect(),
        caches: (0..4).map(|p| cache(3, 1 << 20, 4 * p..4 * p + 4)).collect(),
        numa_nodes: (0..4).map(node).collect(),
        ..Topology::default()
    })
}

/// Times between CPUs, in ns.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub plain: f64,
    pub locked: f64,
    pub siblings: f64,
    pub die: f64,
    pub hop: f64,
    pub hops: f64,
    pub exclusive: f64,
}

/// As on the paper's machine of eight processors.
const LINES: Lines = Lines {
    plain: 5.35,
    locked: 11.94,
    siblings: 13.29,
    die: 38.88,
    hop: 218.32,
    hops: 305.62,
    exclusive: 26.0,
};

/// A profile in which one time is poorly known, and the others well.
pub(super) fn lines(of: impl Fn(&mut Lines) -> &mut f64, value: f64, known_to: f64) -> Profile {
    let mut times = LINES;
    let mut widths = Lines {
        plain: 0.001,
        locked: 0.001,
        siblings: 0.001,
        die: 0.001,
        hop: 0.001,
        hops: 0.001,
        exclusive: 0.001,
    };
    *of(&mut times) = value;
    *of(&mut widths) = known_to;
    let estimate = |get: fn(&Lines) -> f64| figure(get(&times), get(&widths)).unwrap();
    let topology = packages();
    let pair = |b: u32, ns: Estimate| Pair {
        claimed: Some(topology.topology.claimed(0, b)),
        ..Pair::new(0, b, PairMethod::FreeRunning, Home::A, ns)
    };
    let coherence = Coherence {
        singles: vec![Single {
            cpu: 0,
            name: "C0".into(),
            locked_ns: estimate(|times| times.locked),
            unlocked_ns: estimate(|times| times.plain),
        }],
        pairs: vec![
            pair(1, estimate(|times| times.siblings)),
            pair(2, estimate(|times| times.die)),
            pair(4, estimate(|times| times.hop)),
            pair(8, estimate(|times| times.hops)),
        ],
        reads: vec![StateRead {
            reader: 0,
            owner: 2,
            state: LineState::Exclusive,
            bytes: 16384,
            home: Home::A,
            ns: estimate(|times| times.exclusive),
        }],
        ..Coherence::default()
    };
    let host = Host { clock_ghz: Some(2.26), ..Host::default() };
    Profile { host: Some(host), topology: Some(topology), coherence: Some(coherence), ..Profile::default() }
}

pub(super) fn kawabe_furuya() -> Vec<String> {
    vec![
        three("A locked increment", |v, w| lines(|all| &mut all.plain, v, w), 4.0, 9.0),
        three("Two threads of a core share", |v, w| lines(|all| &mut all.siblings, v, w), 12.5, 20.0),
        three("Two cores of a die take", |v, w| lines(|all| &mut all.die, v, w), 40.0, 20.0),
        three("Sharing costs more with each", |v, w| lines(|all| &mut all.hop, v, w), 200.0, 320.0),
        three("The coherence time on a die", |v, w| lines(|all| &mut all.die, v, w), 35.0, 60.0),
        three("One hop costs", |v, w| lines(|all| &mut all.hop, v, w), 200.0, 60.0),
        three("Two hops cost", |v, w| lines(|all| &mut all.hops, v, w), 305.0, 200.0),
        three("At 2 % of instructions, sharing on a die", |v, w| lines(|all| &mut all.die, v, w), 38.0, 80.0),
        three(
            "At 2 % of instructions, sharing over a hop",
            |v, w| lines(|all| &mut all.hop, v, w),
            218.0,
            30.0,
        ),
        three("The coherence time is that", |v, w| lines(|all| &mut all.exclusive, v, w), 26.0, 50.0),
    ]
}

/// Strict alternation instead of increments, taking three times as long.
fn turns(profile: &Profile) -> Vec<Pair> {
    let of = |pair: &Pair| Pair {
        method: PairMethod::Turn,
        ns: figure(3.0 * pair.ns.median, 0.001).unwrap(),
        ownership_changes_per_op: None,
        ..pair.clone()
    };
    profile.coherence.as_ref().unwrap().pairs.iter().map(of).collect()
}

/// Today's CPUs make many increments per ownership: their time is not that of a change of ownership.
#[test]
fn increments_that_change_hands_now_and_then_are_no_coherence_time() {
    let mut profile = lines(|all| &mut all.die, 38.88, 0.001);
    let verdict = |profile: &Profile| the("At 2 % of instructions, sharing on a die", &judge(profile));
    assert_eq!(verdict(&profile).verdict, Verdict::Holds);
    let turns = turns(&profile);
    let pairs = &mut profile.coherence.as_mut().unwrap().pairs;
    pairs.iter_mut().for_each(|pair| pair.ownership_changes_per_op = figure(0.44, 0.01));
    let open = verdict(&profile);
    assert_eq!((open.verdict, &open.here, &open.measure), (Verdict::CannotBeTold, &None, &None), "{open:?}");
    assert!(open.why.contains("changed hands 0.44 times an increment"), "{}", open.why);
    // The time of increments is given all the same.
    let increments = the("Two cores of a die take", &judge(&profile));
    assert_eq!(increments.verdict, Verdict::Holds);
    assert!(increments.why.contains("0.44 times an increment"), "{}", increments.why);
    // Alternation is another method: it is shown, and judges nothing.
    profile.coherence.as_mut().unwrap().pairs.extend(turns);
    let beside = verdict(&profile);
    assert_eq!(beside.verdict, Verdict::CannotBeTold, "{beside:?}");
    assert!(beside.here.as_deref().unwrap().ends_with("by another method"), "{beside:?}");
    assert!(beside.why.contains("strict alternation") && beside.measure.is_none(), "{}", beside.why);
}

#[test]
fn strict_alternation_alone_judges_no_claim_on_increments() {
    let mut profile = lines(|all| &mut all.die, 38.88, 0.001);
    profile.coherence.as_mut().unwrap().pairs = turns(&profile);
    let judged = judge(&profile);
    for one in judged.iter().filter(|one| one.paper.starts_with("Kawabe")) {
        // One CPU alone has nobody to alternate with.
        if one.claim.starts_with("A locked increment") {
            assert_eq!(one.verdict, Verdict::Holds);
            continue;
        }
        assert_eq!(one.verdict, Verdict::CannotBeTold, "{one:?}");
        assert!(one.here.as_deref().unwrap().ends_with("by another method"), "{one:?}");
        assert!(one.why.contains("increment freely") && one.why.contains("strict alternation"), "{one:?}");
        assert!(one.measure.is_some(), "{one:?}");
    }
}

#[test]
fn a_machine_of_one_class_of_pairs_says_so() {
    let mut profile = lines(|all| &mut all.die, 38.88, 0.001);
    profile.coherence.as_mut().unwrap().pairs.retain(|pair| pair.b == 2);
    let all = judge(&profile);
    let steps = the("Sharing costs more", &all);
    assert!(steps.why.contains("of one of these classes (two cores of a die)"), "{}", steps.why);
    assert!(the("One hop costs", &all).why.contains("one hop"), "no pair is that far");
    // Without two threads of a core the baseline is one CPU alone.
    assert_eq!(the("The coherence time on a die", &all).here.as_deref(), Some("26.9 ns (26.9–27.0)"));
}
