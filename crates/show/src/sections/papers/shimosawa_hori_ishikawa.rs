//! Shimosawa, Hori & Ishikawa: what reading counters costs, and the events of calls.

use coho_profile::published::shimosawa_hori_ishikawa::figures;
use coho_profile::{Call, Calls, CounterTool, Counters, Estimate};

use crate::Subject;
use crate::figure::Figure;
use crate::part::{Body, Cell, Column, Depth, Part, Row, Table};
use crate::sections::calls::rows;
use crate::sections::counters::{EVENTS, counted, events, tool_name};

/// The paper's tables with this profile's figures beside them; none for what it did not measure, and beside the paper itself.
pub fn parts(subject: &Subject) -> Vec<Part> {
    if subject.published {
        return Vec::new();
    }
    let counters = subject.profile.counters.iter().filter(|counters| !counters.tools.is_empty());
    let calls = subject.profile.calls.iter().flat_map(tables_5_to_7);
    let tables = counters.map(table_4).chain(calls);
    tables.map(|table| Part { depth: Depth::Detail, body: Body::from(table) }).collect()
}

/// Tables 5 to 7: the events of each call that was counted or timed here, the paper's below. The paper's MPI went through
/// sockets: its rows stand beside those over TCP, where these were measured.
fn tables_5_to_7(calls: &Calls) -> Vec<Table> {
    let paper = rows::published();
    let sets = rows::SETS.into_iter().zip(5..8);
    sets.filter_map(|((set, title), number)| {
        let mut names: Vec<&str> = Vec::new();
        for call in calls.calls.iter().filter(|call| call.set == set) {
            if !names.contains(&call.name.as_str()) {
                names.push(&call.name);
            }
        }
        let mut table =
            Table::new(format!("table-{number}"), format!("{title}, events of a call (Table {number})"))
                .columns(["call", "whose", "caches", "side"].map(Column::text))
                .columns(rows::COLUMNS.map(|(name, _)| Column::figures(name, "")))
                .note(format!("{} published: {}.", rows::COLUMNS_MEANING, rows::MACHINE));
        for name in &names {
            let has_socket = names.iter().any(|other| *other == format!("{name}{}", rows::OVER_TCP));
            let theirs = rows::over_tcp(name).unwrap_or(name);
            for state in rows::STATES {
                let rows_of = |calls: &Calls, name: &str, whose: &str| -> Vec<Row> {
                    let is = |call: &&Call| call.set == set && call.name == name && call.state == state;
                    let counted = calls.calls.iter().filter(is).filter(|call| rows::counted(call));
                    counted.map(|call| row(call, whose)).collect()
                };
                table = table.rows(rows_of(calls, name, "here"));
                if !has_socket {
                    table = table.rows(rows_of(&paper, theirs, "published"));
                }
            }
        }
        (!table.rows.is_empty()).then_some(table)
    })
    .collect()
}

fn row(call: &Call, whose: &str) -> Row {
    let names = [call.name.as_str(), whose, rows::state(call.state), rows::side(call.side)].map(Cell::from);
    let event =
        |estimate: Option<&Estimate>| Cell::maybe(estimate.map(|estimate| Figure::exact(estimate.median)));
    Row::new(names.into_iter().chain(rows::events(call).map(event)))
}

/// Table 4: this machine's start and stop beside the paper's, tool by tool.
fn table_4(counters: &Counters) -> Table {
    let publication = figures().publication();
    let published = publication.machines.into_iter().find_map(|(_, profile)| profile.counters);
    let rows = |tool: &CounterTool, whose: &str| {
        [("user", &tool.user), ("kernel", &tool.kernel)].map(|(side, counts)| {
            let names = [tool_name(&tool.name).into(), whose.into(), side.into()];
            Row::new(names.into_iter().chain(events(counts)))
        })
    };
    let mut table = Table::new("table-4", "Events of starting and stopping a counter (Table 4)")
        .columns(["tool", "whose", "side"].map(Column::text))
        .columns(EVENTS.iter().map(|(name, _)| Column::figures(*name, "")))
        .note("published: Xeon X5550, nothing between start and stop.");
    for theirs in published.unwrap_or_default().tools {
        let ours = counters.tools.iter().filter(|ours| tool_name(&ours.name) == tool_name(&theirs.name));
        table = table.rows(rows(&theirs, "published"));
        table = table.rows(ours.filter(|ours| counted(ours)).flat_map(|ours| rows(ours, "here")));
    }
    table
}

#[cfg(test)]
mod tests {
    use coho_profile::{Counts, Estimate, Profile};

    use super::*;

    fn with(tool: CounterTool) -> Subject {
        let counters = Some(Counters { tools: vec![tool], ..Counters::default() });
        Subject::new("mine", Profile { counters, ..Profile::default() })
    }

    #[test]
    fn table_4_is_printed_whole_with_what_was_counted_here() {
        let name = "PAPI start and stop".to_owned();
        let uncounted = with(CounterTool { name: name.clone(), ..CounterTool::default() });
        let Body::Table(table) = &parts(&uncounted)[0].body else { panic!("a table") };
        assert_eq!(table.rows.len(), 6);
        let cycles = |row: &Row| match &row.cells[9] {
            Cell::Figure(figure) => figure.text(),
            _ => String::new(),
        };
        assert_eq!(
            table.rows.iter().map(cycles).collect::<Vec<_>>(),
            ["305", "0", "329", "5141", "5741", "7086"]
        );
        let user = Counts { INS: Some(Estimate::exact(612.0)), ..Counts::default() };
        let Body::Table(table) = &parts(&with(CounterTool { name, user, ..CounterTool::default() }))[0].body
        else {
            panic!("a table")
        };
        assert_eq!((table.rows.len(), &table.rows[6].cells[1]), (8, &"here".into()));
    }

    #[test]
    fn beside_the_paper_itself_and_without_counters_there_is_nothing() {
        assert!(parts(&Subject::only("published:shimosawa-hori-ishikawa").unwrap()).is_empty());
        assert!(parts(&Subject::new("mine", Profile::default())).is_empty());
    }
}
