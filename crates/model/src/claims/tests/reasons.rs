//! Reasons: what the machine lacks comes first, and no two conclusions on one page contradict each other.

use super::*;

/// On one package, a hop cannot be measured, whatever else keeps its increments from telling anything.
#[test]
fn what_the_machine_does_not_have_is_the_reason() {
    let mut profile = lines();
    let topology = &mut profile.topology.as_mut().unwrap().topology;
    topology.packages.truncate(1);
    topology.packages[0].cpus = (0..4).collect();
    topology.pus.retain(|pu| pu.os < 4);
    let host = profile.host.get_or_insert_default();
    host.allowed_cpus = (0..4).collect();
    let coherence = profile.coherence.as_mut().unwrap();
    coherence.pairs.retain(|pair| pair.a < 4 && pair.b < 4);
    // The line changes hands once in three increments.
    coherence.pairs.iter_mut().for_each(|pair| pair.ownership_changes_per_op = figure(0.33, 0.01));
    let all = judge(&profile);
    for claim in ["One hop costs", "Two hops cost", "At 2 % of instructions, sharing over a hop"] {
        let one = the(claim, &all);
        assert!(one.why.contains("there is one package") && one.measure.is_none(), "{one:?}");
    }
    let die = the("The coherence time on a die", &all);
    assert!(die.why.contains("changed hands 0.33 times"), "{die:?}");
}

/// Fork and join are timed together, and each by itself: two methods that need not agree.
#[test]
fn whether_one_line_loses_anything_is_told_by_the_same_figure_everywhere() {
    let of = |total: f64, fork: f64, join: f64| {
        let profile = team(|sync| {
            let fbs = sync
                .fork_join
                .iter()
                .find(|row| row.algorithm == "fbs" && row.threads == 16)
                .unwrap()
                .clone();
            let row = sync.fork_join.iter_mut().find(|row| row.algorithm == "fbs-one-line").unwrap();
            let changed = |of: &Option<Estimate>, by: f64| figure(of.as_ref().unwrap().median * by, 0.001);
            row.total_ns = changed(&fbs.total_ns, total);
            row.fork_ns = changed(&fbs.fork_ns, fork);
            row.join_ns = changed(&fbs.join_ns, join);
        });
        let all = judge(&profile);
        (the("FBS with all flags", &all), the("One line loses", &all))
    };
    let (longer, lost) = of(1.5, 0.98, 0.98);
    assert_eq!(longer.verdict, Verdict::Holds);
    assert!(longer.why.contains("timed together"), "{longer:?}");
    assert_eq!(lost.verdict, Verdict::CannotBeTold);
    assert!(lost.why.contains("timed together") && lost.why.contains("timed apart"), "{lost:?}");
    let (shorter, lost) = of(0.9, 0.9, 0.9);
    assert_eq!(shorter.verdict, Verdict::DoesNotHold);
    assert!(lost.why.contains("one line loses nothing here"), "{lost:?}");
    let (longer, lost) = of(1.5, 1.2, 1.9);
    assert_eq!((longer.verdict, lost.verdict), (Verdict::Holds, Verdict::Holds));
}

/// What other work disturbed says what the machine was doing.
#[test]
fn disturbed_programs_decide_nothing() {
    let claims = ["An untuned program", "A tuned weather model", "Tuned, less than a tenth"];
    let verdicts = |disturbed: bool| {
        let profile = team(|sync| {
            let points = sync.kernels.values_mut().flat_map(|kernel| &mut kernel.points);
            points.for_each(|point| point.disturbed = disturbed);
        });
        let all = judge(&profile);
        claims.map(|claim| the(claim, &all))
    };
    assert!(verdicts(false).iter().all(|one| one.verdict == Verdict::Holds));
    for one in verdicts(true) {
        assert!(one.verdict == Verdict::CannotBeTold && one.why.contains("other work disturbed"), "{one:?}");
    }
}
