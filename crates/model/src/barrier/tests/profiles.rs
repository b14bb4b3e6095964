//! Machines and predictions of whole profiles.

use super::*;

#[test]
fn a_profile_gives_messages_transfers_and_their_extras() {
    let pairs = |method, ns| (0..4).flat_map(move |b| (0..b).map(move |a| pair(a, b, method, ns)));
    let single = Single {
        cpu: 0,
        name: "C0".into(),
        locked_ns: Estimate::exact(6.0),
        unlocked_ns: Estimate::exact(1.0),
    };
    let mut profile = Profile {
        coherence: Some(Coherence {
            cpus: (0..4).collect(),
            pairs: pairs(PairMethod::Turn, 50.0).chain(pairs(PairMethod::Flags, 63.0)).collect(),
            singles: vec![single],
            ..Coherence::default()
        }),
        ..Profile::default()
    };
    let machine = Machine::from_profile(&profile).unwrap();
    assert_eq!(
        [machine.message(0, 3), machine.transfer(0, 3), machine.one_way(0, 3)],
        [63.0, 50.0, 50.0].map(Ns)
    );
    assert_eq!(machine.local.time, Ns(6.0));
    assert!(matches!(machine.extra_line.source, Source::Assumed(_)));
    let fbs = |threads, ns| BarrierTime {
        algorithm: "fbs".into(),
        layout: "separate-lines".into(),
        threads,
        mapping: "sequential".into(),
        ns: Some(Estimate::exact(ns)),
        times_limit: None,
    };
    let extra_line_ns = Some(Estimate::exact(7.0));
    profile.sync =
        Some(Sync { barriers: vec![fbs(2, 69.0)], extra_line_ns: extra_line_ns.clone(), ..Sync::default() });
    let machine = Machine::from_profile(&profile).unwrap();
    assert_eq!(machine.extra_line.fixed, Ns(7.0));
    assert!(matches!(machine.extra_line.source, Source::Measured(_)));
    let barriers = vec![fbs(2, 69.0), fbs(3, 68.0), fbs(4, 73.0)];
    profile.sync = Some(Sync { barriers, extra_line_ns, ..Sync::default() });
    let machine = Machine::from_profile(&profile).unwrap();
    assert_near(machine.extra_line.fixed.0, 5.0);
    assert!(matches!(machine.extra_line.source, Source::Fitted(_)));
    // The extra line is fitted to these times, so each is predicted from the other teams' times.
    let checks = compare(&machine, &profile).unwrap().checks;
    let rows: Vec<_> = checks.iter().map(|check| (check.threads, check.basis, check.predicted.0)).collect();
    assert_eq!((rows[0].1, rows[1].1, rows[2].1), (Basis::Predicted, Basis::LeftOut, Basis::LeftOut));
    // The extra line takes 5 ns from the times of four threads alone, and also from those of three: 63 + (n - 2) g.
    assert!((rows[2].2 - 73.0).abs() < 1.0, "{rows:?}");
    let sync = profile.sync.as_mut().unwrap();
    sync.barriers.truncate(2);
    let machine = Machine::from_profile(&profile).unwrap();
    let alone = &compare(&machine, &profile).unwrap().checks[1];
    // Without that team, reads give the cost of the extra line: 63 + 7 ns, without any fit.
    assert_eq!((alone.basis, alone.predicted.0.round()), (Basis::Predicted, 70.0));
    profile.sync.as_mut().unwrap().extra_line_ns = None;
    let machine = Machine::from_profile(&profile).unwrap();
    let alone = &compare(&machine, &profile).unwrap().checks[1];
    assert_eq!(alone.basis, Basis::Fit, "nothing else tells of it");
}

#[test]
fn what_was_measured_stands_beside_its_prediction() {
    let pairs = [pair(0, 1, PairMethod::Flags, 60.0), pair(0, 1, PairMethod::Turn, 50.0)].to_vec();
    let barrier = |algorithm: &str, layout: &str, threads| BarrierTime {
        algorithm: algorithm.into(),
        layout: layout.into(),
        threads,
        mapping: "sequential".into(),
        ns: Some(Estimate::exact(75.0)),
        times_limit: None,
    };
    let region = |algorithm: &str, by: &str| ForkJoinTime {
        algorithm: algorithm.into(),
        by: by.into(),
        threads: 2,
        mapping: "sequential".into(),
        total_ns: Some(Estimate::exact(100.0)),
        ..ForkJoinTime::default()
    };
    let sync = Sync {
        barriers: vec![
            barrier("fbs", "separate-lines", 2),
            barrier("lock", "", 2),
            barrier("tournament-4", "", 2),
            // Threads that share CPUs.
            barrier("fbs", "separate-lines", 8),
        ],
        fork_join: vec![
            region("team", "go-flag"),
            region("fbs", "barrier"),
            region("fbs-one-line", "of-a-later-version"),
        ],
        ..Sync::default()
    };
    let mut profile = Profile {
        coherence: Some(Coherence { cpus: vec![0, 1], pairs, ..Coherence::default() }),
        sync: Some(sync),
        ..Profile::default()
    };
    let machine = Machine::from_profile(&profile).unwrap();
    let Comparison { checks, left_out } = compare(&machine, &profile).unwrap();
    let rows: Vec<_> = checks.iter().map(|check| (&*check.algorithm, check.operation)).collect();
    let expected =
        [("fbs", "barrier"), ("tournament-4", "barrier"), ("team", "fork-join"), ("fbs", "fork-join")];
    assert_eq!(rows, expected);
    assert_near(checks[0].predicted.0, 60.0);
    assert_near(checks[0].error(), -0.2);
    // There and back on one line; the first time, both hold copies.
    assert!((100.0..103.0).contains(&checks[2].predicted.0), "{:?}", checks[2].predicted);
    // A word there and one back takes as little as the limit; two barriers of members that arrive at once may take
    // less.
    assert_near(checks[3].predicted.0, 120.0);
    let why: Vec<_> = left_out.iter().map(|row| (&*row.algorithm, row.why)).collect();
    assert!(matches!(why[..], [("lock", mutex), ("fbs", shared), ("fbs-one-line", unknown)]
            if mutex.contains("mutex") && shared.contains("share") && unknown.contains("does not know how")));
    let cpus = serde_json::json!([0, 2]);
    profile.sync.as_mut().unwrap().method.parameters.insert("cpus".into(), cpus);
    assert!(compare(&machine, &profile).unwrap_err().to_string().contains("other CPUs"));
}

