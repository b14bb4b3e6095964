//! What calls cost and evict, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use coho_profile::{CacheState, Call, CallMethod, Calls, Damage, Estimate, Judgement, Side};

use super::table::{dense, wrapped};
use crate::report::{delegation, events, text};

/// Writes times, events beside the paper's Tables 5 to 7, damage, and which calls another core should execute.
pub fn write(out: &mut impl Write, calls: &Calls) -> io::Result<()> {
    let (_, paper) = events::published();
    let told = match calls.method {
        CallMethod::Pmu => "by performance counters",
        CallMethod::Timing => "by time alone: prime and probe",
    };
    writeln!(out, "Measured {told}\n")?;
    by_footprint(out, calls, &paper)?;
    times(out, calls, &paper)?;
    for (set, title) in events::SETS {
        counted(out, calls, &paper, set, title)?;
    }
    damage(out, calls)?;
    calibration(out, calls)?;
    judgements(out, calls, &paper)?;
    missing(out, calls)
}

fn missing(out: &mut impl Write, calls: &Calls) -> io::Result<()> {
    for (what, why) in &calls.conditions.not_available {
        writeln!(
            out,
            "{}",
            wrapped("", &format!("not available: {}: {}", text::tame(what), text::reason(why)))
        )?;
    }
    if calls.conditions.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

/// What each call costs by its caller's footprint, at home and on another core, and where it should be made.
fn by_footprint(out: &mut impl Write, calls: &Calls, paper: &Calls) -> io::Result<()> {
    let Some(conditions) = &calls.footprint_conditions else { return Ok(()) };
    let rows: Vec<Vec<String>> = delegation::by_call(calls)
        .iter()
        .map(|rows| {
            let cells = delegation::row(rows, delegation::verdict_on(calls, rows), paper);
            cells.map(|cell| text::short(&cell, 22)).to_vec()
        })
        .collect();
    if !rows.is_empty() {
        writeln!(out, "Calls by what their caller has used of its caches, ns")?;
        let header = ["call", "home", "away", "pays from", "posted", "publ.", "off"];
        writeln!(out, "{}", dense(&header, 1, rows))?;
        let note =
            format!("{}; publ.: {}, second and cold call, by cycles", delegation::MEANING, events::MACHINE);
        writeln!(out, "{}", wrapped("", &note))?;
    }
    if let Some(finding) = coho_model::delegation::finding(calls) {
        writeln!(out, "{}", wrapped("", &text::tame(&format!("{finding}."))))?;
    }
    for (what, why) in &conditions.not_available {
        let line = format!("not available: {}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    if conditions.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    writeln!(out)
}

/// A line for each call, form and side: cold and warm.
fn times(out: &mut impl Write, calls: &Calls, paper: &Calls) -> io::Result<()> {
    let rows = events::times(calls);
    if rows.is_empty() {
        return Ok(());
    }
    let ns = |ns: Option<&Estimate>| ns.map_or_else(|| "–".to_owned(), text::estimate);
    let row = |times: &events::Times<'_>| {
        let how = [events::form(times.call), events::side(times.call.side)];
        let name = events::over_tcp(&times.call.name).unwrap_or(&times.call.name);
        let alike = times.call.set != "syscalls" || !times.call.wrapped;
        let published = judged(paper, name).filter(|_| alike).and_then(|judged| judged.warm_over_cold);
        vec![
            text::tame(&times.call.name),
            how.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "),
            ns(times.cold),
            ns(times.second),
            ns(times.warm),
            events::percent(times.ratio()),
            events::percent(published),
        ]
    };
    writeln!(out, "Time of a call by the state of the caches, ns (95 %)")?;
    let header = ["call", "form", "cold", "second", "steady", "2nd/cold", "publ."];
    writeln!(out, "{}", dense(&header, 2, rows.iter().map(row).collect()))?;
    let cleared = events::cleared(calls).map_or_else(String::new, |how| format!(" ({how})"));
    let note = format!(
        "{}{cleared}; libc: through the C library's function; bare: the instruction in the loop; publ.: {}, by cycles, \
         system calls in the kernel alone",
        events::STATES_MEANING,
        events::MACHINE
    );
    writeln!(out, "{}\n", wrapped("", &text::tame(&note)))
}

fn judged<'a>(calls: &'a Calls, name: &str) -> Option<&'a Judgement> {
    calls.judgements.iter().find(|judgement| judgement.name == name)
}

