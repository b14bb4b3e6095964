//! Paths as files, the ready ones, and the paper's.

use coho_profile::{
    BlockState, Estimate, Memory, MemoryRate, Ns, Operation, Profile, Transfer, TransferPass,
};
use proptest::prelude::*;

use super::dimmnet::{READINGS, reading, statements};
use super::*;

fn parse(text: &str) -> Result<PathFile, Error> {
    PathFile::parse("test.toml", text, &|_| Err("there are no other files".into()))
}

fn resolve(text: &str) -> Result<Path, Error> {
    parse(text)?.resolve(None)
}

/// The error of a file that must have one.
fn wrong(text: &str) -> (Option<usize>, String) {
    let error = resolve(text).expect_err(text);
    (error.line(), error.message().to_owned())
}

const WHOLE: &str = r#"name = "whole"
[rates]
bus = { bytes_per_s = 1e9 }
double = { of = "bus", times = 2 }
table = { table = [[512, 1e9], [4096, 2e9]] }
[costs]
ring = { ns = 40 }
[[stage]]
name = "a"
kind = "copy"
rate = "double"
fixed = ["ring", "ring"]
[[stage]]
name = "b"
kind = "dma"
rate = "table"
gap_ns = 7
[[variant]]
name = "both"
stages = ["a", "b"]
[[variant]]
name = "one"
stages = ["b"]
"#;

#[test]
fn stages_take_what_their_figures_say() {
    let path = resolve(WHOLE).unwrap();
    assert_eq!(path.variants[0].time(4096.0, Ns::ZERO, 0), Ns(80.0 + 2048.0 + 7.0 + 2048.0));
    assert_eq!(path.variants[1].time(512.0, Ns::ZERO, 0), Ns(7.0 + 512.0));
}

#[test]
fn a_gap_is_paid_by_each_fragment_and_a_fixed_cost_once() {
    let text = |cost: &str| {
        format!(
            r#"
name = "packets"
[rates]
copy = {{ bytes_per_s = 1e9 }}
[costs]
call = {{ ns = 300 }}
[[stage]]
name = "send"
kind = "copy"
rate = "copy"
{cost}
overlap = "pipelined"
chunk_bytes = 1000
[[stage]]
name = "receive"
kind = "copy"
rate = "copy"
"#
        )
    };
    let time = |cost| resolve(&text(cost)).unwrap().variants[0].time(4000.0, Ns::ZERO, 0);
    assert_eq!(time("fixed = [\"call\"]"), Ns(300.0 + 5.0 * 1000.0));
    assert_eq!(time("gap = [\"call\"]"), Ns(4.0 * 300.0 + 5.0 * 1000.0));
    assert_eq!(time("gap = [\"call\", \"call\"]\ngap_ns = 100"), Ns(4.0 * 700.0 + 5.0 * 1000.0));
    assert_eq!(wrong(&text("gap = [\"none\"]")).1, "no cost 'none'; add it to [costs]");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let cases = [
        (
            "bytes_per_s = 1e9",
            "bytes_per_s = -1e9",
            3,
            "a rate in bytes a second is at least 0.001, not -1000000000",
        ),
        ("bytes_per_s = 1e9", "bytes_per_s = nan", 3, "a rate in bytes a second is a number, not NaN"),
        ("bytes_per_s = 1e9", "bytes_per_s = inf", 3, "a rate in bytes a second is a number, not inf"),
        ("bytes_per_s = 1e9", "byte_per_s = 1e9", 3, "unknown field `byte_per_s`"),
        ("bytes_per_s = 1e9", "of = \"double\"", 3, "rates bus → double → bus stand for each other: a cycle"),
        ("bytes_per_s = 1e9", "of = \"bus\"", 3, "rates bus → bus stand for each other: a cycle"),
        ("of = \"bus\"", "of = \"train\"", 4, "no rate 'train'; add it to [rates]"),
        ("[4096, 2e9]", "[4096, 0]", 5, "a rate in bytes a second is at least 0.001, not 0"),
        ("[4096, 2e9]", "[512, 2e9]", 5, "a table has each size once"),
        ("ns = 40", "ns = -40", 7, "a time in ns is at least 0, not -40"),
        ("\"ring\", \"ring\"", "\"ring\",\n\"wring\"", 13, "no cost 'wring'; add it to [costs]"),
        ("kind = \"copy\"", "kind = \"walk\"", 10, "unknown variant `walk`"),
        ("name = \"b\"", "name = \"a\"", 13, "a second stage 'a'; the first stands in test.toml, line 8"),
        ("gap_ns = 7", "gap_ns = -7", 17, "a start-up gap in ns is at least 0, not -7"),
        ("gap_ns = 7", "overlap = \"pipelined\"", 13, "a pipelined stage has fragments; add 'chunk_bytes'"),
        ("[\"a\", \"b\"]", "[\"a\",\n\"c\"]", 21, "no stage 'c'; add it as [[stage]]"),
        ("[\"a\", \"b\"]", "[\"a\", \"b\"", 21, "missing comma"),
    ];
    for (from, to, line, message) in cases {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE, "{from}");
        let (found, told) = wrong(&text);
        assert_eq!(found, Some(line), "{to}: {told}");
        assert!(told.starts_with(message), "{to}: {told}");
    }
    let (line, told) = wrong("name = \"empty\"\n");
    assert_eq!((line, told.as_str()), (None, "has no stage; add [[stage]] with a name and a kind"));
    assert!(resolve(WHOLE).is_ok());
}

