//! What sharing costs, whether it stays so, and where to place by it.

use coho_model::{Matrix, Urgency, coherence_from_matrix};
use coho_profile::{
    BarrierTime, Coherence, Estimate, History, Home, LineSpread, Pair, PairMethod, PlacementTime, Profile,
    Runs, Sync, SyncLimit, Timeline, TimelineSample, TopologySection, Trial,
};
use coho_topology::{Cache, CacheKind, CpuSet, Pu, Topology, Unit};

use super::{does_not_say, estimate, found, host, jumping, says};

/// A package of four cores of one thread, which claims an L3 for so many CPUs each.
fn topology(cpus_an_l3: u32) -> Topology {
    let unit = |cpus: CpuSet| Unit { id: None, cpus };
    let l3 = |at: u32| Cache {
        level: 3,
        kind: CacheKind::Unified,
        size_bytes: 1 << 25,
        line_bytes: Some(64),
        ways: None,
        cpus: (at * cpus_an_l3..(at + 1) * cpus_an_l3).collect(),
    };
    let mut topology = Topology {
        pus: (0..8).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: vec![unit(CpuSet::up_to(8))],
        cores: (0..8).map(|cpu| unit([cpu].into_iter().collect())).collect(),
        caches: (0..8 / cpus_an_l3).map(l3).collect(),
        ..Topology::default()
    };
    topology.finish();
    topology
}

/// The times of all pairs of eight CPUs, near within groups of four.
fn judged(far_ns: f64, n: u64, stable: Option<bool>, topology: Topology) -> Profile {
    let ns =
        |a: usize, b: usize| if a / 4 == b / 4 { 25.0 } else { far_ns } + ((3 * a + 5 * b) % 4) as f64 / 10.0;
    let cells = (0..8).flat_map(|a| (0..8).map(move |b| ns(a.min(b), a.max(b))));
    let matrix = Matrix::new((0..8).collect(), cells.collect()).unwrap();
    let mut coherence = coherence_from_matrix(&matrix);
    for pair in &mut coherence.pairs {
        (pair.method, pair.home, pair.ns) = (PairMethod::Turn, Home::A, estimate(pair.ns.median, n));
        pair.ns.stable = stable;
        pair.claimed = Some(topology.claimed(pair.a, pair.b));
    }
    (coherence.method.passes, coherence.method.duration_s) = (5, 1.4);
    let topology = Some(TopologySection::from(topology));
    Profile { host: host(), topology, coherence: Some(coherence), ..Profile::default() }
}

fn with(mut profile: Profile, change: impl FnOnce(&mut Coherence)) -> Profile {
    change(profile.coherence.as_mut().unwrap());
    profile
}

pub fn steady() -> Profile {
    judged(96.0, 40, Some(true), topology(4))
}

fn one_pair(method: PairMethod, ns: Estimate, claimed: &str) -> Profile {
    let pair = Pair { claimed: Some(claimed.into()), ..Pair::new(0, 1, method, Home::A, ns) };
    let coherence = Coherence { cpus: vec![0, 1], pairs: vec![pair], ..Coherence::default() };
    Profile { host: host(), coherence: Some(coherence), ..Profile::default() }
}

/// A published matrix: one figure a pair, by a method that nobody tells.
fn matrix() -> Profile {
    let path = coho_testing::data("matrices/nviennot_AMD_EPYC_7773X.csv");
    let matrix = Matrix::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    Profile { coherence: Some(coherence_from_matrix(&matrix)), ..Profile::default() }
}

#[test]
fn near_and_far_are_told_apart_by_intervals_alone() {
    let cost = says(&steady(), "sharing-cost", &["25.", "96.", "times as much", "compare-and-swap"]);
    assert!(cost.condition.contains("kept to one value"), "{cost:?}");
    let few = says(&judged(96.0, 3, None, topology(4)), "sharing-cost", &["from 25.", "to 96."]);
    assert!(!few.text.contains("times as much") && !few.condition.contains("kept to"), "{few:?}");
    let alike = judged(25.2, 40, Some(true), topology(8));
    says(&alike, "sharing-cost", &["between any two of the CPUs"]);
    let one = one_pair(PairMethod::Flags, estimate(50.0, 40), "L3");
    says(&one, "sharing-cost", &["50.0 ns (49.5–50.5) between CPUs 0 and 1", "plain stores"]);
    let single = says(&matrix(), "sharing-cost", &["the file does not name"]);
    assert!(single.condition.contains("one sample per pair"), "{single:?}");
    does_not_say(&with(steady(), |coherence| coherence.pairs.clear()), "sharing-cost");
}