/// The events of a set's calls, the paper's below. Without counters the paper's may stand alone.
fn counted(out: &mut impl Write, calls: &Calls, paper: &Calls, set: &str, title: &str) -> io::Result<()> {
    let rows = events::beside(calls, paper, set);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}, events of a call")?;
    if rows.iter().all(|(_, published)| *published) {
        writeln!(out, "here: – for all, nothing was counted, see below")?;
    }
    let row = |(call, published): &(&Call, bool)| {
        let name = match published {
            true => format!("  publ. {}", events::side(call.side)),
            false => named(call),
        };
        let mut figures = events::of_call(call).map(events::figure);
        if call.by_clock {
            [6, 8].into_iter().for_each(|column: usize| figures[column].insert(0, '~'));
        }
        [name, events::state(call.state).to_owned()].into_iter().chain(figures).collect()
    };
    let header = [&["call", "state"], &events::COLUMNS[..]].concat();
    writeln!(out, "{}", dense(&header, 2, rows.iter().map(row).collect()))?;
    let by_clock = rows.iter().any(|(call, _)| call.by_clock);
    let by_clock = if by_clock { "; ~: the time by the measured clock, not counted" } else { "" };
    let transports = if set == "mpi" { format!("; {}", events::TRANSPORTS) } else { String::new() };
    let note =
        format!("publ.: {}; –: not counted, for the reasons below{by_clock}{transports}", events::MACHINE);
    writeln!(out, "{}\n", wrapped("", &note))
}

