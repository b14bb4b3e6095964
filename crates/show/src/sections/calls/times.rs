//! Times by the state of the caches, and every figure call by call.

use coho_profile::{CacheState, Call, Calls, Estimate, Side};

use super::rows::{
    COLUMNS, COLUMNS_MEANING, MACHINE, PAPER_GHZ, Paper, SETS, STATES, cleared, events, form, is_other_form,
    listed, over_tcp, side, state,
};
use crate::sections::prelude::*;
use crate::words::joined;

/// The most calls a chart shows.
const CHARTED: usize = 40;

pub(super) fn add(section: &mut Section, subject: &Subject, calls: &Calls, paper: &Paper<'_>) {
    section.summary(table(subject, calls, paper));
    for (at, (set, title)) in SETS.into_iter().enumerate() {
        let depth = if at == 0 { Depth::Summary } else { Depth::Detail };
        section.add(depth, chart(subject, calls, &paper.calls, set, title));
    }
    section.detail(every_figure(subject, calls));
}

/// A call in one form and on one side: the first row that has its time, and its times by [`STATES`].
type Times<'a> = (&'a Call, [Option<&'a Estimate>; 3]);

/// In the order of the calls.
fn all(calls: &Calls) -> Vec<Times<'_>> {
    let mut all: Vec<Times<'_>> = Vec::new();
    let form = |call: &Call| (call.name.clone(), call.side, call.wrapped);
    for call in calls.calls.iter().filter(|call| call.ns.is_some()) {
        let time = STATES.map(|state| call.ns.as_ref().filter(|_| call.state == state));
        match all.iter_mut().find(|(first, _)| form(first) == form(call)) {
            Some((_, times)) => *times = std::array::from_fn(|at| time[at].or(times[at])),
            None => all.push((call, time)),
        }
    }
    all
}

/// Second over cold time, as the paper's warm over cold.
fn ratio([cold, second, _]: [Option<&Estimate>; 3]) -> Option<f64> {
    let (second, cold) = (second?.median, cold?.median);
    (cold > 0.0).then(|| second / cold)
}

fn table(subject: &Subject, calls: &Calls, paper: &Paper<'_>) -> impl Bodies {
    let percent = |ratio: f64| format!("{:.1} %", 100.0 * ratio);
    // Single steps see the user's side: a row of its own.
    let lines = |call: &Call, lines: fn(&Call) -> Option<u64>| {
        let same =
            calls.calls.iter().filter(|other| (&other.name, other.wrapped) == (&call.name, call.wrapped));
        same.filter_map(lines).next()
    };
    let how = |call: &Call| Some(joined([form(call), side(call.side)], " ")).filter(|how| !how.is_empty());
    // The paper's system calls have no C library around them.
    let published = |call: &Call| {
        let alike = call.set != "syscalls" || !call.wrapped;
        paper.cost(&call.name).filter(|_| alike)?.warm_over_cold
    };
    let cleared = cleared(calls).map_or_else(String::new, |how| format!(" ({how})"));
    Table::of("call-times", "Time of a call by the state of the caches", all(calls))
        .text("call", |(call, _)| call.name.as_str())
        .text("form", |(call, _)| how(call))
        .columns(STATES.map(|of| Column::figures(state(of), "ns")), |(_, times)| {
            times.map(|ns| Some(subject.figure(ns?)))
        })
        .figures("2nd/cold", "", |(_, times)| ratio(times).map(percent))
        .figures("publ.", "", |(call, _)| published(call).map(percent))
        .column(Column::figures("data lines", "").detail(), |(call, _)| {
            Some(Figure::from(call.footprint_lines.as_ref()?).format(Format::Tenths))
        })
        .column(Column::figures("code lines, user", "").detail(), |(call, _)| lines(call, |one| one.code_lines))
        .column(Column::figures("data lines, user", "").detail(), |(call, _)| lines(call, |one| one.data_lines))
        .note(format!(
            "cold: after the caches were cleared{cleared}; second: right after a cold call, which the paper calls \
             warm; steady: one of many in a row; libc: through the C library's function; bare: the instruction in the \
             loop; publ.: {MACHINE}, from cycles, for system calls the kernel's part alone. Data lines: used in the \
             level-1 cache, estimated; user-mode lines: by single steps, exact.",
        ))
}

/// Every figure of every call, state, side and form, under the keys that `compare` has of them.
fn every_figure(subject: &Subject, calls: &Calls) -> Table {
    let name = |call: &Call| listed(&call.name, subject);
    Table::of("calls", "Every call by state, side and form", &calls.calls)
        .text("call", name)
        .text("caches", |call| state(call.state))
        .text("side", |call| side(call.side))
        .text("form", form)
        .compared("time", "ns", "ns", |call| subject.figure_of(&call.ns))
        .keyed(|call| {
            let named = match calls.calls.iter().any(|other| is_other_form(call, other)) {
                true if call.wrapped => "libc",
                true if call.set != "syscalls" => "bare",
                _ => "",
            };
            let (name, words) = (name(call), [state(call.state), side(call.side), named]);
            (format!("calls.{name}.{}", joined(words, ".")), format!("{name}, {}", joined(words, ", ")))
        })
        .note(format!("{COLUMNS_MEANING} ~: the time by the measured clock, not counted."))
        .columns_of(
            COLUMNS.into_iter().enumerate(),
            |(_, (event, key))| Column::figures(event, "").compared(key),
            |call, (at, (event, _))| {
                let by_clock = call.by_clock && matches!(event, "CYCLE" | "CPI");
                Some(subject.figure(events(call)[at]?).marked(if by_clock { "~" } else { "" }))
            },
        )
        .done()
}

