//! What a file of a path may say, and what is wrong with one.

use coho_profile::Ns;
use proptest::prelude::*;

use super::*;

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
        ("bytes_per_s = 1e9", "of = \"double\"", 3, "rates bus → double → bus refer to each other: a cycle"),
        ("bytes_per_s = 1e9", "of = \"bus\"", 3, "rates bus → bus refer to each other: a cycle"),
        ("of = \"bus\"", "of = \"train\"", 4, "no rate 'train'; add it to [rates]"),
        ("[4096, 2e9]", "[4096, 0]", 5, "a rate in bytes a second is at least 0.001, not 0"),
        ("[4096, 2e9]", "[512, 2e9]", 5, "a table has each size once"),
        ("ns = 40", "ns = -40", 7, "a time in ns is at least 0, not -40"),
        ("\"ring\", \"ring\"", "\"ring\",\n\"wring\"", 13, "no cost 'wring'; add it to [costs]"),
        ("kind = \"copy\"", "kind = \"walk\"", 10, "unknown variant `walk`"),
        ("name = \"b\"", "name = \"a\"", 13, "a second stage 'a'; the first is in test.toml, line 8"),
        ("gap_ns = 7", "gap_ns = -7", 17, "a start-up gap in ns is at least 0, not -7"),
        ("gap_ns = 7", "overlap = \"pipelined\"", 13, "a pipelined stage has fragments; add 'chunk_bytes'"),
        ("[\"a\", \"b\"]", "[\"a\",\n\"c\"]", 21, "no stage 'c'; add it as [[stage]]"),
        ("[\"a\", \"b\"]", "[\"a\", \"b\"", 21, "missing comma"),
        (
            "bytes_per_s = 1e9",
            "bytes_per_s = 1e9, transfer = { path = \"p\", part = \"send\" }",
            3,
            "a rate has one of",
        ),
        ("ns = 40", "ns = 40, call = \"getpid()\"", 7, "a cost has one of"),
        ("of = \"bus\"", "of = \"bus\", bytes_per_s = 1", 4, "a rate of another has no figures of its own"),
        ("table = [[", "start_ns = 1, table = [[", 5, "'start_ns' goes with 'bytes_per_s' alone"),
        ("times = 2", "from_bytes = 2", 4, "'from_bytes' says from where on 'times' holds"),
        ("[rates]", "statement = [{ figure = \"9\", text = \"t\", gain = [] }]\n[rates]", 2, "no figure '9'"),
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
    assert_eq!(error.reason().to_string(), "'main → round → main' include each other: a cycle");
    let error = read("nothing").unwrap_err();
    assert_eq!(error.to_string(), "main, line 2: cannot include 'nothing': there is none");
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