/// Three CPUs that were 100 ns apart while pairs were measured; barriers ran at another distance.
#[test]
fn barriers_at_another_distance_are_neither_compared_nor_fitted() {
    let close = |ns: f64| Estimate { low: 0.99 * ns, high: 1.01 * ns, n: 28, ..Estimate::exact(ns) };
    let with_limit = |limit: f64| {
        let pairs = [(0, 1), (0, 2), (1, 2)]
            .map(|(a, b)| Pair { ns: close(100.0), ..pair(a, b, PairMethod::Turn, 0.0) });
        let barrier = BarrierTime {
            algorithm: "fbs".into(),
            layout: "separate-lines".into(),
            threads: 3,
            mapping: "sequential".into(),
            ns: Some(close(2.0 * limit)),
            times_limit: Some(2.0),
        };
        let sync = Sync {
            barriers: vec![barrier],
            limit_ns: Some(SyncLimit {
                barrier: close(limit),
                barrier_by: None,
                fork_join: close(2.0 * limit),
            }),
            ..Sync::default()
        };
        let coherence = Coherence { cpus: vec![0, 1, 2], pairs: pairs.into(), ..Coherence::default() };
        Profile { coherence: Some(coherence), sync: Some(sync), ..Profile::default() }
    };
    for (limit, is_compared) in [(26.3, false), (90.0, true), (109.0, true), (400.0, false)] {
        let profile = with_limit(limit);
        let machine = Machine::from_profile(&profile).unwrap();
        assert_eq!(matches!(machine.extra_line.source, Source::Fitted(_)), is_compared, "{limit}");
        let answer = answer(&profile).unwrap().unwrap();
        assert!(!answer.winners.is_empty(), "the pairs still tell");
        match answer.comparison {
            Ok(comparison) => assert!(is_compared && comparison.checks.len() == 1, "{limit}: {comparison:?}"),
            Err(why) => {
                let told = [
                    "took 100 ns one way".to_owned(),
                    format!("and {} ns while", crate::words::tenths(limit)),
                ];
                assert!(
                    !is_compared && told.iter().all(|words| why.to_string().contains(words)),
                    "{limit}: {why}"
                );
            }
        }
    }
}

/// Eight packages; the paper measured the first against the others.
#[test]
fn the_papers_xeon_is_completed_by_its_classes() {
    let paper = published::read("kawabe-furuya/x7560").unwrap();
    let machine = Machine::from_profile(&paper.machines[0].1).unwrap();
    assert_eq!((machine.len(), machine.levels().len()), (128, 2));
    assert!(machine.notes[0].contains("pairs have no time"), "{:?}", machine.notes);
    // CPUs 8 p to 8 p + 7 and their siblings are package p.
    assert_eq!((machine.message(0, 64), machine.message(9, 73)), (Ns(13.29), Ns(13.29)));
    assert_eq!(machine.message(24, 25), Ns(40.92));
    assert!((Ns(215.0)..Ns(220.0)).contains(&machine.message(3 * 8, 2 * 8)), "one hop");
    assert!((Ns(276.0)..Ns(316.0)).contains(&machine.message(3 * 8, 5 * 8)), "two hops");
    // The library's order: two threads run on two cores of a package, not on one core's two threads.
    assert_eq!(
        (machine.order(Mapping::Sequential)[..9].to_vec(), machine.order(Mapping::Sequential)[64]),
        ((0..9).collect(), 64)
    );
    let of_two = predict(&machine, 2, Mapping::Sequential).unwrap()[0].time;
    assert_near(of_two / machine.message(0, 1), 1.0);
    assert!(of_two > 2.0 * machine.message(0, 64), "{of_two:?}");
    let topology = &paper.machines[0].1.topology.as_ref().unwrap().topology;
    for mapping in Mapping::ALL {
        let library: Vec<usize> =
            mapping.order(topology, &topology.cpus()).into_iter().map(|cpu| cpu as usize).collect();
        assert_eq!(machine.order(mapping), library);
    }
    let predictions = predict(&machine, 64, Mapping::BinaryTree).unwrap();
    assert!(
        matches!(predictions[0].algorithm, Algorithm::Grid | Algorithm::Hierarchical),
        "{:?}",
        predictions[0]
    );
}
