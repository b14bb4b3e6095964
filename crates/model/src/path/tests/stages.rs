//! Stages, rates, and how the times of several stages add up.

use proptest::prelude::*;

use super::super::rate::Factor;
use super::*;

fn time(stages: &[Stage], bytes: f64) -> Ns {
    super::super::stage::time(stages, bytes, Ns::ZERO, 0)
}

/// Fragments pass the stages in order; a stage takes one at a time.
fn simulated(stages: &[Stage], fragments: u32, chunk: f64) -> Ns {
    let mut free = vec![Ns::ZERO; stages.len()];
    for _ in 0..fragments {
        let mut arrives = Ns::ZERO;
        for (stage, free) in stages.iter().zip(&mut free) {
            *free = free.max(arrives) + stage.time(chunk, Ns::ZERO, 0);
            arrives = *free;
        }
    }
    free[stages.len() - 1]
}

#[test]
fn cutting_through_takes_the_slower_rate_and_both_gaps() {
    let stages = [stage(Ns(5.0), 1e9, Overlap::CutThrough), stage(Ns(7.0), 5e8, Overlap::StoreAndForward)];
    assert_eq!(time(&stages, 1000.0), Ns(5.0 + 7.0 + 2000.0));
    let apart = [stage(Ns(5.0), 1e9, Overlap::StoreAndForward), stage(Ns(7.0), 5e8, Overlap::CutThrough)];
    assert_eq!(time(&apart, 1000.0), Ns(5.0 + 7.0 + 3000.0), "the last stage overlaps nothing");
}

#[test]
fn a_pipeline_may_cut_through_inside() {
    let pipelined = Overlap::Pipelined { chunk_bytes: 1000.0 };
    let stages = [
        stage(Ns::ZERO, 1e9, pipelined),
        stage(Ns::ZERO, 1e9, Overlap::CutThrough),
        stage(Ns::ZERO, 5e8, Overlap::StoreAndForward),
        stage(Ns::ZERO, 1e9, Overlap::StoreAndForward),
    ];
    // One fragment through both units, three more through the slower, then the last stage.
    assert_eq!(time(&stages, 4000.0), Ns(1000.0 + 2000.0 + 3.0 * 2000.0 + 4000.0));
}

proptest! {
    #[test]
    fn pipelines_take_what_their_fragments_take(
        parts in proptest::collection::vec((0.0f64..1e4, 1e6f64..1e11), 1..6),
        fragments in 1u32..40,
        chunk in 1.0f64..1e6,
    ) {
        let overlap = Overlap::Pipelined { chunk_bytes: chunk };
        let stages: Vec<Stage> = parts.iter().map(|&(gap, rate)| stage(Ns(gap), rate, overlap)).collect();
        let (model, simulated) = (time(&stages, chunk * f64::from(fragments)), simulated(&stages, fragments, chunk));
        // The last stage ends the group whatever it says, so a single stage is never a pipeline.
        let expected = if stages.len() == 1 {
            stages[0].time(chunk * f64::from(fragments), Ns::ZERO, 0)
        } else {
            simulated
        };
        prop_assert!((model / expected - 1.0).abs() < 1e-9, "{model:?} {expected:?}");
    }

    #[test]
    fn overlapping_never_takes_longer_nor_less_than_the_slowest(
        parts in proptest::collection::vec(1e6f64..1e11, 1..6),
        bytes in 1.0f64..1e9,
    ) {
        let with = |overlap| time(&parts.iter().map(|&rate| stage(Ns::ZERO, rate, overlap)).collect::<Vec<_>>(), bytes);
        let (apart, through) = (with(Overlap::StoreAndForward), with(Overlap::CutThrough));
        let slowest = parts.iter().map(|rate| Ns::of_bytes(bytes, *rate)).fold(Ns::ZERO, Ns::max);
        let pipelined = with(Overlap::Pipelined { chunk_bytes: 4096.0 });
        prop_assert!((through / slowest - 1.0).abs() < 1e-9);
        prop_assert!(through <= pipelined * (1.0 + 1e-9) && pipelined <= apart * (1.0 + 1e-9));
    }
}

#[test]
fn a_table_holds_its_points_and_the_nearest_outside() {
    let rate = Rate::table(vec![(65536.0, 4e6), (512.0, 1e6)]);
    for (bytes, expected) in [(512.0, 1e6), (65536.0, 4e6), (8.0, 1e6), (1e9, 4e6)] {
        assert_eq!(rate.bytes_per_s(bytes), expected);
    }
    // Halfway in logarithms.
    let middle = rate.bytes_per_s((512.0f64 * 65536.0).sqrt());
    assert!((middle / 2e6 - 1.0).abs() < 1e-12, "{middle}");
}

#[test]
fn a_factor_takes_the_start_along_and_begins_at_its_size() {
    let slow = Rate::start_up(Ns(840.0), 147e6);
    let quick = slow.clone().with(vec![Factor { times: 2.0, from_bytes: 1024.0 }]);
    assert_eq!(quick.time(512.0), slow.time(512.0));
    assert_eq!(quick.time(4096.0), slow.time(4096.0) / 2.0);
    assert_eq!(slow.time(0.0), Ns::ZERO);
}
