//! The figures of counters and calls that can be set beside another profile's.

use coho_profile::{Call, CallMethod, Calls, Counters, Side};

use super::events;
use super::figures::{Figure, Key};
use super::subject::Subject;

/// Tables in the order of comparisons: behind those of coherence.
const COUNTERS: u8 = 4;
const CALLS: u8 = 5;

/// Calls in the paper's order; others behind.
const ORDER: [&str; 12] = [
    "getpid",
    "gettimeofday",
    "stat",
    "open",
    "write",
    "close",
    "fprintf",
    "sprintf",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
];

/// What a column counts, as a unit.
fn unit(column: &str) -> &'static str {
    match column {
        "L1DR" => "references",
        "INS" => "instructions",
        "CYCLE" => "cycles",
        "STALL" => "share",
        "CPI" => "cycles/instruction",
        _ => "lines",
    }
}

/// Figures of both sections.
pub fn of(subject: &Subject) -> Vec<Figure> {
    let counters = subject.profile.counters.iter().flat_map(|counters| of_counters(subject, counters));
    let calls = subject.profile.calls.iter().flat_map(|calls| of_calls(subject, calls));
    counters.chain(calls).collect()
}

fn of_counters(subject: &Subject, counters: &Counters) -> Vec<Figure> {
    let mut figures = Vec::new();
    let key = |row: usize, id: &str, label: String, unit| {
        Key::new(COUNTERS, row, format!("counters.{id}"), label, unit)
    };
    for tool in &counters.tools {
        let (row, name) = table_4(&tool.name);
        if let Some(ns) = &tool.ns {
            figures.push(Figure::of(subject, key(row, name, name.to_owned(), "ns"), ns, 1.0));
        }
        for (side, counts) in [("user", &tool.user), ("kernel", &tool.kernel)] {
            for (column, estimate) in events::COLUMNS.iter().zip(events::of_counts(counts)) {
                let Some(estimate) = estimate else { continue };
                let (id, label) = (format!("{name}.{side}.{column}"), format!("{name}, {side}: {column}"));
                figures.push(Figure::of(subject, key(row, &id, label, unit(column)), estimate, 1.0));
            }
        }
    }
    for (id, label, ns) in [
        ("rdpmc", "reading a counter in user mode", &counters.rdpmc.ns),
        ("cpuid", "CPUID", &counters.cpuid_ns),
        ("empty", "two readings of the clock", &counters.empty_ns),
    ] {
        figures
            .extend(ns.iter().map(|ns| Figure::of(subject, key(100, id, label.to_owned(), "ns"), ns, 1.0)));
    }
    figures
}

/// A tool's place and its name in the paper's Table 4, where that has the like: a start and a stop.
fn table_4(name: &str) -> (usize, &str) {
    match name {
        "user-level tool" | "user-level start and stop" => (0, "user-level start and stop"),
        "kernel-level tool (perf_event_open only)" | "perf_event start and stop" => {
            (1, "perf_event start and stop")
        }
        "PAPI" | "PAPI start and stop" => (2, "PAPI start and stop"),
        other => (3, other),
    }
}

fn of_calls(subject: &Subject, calls: &Calls) -> Vec<Figure> {
    let mut figures = Vec::new();
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let key = |name: &str, id: &str, label: &str, unit| {
        // The paper's MPI went through sockets.
        let socket = if subject.published && name.starts_with("MPI_") { events::OVER_TCP } else { "" };
        let row = place(events::over_tcp(name).unwrap_or(name));
        Key::new(CALLS, row, format!("calls.{name}{socket}.{id}"), format!("{name}{socket}, {label}"), unit)
    };
    for call in &calls.calls {
        let form = match calls.calls.iter().any(|other| is_other_form(call, other)) {
            true if call.wrapped => "libc",
            true if call.set != "syscalls" => "bare",
            _ => "",
        };
        let words = [events::state(call.state), events::side(call.side), form];
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let (id, label) = (words.join("."), words.join(", "));
        if let Some(ns) = &call.ns {
            figures.push(Figure::of(subject, key(&call.name, &id, &label, "ns"), ns, 1.0));
        }
        for (column, estimate) in events::COLUMNS.iter().zip(events::of_call(call)) {
            let Some(estimate) = estimate else { continue };
            let (id, label) = (format!("{id}.{column}"), format!("{label}: {column}"));
            figures.push(Figure::of(subject, key(&call.name, &id, &label, unit(column)), estimate, 1.0));
        }
    }
    // By counters and by time a footprint is not the same quantity.
    let footprint = match calls.method {
        CallMethod::Pmu => ("footprint", "footprint"),
        CallMethod::Timing => ("footprint-by-time", "footprint by time"),
    };
    for judgement in &calls.judgements {
        let second = events::second_over_cold(calls, judgement);
        let told = [
            (footprint.0, footprint.1, "KiB", judgement.footprint_kib),
            ("second-over-cold", "second / cold", "%", second.map(|ratio| 100.0 * ratio)),
            ("steady-over-cold", "steady / cold", "%", judgement.steady_over_cold.map(|ratio| 100.0 * ratio)),
        ];
        for (id, label, unit, value) in told {
            let Some(value) = value else { continue };
            figures.push(Figure {
                key: key(&judgement.name, id, label, unit),
                value,
                interval: None,
                n: 1,
                inexact: None,
            });
        }
    }
    figures
}