#[test]
fn files_may_include_others_but_not_themselves() {
    let load = |name: &str| match name {
        "rates" => Ok("name = \"rates\"\n[rates]\nbus = { bytes_per_s = 1e9 }\n".to_owned()),
        "round" => Ok("name = \"round\"\n\ninclude = [\"main\"]\n".to_owned()),
        _ => Err("there is none".to_owned()),
    };
    let read = |include: &str| {
        let text = format!(
            "name = \"main\"\ninclude = [\"{include}\"]\n[[stage]]\nname = \"a\"\nkind = \"dma\"\nrate = \"bus\"\n"
        );
        PathFile::parse("main", &text, &load)
    };
    assert_eq!(read("rates").unwrap().resolve(None).unwrap().variants[0].time(8.0, Ns::ZERO, 0), Ns(8.0));
    let error = read("round").unwrap_err();
    assert_eq!((error.file(), error.line()), ("round", Some(3)));
    assert_eq!(error.message(), "'main → round → main' include each other: a cycle");
    let error = read("nothing").unwrap_err();
    assert_eq!(error.to_string(), "main, line 2: cannot include 'nothing': there is none");
}

const MEASURED: &str = r#"name = "measured"
[rates]
copy = { profile = { op = "copy", type = "WB", state = "warm" } }
[[stage]]
name = "a"
kind = "copy"
rate = "copy"
"#;

fn profile(rates: &[(&str, u64, BlockState, f64)]) -> Profile {
    let rate = |&(instruction, bytes, state, rate): &(&str, u64, BlockState, f64)| MemoryRate {
        op: Operation::Copy,
        instruction: instruction.into(),
        bytes,
        threads: 1,
        state: Some(state),
        bytes_per_s: Some(Estimate::exact(rate)),
        ..MemoryRate::default()
    };
    let memory = Memory { rates: rates.iter().map(rate).collect(), ..Memory::default() };
    Profile { memory: Some(memory), ..Profile::default() }
}

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
        assert!(error.message().starts_with(&expected), "{error}");
    }
    let call = MEASURED.replace("[rates]", "[costs]\nsend = { call = \"sendto(64)\" }\n[rates]");
    let call = call
        .replace("rate = \"copy\"", "fixed = [\"send\"]")
        .replace("copy = { profile", "other = { profile");
    let profile = profile(&[("avx2", 512, BlockState::Warm, 1e9)]);
    let error = parse(&call).unwrap().resolve(Some(&profile)).unwrap_err();
    let expected =
        "the profile has no time of call 'sendto(64)'; add it with `coho calls --call 'sendto(64)'";
    assert!(error.message().starts_with(expected), "{error}");
}

