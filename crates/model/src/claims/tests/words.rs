//! Figures, and how they were measured, in words.

use coho_profile::{EarlierParts, Method};

use super::*;

#[test]
fn the_ends_of_an_interval_keep_their_signs() {
    let profile = team(|sync| {
        let row = sync.fork_join.iter_mut().find(|row| row.algorithm == "fbs-one-line").unwrap();
        // 7 ns less in the join than in the fork, and known to about 380 ns at 95 %: at what all claims take, to about 640.
        row.fork_ns = figure(2807.0, 0.001);
        row.join_ns = Some(Estimate { low: 2420.0, high: 3170.0, ..figure(2800.0, 0.0).unwrap() });
    });
    let judgement = the("One line loses", &judge(&profile));
    assert_eq!(judgement.here.as_deref(), Some("−7.00 ns (−624…649)"), "{judgement:?}");
}

/// "About 4", "about half" and "less than 10 %" are not printed as if they had digits.
#[test]
fn what_a_paper_words_is_not_shown_as_exact() {
    let paper = published::read("nakamura-fbs").unwrap().machines.remove(0).1;
    let all = judge_published(&paper);
    let here = |claim: &str| the(claim, &all).here.unwrap();
    assert_eq!(here("Short loops run"), "≈ 4.00x");
    assert_eq!(here("Short loops gain"), "≈ 3.08x");
    assert_eq!(here("An untuned program"), "≈ 0.50x");
    assert_eq!(here("A tuned weather model"), "0.70–0.80x");
    assert_eq!(here("Tuned, less than a tenth"), "< 10.0 %");
    assert_eq!(here("Half the CPUs fork"), "1.60x");
    assert_eq!(the("Tuned, less than a tenth", &all).verdict, Verdict::Holds);
}

#[test]
fn a_ratio_has_one_form_of_a_call() {
    let claim = "The second time, each system call";
    let mut profile = of_calls(|_| {});
    let all = &mut profile.calls.as_mut().unwrap().calls;
    // Through the library both cold and a second time; bare only cold, which is slower.
    let mut bare: Vec<Call> = all.iter().filter(|call| call.state == CacheState::Cold).cloned().collect();
    bare.iter_mut().for_each(|call| call.counts.CYCLE = figure(50_000.0, 0.001));
    all.iter_mut().for_each(|call| call.wrapped = true);
    all.extend(bare);
    let judgement = the(claim, &judge(&profile));
    assert!(judgement.here.as_deref().unwrap().starts_with("getpid: 6.00 %"), "{judgement:?}");
}

#[test]
fn a_part_of_an_earlier_run_is_told_by_that_run() {
    let run = |passes, duration_s| Method { passes, duration_s, ..Method::default() };
    let mut profile = rates(|_| {});
    let memory = profile.memory.as_mut().unwrap();
    memory.method = run(3, 2.0);
    memory.earlier = vec![EarlierParts { parts: vec!["rates".into()], method: run(7, 40.0) }];
    let why = |profile: &Profile| the("SIMD stores to cached", &judge(profile)).why;
    assert!(why(&profile).contains("one run of 7 passes in 40.0 s"), "{}", why(&profile));
    profile.memory.as_mut().unwrap().earlier.clear();
    assert!(why(&profile).contains("one run of 3 passes in 2.0 s"), "{}", why(&profile));
    profile.memory.as_mut().unwrap().method = Method::default();
    let untold = why(&profile);
    assert!(untold.contains("the profile does not say how it was measured"), "nothing printed it: {untold}");
}

/// What only resembles the paper's quantity decides nothing, except for what it bounds from one side.
#[test]
fn data_seen_by_timing_are_a_lower_bound() {
    let timed = |claim: &str, lines: f64| {
        let profile = of_calls(|calls| {
            calls.method = CallMethod::Timing;
            for call in &mut calls.calls {
                call.footprint_lines = figure(lines, 0.01);
                call.counts = Counts::default();
            }
        });
        the(claim, &judge(&profile))
    };
    assert_eq!(timed("fprintf brings in", 500.0).verdict, Verdict::CannotBeTold, "the code is not seen");
    let larger = timed("fprintf brings in", 2000.0);
    assert_eq!(larger.verdict, Verdict::DoesNotHold, "the data alone are more");
    assert!(larger.here.as_deref().unwrap().starts_with("at least 12"), "{larger:?}");
    for lines in [3.0, 24.0, 43.0] {
        let few = timed("Entering and leaving", lines);
        assert_eq!(few.verdict, Verdict::CannotBeTold);
        assert!(few.why.contains("only counters decide"), "{few:?}");
    }
}