/// The same figures in the other form. The form that bears no name is the paper's: of its system calls the instruction,
/// as it counts what the kernel does; else the C library's function, where the other one is `bare`.
fn is_other_form(call: &Call, other: &Call) -> bool {
    let unnamed_is_bare = call.set == "syscalls";
    let same = |call: &Call| -> (String, _, Side, bool) {
        (call.name.clone(), call.state, call.side, events::counted(call))
    };
    other.wrapped != call.wrapped && call.wrapped == unnamed_is_bare && same(other) == same(call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures;
    use coho_profile::{CacheState, Estimate};

    fn paper() -> Subject {
        Subject::load("published:shimosawa-hori-ishikawa").unwrap().remove(0)
    }

    #[test]
    fn the_papers_tables_are_figures_and_every_key_is_one() {
        let all = of(&paper());
        let value = |id: &str| all.iter().find(|figure| figure.key.id == id).map(|figure| figure.value);
        assert_eq!(value("calls.write.cold.kernel.L2M.lines"), Some(405.0));
        assert_eq!(value("calls.MPI_Irecv over TCP.second.user.CPI.cycles/instruction"), Some(4.61));
        assert_eq!(value("counters.PAPI start and stop.kernel.INS.instructions"), Some(1463.0));
        assert_eq!(value("calls.getpid.footprint.KiB"), Some(0.75));
        assert_eq!(figures::of(&paper()).len(), all.len(), "no two figures have the same key");
    }

    /// Also where an earlier version put the steady state in its place.
    #[test]
    fn a_call_without_a_second_one_has_no_ratio_of_it() {
        let mut subject = paper();
        subject.profile.counters = None;
        let calls = subject.profile.calls.as_mut().unwrap();
        calls.calls.retain(|call| call.name != "write" || call.state != CacheState::Second);
        for judgement in &mut calls.judgements {
            judgement.warm_over_cold = Some(0.5);
        }
        let all = of(&subject);
        let has =
            |name: &str| all.iter().any(|figure| figure.key.id == format!("calls.{name}.second-over-cold.%"));
        assert!(has("getpid") && !has("write"));
    }

    #[test]
    fn a_bare_call_is_told_apart_only_where_both_forms_were_measured() {
        let mut subject = paper();
        subject.profile.counters = None;
        let call = Call {
            name: "write".into(),
            set: "syscalls".into(),
            ns: Some(Estimate::exact(500.0)),
            ..Call::default()
        };
        let ids = |subject: &Subject| of(subject).into_iter().map(|figure| figure.key.id).collect::<Vec<_>>();
        subject.profile.calls = Some(Calls { calls: vec![call.clone()], ..Calls::default() });
        assert_eq!(ids(&subject), ["calls.write.steady.ns"]);
        let wrapped = Call { wrapped: true, ..call.clone() };
        subject.profile.calls = Some(Calls { calls: vec![wrapped, call], ..Calls::default() });
        assert_eq!(ids(&subject), ["calls.write.steady.libc.ns", "calls.write.steady.ns"]);
        // Of other calls the C library's is the usual form.
        for call in &mut subject.profile.calls.as_mut().unwrap().calls {
            call.set = "extra".into();
        }
        assert_eq!(ids(&subject), ["calls.write.steady.ns", "calls.write.steady.bare.ns"]);
    }
}
