//! Figures that a path takes from a profile, and the ready paths.

use super::*;

const MEASURED: &str = r#"name = "measured"
[rates]
copy = { profile = { op = "copy", type = "WB", state = "warm" } }
[[stage]]
name = "a"
kind = "copy"
rate = "copy"
"#;

#[test]
fn a_profile_gives_the_quickest_that_answers() {
    use BlockState::{Fresh, Warm};
    let profile = profile(&[
        ("plain-8", 512, Warm, 4e9),
        ("avx2", 512, Warm, 2e10),
        ("avx2", 4096, Warm, 3e10),
        ("avx2", 512, Fresh, 9e10),
    ]);
    let path = parse(MEASURED).unwrap().resolve(Some(&profile)).unwrap();
    let rate = path.variants[0].stages[0].rate(0).unwrap();
    assert_eq!((rate.bytes_per_s(512.0), rate.bytes_per_s(4096.0)), (2e10, 3e10));
}

#[test]
fn a_query_may_leave_open_how_wide_an_instruction_is() {
    let text = MEASURED.replace("op = \"copy\"", "op = \"copy\", instruction = \"*-nt\"");
    let measured = [("avx2", 512, BlockState::Warm, 9e10), ("sse2-nt", 512, BlockState::Warm, 1e10)];
    let path = parse(&text).unwrap().resolve(Some(&profile(&measured))).unwrap();
    assert_eq!(path.variants[0].stages[0].rate(0).unwrap().bytes_per_s(512.0), 1e10);
    assert!(parse(&text).unwrap().resolve(Some(&profile(&measured[..1]))).is_err());
}

#[test]
fn figures_that_a_profile_lacks_are_asked_for() {
    for (profile, whose) in
        [(None, "no profile was given that has"), (Some(profile(&[])), "the profile has no")]
    {
        let error = parse(MEASURED).unwrap().resolve(profile.as_ref()).unwrap_err();
        assert_eq!(error.line(), Some(3));
        let expected = format!("{whose} copy rates of type WB, state warm; add them with `coho memory");
        assert!(error.reason().to_string().starts_with(&expected), "{error}");
    }
    let call = MEASURED.replace("[rates]", "[costs]\nsend = { call = \"sendto(64)\" }\n[rates]");
    let call = call
        .replace("rate = \"copy\"", "fixed = [\"send\"]")
        .replace("copy = { profile", "other = { profile");
    let profile = profile(&[("avx2", 512, BlockState::Warm, 1e9)]);
    let error = parse(&call).unwrap().resolve(Some(&profile)).unwrap_err();
    let expected =
        "the profile has no time of call 'sendto(64)'; add it with `coho calls --call 'sendto(64)'";
    assert!(error.reason().to_string().starts_with(expected), "{error}");
}

#[test]
fn the_ready_paths_are_well_formed() {
    use BlockState::{Fresh, Warm};
    for name in ready::names() {
        let file = ready::file(name).unwrap_or_else(|error| panic!("{error}"));
        assert!(!file.about().trim().is_empty() && !file.source().is_empty(), "{name}");
        assert!(file.needs_profile(), "{name}: a path of today takes this machine's figures");
    }
    // Without a profile, the first missing figure is named; copies alone are enough for some paths.
    let machine =
        profile(&[("avx2", 64, Warm, 1e10), ("avx2", 65536, Warm, 2e10), ("avx2", 4096, Fresh, 5e9)]);
    let path = ready::file("copy").unwrap().resolve(Some(&machine)).unwrap();
    let crossings: Vec<_> = path.crossovers.iter().map(|crossover| path.crossings(crossover, 0)).collect();
    assert!(crossings.iter().all(|found| !found.is_empty()), "{crossings:?}");
    for (crossover, found) in path.crossovers.iter().zip(&crossings) {
        for crossing in found {
            let time = |variant: usize| path.variants[variant].time(crossing.exact_bytes, Ns::ZERO, 0);
            let (before, after) = (time(crossing.from), time(crossing.to));
            assert!((before / after - 1.0).abs() < 1e-9, "{}: {before:?} {after:?}", crossover.name);
        }
    }
    assert!(ready::file("nothing").unwrap_err().to_string().contains("dimmnet-h1"));
}

#[test]
fn all_that_a_profile_lacks_is_told_at_once() {
    let lacking = ready::file("tcp-loopback").unwrap().lacking(Some(&Profile::default()));
    let told: Vec<String> = lacking.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|one| one.contains("coho memory --parts transfers -o")), "{told:?}");
    assert!(lacking.is_sorted_by_key(Error::line));
    assert!(ready::file("dimmnet-h1").unwrap().lacking(None).len() > 1);
    let machine =
        messages(&[("shared-memory", 0, [0.0, 100.0, 0.0]), ("shared-memory", 64, [64.0, 180.0, 32.0])]);
    assert_eq!(ready::file("shared-memory").unwrap().lacking(Some(&machine)), []);
}

/// Everything posted crosses the bus once, stores and doorbells alike.
#[test]
fn nothing_reaches_a_nic_before_it_has_crossed_the_bus() {
    let mut machine = profile(&[("avx2", 64, BlockState::Warm, 1e10)]);
    let rates = &mut machine.memory.as_mut().unwrap().rates;
    let stores = MemoryRate {
        op: Operation::Write,
        instruction: "avx2-nt".into(),
        fence: Some(coho_profile::Fence::Call),
        ..rates[0].clone()
    };
    rates.push(stores);
    let path = ready::file("post").unwrap().resolve(Some(&machine)).unwrap();
    let time = |name: &str, bytes| {
        path.variants.iter().find(|variant| variant.name == name).unwrap().time(bytes, Ns::ZERO, 0).0
    };
    assert!((time("PIO", 8.0) - (175.0 + 0.8)).abs() < 1e-9, "{}", time("PIO", 8.0));
    assert!((time("inline", 8.0) - (40.0 + 175.0 + 350.0 + 0.8 + 8.0 / 28.8)).abs() < 1e-9);
    assert!((time("doorbell and DMA", 8.0) - (40.0 + 175.0 + 700.0 + 8.0 / 28.8)).abs() < 1e-9);
}