#[test]
fn groups_take_more_than_one_and_times_that_stay() {
    let groups = says(&steady(), "sharing-groups", &["2 groups", "0-3 | 4-7"]);
    assert!(!groups.next.is_empty(), "{groups:?}");
    let single = says(&matrix(), "sharing-groups", &["groups"]);
    assert!(
        single.next.is_empty() && single.condition.contains("one sample"),
        "nothing to act on: {single:?}"
    );
    let few = Matrix::parse("\n10\n90,95\n92,97,11\n").unwrap();
    let few = Profile { coherence: Some(coherence_from_matrix(&few)), ..Profile::default() };
    does_not_say(&few, "sharing-groups");
    says(&few, "sharing-cost", &["A step takes from 10.0 ns (CPUs 0 and 1) to 97.0 ns"]);
    let alike = Matrix::parse("\n60\n60,60\n").unwrap();
    let alike = Profile { coherence: Some(coherence_from_matrix(&alike)), ..Profile::default() };
    says(&alike, "sharing-cost", &["60.0 ns between any two CPUs that were timed"]);
    does_not_say(&judged(25.2, 40, Some(true), topology(8)), "sharing-groups");
    does_not_say(&judged(96.0, 40, Some(false), topology(4)), "sharing-groups");
}

#[test]
fn a_team_is_placed_only_where_the_cpus_stay() {
    let team = says(&steady(), "pin-team", &["up to 4 to CPUs", "at most 25.", "1 more group is alike"]);
    assert_eq!(team.urgency, Urgency::Advice);
    assert!(team.next.contains("`coho run --place 0-3 --") || team.next.contains("`coho run --place 4-7 --"));
    does_not_say(&judged(96.0, 40, Some(false), topology(4)), "pin-team");
    does_not_say(&judged(96.0, 3, None, topology(4)), "pin-team");
    does_not_say(&judged(25.2, 40, Some(true), topology(8)), "pin-team");
    does_not_say(&matrix(), "pin-team");
    let moved = Some(History { surveys: 3, modes_ns: vec![25.0, 96.0], disagree: 1 });
    does_not_say(&with(steady(), |coherence| coherence.history = moved), "pin-team");
}

#[test]
fn a_job_is_placed_by_a_trial_that_is_decided() {
    let placement =
        |name: &str, times_best| PlacementTime { name: name.into(), times_best, ..PlacementTime::default() };
    let tried = |decided, times_best| {
        let trial = Trial {
            allowed_cpus: vec![0, 1],
            best: Some("spread".into()),
            decided,
            placements: vec![placement("spread", None), placement("compact", Some(times_best))],
            ..Trial::default()
        };
        let commands = [("bin/make".to_owned(), trial)].into();
        Profile { run: Some(Runs { commands, ..Runs::default() }), ..Profile::default() }
    };
    says(
        &tried(true, estimate(1.96, 10)),
        "pin-job",
        &["spread suits bin/make", "compact takes 1.96 (1.94–1.98)"],
    );
    does_not_say(&tried(false, estimate(1.96, 10)), "pin-job");
    does_not_say(&tried(true, estimate(1.96, 5)), "pin-job");
    does_not_say(&tried(true, estimate(1.0, 10)), "pin-job");
}

#[test]
fn the_claims_stand_or_not_by_times_that_were_held_against_them() {
    says(&steady(), "topology-stands", &["agrees with the times between all CPUs"]);
    let hidden = judged(96.0, 40, Some(true), topology(8));
    let contradicted =
        says(&hidden, "topology-contradicted", &["CPUs 0-7 share an L3, but the figures group 0-3 | 4-7"]);
    assert_eq!(contradicted.urgency, Urgency::Warning);
    does_not_say(&hidden, "topology-stands");
    let split = judged(25.2, 40, Some(true), topology(4));
    does_not_say(&split, "topology-stands");
    says(&split, "topology-contradicted", &["makes no difference"]);
    // All alike, as is claimed.
    says(&judged(25.2, 40, Some(true), topology(8)), "topology-stands", &[]);
    let single = says(&judged(96.0, 1, None, topology(8)), "topology-contradicted", &["0-3 | 4-7"]);
    assert_eq!(single.urgency, Urgency::Note, "one sample is not known to stay");
    does_not_say(&steady(), "topology-contradicted");
    let never: [Profile; 4] = [
        Profile { topology: None, ..steady() },
        judged(96.0, 40, Some(false), topology(4)),
        judged(96.0, 3, None, topology(4)),
        with(steady(), |coherence| coherence.pairs.truncate(1)),
    ];
    for profile in &never {
        does_not_say(profile, "topology-stands");
    }
    // Where times jump, they are no word against any claim.
    does_not_say(&judged(96.0, 40, Some(false), topology(8)), "topology-contradicted");
    does_not_say(&Profile { topology: None, ..hidden }, "topology-contradicted");
}

