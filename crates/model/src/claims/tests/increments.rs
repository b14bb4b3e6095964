//! Increments of a line, and strict alternation beside them.

use coho_profile::{Pair, PairMethod};

use super::*;

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
    let mut profile = lines();
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
    let mut profile = lines();
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
    let mut profile = lines();
    profile.coherence.as_mut().unwrap().pairs.retain(|pair| pair.b == 2);
    let all = judge(&profile);
    let steps = the("Sharing costs more", &all);
    assert!(steps.why.contains("of one of these classes (two cores of a die)"), "{}", steps.why);
    assert!(the("One hop costs", &all).why.contains("one hop"), "no pair is that far");
    // Without two threads of a core the baseline is one CPU alone.
    assert_eq!(the("The coherence time on a die", &all).here.as_deref(), Some("26.9 ns (26.9–27.0)"));
}
