//! Shimosawa, Hori & Ishikawa: what reading counters costs, and the events of calls.

use coho_profile::{Call, Calls, CounterTool, Counters, published};

use crate::sections::calls::rows;
use crate::sections::counters::{EVENTS, counted, events, sides, tool_name};
use crate::sections::prelude::*;

/// The paper's tables with this profile's figures beside them; none for what it did not measure, and beside the paper itself.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let mut parts = Vec::new();
    if !subject.published {
        let counters = subject.profile.counters.as_ref().filter(|counters| !counters.tools.is_empty());
        parts.detail(counters.map(table_4));
        parts.detail(subject.profile.calls.as_ref().map(tables_5_to_7));
    }
    parts
}

/// Tables 5 to 7: the events of each call that was counted or timed here, the paper's below. The paper's MPI went through
/// sockets: its rows stand beside those over TCP, where these were measured.
fn tables_5_to_7(calls: &Calls) -> Vec<Table> {
    let paper = rows::published();
    let table = |((set, title), number): ((&str, &str), u32)| {
        let of_set = calls.calls.iter().filter(|call| call.set == set);
        let names = scale::distinct(of_set.map(|call| call.name.as_str()));
        let mut both: Vec<(&Call, &str)> = Vec::new();
        for name in &names {
            let has_socket = names.iter().any(|other| *other == format!("{name}{}", rows::OVER_TCP));
            let theirs = rows::over_tcp(name).unwrap_or(name);
            for state in rows::STATES {
                let is = |call: &Call, name: &str| {
                    call.set == set && call.name == name && call.state == state && rows::counted(call)
                };
                let here = calls.calls.iter().filter(|call| is(call, name));
                let published = paper.calls.iter().filter(|call| !has_socket && is(call, theirs));
                both.extend(here.map(|call| (call, "here")).chain(published.map(|call| (call, "published"))));
            }
        }
        Table::of(format!("table-{number}"), format!("{title}, events of a call (Table {number})"), both)
            .text("call", |(call, _)| call.name.as_str())
            .text("whose", |(_, whose)| whose)
            .text("caches", |(call, _)| rows::state(call.state))
            .text("side", |(call, _)| rows::side(call.side))
            .columns(rows::COLUMNS.map(|(name, _)| Column::figures(name, "")), |(call, whose)| {
                let events = rows::events(call).into_iter().zip(rows::COLUMNS);
                events.map(move |(estimate, (name, _))| {
                    let format = match (whose, name) {
                        ("here", _) => Format::Digits,
                        // The paper prints counts as whole numbers.
                        (_, "STALL" | "CPI") => Format::Printed,
                        _ => Format::Whole,
                    };
                    Some(format.of(estimate?.median))
                })
            })
            .note(format!("{} published: {}.", rows::COLUMNS_MEANING, rows::MACHINE))
            .done()
    };
    rows::SETS.into_iter().zip(5..8).map(table).collect()
}

/// Table 4: this machine's start and stop beside the paper's, tool by tool.
fn table_4(counters: &Counters) -> Table {
    let published = published::paper("shimosawa-hori-ishikawa").machine().counters.unwrap_or_default().tools;
    let rows = published.iter().flat_map(|theirs| {
        let is = |ours: &&CounterTool| tool_name(&ours.name) == tool_name(&theirs.name) && counted(ours);
        let ours = counters.tools.iter().filter(is).map(|ours| (ours, "here"));
        std::iter::once((theirs, "published")).chain(ours).collect::<Vec<_>>()
    });
    let rows = rows.flat_map(|(tool, whose)| sides(tool).map(|side| (whose, side)));
    Table::of("table-4", "Events of starting and stopping a counter (Table 4)", rows)
        .text("tool", |(_, (tool, ..))| tool)
        .text("whose", |(whose, _)| whose)
        .text("side", |(_, (_, side, _))| side)
        .columns(EVENTS.iter().map(|(name, _)| Column::figures(*name, "")), |(_, (.., counts))| {
            events(counts)
        })
        .note("published: Xeon X5550, nothing between start and stop.")
        .done()
}

#[cfg(test)]
mod tests {
    use coho_profile::{Counts, Estimate, Profile};

    use super::*;
    use crate::part::{Cell, Row};
    use crate::testing::{section, tables};

    #[test]
    fn the_papers_rows_are_as_printed() {
        let calls = Some(rows::published());
        let subject = Subject::new("mine", Profile { calls, ..Profile::default() });
        let section = section(parts(&subject));
        let table_5 = tables(&section)[0];
        let published = table_5.rows.iter().find(|row| row.cells[1] == "published".into()).unwrap();
        let texts = published.cells[4..].iter().map(|cell| match cell {
            Cell::Figure(figure) => figure.text(),
            _ => String::new(),
        });
        let printed = ["63", "6", "9", "12", "13", "", "1496", "0.62", "22.33"];
        assert_eq!(texts.collect::<Vec<_>>(), printed, "getpid after the caches were cleared");
    }

    #[test]
    fn table_4_is_printed_whole_with_what_was_counted_here() {
        let rows = |user: Counts| {
            let tool = CounterTool { name: "PAPI start and stop".into(), user, ..CounterTool::default() };
            let counters = Some(Counters { tools: vec![tool], ..Counters::default() });
            let subject = Subject::new("mine", Profile { counters, ..Profile::default() });
            tables(&section(parts(&subject)))[0].rows.clone()
        };
        let cycles = |row: &Row| match &row.cells[9] {
            Cell::Figure(figure) => figure.text(),
            _ => String::new(),
        };
        let published: Vec<String> = rows(Counts::default()).iter().map(cycles).collect();
        assert_eq!(published, ["305", "0", "329", "5141", "5741", "7086"]);
        let counted = rows(Counts { INS: Some(Estimate::exact(612.0)), ..Counts::default() });
        assert_eq!((counted.len(), &counted[6].cells[1]), (8, &"here".into()));
    }
}