#[test]
fn what_moves_is_a_warning_and_one_run_alone_does_not_stay() {
    let history = |surveys, disagree| {
        with(steady(), |coherence| {
            coherence.history = Some(History { surveys, modes_ns: vec![25.0, 128.0], disagree });
        })
    };
    let moved = says(&history(7, 2), "placement-moves", &["25.0 and 128 ns"]);
    assert!(moved.condition.contains("2 of 7"), "{moved:?}");
    assert_eq!(moved.urgency, Urgency::Warning);
    assert!(
        !moved.next.contains("host"),
        "nobody moves the CPUs of a machine that is not virtual: {moved:?}"
    );
    let mut is_virtual = history(7, 2);
    is_virtual.host.as_mut().unwrap().hypervisor = Some("KVM".into());
    assert!(found(&is_virtual, "placement-moves").unwrap().next.contains("host"));
    does_not_say(&history(7, 2), "placement-stays");
    says(&history(7, 0), "placement-stays", &["7 other surveys"]);
    for quiet in [steady(), history(0, 0), judged(96.0, 3, None, topology(4)), matrix()] {
        does_not_say(&quiet, "placement-moves");
        does_not_say(&quiet, "placement-stays");
    }
    let jumped = one_pair(PairMethod::Turn, jumping(26.0, 128.0), "L3");
    says(&jumped, "placement-moves", &["CPUs 0 and 1, 26.0 and 128 ns were seen"]);
    does_not_say(&jumped, "times-vary");
    let sample = |at: u32| TimelineSample { at_s: f64::from(at) * 0.05, ns: 26.0 };
    assert!(found(&jumped, "placement-moves").unwrap().next.contains("--watch-for"));
    let long = with(jumped.clone(), |coherence| {
        let samples = vec![sample(0), sample(1199)];
        let (a, b, method) = (0, 1, PairMethod::Turn);
        coherence.timeline =
            Some(Timeline { a, b, method, samples, change_points_s: Vec::new(), modes: Vec::new() });
    });
    let next = found(&long, "placement-moves").unwrap().next;
    assert_eq!(next, "Keep other load off the machine and measure again.", "it was watched for a minute");
    let watched = with(jumped, |coherence| {
        coherence.timeline = Some(Timeline {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            samples: (0..=100).map(sample).collect(),
            change_points_s: vec![2.0],
            modes: jumping(26.0, 128.0).modes,
        });
    });
    says(&watched, "placement-moves", &["changed once within 5.0 s", "26.0 and 128 ns"]);
}

/// A pair that was near for as long as pairs were measured, and far for a part of the watch.
#[test]
fn a_time_seen_while_watching_stands_beside_that_of_the_pairs() {
    let watched = |far: usize| {
        let near = one_pair(PairMethod::Turn, estimate(28.6, 40), "L3");
        with(near, |coherence| {
            coherence.method.passes = 5;
            coherence.method.duration_s = 0.14;
            let ns = |at: usize| if at < far { 103.0 } else { 28.0 };
            let sample = |at: usize| TimelineSample { at_s: at as f64 * 0.05, ns: ns(at) };
            coherence.timeline = Some(Timeline {
                a: 0,
                b: 1,
                method: PairMethod::Turn,
                samples: (0..100).map(sample).collect(),
                change_points_s: Vec::new(),
                modes: Vec::new(),
            });
        })
    };
    for (far, part) in
        [(100, "103 ns for all of a watch of 5.0 s"), (40, "103 ns for 40 % of a watch of 5.0 s")]
    {
        let cost =
            says(&watched(far), "sharing-cost", &["28.6 ns while pairs were measured (", "140 ms", part]);
        assert!(cost.evidence.contains(&"/coherence/timeline".into()), "{cost:?}");
        assert!(!cost.condition.contains("all") || cost.condition.contains("not all"), "{cost:?}");
        says(&watched(far), "placement-moves", &["28.6 ns while pairs were measured", part]);
        does_not_say(&watched(far), "pin-team");
    }
    // A sample or two may be the work of others.
    let cost = says(&watched(2), "sharing-cost", &["28.6 ns"]);
    assert!(!cost.text.contains("watch") && !cost.text.contains("103"), "{cost:?}");
    does_not_say(&watched(2), "placement-moves");
}

