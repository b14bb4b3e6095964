//! A machine on a card: one picture to paste and one small JSON object. It holds nothing private: the kinds of CPU and kernel
//! and figures, never a host's name, a path, a serial number or a reason that may hold one.

mod svg;

use std::collections::BTreeSet;

use coho_model::stability;
use coho_profile::{CacheType, Estimate, Operation, Pair};
use serde::Serialize;

pub use svg::svg;

use crate::chart::Map;
use crate::part::Body;
use crate::sections::{self, machine};
use crate::{Subject, words};

/// Up to this many CPUs, the object has each pair's time.
const PAIRS: usize = 8;
/// The most classes that are named.
const CLASSES: usize = 4;

/// What stands on a card.
#[derive(Debug, Clone, Serialize)]
pub struct Card {
    /// The format of this object.
    pub schema: &'static str,
    /// The CPU and how many there are.
    pub machine: String,
    /// The levels that the machine claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// Whether they are as measured.
    pub topology: String,
    /// Hypervisor, kernel, when and by what it was measured.
    pub circumstances: Vec<String>,
    /// Mitigations of speculative execution.
    pub mitigations: String,
    /// The window in which the times between CPUs held.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub held: String,
    /// The figures.
    pub rows: Vec<Row>,
    /// One-way times of each pair, in ns, on a machine of few CPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<(u32, u32, f64)>,
    /// The times between CPUs as a picture.
    #[serde(skip)]
    map: Option<Map>,
}

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What it is of.
    pub what: String,
    /// The figure; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<Value>,
    /// As it stands on the card.
    #[serde(skip)]
    text: String,
}

/// A figure with the ends of its interval; without them where its source prints none.
#[derive(Debug, Clone, Serialize)]
pub struct Value {
    unit: &'static str,
    median: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    n: u64,
}

/// To four digits, which is more than is known.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

impl Row {
    fn of(
        subject: &Subject,
        what: impl Into<String>,
        unit: &'static str,
        estimate: Option<Estimate>,
    ) -> Self {
        let what = what.into();
        let Some(one) = estimate.filter(|one| one.median.is_finite()) else {
            return Self { what, figure: None, text: "not measured".into() };
        };
        let text = format!("{} {unit}", subject.figure(&one).text());
        let end = |end: f64| (!subject.published && one.n > 1).then(|| rounded(end));
        let figure =
            Value { unit, median: rounded(one.median), low: end(one.low), high: end(one.high), n: one.n };
        Self { what, figure: Some(figure), text }
    }
}

impl Card {
    /// The card of an answered subject.
    pub fn of(subject: &Subject) -> Self {
        let host = subject.profile.host.clone().unwrap_or_default();
        let machine = match (host.cpu.is_some(), subject.published) {
            (true, _) => machine::name(subject),
            (false, true) => subject.label.clone(),
            // A file is often named after its host.
            (false, false) => match subject.coherence().map_or(0, |coherence| coherence.cpus.len()) {
                0 => "unknown CPU".into(),
                n => format!("unknown CPU, {} measured", words::count(n, "CPU")),
            },
        };
        let counts =
            subject.profile.topology.as_ref().map(|topology| coho_model::shape::counted(topology.counts));
        let map = sections::of(subject).into_iter().flat_map(|section| section.parts).find_map(|part| {
            match part.body {
                Body::Map(map) => Some(map),
                _ => None,
            }
        });
        let few = subject.coherence().filter(|coherence| coherence.cpus.len() <= PAIRS);
        let matrix = few.and_then(coho_model::Matrix::of);
        let cpus = matrix.iter().flat_map(|matrix| matrix.cpus().to_vec()).collect::<Vec<_>>();
        Self {
            schema: "coho-card/1",
            machine: words::short(&machine, 100),
            claims: counts.filter(|counts| !counts.is_empty()),
            topology: subject.answers.on_claims.clone().unwrap_or_else(|| {
                if subject.published { "as published" } else { "no claims to check" }.into()
            }),
            circumstances: machine::in_brief(subject).iter().map(|one| words::short(one, 60)).collect(),
            mitigations: mitigations(&host.mitigations),
            held: subject.coherence().map(stability::clause).unwrap_or_default(),
            rows: rows(subject),
            pairs: matrix
                .iter()
                .flat_map(|m| m.pairs())
                .map(|(a, b, ns)| (cpus[a], cpus[b], rounded(ns)))
                .collect(),
            map,
        }
    }
}