/// `write bare kernel`; the C library's form of a system call is the usual one and not named.
fn named(call: &Call) -> String {
    let form = if call.wrapped { "" } else { events::form(call) };
    let words = [text::short(&call.name, 20), form.to_owned(), events::side(call.side).to_owned()];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Extra time of the walk after a call, by call and size of the walked set.
fn damage(out: &mut impl Write, calls: &Calls) -> io::Result<()> {
    let mut names: Vec<&str> = Vec::new();
    let mut sizes = BTreeSet::new();
    let mut of: BTreeMap<(&str, u64), &Damage> = BTreeMap::new();
    for damage in &calls.damage {
        if !names.contains(&damage.name.as_str()) {
            names.push(&damage.name);
        }
        sizes.insert(damage.set_bytes);
        of.insert((&damage.name, damage.set_bytes), damage);
    }
    if names.is_empty() {
        return Ok(());
    }
    let beyond =
        |estimate: &Option<Estimate>| estimate.as_ref().map_or_else(|| "–".to_owned(), events::beyond_noise);
    let cell = |name: &str, bytes: u64| match of.get(&(name, bytes)) {
        Some(damage) => format!("{}/{}", beyond(&damage.ns), beyond(&damage.lines)),
        None => "–".to_owned(),
    };
    let row = |name: &&str| {
        let cells = sizes.iter().map(|&bytes| cell(name, bytes));
        std::iter::once(text::tame(name)).chain(cells).collect()
    };
    let header: Vec<String> =
        std::iter::once("call".to_owned()).chain(sizes.iter().map(|&bytes| text::bytes(bytes))).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    writeln!(out, "Damage: walking a working set again after a call, extra ns/lines evicted")?;
    writeln!(out, "{}", dense(&header, 1, names.iter().map(row).collect()))?;
    writeln!(out, "{}\n", wrapped("", events::SIGNS_MEANING))
}

fn calibration(out: &mut impl Write, calls: &Calls) -> io::Result<()> {
    if calls.calibration.is_empty() {
        return Ok(());
    }
    let point = |point: &coho_profile::Calibration| {
        let evicted =
            point.evicted.as_ref().map_or_else(|| "–".to_owned(), |lines| text::number(lines.median));
        format!("{}→{evicted}", point.lines)
    };
    let points: Vec<_> = calls.calibration.iter().map(point).collect();
    let told = format!("Calibration, lines that a victim uses → lines seen evicted: {}", points.join(", "));
    writeln!(out, "{}\n", wrapped("", &told))
}

fn judgements(out: &mut impl Write, calls: &Calls, paper: &Calls) -> io::Result<()> {
    if calls.judgements.is_empty() {
        return Ok(());
    }
    let kib = |kib: Option<f64>| kib.map_or_else(|| "–".to_owned(), |kib| format!("{kib:.1}"));
    let ns = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), |ns| format!("{ns:.0}"));
    let (state, over_cold) = events::over_cold(calls);
    let is_second = state == "second";
    let row = |judgement: &Judgement| {
        let published = judged(paper, events::over_tcp(&judgement.name).unwrap_or(&judgement.name));
        vec![
            text::tame(&judgement.name),
            kib(judgement.footprint_kib),
            kib(published.and_then(|published| published.footprint_kib)),
            events::percent(over_cold(judgement)),
            events::percent(published.filter(|_| is_second).and_then(|published| published.warm_over_cold)),
            ns(judgement.cost_ns),
            ns(judgement.channel_ns),
        ]
    };
    writeln!(out, "What a call costs its caller, and a message to another core")?;
    let ratio = if is_second { "2nd/cold" } else { "steady/cold" };
    let header = ["call", "KiB", "publ.", ratio, "publ.", "cost ns", "channel ns"];
    writeln!(out, "{}", dense(&header, 1, calls.judgements.iter().map(row).collect()))?;
    let footprint = match calls.method {
        CallMethod::Pmu => "lines that a cold call missed in the level-2 cache",
        CallMethod::Timing => {
            "data lines used in the level-1 cache and code lines of user mode, not the paper's measure"
        }
    };
    let set = calls.judgements.iter().find_map(|judgement| judgement.set_bytes);
    let set = set.map_or_else(String::new, |bytes| format!(" to {}", text::bytes(bytes)));
    let note = format!(
        "KiB: {footprint} (published: level-2 misses); cost: call in a loop and its damage{set}; channel: a message \
         there and back"
    );
    writeln!(out, "{}", wrapped("", &note))?;
    if let Some(holds) = calls.judgements.iter().find_map(|judgement| judgement.channel_holds.as_ref()) {
        writeln!(out, "{}", wrapped("", &text::tame(&format!("channel: {holds}"))))?;
    }
    writeln!(out)?;
    let width = calls.judgements.iter().map(|judgement| judgement.name.chars().count()).max().unwrap_or(0);
    for judgement in &calls.judgements {
        let label = format!("{:<1$} ", text::short(&judgement.name, 20), width.min(20));
        writeln!(out, "{}", wrapped(&label, &text::tame(&judgement.why)))?;
    }
    Ok(())
}