/// Other work and the clock vary times, too: only what is far apart shows that a CPU is elsewhere.
#[test]
fn times_that_vary_a_little_do_not_show_that_cpus_moved() {
    let varied = Estimate { stable: Some(false), ..estimate(41.2, 255) };
    let by_flags = |ns| {
        let mut profile = one_pair(PairMethod::Flags, ns, "L3");
        profile.host.as_mut().unwrap().hypervisor = Some("KVM".into());
        profile
    };
    let told = ["The passes did not agree within a tenth", "CPUs 0 and 1 by flags", "41.2 ns"];
    let found = says(&by_flags(varied), "times-vary", &told);
    assert!(!found.text.contains('('), "a narrow interval belies it: {found:?}");
    assert!(found.urgency == Urgency::Advice && !found.next.contains("host"), "{found:?}");
    says(&by_flags(jumping(26.0, 30.0)), "times-vary", &["26.0 and 30.0 ns were seen"]);
    for profile in [by_flags(estimate(41.2, 255)), by_flags(jumping(26.0, 128.0)), steady()] {
        does_not_say(&profile, "times-vary");
    }
}

/// Within one run, too, nothing can then be compared, whatever other surveys saw.
#[test]
fn other_surveys_do_not_hide_that_cpus_moved_in_this_run() {
    let moving = |ns| {
        let mut profile = one_pair(PairMethod::Turn, ns, "L3");
        profile.host.as_mut().unwrap().hypervisor = Some("KVM".into());
        with(profile, |coherence| {
            coherence.history = Some(History { surveys: 7, modes_ns: vec![26.0, 128.0], disagree: 2 });
        })
    };
    let told = ["from survey to survey: 26.0 and 128 ns", "jumped during the run"];
    let both = says(&moving(jumping(26.0, 128.0)), "placement-moves", &told);
    assert!(both.next.contains("in turn") && !both.next.contains("within one run"), "{both:?}");
    assert_eq!(both.evidence.len(), 2, "{both:?}");
    for quiet in [estimate(26.0, 40), jumping(26.0, 30.0)] {
        let others = says(&moving(quiet), "placement-moves", &["from survey to survey"]);
        assert!(others.next.contains("within one run") && !others.text.contains("during"), "{others:?}");
    }
}

#[test]
fn barriers_that_found_another_distance_show_that_cpus_moved() {
    let with_limit = |ns: Estimate, threads| {
        let limit = SyncLimit { barrier: ns.clone(), barrier_by: None, fork_join: ns };
        let barriers = vec![BarrierTime { threads, ..BarrierTime::default() }];
        Profile { sync: Some(Sync { limit_ns: Some(limit), barriers, ..Sync::default() }), ..steady() }
    };
    // The farthest pair takes 96 ns.
    let moved =
        says(&with_limit(estimate(26.0, 40), 8), "placement-moves", &["96.", "26.0 ns while barriers"]);
    assert_eq!(moved.urgency, Urgency::Warning);
    says(&with_limit(estimate(190.0, 40), 8), "placement-moves", &["190 ns while barriers"]);
    does_not_say(&with_limit(estimate(26.0, 40), 8), "pin-team");
    // What other surveys saw does not hide it.
    let mut both = with_limit(estimate(26.0, 40), 8);
    both.coherence.as_mut().unwrap().history =
        Some(History { surveys: 7, modes_ns: vec![25.0, 128.0], disagree: 2 });
    let told = ["from survey to survey: 25.0 and 128 ns", "26.0 ns while barriers"];
    assert!(says(&both, "placement-moves", &told).evidence.len() >= 3);
    let quiet =
        [(estimate(96.0, 40), 8), (estimate(120.0, 40), 8), (estimate(26.0, 3), 8), (estimate(26.0, 40), 2)];
    for (ns, threads) in quiet {
        does_not_say(&with_limit(ns, threads), "placement-moves");
    }
}

