//! What calls cost by their caller's footprint, at home and on another core, for tables and charts.

use coho_profile::{CacheState, Calls, Decision, DelegationVerdict, Estimate, Footprint, Side};
use maud::{Markup, html};

use super::calls::PAPER_GHZ;
use super::charts::{self, Chart};
use super::{events, text};

/// Posted calls are charted beside this much work, in ns, or the nearest that was measured.
const CHARTED_WORK: f64 = 2000.0;
/// At most so many charts and rows are shown, as a profile may bring any number.
const MOST_CHARTS: usize = 24;
const MOST: usize = 200;

/// What the columns of the table are, on terminals and pages.
pub const MEANING: &str = "home and away: what the call costs its caller with the walk over its working set afterwards, at \
                           the least and the largest footprint; pays from: the least footprint from which on the whole \
                           interval of the gain is above zero; posted: the least work from which on that is so at every \
                           footprint while the caller works on; off: how far the model's curve is from the measured one, \
                           home/away, median";

/// One line of the curve, in the order of footprints.
pub struct Curve<'a> {
    pub name: &'static str,
    pub points: Vec<(u64, &'a Estimate)>,
}

/// `write(4096) on ext4`.
pub fn name(call: &str, payload_bytes: u64, filesystem: Option<&str>) -> String {
    let payload = if payload_bytes > 1 { format!("({payload_bytes})") } else { String::new() };
    let place =
        filesystem.filter(|name| *name != "tmpfs").map_or_else(String::new, |name| format!(" on {name}"));
    format!("{call}{payload}{place}")
}

/// The rows of one caller that has walked data alone, by call.
pub fn by_call(calls: &Calls) -> Vec<Vec<&Footprint>> {
    let key = |row: &Footprint| (row.call.clone(), row.payload_bytes, row.filesystem.clone());
    let mut groups: Vec<Vec<&Footprint>> = Vec::new();
    for row in calls.footprint.iter().filter(|row| row.callers == 1 && row.instruction_bytes == 0) {
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.iter_mut().for_each(|group| group.sort_by_key(|row| row.bytes));
    groups
}

/// Home, away and posted.
pub fn curves<'a>(rows: &[&'a Footprint]) -> Vec<Curve<'a>> {
    let line = |name, figure: fn(&Footprint) -> Option<&Estimate>| {
        let mut points: Vec<_> = rows.iter().filter_map(|row| Some((row.bytes, figure(row)?))).collect();
        points.dedup_by_key(|(bytes, _)| *bytes);
        Curve { name, points }
    };
    let far = |row: &Footprint| {
        row.work_ns.as_ref().map_or(f64::INFINITY, |work| (work.median - CHARTED_WORK).abs())
    };
    let mut posted: Vec<(u64, &Estimate)> = Vec::new();
    for group in rows.chunk_by(|one, next| one.bytes == next.bytes) {
        let nearest = group.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        posted.extend(nearest.and_then(|row| Some((row.bytes, row.async_ns.as_ref()?))));
    }
    let lines = [
        line("home", |row| row.home_ns.as_ref()),
        line("away, caller waits", |row| row.away_ns.as_ref()),
        Curve { name: "away, posted, 2 us of work", points: posted },
    ];
    lines.into_iter().filter(|line| !line.points.is_empty()).collect()
}

/// A row of the table, without its intervals: call, home, away, pays from, posted, published, off.
pub fn row(rows: &[&Footprint], verdict: Option<&DelegationVerdict>, paper: &Calls) -> [String; 7] {
    let first = rows[0];
    let ends = |figure: fn(&Footprint) -> Option<&Estimate>| {
        let mut found = rows.iter().filter_map(|row| figure(row)).map(|ns| text::number(ns.median));
        let first = found.next();
        match (first, found.next_back()) {
            (Some(first), Some(last)) => format!("{first}→{last}"),
            (Some(only), None) => only,
            _ => "–".into(),
        }
    };
    let decided = |verdict: &DelegationVerdict| match (verdict.decision, verdict.from_footprint_bytes) {
        (Decision::From, Some(from)) => text::bytes(from),
        (Decision::Never, _) => "never".into(),
        _ => "undecided".into(),
    };
    let posted = |verdict: &DelegationVerdict| match (verdict.async_decision, verdict.async_from_work_ns) {
        (Decision::From, Some(work)) => format!("{} us", work / 1000.0),
        (Decision::Never, _) => "never".into(),
        _ => "undecided".into(),
    };
    let percent =
        |error: Option<f64>| error.map_or_else(|| "–".into(), |error| format!("{:.0}", 100.0 * error));
    let dash = || "–".to_owned();
    [
        name(&first.call, first.payload_bytes, first.filesystem.as_deref()),
        ends(|row| row.home_ns.as_ref()),
        ends(|row| row.away_ns.as_ref()),
        verdict.map_or_else(dash, decided),
        verdict.map_or_else(dash, posted),
        published(paper, first).unwrap_or_else(dash),
        verdict.map_or_else(dash, |verdict| {
            format!("{}/{} %", percent(verdict.home_error), percent(verdict.away_error))
        }),
    ]
}