/// A set's calls: a bar for each state of the caches, here and published.
fn chart(subject: &Subject, calls: &Calls, paper: &Calls, set: &str, title: &str) -> Chart {
    let mut names = distinct(calls.calls.iter().filter(|call| call.set == set).map(|call| call.name.clone()));
    names.truncate(CHARTED);
    let mut series = Vec::new();
    for (of, published, ghz) in [(calls, false, subject.clock_ghz()), (paper, true, Some(PAPER_GHZ))] {
        for (at, cache_state) in STATES.into_iter().enumerate() {
            let whose = if published || subject.published { "published" } else { "here" };
            let bar = |known: &String| {
                let name = if published { over_tcp(known).unwrap_or(known) } else { known };
                let figure = time(of, set, name, cache_state, ghz)?;
                Some(Bar::new(figure, |ns| format!("{known}, {}, {whose}: {ns} ns", state(cache_state))))
            };
            let bars: Vec<Option<Bar>> = names.iter().map(bar).collect();
            if bars.iter().any(Option::is_some) {
                let name = format!("{}, {whose}", state(cache_state));
                series.push(BarSeries::new(name, Colour::nth(at), bars).published(published));
            }
        }
    }
    let kernel = if set == "syscalls" { ", in the kernel alone" } else { "" };
    let x = Axis::log("time of a call, ns (logarithmic)");
    let title = format!("{title}: time by the state of the caches");
    let chart = Chart::bars(format!("calls-{set}"), title, x, names, series);
    chart.caption(match paper.calls.is_empty() {
        true => "A cold call fetches again everything that it uses.".to_owned(),
        false => format!(
            "A cold call fetches again everything that it uses. Hollow: {MACHINE} (Shimosawa, Hori & Ishikawa), \
             cycles at {PAPER_GHZ} GHz{kernel}."
        ),
    })
}

/// A call's time in ns, or from its cycles: as programs issue it where that was measured, but of the paper's system calls the
/// instruction, which the paper's stands beside.
fn time(calls: &Calls, set: &str, name: &str, state: CacheState, ghz: Option<f64>) -> Option<Figure> {
    let in_form = |wrapped: bool| {
        let is = |call: &&Call| (call.name.as_str(), call.state, call.wrapped) == (name, state, wrapped);
        let (both, sides): (Vec<&Call>, Vec<&Call>) =
            calls.calls.iter().filter(is).partition(|call| call.side == Side::Both);
        let sum = |figure: fn(&Call) -> Option<&Estimate>| {
            let whole = both.iter().find_map(|call| figure(call)).map(Figure::from);
            let parts = || sides.iter().map(|call| Some(figure(call)?.median)).sum::<Option<f64>>();
            whole.or_else(|| parts().filter(|_| !sides.is_empty()).map(Figure::exact))
        };
        sum(|call| call.ns.as_ref())
            .or_else(|| Some(sum(|call| call.counts.CYCLE.as_ref())?.scaled(1.0 / ghz?)))
    };
    let first = set != "syscalls";
    in_form(first).or_else(|| in_form(!first)).filter(|figure| figure.value.is_finite() && figure.value > 0.0)
}

#[cfg(test)]
mod tests {
    use coho_profile::Profile;

    use super::*;
    use crate::part::{Cell, Row};

    fn keys(calls: Vec<Call>) -> Vec<String> {
        let calls = Calls { calls, ..Calls::default() };
        let subject = Subject::new("mine", Profile::default());
        every_figure(&subject, &calls).rows.into_iter().filter_map(|row| Some(row.key?.id)).collect()
    }

    #[test]
    fn a_bare_call_is_told_apart_only_where_both_forms_were_measured() {
        let call = Call {
            name: "write".into(),
            set: "syscalls".into(),
            ns: Some(Estimate::exact(500.0)),
            ..Call::default()
        };
        assert_eq!(keys(vec![call.clone()]), ["calls.write.steady"]);
        let both = vec![Call { wrapped: true, ..call.clone() }, call];
        assert_eq!(keys(both.clone()), ["calls.write.steady.libc", "calls.write.steady"]);
        // Of other calls the C library's is the usual form.
        let others = both.into_iter().map(|call| Call { set: "extra".into(), ..call }).collect();
        assert_eq!(keys(others), ["calls.write.steady", "calls.write.steady.bare"]);
    }

    #[test]
    fn the_papers_tables_are_figures_and_every_key_is_one() {
        let paper = Subject::only("published:shimosawa-hori-ishikawa").unwrap();
        let table = every_figure(&paper, paper.profile.calls.as_ref().unwrap());
        let mut ids: Vec<&str> = table.rows.iter().map(|row| row.key.as_ref().unwrap().id.as_str()).collect();
        let n = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), n, "no two rows have the same key");
        let row = |id: &str| table.rows.iter().find(|row| row.key.as_ref().unwrap().id == id).unwrap();
        let value = |row: &Row, at: usize| match &row.cells[at] {
            Cell::Figure(figure) => figure.value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value(row("calls.write.cold.kernel"), 8), 405.0);
        assert_eq!(value(row("calls.MPI_Irecv over TCP.second.user"), 13), 4.61);
    }

    #[test]
    fn times_of_one_call_stand_in_one_row() {
        let call = |state, ns: f64| Call {
            name: "write".into(),
            state,
            ns: Some(Estimate::exact(ns)),
            ..Call::default()
        };
        let calls = Calls {
            calls: vec![
                call(CacheState::Cold, 5800.0),
                call(CacheState::Second, 900.0),
                call(CacheState::Warm, 530.0),
            ],
            ..Calls::default()
        };
        let all = all(&calls);
        assert_eq!(all.len(), 1);
        assert!((ratio(all[0].1).unwrap() - 900.0 / 5800.0).abs() < 1e-12);
    }
}