fn mitigations(all: &std::collections::BTreeMap<String, String>) -> String {
    let named = |start: &str| {
        let names = all.iter().filter(|(_, state)| state.starts_with(start)).map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let (vulnerable, mitigated) = (named("Vulnerable"), named("Mitigation"));
    let all = [("mitigated: ", mitigated), ("vulnerable: ", vulnerable)].map(|(label, names)| {
        match names.as_str() {
            "" => String::new(),
            names => format!("{label}{}", words::short(names, 200)),
        }
    });
    match words::joined(all, "; ") {
        none if none.is_empty() => "not known".into(),
        known => known,
    }
}

fn rows(subject: &Subject) -> Vec<Row> {
    let row = |what: String, unit, estimate: Option<Estimate>| Row::of(subject, what, unit, estimate);
    let mut rows = Vec::new();
    let classes = &subject.answers.judgement.classes;
    for class in classes.iter().take(CLASSES) {
        let what = format!("line handed over, {} ({})", class.name, words::count(class.pairs, "pair"));
        rows.push(row(what, "ns", Some(class.ns.clone())));
    }
    if classes.is_empty() {
        rows.extend(ends(subject));
    }
    let memory = subject.profile.memory.as_ref();
    let latencies =
        memory.iter().flat_map(|memory| &memory.latency).filter(|one| one.cache_type == CacheType::WriteBack);
    let mut sizes = BTreeSet::new();
    for one in latencies.filter(|one| one.ns.is_some()) {
        if sizes.insert(one.bytes) {
            rows.push(row(format!("load from {}", words::bytes(one.bytes)), "ns", one.ns.clone()));
        }
    }
    if sizes.is_empty() {
        rows.push(row("load from caches and memory".into(), "ns", None));
    }
    for (op, what) in [(Operation::Read, "reads"), (Operation::Write, "writes"), (Operation::Copy, "copies")]
    {
        let rates = memory.iter().flat_map(|memory| &memory.rates);
        let timed =
            rates.filter(|one| one.op == op && one.threads == 1 && one.cache_type == CacheType::WriteBack);
        let timed = timed.filter_map(|one| Some((one.bytes, one.bytes_per_s.as_ref()?)));
        let best = timed.max_by(|a, b| a.0.cmp(&b.0).then(a.1.median.total_cmp(&b.1.median)));
        let beside = best.map_or(String::new(), |(bytes, _)| format!(" blocks of {}", words::bytes(bytes)));
        let in_gb = best.map(|(_, rate)| scaled(rate, 1e-9));
        rows.push(row(format!("one core {what}{beside}"), "GB/s", in_gb));
    }
    let barriers = subject.profile.sync.iter().flat_map(|sync| &sync.barriers);
    let timed =
        barriers.filter(|one| one.algorithm != "auto").filter_map(|one| Some((one, one.ns.as_ref()?)));
    let best = timed.min_by(|a, b| b.0.threads.cmp(&a.0.threads).then(a.1.median.total_cmp(&b.1.median)));
    let what = best
        .map_or("barrier".into(), |(one, _)| format!("barrier of {} threads ({})", one.threads, one.name()));
    rows.push(row(what, "ns", best.map(|(_, ns)| ns.clone())));
    let figures = subject.profile.figures();
    let is = |one: &coho_profile::Figure<'_>, name, value| one.parameter(name) == Some(value);
    let getpid = figures.iter().find(|one| {
        one.quantity.key == "calls.time"
            && is(one, "name", "getpid")
            && is(one, "state", "warm")
            && is(one, "wrapped", "false")
    });
    rows.push(row(
        "system call (getpid, bare)".into(),
        "ns",
        getpid.map(|one| one.estimate.clone().into_owned()),
    ));
    rows
}

/// The nearest and the farthest pair, where the times make no classes, as those of a paper.
fn ends(subject: &Subject) -> Vec<Row> {
    let pairs = subject.coherence().map(coho_profile::Coherence::judged).unwrap_or_default();
    let by_time = |a: &&&Pair, b: &&&Pair| a.ns.median.total_cmp(&b.ns.median);
    let (Some(near), Some(far)) = (pairs.iter().min_by(by_time), pairs.iter().max_by(by_time)) else {
        return vec![Row::of(subject, "line handed over between CPUs", "ns", None)];
    };
    let row = |what: &str, pair: &Pair| {
        let what = format!("{what} pair, {}", pair.method.name());
        Row::of(subject, what, "ns", Some(pair.ns.clone()))
    };
    vec![row("nearest", near), row("farthest", far)]
}

fn scaled(estimate: &Estimate, by: f64) -> Estimate {
    let Estimate { median, low, high, min, .. } = estimate;
    Estimate {
        median: median * by,
        low: low * by,
        high: high * by,
        min: min * by,
        modes: Vec::new(),
        ..estimate.clone()
    }
}

/// Cards as JSON: one as an object, several as a list.
///
/// # Errors
/// If a figure is not a number.
pub fn json(cards: &[Card]) -> serde_json::Result<String> {
    match cards {
        [only] => serde_json::to_string(only),
        several => serde_json::to_string(several),
    }
}
