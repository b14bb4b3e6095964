//! Profiles with figures that no machine gives: shown as they are, without a panic and within the page.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use coho_profile::{Home, PairMethod, Profile, published};
use coho_show::part::{Depth, Part};
use coho_show::render::terminal::{self, Colours, Options};
use coho_show::sections::{self, papers};
use coho_show::visible::Paint;
use coho_show::{Subject, files, page};
use serde_json::{Value, json};

use crate::report_profiles::{self, Shape, acts, calls, sync};

/// Every section that profiles have, on a machine of eight CPUs.
fn whole() -> Value {
    let shape = Shape { packages: 2, l3s: 2, cores: 2, threads: 1 };
    let methods = [PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning];
    let mut profile = report_profiles::profile(&shape, &methods.map(|method| (method, Home::A)));
    acts::add(&mut profile);
    (profile.sync, profile.calls) = (sync::two().sync, calls::timed().calls);
    let of = |name: &str| published::read(name).unwrap().machines.remove(0).1;
    profile.memory = profile.memory.or(of("hamada-dimmnet").memory);
    profile.workloads = profile.workloads.or(of("kimoto-bulldozer/c6-on-stock").workloads);
    let mut whole = serde_json::to_value(profile).unwrap();
    for (name, section) in whole.as_object_mut().unwrap() {
        if name != "topology" {
            shorten(section);
        }
    }
    whole
}

/// A few rows of each kind: what is shown of one is shown of all.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(values) => {
            values.truncate(6);
            values.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Pointers to all numbers within a value.
fn numbers(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Number(_) => all.push(at.to_owned()),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(i, one)| numbers(one, &format!("{at}/{i}"), all));
        }
        Value::Object(fields) => {
            for (name, one) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                numbers(one, &format!("{at}/{name}"), all);
            }
        }
        _ => {}
    }
}

fn odd() -> [Value; 14] {
    [
        json!(1e300),
        json!(1e308),
        json!(-1e300),
        json!(1e-300),
        json!(1e18),
        json!(3e11),
        json!(-0.0),
        json!(0),
        json!(-17.5),
        json!(u64::MAX),
        json!(u32::MAX),
        json!(i64::MIN),
        json!(99999),
        Value::Null,
    ]
}

/// A terminal that keeps what is written.
#[derive(Default)]
struct Written(Vec<u8>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paint for Written {
    fn paint(&mut self, own: &str) -> io::Result<()> {
        self.write_all(own.as_bytes())
    }
}

/// Everything that is shown of a profile on a terminal, with all rows.
fn terminal(subject: &Subject) -> String {
    let mut out = Written::default();
    let options = Options { depth: Depth::Detail, colours: Colours::None };
    terminal::findings(&mut out, &subject.answers.findings, options.depth, usize::MAX).unwrap();
    for section in sections::of(subject).iter().chain(&papers::of(subject)) {
        terminal::headline(&mut out, section).unwrap();
        terminal::parts(&mut out, &section.parts, options).unwrap();
    }
    let judged = coho_model::claims::judge(&subject.profile);
    let parts: Vec<Part> = papers::claims::parts(&judged, true);
    terminal::parts(&mut out, &parts, options).unwrap();
    String::from_utf8(out.0).unwrap()
}

/// Longer runs of digits are no figure that anybody reads.
const DIGITS: usize = 21;

fn check(profile: Profile, answered: bool) {
    let mut subject = Subject::new("damaged", profile);
    subject.answers.findings = coho_model::findings(&subject.profile);
    if answered {
        subject = subject.answered();
    }
    let text = terminal(&subject);
    for line in text.lines() {
        let words = line.split_whitespace().count();
        assert!(line.chars().count() <= 80 || words <= 1, "{} columns: {line}", line.chars().count());
        let longest = line.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
        assert!(longest.unwrap_or(0) < DIGITS, "so many digits: {line}");
        assert!(!line.contains("NaN") && !line.contains("inf ") && !line.contains("–––"), "{line}");
        assert!(!line.contains("−0 ") && !line.contains("-0 %"), "{line}");
    }
    let page = page(std::slice::from_ref(&subject));
    assert!(!page.contains("NaN") && page.len() < 8 << 20, "{} bytes", page.len());
    for (name, drawing) in files::svg(&subject) {
        assert!(!drawing.contains("NaN") && !drawing.contains("inf\""), "{name}: {drawing}");
    }
    files::csv(&subject).unwrap();
}

#[test]
fn figures_that_no_machine_gives_are_shown_without_harm() {
    let whole = whole();
    let mut places = Vec::new();
    numbers(&whole, "", &mut places);
    let odd = odd();
    let mut random = fastrand::Rng::with_seed(11);
    let (mut shown, mut tried) = (0, 0);
    let (begun, soak) = (Instant::now(), coho_testing::soak_seconds().map(Duration::from_secs));
    for round in 0..if soak.is_some() { 900 } else { FEWEST } {
        if round >= FEWEST && soak.is_some_and(|time| begun.elapsed() > time) {
            break;
        }
        tried += 1;
        let mut damaged = whole.clone();
        let mut told = Vec::new();
        // One figure, several, or all of a name.
        let name = places[random.usize(..places.len())].rsplit('/').next().unwrap().to_owned();
        let chosen: Vec<String> = match round % 3 {
            0 => vec![places[random.usize(..places.len())].clone()],
            1 => (0..12).map(|_| places[random.usize(..places.len())].clone()).collect(),
            _ => {
                let of_name = places.iter().filter(|place| place.rsplit('/').next() == Some(&*name));
                of_name.take(40).cloned().collect()
            }
        };
        for place in chosen {
            let value = odd[random.usize(..odd.len())].clone();
            let before = std::mem::replace(damaged.pointer_mut(&place).unwrap(), value.clone());
            // Not every field takes every number.
            if Profile::from_json(&damaged.to_string()).is_err() {
                *damaged.pointer_mut(&place).unwrap() = before;
            } else {
                told.push(format!("{place} = {value}"));
            }
        }
        let profile = Profile::from_json(&damaged.to_string()).unwrap();
        shown += usize::from(!told.is_empty());
        told.truncate(8);
        let done = catch_unwind(AssertUnwindSafe(|| check(profile, round % ANSWERED == 0)));
        assert!(done.is_ok(), "round {round}: {}", told.join(", "));
    }
    println!("{shown} of {tried} profiles were damaged and shown");
    assert!(shown > tried / 2, "{shown} of {tried}");
}

/// As many are tried whatever time a soak has.
const FEWEST: usize = 30;

/// One in so many with all predictions, which take longer.
const ANSWERED: usize = 15;
