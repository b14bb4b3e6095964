//! The sizes from which another variant is quicker.

use coho_profile::TransferPass;
use proptest::prelude::*;

use super::super::envelope::envelope;
use super::*;

/// The constants and this machine's messages each have a threshold of their own.
#[test]
fn thresholds_by_constants_and_by_measured_messages_differ() {
    let machine = messages(&[
        ("shared-memory", 1024, [0.0, 1024.0, 0.0]),
        ("shared-memory", 1 << 20, [0.0, 1_048_576.0, 0.0]),
        ("process-vm", 1024, [0.0, 4096.0, 0.0]),
        ("process-vm", 1 << 20, [0.0, 262_144.0, 0.0]),
    ]);
    let path = ready::file("eager").unwrap().resolve(Some(&machine)).unwrap();
    let found = path.crossovers.iter().map(|crossover| match path.crossings(crossover, 0)[..] {
        [one] => one.exact_bytes,
        ref several => panic!("{}: {several:?}", crossover.name),
    });
    // 10 ns + 2 L / 7 GB/s = 2315 ns + L / 11.145 GB/s; the measured rates are equal halfway between their sizes.
    let expected = [2305.0 / (2.0 / 7.0 - 1.0 / 11.145), 32768.0];
    for (found, expected) in found.zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
}

/// The measured part of `eager`: what its medians and its passes have, of messages of 1 KiB, 64 KiB and 1 MiB that take
/// these ns; first through shared memory, then out of the sender's buffer.
fn eager_by_pass(medians: [[f64; 3]; 2], passes: &[[[f64; 3]; 2]]) -> Vec<Takeover> {
    let mut transfers = Vec::new();
    for (way, path) in ["shared-memory", "process-vm"].into_iter().enumerate() {
        for (at, bytes) in [1 << 10, 1 << 16, 1 << 20].into_iter().enumerate() {
            let pass = |pass: &[[f64; 3]; 2]| TransferPass { ns: pass[way][at], ..Default::default() };
            let passes = passes.iter().map(pass).collect();
            transfers.push(Transfer { passes, ..transfer(path, 1, bytes, [0.0, medians[way][at], 0.0]) });
        }
    }
    let machine = with_transfers(transfers);
    let file = ready::file("eager").unwrap();
    file.resolve(Some(&machine)).unwrap().takeovers(&file.by_pass(&machine), 1, 0)
}

/// A crossing of measured messages is known as well as its passes agree.
#[test]
fn a_crossing_of_messages_is_told_with_what_each_pass_has() {
    let copied = [1e3, 6e4, 1e6];
    let [once, never, back, first] =
        [[2e3, 5e4, 5e5], [2e3, 7e4, 2e6], [2e3, 5e4, 2e6], [5e2, 5e4, 5e5]].map(|other| [copied, other]);
    assert_eq!(eager_by_pass(once, &[])[0].by_pass, None, "there are no passes");
    for (medians, passes, agreeing, why) in [
        (once, vec![once, never, once], 2, "a pass crosses nowhere"),
        (once, vec![once, back, once], 2, "its first crossing is that of the medians, but it crosses back"),
        (once, vec![once, first], 1, "in one the other is the quickest at every size"),
        (never, vec![first], 0, "neither crosses, but others are the quickest"),
        (never, vec![never], 1, "neither crosses"),
    ] {
        let takeovers = eager_by_pass(medians, &passes);
        assert_eq!(takeovers[0].by_pass, Some((agreeing, passes.len())), "{why}");
    }
    let same = &eager_by_pass(once, &[once, never, once])[0];
    assert_eq!(same.by_pass_bytes, same.exact_bytes.map(|bytes| (bytes, bytes)));
    // All crossings of a pass that disagrees count, and the medians' own is never outside of its range.
    let later = &eager_by_pass([copied, [2e3, 7e4, 5e5]], &[once, back])[0];
    let (least, greatest) = later.by_pass_bytes.unwrap();
    assert!(least < 65536.0 && greatest > 65536.0 && Some(greatest) == later.exact_bytes, "{later:?}");
}

