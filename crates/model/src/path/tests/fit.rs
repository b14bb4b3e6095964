//! Lines through pairs of sizes and times.

use proptest::prelude::*;

use super::*;

fn sizes() -> impl Iterator<Item = f64> {
    (0..25).map(|step| 64.0 * 1.8f64.powi(step))
}

#[test]
fn one_line_is_found_again_through_noise() {
    let mut rng = fastrand::Rng::with_seed(7);
    let noisy = |bytes: f64| (bytes, Ns((500.0 + bytes / 10.0) * (1.0 + 0.02 * (rng.f64() - 0.5))));
    let found = fit(&sizes().map(noisy).collect::<Vec<_>>());
    assert_eq!(found.segments.len(), 1, "{found:?}");
    let line = found.segments[0];
    assert!((line.fixed_ns / Ns(500.0) - 1.0).abs() < 0.03, "{line:?}");
    assert!((line.bytes_per_s.unwrap() / 1e10 - 1.0).abs() < 0.03, "{line:?}");
    assert!(line.relative_error < 0.02);
}

#[test]
fn a_change_of_protocol_parts_the_line() {
    let time = |bytes: f64| if bytes < 10_000.0 { 300.0 + bytes / 4.0 } else { 2500.0 + bytes / 20.0 };
    let found = fit(&sizes().map(|bytes| (bytes, Ns(time(bytes)))).collect::<Vec<_>>());
    assert_eq!(found.segments.len(), 2, "{found:?}");
    let [small, large] = found.segments[..] else { unreachable!() };
    assert!((small.fixed_ns.0 - 300.0).abs() < 1.0 && (large.fixed_ns.0 - 2500.0).abs() < 5.0, "{found:?}");
    assert!(small.to_bytes < 10_000.0 && large.from_bytes >= 10_000.0);
    assert!((large.bytes_per_s.unwrap() / 2e10 - 1.0).abs() < 1e-3);
}

#[test]
fn pairs_are_read_with_or_without_names() {
    let pairs = parse_pairs("t.csv", "bytes,ns\n# run 1\n8;100\n16,120\n32\t130\n64, 150\n").unwrap();
    assert_eq!(pairs, [(8.0, Ns(100.0)), (16.0, Ns(120.0)), (32.0, Ns(130.0)), (64.0, Ns(150.0))]);
    let error = parse_pairs("t.csv", "8,1\n16,-3\n").unwrap_err();
    assert_eq!(error.to_string(), "t.csv, line 2: '-3' is not a number above 0; expected bytes, ns");
    assert!(parse_pairs("t.csv", "8,1\n").unwrap_err().to_string().contains("at least 4"));
    assert_eq!(parse_pairs("t.csv", "8,1,2\n").unwrap_err().line(), Some(1));
}

proptest! {
    #[test]
    fn whatever_is_read_is_fitted(text in "[0-9.,\n#a-z-]{0,200}") {
        if let Ok(pairs) = parse_pairs("t.csv", &text) {
            let found = fit(&pairs);
            prop_assert!(found.segments.iter().all(|part| part.fixed_ns >= Ns::ZERO && part.relative_error.is_finite()));
        }
    }

    #[test]
    fn exact_lines_come_back(fixed in 0.0f64..1e5, rate in 1e7f64..1e11) {
        let pairs: Vec<_> = sizes().map(|bytes| (bytes, Ns(fixed) + Ns::of_bytes(bytes, rate))).collect();
        let found = fit(&pairs);
        for (bytes, time) in pairs {
            let part = found.segments.iter().rev().find(|part| part.from_bytes <= bytes).unwrap();
            let back = part.fixed_ns + part.bytes_per_s.map_or(Ns::ZERO, |rate| Ns::of_bytes(bytes, rate));
            prop_assert!((back / time - 1.0).abs() < 1e-3, "{bytes} {time:?} {back:?} {found:?}");
        }
    }
}