/// Writes what a survey says first: warm times.
pub fn findings(out: &mut impl Write, calls: &Calls) -> io::Result<()> {
    if calls.calls.is_empty() {
        return missing(out, calls);
    }
    let mut warm: Vec<String> = Vec::new();
    for call in calls.calls.iter().filter(|call| (call.state, call.side) == (CacheState::Warm, Side::Both)) {
        let twin = calls.calls.iter().any(|other| other.name == call.name && other.wrapped);
        if let Some(ns) = call.ns.as_ref().filter(|_| call.wrapped || !twin) {
            warm.push(format!("{} {}", text::short(&call.name, 20), text::within(ns)));
        }
    }
    if !warm.is_empty() {
        writeln!(out, "{}", wrapped("calls      ", &format!("in a loop, ns: {}", warm.join(", "))))?;
    }
    if let Some(finding) = coho_model::delegation::finding(calls) {
        writeln!(out, "{}", wrapped("           ", &text::tame(&finding)))?;
    }
    if calls.method == CallMethod::Timing {
        writeln!(out, "           by time alone; the report says what that cannot tell")?;
    }
    if calls.conditions.interrupted {
        writeln!(out, "           stopped before the end")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use coho_profile::{Calibration, Counts};

    use super::*;

    fn told(calls: &Calls) -> String {
        let mut out = Vec::new();
        write(&mut out, calls).unwrap();
        findings(&mut out, calls).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    fn call(state: CacheState, wrapped: bool, ns: f64) -> Call {
        let ns = Some(Estimate { n: 1000, high: 1.02 * ns, ..Estimate::exact(ns) });
        Call { name: "write".into(), set: "syscalls".into(), state, wrapped, ns, ..Call::default() }
    }

    fn timed() -> Calls {
        let rows = [
            (CacheState::Cold, true, 5900.0),
            (CacheState::Cold, false, 5800.0),
            (CacheState::Second, false, 900.0),
            (CacheState::Warm, true, 800.0),
            (CacheState::Warm, false, 530.0),
        ];
        let damage = |kib: u64| Damage {
            name: "write".into(),
            set_bytes: kib << 10,
            lines: Some(Estimate::exact(30.0)),
            ns: Some(Estimate::exact(90.0)),
        };
        let mut calls = Calls {
            calls: rows.map(|(state, wrapped, ns)| call(state, wrapped, ns)).to_vec(),
            damage: [8, 24, 32, 48, 64, 256, 1024].map(damage).to_vec(),
            calibration: vec![Calibration { lines: 64, evicted: Some(Estimate::exact(180.0)) }],
            ..Calls::default()
        };
        calls.conditions.not_available.insert("PMU".into(), "the hypervisor shows none".into());
        coho_model::delegation::judge(&mut calls, None);
        calls
    }

    #[test]
    fn without_counters_times_stand_beside_the_papers_tables() {
        let text = told(&timed());
        for figure in [
            "5800 (5800–5916)",
            "900 (900–918)",
            "15.5 %",
            "6.4 %",
            "36018",
            "90/30",
            "64→180",
            "the hypervisor shows none",
        ] {
            assert!(text.contains(figure), "{figure}: {text}");
        }
        assert!(text.contains("calls      in a loop, ns: write 800 ±1 %"), "{text}");
    }

    #[test]
    fn counted_calls_have_the_papers_below() {
        let counts = Counts { L2M: Some(Estimate::exact(563.0)), ..Counts::default() };
        let row = Call { side: Side::Kernel, counts, ..call(CacheState::Cold, false, 5000.0) };
        let text = told(&Calls { method: CallMethod::Pmu, calls: vec![row], ..Calls::default() });
        let at = |text: &str, what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(
            at(&text, "write bare kernel") < at(&text, "  publ. kernel") && text.contains("17.02"),
            "{text}"
        );
    }

    #[test]
    fn the_steady_state_of_older_profiles_is_called_that() {
        let mut calls = timed();
        assert!(told(&calls).contains("2nd/cold") && !told(&calls).contains("steady/cold"));
        calls.calls.retain(|call| call.state != CacheState::Second);
        coho_model::delegation::judge(&mut calls, None);
        let text = told(&calls);
        assert_eq!(text.matches("steady/cold").count(), 1, "{text}");
        let row = text.lines().rfind(|line| line.starts_with("write ")).unwrap();
        assert!(!row.contains("6.4 %"), "the paper's is of a second call: {text}");
    }

    #[test]
    fn nothing_measured_is_said_and_does_not_fail() {
        assert!(told(&Calls::default()).contains("by time alone"));
    }
}
