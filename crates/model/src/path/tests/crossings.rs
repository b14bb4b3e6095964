//! The sizes from which another variant is quicker.

use coho_profile::TransferPass;

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
fn eager_by_pass(medians: [[f64; 3]; 2], passes: &[[[f64; 3]; 2]]) -> (Vec<Crossing>, Option<ByPass>) {
    let mut machine = messages(&[]);
    for (way, path) in ["shared-memory", "process-vm"].into_iter().enumerate() {
        for (at, bytes) in [1 << 10, 1 << 16, 1 << 20].into_iter().enumerate() {
            let mut one = messages(&[(path, bytes, [0.0, medians[way][at], 0.0])]).memory.unwrap().transfers;
            let pass = |pass: &[[f64; 3]; 2]| TransferPass { ns: pass[way][at], ..Default::default() };
            one[0].passes = passes.iter().map(pass).collect();
            machine.memory.as_mut().unwrap().transfers.append(&mut one);
        }
    }
    let file = ready::file("eager").unwrap();
    let path = file.resolve(Some(&machine)).unwrap();
    (path.crossings(&path.crossovers[1], 0), ByPass::of(&path, &file.by_pass(&machine), 1, 0))
}

/// A crossing of measured messages is known as well as its passes agree.
#[test]
fn a_crossing_of_messages_is_told_with_what_each_pass_has() {
    let copied = [1e3, 6e4, 1e6];
    let [once, never, back, first] =
        [[2e3, 5e4, 5e5], [2e3, 7e4, 2e6], [2e3, 5e4, 2e6], [5e2, 5e4, 5e5]].map(|other| [copied, other]);
    let of = |passes: &[[[f64; 3]; 2]]| eager_by_pass(once, passes);
    assert_eq!(of(&[]).1, None, "there are no passes");
    let (crossings, by_pass) = of(&[once, never, once]);
    let [crossing] = crossings[..] else { panic!("{crossings:?}") };
    let all = by_pass.unwrap();
    assert_eq!((all.agreeing, all.passes), (2, 3));
    assert_eq!(all.ranges, [(crossing.exact_bytes, crossing.exact_bytes)]);

    // One that crosses and crosses back disagrees, though its first crossing is that of the medians.
    let all = of(&[once, back, once]).1.unwrap();
    assert_eq!((all.agreeing, all.passes), (2, 3));
    // So does one in which the other is the quickest at every size.
    assert_eq!(of(&[once, first]).1.unwrap().agreeing, 1);
    assert_eq!(eager_by_pass(never, &[first]).1.unwrap().agreeing, 0, "neither crosses");
    assert_eq!(eager_by_pass(never, &[never]).1.unwrap().agreeing, 1);
    // All crossings of a pass that disagrees count, and the medians' own is never outside of its range.
    let later = [copied, [2e3, 7e4, 5e5]];
    let (crossings, by_pass) = eager_by_pass(later, &[once, back]);
    let (least, greatest) = by_pass.unwrap().ranges[0];
    assert!(
        least < 65536.0 && greatest == crossings[0].exact_bytes && greatest > 65536.0,
        "{least} {greatest}"
    );
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
        (crossover.grid_points(), path.crossings(crossover, 0)[0])
    };
    // 1000 ns + 2 L = 3000.5 ns + L.
    let (grid, exact) = found(text);
    assert_eq!((grid, exact.bytes), (None, 2001.0));
    assert!((exact.exact_bytes - 2000.5).abs() < 1e-6, "{exact:?}");
    // On a grid of 1, 10, 100, …, the crossing is the first size beyond the intersection, which stays the same.
    let (grid, coarse) = found(&text.replace("1000000 }", "1000000, points = 7 }"));
    assert_eq!((grid, coarse.bytes, coarse.exact_bytes), (Some(7), 10_000.0, exact.exact_bytes));
}
