//! Shimosawa, Hori & Ishikawa: what reading counters costs.

use coho_profile::published::shimosawa_hori_ishikawa::figures;
use coho_profile::{CounterTool, Counters};

use crate::Subject;
use crate::part::{Body, Column, Depth, Part, Row, Table};
use crate::sections::counters::{EVENTS, counted, events, tool_name};

/// The paper's tables with this profile's figures beside them; none for what it did not measure, and beside the paper itself.
pub fn parts(subject: &Subject) -> Vec<Part> {
    if subject.published {
        return Vec::new();
    }
    let counters = subject.profile.counters.iter().filter(|counters| !counters.tools.is_empty());
    counters.map(|counters| Part { depth: Depth::Detail, body: Body::from(table_4(counters)) }).collect()
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
        .columns(EVENTS.map(|(name, _)| Column::figures(name, "")))
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
    use crate::part::Cell;

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