/// The verdict on a group of rows.
pub fn verdict_on<'a>(calls: &'a Calls, rows: &[&Footprint]) -> Option<&'a DelegationVerdict> {
    let first = rows[0];
    calls.verdicts.iter().find(|verdict| {
        (&verdict.call, verdict.payload_bytes, &verdict.filesystem)
            == (&first.call, first.payload_bytes, &first.filesystem)
    })
}

/// The paper's second and cold call in its Tables 5 and 6, in ns at its clock: of a system call the kernel's side.
fn published(paper: &Calls, row: &Footprint) -> Option<String> {
    if row.payload_bytes > 1 || row.filesystem.as_deref().is_some_and(|name| name != "tmpfs") {
        return None;
    }
    let ns = |state: CacheState| -> Option<f64> {
        let mut cycles = 0.0;
        for call in paper.calls.iter().filter(|call| call.name == row.call && call.state == state) {
            if call.set == "syscalls" && call.side != Side::Kernel {
                continue;
            }
            cycles += call.counts.CYCLE.as_ref()?.median;
        }
        (cycles > 0.0).then_some(cycles / PAPER_GHZ)
    };
    Some(format!("{}→{}", text::number(ns(CacheState::Second)?), text::number(ns(CacheState::Cold)?)))
}

/// The page's part: what it means, a chart for each call, and the table.
pub fn section(
    calls: &Calls,
    paper: &Calls,
    id: &str,
    figure: &mut dyn FnMut(Chart, &Markup) -> Markup,
) -> Markup {
    let groups = by_call(calls);
    if groups.is_empty() {
        return html! {};
    }
    // The least payload on the first file system stands for its call.
    let mut charted: Vec<&Vec<&Footprint>> = Vec::new();
    for group in &groups {
        if !charted.iter().any(|other| other[0].call == group[0].call) {
            charted.push(group);
        }
    }
    let charts: Vec<Markup> = charted
        .iter()
        .take(MOST_CHARTS)
        .enumerate()
        .map(|(index, rows)| {
            let name = name(&rows[0].call, rows[0].payload_bytes, rows[0].filesystem.as_deref());
            let caption = html! {
                strong { (text::short(&name, 60)) ". " }
                "Cost to the caller by the data that it has walked since its last call, with walking it again; bars are 95 % "
                "intervals of the median."
            };
            let chart = charts::footprint(format!("{id}-footprint-{index}"), &name, &curves(rows));
            figure(chart, &caption)
        })
        .collect();
    html! {
        h4 { "At home or on another core" }
        @if let Some(finding) = coho_model::delegation::finding(calls) { p { (text::short(&finding, 1200)) "." } }
        @for chart in &charts { (chart) }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Call" } th scope="col" { "Home, ns" } th scope="col" { "Away, ns" }
                th scope="col" { "Pays from" } th scope="col" { "Posted, from" }
                th scope="col" { "published, second→cold" } th scope="col" { "Model off" } th scope="col" { "Why" }
            } }
            tbody { @for rows in groups.iter().take(MOST) {
                @let verdict = verdict_on(calls, rows);
                tr {
                    @for (column, cell) in row(rows, verdict, paper).iter().enumerate() {
                        @if column == 0 { th scope="row" { (text::short(cell, 40)) } }
                        @else { td.number.published[column == 5] { (cell) } }
                    }
                    td { @if let Some(verdict) = verdict { (text::short(&verdict.why, 600)) } }
                }
            } }
        } }
        p.note { (MEANING) ". Published: " (events::MACHINE) ", by cycles." }
    }
}