/// A barrier's multiple of the limit means nothing beside the pairs' time.
#[test]
fn a_barrier_names_the_distance_at_which_it_ran() {
    let with_limit = |ns: f64| {
        let limit =
            SyncLimit { barrier: estimate(ns, 40), barrier_by: None, fork_join: estimate(2.0 * ns, 40) };
        let barrier = BarrierTime {
            algorithm: "fbs".into(),
            threads: 8,
            ns: Some(estimate(1.2 * ns, 40)),
            times_limit: Some(1.2),
            ..BarrierTime::default()
        };
        let sync = Sync { limit_ns: Some(limit), barriers: vec![barrier], ..Sync::default() };
        says(&Profile { sync: Some(sync), ..steady() }, "quickest-barrier", &["1.20 times"]).condition
    };
    let moved = with_limit(26.0);
    assert!(moved.contains("ran, is 26.0 ns (") && moved.contains("the farthest took 96."), "{moved}");
    let same = with_limit(96.0);
    assert!(same.contains("ran, is 96.0 ns (") && !same.contains("the farthest took"), "{same}");
}

#[test]
fn lines_differ_where_both_halves_of_a_run_agree() {
    let wide = |p90, split_half| {
        let lines = LineSpread { count: 64, p10: 24.0, p50: 28.0, p90, split_half, share: None };
        with(steady(), |coherence| coherence.pairs[3].lines = Some(lines))
    };
    let spread = |split_half| wide(32.0, split_half);
    does_not_say(&wide(24.3, Some(0.9)), "lines-differ");
    says(&spread(Some(0.9)), "lines-differ", &["less than 24.0 ns", "more than 32.0"]);
    for noise in [Some(0.2), None] {
        does_not_say(&spread(noise), "lines-differ");
    }
    does_not_say(&steady(), "lines-differ");
}

/// The same quantity measured the same way: increments by both CPUs at once.
#[test]
fn only_free_running_pairs_stand_beside_the_paper() {
    let free = |ns, n, claimed: &str| one_pair(PairMethod::FreeRunning, estimate(ns, n), claimed);
    let like = says(&free(40.0, 40, "L3"), "published-machine", &["40.0 ns", "like 8 x Xeon X7560", "38.9"]);
    assert!(like.condition.contains("one run cannot show"), "{like:?}");
    // The stability of hand-overs is none of theirs.
    let beside_turn = |stable| {
        with(free(40.0, 40, "L3"), |coherence| {
            coherence.pairs[0].ns.stable = stable;
            let turn =
                Pair { method: PairMethod::Turn, ns: estimate(96.0, 40), ..coherence.pairs[0].clone() };
            coherence.pairs.push(turn);
            coherence.pairs[1].ns.stable = Some(true);
        })
    };
    for (stable, told) in [
        (Some(true), "kept to one value in this run, but one run cannot show"),
        (Some(false), "the increments did not keep to one value in this run"),
        (None, "too few samples to tell"),
    ] {
        let found = says(&beside_turn(stable), "published-machine", &["40.0 ns"]);
        assert!(found.condition.contains(told) && !found.condition.contains("turn"), "{found:?}");
    }
    let moved = Some(History { surveys: 3, modes_ns: vec![40.0, 96.0], disagree: 1 });
    let moved = with(free(40.0, 40, "L3"), |coherence| coherence.history = moved);
    let moved = says(&moved, "published-machine", &[]);
    assert!(moved.condition.contains("1 of 3 other surveys"), "{moved:?}");
    let one = Some(History { surveys: 1, modes_ns: vec![40.0, 96.0], disagree: 1 });
    let one =
        says(&with(free(40.0, 40, "L3"), |coherence| coherence.history = one), "published-machine", &[]);
    assert!(one.condition.contains("the one other survey since boot differs"), "{one:?}");
    assert!(!one.condition.contains("1 of 1"), "{one:?}");
    does_not_say(&free(f64::INFINITY, 40, "L3"), "published-machine");
    says(&free(20.0, 40, "L3"), "published-machine", &["0.52 times the nearest published", "E5620"]);
    for claimed in ["core", "L2", "system"] {
        does_not_say(&free(40.0, 40, claimed), "published-machine");
    }
    does_not_say(&free(40.0, 5, "L3"), "published-machine");
    does_not_say(&steady(), "published-machine");
    let unstable = with(free(40.0, 40, "L3"), |coherence| coherence.pairs[0].ns.stable = Some(false));
    does_not_say(&unstable, "published-machine");
    // Several increments in one ownership: their time is not that of a hand-over, which the paper's is.
    let void = |changes| {
        with(free(40.0, 40, "L3"), |coherence| {
            coherence.pairs[0].ownership_changes_per_op = Some(Estimate::exact(changes));
        })
    };
    does_not_say(&void(0.33), "published-machine");
    says(&void(0.98), "published-machine", &["40.0 ns"]);
}