#[test]
fn the_ready_paths_are_well_formed() {
    use BlockState::{Fresh, Warm};
    for name in ready::names() {
        let file = ready::file(name).unwrap_or_else(|error| panic!("{error}"));
        assert!(!file.about.trim().is_empty() && !file.source.is_empty(), "{name}");
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

/// Messages on a path: bytes, and the ns to send, as a whole and to receive.
fn messages(all: &[(&str, u64, [f64; 3])]) -> Profile {
    let transfer = |&(path, bytes, [send, whole, receive]): &(&str, u64, [f64; 3])| Transfer {
        path: path.into(),
        from: 0,
        to: 1,
        bytes,
        ns: Some(Estimate::exact(whole)),
        send_ns: Some(Estimate::exact(send)),
        receive_ns: Some(Estimate::exact(receive)),
        ..Transfer::default()
    };
    let memory = Memory { transfers: all.iter().map(transfer).collect(), ..Memory::default() };
    Profile { memory: Some(memory), ..Profile::default() }
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

/// With constants the threshold is the crossing of two lines; with this machine's messages it is another.
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

#[test]
fn loggp_takes_a_path_apart() {
    let path = resolve(WHOLE).unwrap();
    let view = path.variants[0].loggp(512.0, 1048576.0, 0);
    assert_eq!((view.o_send, view.o_receive), (Some(Ns(80.0 + 256.0)), Some(Ns::ZERO)));
    assert_eq!((view.latency, view.gap), (Some(Ns(7.0 + 512.0)), Ns(519.0)));
    assert!((view.gap_per_byte.0 - 1.0).abs() < 1e-12, "{view:?}");
}

#[test]
fn overhead_is_of_the_side_whose_cpu_is_busy() {
    let text = WHOLE.replace(
        "kind = \"dma\"\nrate = \"table\"",
        "kind = \"copy\"\nside = \"receiver\"\nrate = \"table\"",
    );
    let path = resolve(&text).unwrap();
    // The table begins at 512 B and says nothing about less.
    let view = path.loggp(&path.variants[0], 0);
    assert_eq!(
        (view.bytes, view.o_send, view.o_receive),
        (512.0, Some(Ns(80.0 + 256.0)), Some(Ns(7.0 + 512.0)))
    );
    assert_eq!(view.latency, Some(Ns::ZERO), "the ends take all of it, one after the other");
    // A variant with only the receiver's stage has no overhead at the sender, and that must not be -0.
    let view = path.loggp(&path.variants[1], 0);
    assert!(view.o_send.is_some_and(|o| o == Ns::ZERO && o.0.is_sign_positive()), "{view:?}");
    let (line, told) = wrong(&WHOLE.replace("kind = \"dma\"", "kind = \"dma\"\nside = \"receiver\""));
    assert!(line == Some(15 + 1) && told.starts_with("'side' says whose CPU is busy"), "{line:?} {told}");
}

#[test]
fn between_two_cpus_both_have_overhead_and_the_flag_is_latency() {
    let machine = messages(&[
        ("shared-memory", 0, [0.0, 100.0, 0.0]),
        ("shared-memory", 1024, [64.0, 180.0, 32.0]),
        ("process-vm", 1024, [10.0, 900.0, 800.0]),
    ]);
    let path = ready::file("shared-memory").unwrap().resolve(Some(&machine)).unwrap();
    let view = path.loggp(&path.variants[0], 0);
    assert_eq!([view.o_send, view.o_receive, view.latency], [64.0, 32.0, 100.0].map(|ns| Some(Ns(ns))));
    let path = ready::file("eager").unwrap().resolve(Some(&machine)).unwrap();
    for variant in path.variants.iter().filter(|variant| variant.name.ends_with("by constants")) {
        let view = path.loggp(variant, 0);
        assert!(view.o_receive > Some(Ns::ZERO), "{}: {view:?}", variant.name);
    }
}

/// 0 would say that no CPU is busy, or that nothing is on its way.
#[test]
fn what_loggp_cannot_tell_is_none() {
    let path = resolve(WHOLE).unwrap();
    let view = path.loggp(&path.variants[1], 0);
    assert_eq!([view.o_send, view.o_receive, view.latency], [None; 3], "a bus alone: {view:?}");
    let machine = messages(&[
        ("tcp-loopback", 1, [4000.0, 4900.0, 1700.0]),
        ("tcp-loopback", 65536, [20_000.0, 1.0, 10_000.0]),
    ]);
    let path = ready::file("tcp-loopback").unwrap().resolve(Some(&machine)).unwrap();
    let view = path.loggp(&path.variants[0], 0);
    assert!(view.o_send.is_some() && view.o_receive.is_some() && view.latency.is_none(), "{view:?}");
}

/// H1 and H2 meet all that the paper states, H3 all but the two statements on PCI33.
#[test]
fn the_readings_meet_the_published_statements() {
    for name in READINGS {
        let statements = statements(&reading(name).unwrap());
        assert_eq!(statements.len(), 13);
        let missed: Vec<_> = statements.iter().filter(|statement| !statement.met).collect();
        let figures: Vec<_> = missed.iter().map(|statement| statement.figure).collect();
        assert_eq!(figures, if name == "H3" { vec!["4", "4"] } else { vec![] }, "{name}: {missed:?}");
    }
}

/// Where a flush pays compared with reads of write-combining memory, whatever the DMA rates.
#[test]
fn flushes_pay_from_known_sizes_on() {
    let expected = [("simd", [6071.0, 76507.0]), ("plain", [3038.0, 38808.0])];
    for name in READINGS {
        let path = reading(name).unwrap();
        for (instruction, sizes) in expected {
            let instruction = path.instructions.iter().position(|own| own == instruction).unwrap();
            let against_wc =
                path.crossovers.iter().filter(|crossover| crossover.name.contains("write-combining"));
            let found: Vec<f64> = against_wc
                .map(|crossover| match path.crossings(crossover, instruction)[..] {
                    [only] => {
                        // The sweep's next size is less than a step above the intersection itself.
                        let step = 2048f64.powf(1.0 / 3999.0);
                        assert!((1.0..=step * 1.001).contains(&(only.bytes / only.exact_bytes)), "{only:?}");
                        only.bytes
                    }
                    ref several => panic!("{}: {several:?}", crossover.name),
                })
                .collect();
            assert_eq!(found, sizes, "{name}");
        }
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
    // On a grid of 1, 10, 100, … the first size beyond is given, and the intersection stays the same.
    let (grid, coarse) = found(&text.replace("1000000 }", "1000000, points = 7 }"));
    assert_eq!((grid, coarse.bytes, coarse.exact_bytes), (Some(7), 10_000.0, exact.exact_bytes));
}

/// Compared with Myrinet, the sizes depend on the reconstructed rates: thousands of bytes, SIMD.
#[test]
fn flushes_pay_against_myrinet_too() {
    for (name, expected) in [("H1", [16.4, 211.0]), ("H2", [27.9, 360.0]), ("H3", [20.5, 266.0])] {
        let path = reading(name).unwrap();
        let against = path.crossovers.iter().filter(|crossover| crossover.name.contains("Myrinet"));
        for (crossover, expected) in against.zip(expected) {
            let found = path.crossings(crossover, 1)[0].exact_bytes / 1e3;
            let kib = found / 1.024;
            let near = |value: f64| (value / expected - 1.0).abs() < 0.005;
            assert!(near(found) || near(kib), "{name}, {}: {found} kB, {kib} KiB", crossover.name);
        }
    }
}

/// In Fig. 11 the gain of every size tends to 1 - 3/5 as the gap grows; elsewhere a gap on both sides reduces the
/// gain but never changes its sign.
#[test]
fn gaps_do_what_follows_from_their_number() {
    for name in READINGS {
        let path = reading(name).unwrap();
        for figure in &path.figures {
            let points = path.points(figure);
            for family in points.chunks(path.gaps.len()) {
                let (first, last) = (family[0].gain(), family[family.len() - 1].gain());
                if figure.name == "11" {
                    let mut far = family[0];
                    let [a, b] = path.ways(figure);
                    (far.time_a, far.time_b) =
                        (a.time(far.bytes, Ns(1e12), 0), b.time(far.bytes, Ns(1e12), 0));
                    assert!((far.gain() - 0.4).abs() < 1e-3, "{name}: {far:?}");
                } else {
                    assert!(
                        first.signum() == last.signum() && first.abs() > last.abs(),
                        "{name}, {}",
                        figure.name
                    );
                }
            }
        }
    }
}

/// One row of the recorded curves.
#[derive(Debug)]
struct Row {
    reading: String,
    figure: String,
    bytes: f64,
    instruction: &'static str,
    gap: Ns,
    gain: f64,
}

fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for record in csv::Reader::from_reader(text.as_bytes()).records() {
        let record = record.unwrap();
        let number = |at: usize| record[at].parse::<f64>().unwrap();
        rows.push(Row {
            reading: record[0].to_owned(),
            figure: record[1].to_owned(),
            bytes: number(4),
            instruction: if &record[5] == "SIMD" { "simd" } else { "plain" },
            gap: Ns::of_s(number(6)),
            gain: number(9),
        });
    }
    rows
}

fn assert_curves(rows: &[Row]) {
    for name in READINGS {
        let path = reading(name).unwrap();
        for figure in &path.figures {
            let points = path.points(figure);
            for row in rows.iter().filter(|row| row.reading == name && row.figure == figure.name) {
                let is = |point: &&Point| {
                    point.bytes == row.bytes
                        && path.instructions[point.instruction] == row.instruction
                        && (point.gap / row.gap - 1.0).abs() < 1e-9
                };
                let point = points.iter().find(is).unwrap_or_else(|| panic!("no point for {row:?}"));
                assert!((point.gain() - row.gain).abs() < 1e-3, "{row:?}: {}", point.gain());
            }
        }
    }
}

/// The readings were first worked out independently of this code.
#[test]
fn the_curves_are_those_worked_out_from_the_tables() {
    let text = std::fs::read_to_string(coho_testing::data("path/curves.csv")).unwrap();
    let rows = rows(&text);
    assert_eq!(rows.len(), 882);
    assert_curves(&rows);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_text_brings_it_down(text in any::<String>()) {
        let _ = resolve(&text);
    }

    /// Whatever numbers and names a file contains, either it is refused or its times are sensible.
    #[test]
    fn times_are_numbers_that_grow_with_size(
        rate in prop_oneof![Just(f64::NAN), Just(-1.0), Just(0.0), 1e-3f64..1e15],
        start in prop_oneof![Just(f64::INFINITY), -1.0f64..1e6],
        times in prop_oneof![Just("2".to_owned()), Just("-2".to_owned()), Just("1e300".to_owned())],
        of in prop_oneof![Just("bus"), Just("double"), Just("table"), Just("x")],
        overlap in prop_oneof![Just("store-and-forward"), Just("cut-through"), Just("pipelined\"\nchunk_bytes = 64 #")],
    ) {
        let text = WHOLE
            .replace("bytes_per_s = 1e9", &format!("bytes_per_s = {rate:?}, start_ns = {start:?}").replace("NaN", "nan"))
            .replace("of = \"bus\", times = 2", &format!("of = \"{of}\", times = {times}"))
            .replace("kind = \"copy\"", &format!("kind = \"copy\"\noverlap = \"{overlap}\""));
        if let Ok(path) = resolve(&text) {
            for variant in &path.variants {
                let mut before = Ns::ZERO;
                for bytes in [1.0, 100.0, 511.0, 513.0, 1e4, 1e6, 1e9] {
                    let time = variant.time(bytes, Ns::ZERO, 0);
                    prop_assert!(time.is_finite() && time >= before, "{bytes} {time:?} {before:?}");
                    before = time;
                }
            }
        } else {
            prop_assert!(rate.is_nan() || rate <= 0.0 || !start.is_finite() || start < 0.0 || times != "2" || of != "bus");
        }
    }
}