/// Without a publication's grid, a crossing is given to the byte.
#[test]
fn a_crossing_is_told_to_its_byte() {
    let text = r#"
name = "two lines"
[rates]
slow = { start_ns = 1000, bytes_per_s = 5e8 }
quick = { start_ns = 3000.5, bytes_per_s = 1e9 }
[[stage]]
name = "slow"
kind = "dma"
rate = "slow"
[[stage]]
name = "quick"
kind = "dma"
rate = "quick"
[[variant]]
name = "slow"
stages = ["slow"]
[[variant]]
name = "quick"
stages = ["quick"]
[[crossover]]
name = "slow, quick"
protocols = ["slow", "quick"]
bytes = { from = 1, to = 1000000 }
"#;
    let found = |text: &str| {
        let path = resolve(text).unwrap();
        let crossover = &path.crossovers[0];
        (crossover.grid.as_ref().map(Vec::len), path.crossings(crossover, 0)[0])
    };
    // 1000 ns + 2 L = 3000.5 ns + L.
    let (grid, exact) = found(text);
    assert_eq!((grid, exact.bytes), (None, 2001.0));
    assert!((exact.exact_bytes - 2000.5).abs() < 1e-6, "{exact:?}");
    // On a grid of 1, 10, 100, …, the crossing is the first size beyond the intersection, which stays the same.
    let (grid, coarse) = found(&text.replace("1000000 }", "1000000, points = 7 }"));
    assert_eq!((grid, coarse.bytes, coarse.exact_bytes), (Some(7), 10_000.0, exact.exact_bytes));
}

fn line(fixed: Ns, bytes_per_s: f64) -> Variant {
    let stage = Stage { fixed, ..stage(Ns::ZERO, bytes_per_s, Overlap::StoreAndForward) };
    Variant { name: String::new(), stages: vec![stage], max_bytes: None }
}

proptest! {
    /// The intersections of straight lines are known.
    #[test]
    fn lines_cross_where_they_must(
        parts in proptest::collection::vec((0.0f64..1e5, 1e7f64..1e11), 2..6),
    ) {
        let lines: Vec<Variant> = parts.iter().map(|&(fixed, rate)| line(Ns(fixed), rate)).collect();
        let refs: Vec<&Variant> = lines.iter().collect();
        let thresholds = envelope(&refs, 1.0, 1e8, 0);
        for threshold in &thresholds[1..] {
            let (a, b) = (parts[threshold.from.unwrap()], parts[threshold.to]);
            let exact = (b.0 - a.0) / (1e9 / a.1 - 1e9 / b.1);
            prop_assert!((threshold.bytes / exact - 1.0).abs() < 1e-9, "{} {exact}", threshold.bytes);
        }
        for bytes in [1.0, 10.0, 1e3, 1e5, 3e7, 1e8] {
            let holds = thresholds.iter().rev().find(|threshold| threshold.bytes <= bytes).unwrap();
            let time = |variant: &Variant| variant.time(bytes, Ns::ZERO, 0);
            let least = lines.iter().map(time).fold(Ns::INFINITY, Ns::min);
            prop_assert!(time(&lines[holds.to]) <= least * (1.0 + 1e-9));
        }
    }
}

#[test]
fn a_protocol_ends_at_its_greatest_size() {
    let mut inline = line(Ns(1.0), 1e9);
    inline.max_bytes = Some(220.0);
    let all = [inline, line(Ns(500.0), 1e9)];
    let thresholds = envelope(&all.iter().collect::<Vec<_>>(), 1.0, 1e6, 0);
    assert_eq!(thresholds.len(), 2);
    assert!((thresholds[1].bytes - 220.0).abs() < 1e-9 && thresholds[1].bytes > 220.0, "{thresholds:?}");
}
