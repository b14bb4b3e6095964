//! The page's section on barriers, fork and join: the paper's Figs. 4-1 to 4-4, peers, and predictions beside.

use std::collections::BTreeMap;

use coho_model::barrier::{
    Basis, Check, Machine, Mapping, Quickest, compare, predict_quick, quickest, team_sizes,
};
use coho_profile::published::nakamura_fbs;
use coho_profile::{Estimate, Sync};
use maud::{Markup, html};

use super::charts::Chart;
use super::charts::sync::{Series, Sizes, Stack, Style, by_size, stacked};
use super::subject::Subject;
use super::{calls, mappings, scale, sync_ratios, tables, text};
use crate::terminal::barrier::LIMIT;
use crate::terminal::predict_barrier::{choice_name, name as predicted_name};

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 400;
/// CPUs of the largest machine that is simulated while a page is made.
const MOST_SIMULATED: usize = 256;

/// Charts and tables of a profile's barriers. `figure` gives a chart its place.
pub fn section(subject: &Subject, id: &str, mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let Some(sync) = &subject.profile.sync else {
        return html! { p.missing { "Not measured: the profile has no section sync." } };
    };
    if sync.barriers.is_empty() && sync.fork_join.is_empty() && sync.peers.is_empty() {
        return html! {
            p.missing { "Not measured: the section sync has no barriers." }
            (calls::missing(&sync.method.not_available))
        };
    }
    let fork_join = fork_joins(subject, sync);
    let threads = Sizes { title: "threads (logarithmic)", all: true, tick: |n| n.to_string() };
    let by_threads = (!fork_join.is_empty()).then(|| {
        let caption = html! {
            strong { "Fork and join of an empty parallel region, by threads" }
            @if sync.is_back_to_back() {
                ". Regions were timed back to back, by an earlier version, which is not what Nakamura et al. timed. "
            } @else {
                " (Nakamura et al., Figs. 4-1 and 4-3). The caller comes from a serial part while all others wait. "
            }
            "team: one word starts the threads and one of each ends the region; the others: a barrier at each end, as in the paper. "
            "Solid: sequential mapping; dashed: binary tree, where the machine is large enough for the two to differ. "
            @if !subject.published && !sync.is_back_to_back() { "Dotted: published, " (MACHINE) "." }
        };
        let title = "Fork and join by number of threads";
        figure(by_size(format!("{id}-fork-join"), title, &threads, "ns (logarithmic)", &fork_join), &caption)
    });
    let parts = parts(sync);
    let split = (!parts.is_empty()).then(|| {
        let caption = html! {
            strong { "Fork and join apart " } "(Nakamura et al., Fig. 4-2): until the last member has begun, and from then until the "
            "caller goes on."
        };
        let title = "Fork and join apart";
        figure(stacked(format!("{id}-parts"), title, "ns", ["fork", "join"], &parts), &caption)
    });
    let barriers = barrier_series(sync);
    let by_algorithm = (!barriers.is_empty()).then(|| {
        let caption = html! {
            strong { "One barrier, by algorithm and threads. " }
            "Grey line: the latency limit of each team, measured in the same passes; " (LIMIT)
            ": a barrier that takes less than one lies below it."
        };
        let title = "Barriers by number of threads";
        figure(by_size(format!("{id}-barriers"), title, &threads, "ns (logarithmic)", &barriers), &caption)
    });
    let predictions = Predictions::of(subject);
    html! {
        @if let Some(limit) = &sync.limit_ns {
            p { "Limit by the one-way times between all CPUs measured: barrier " (text::estimate(&limit.barrier))
                " ns (their diameter), fork and join " (text::estimate(&limit.fork_join)) " ns (to the farthest CPU and back)."
                @if let Some(ns) = &sync.best_line_ns { " On the best of 64 lines, the way takes " (text::estimate(ns)) " ns." } }
        }
        @if let Some(chart) = &by_threads { (chart) }
        @if let Some(chart) = &split { (chart) }
        @if let Some(chart) = &by_algorithm { (chart) }
        (mappings::drawings(subject))
        (barrier_table(sync, &predictions))
        (fork_join_table(sync, &predictions, subject.published))
        (predictions.told())
        (predictions.winners())
        (peers(sync))
        (ratios(subject))
        (calls::missing(&sync.method.not_available))
        details { summary { "How barriers were measured" } (tables::method(&sync.method)) }
    }
}

/// What fork and join are the time of, and why they do not quite add up.
pub fn parts_and_whole(sync: &Sync) -> &'static str {
    match sync.is_back_to_back() {
        true => {
            "regions were timed back to back, without a serial part between, and the parts contain a reading of the clock each"
        }
        false => {
            "the caller's time beyond a serial part while all others wait. Both together in bursts; apart region by region, \
             less the clock's readings, so that the parts add up to the whole but roughly"
        }
    }
}

/// What other libraries are compared with: the barrier that coho chose for their teams, and its own team.
pub fn ours(sync: &Sync) -> String {
    let chosen = sync.method.parameters.get("auto").and_then(|auto| auto.as_object());
    let mut teams: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (team, barrier) in chosen.into_iter().flatten() {
        teams.entry(barrier.as_str().unwrap_or("–")).or_default().push(team);
    }
    let all = teams.len() < 2;
    let named = |(barrier, teams): (&str, Vec<&str>)| {
        let barrier = text::tame(barrier);
        if all { barrier } else { format!("{barrier} ({})", text::tame(&teams.join("; "))) }
    };
    let barriers: Vec<_> = teams.into_iter().map(named).collect();
    let barrier = if barriers.is_empty() { "as auto chooses".to_owned() } else { barriers.join(", ") };
    format!("barrier {barrier}; fork and join by a team")
}

/// The paper's short name for its machine.
pub const MACHINE: &str = "SR11000";

fn time(estimate: &Option<Estimate>) -> Option<f64> {
    estimate.as_ref().map(|estimate| estimate.median).filter(|ns| scale::is_time(*ns))
}

/// The algorithm with its layout where that is a choice.
pub fn name(algorithm: &str, layout: &str) -> String {
    if layout.is_empty() { algorithm.to_owned() } else { format!("{algorithm}, {layout}") }
}

/// The same colour for an algorithm in all charts of the section.
fn colour(algorithm: &str) -> usize {
    match algorithm {
        "fbs" | "fbs, separate-lines" => 0,
        "fbs-one-line" | "fbs, one-line" => 1,
        "team" => 2,
        "lock" => 5,
        "central" => 4,
        "dissemination-2" => 3,
        "grid" => 2,
        _ => 6,
    }
}

fn style(mapping: &str) -> Style {
    if mapping == "binary-tree" { Style::Dashed } else { Style::Solid }
}

/// Lines by algorithm and mapping, in the order in which they are first met.
fn lines<'a>(rows: impl Iterator<Item = (String, &'a str, u32, &'a Option<Estimate>)>) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let mut at = BTreeMap::new();
    for (algorithm, mapping, threads, ns) in rows.take(MOST) {
        let Some(median) = time(ns).filter(|_| threads > 0) else { continue };
        let index = *at.entry((algorithm.clone(), mapping)).or_insert_with(|| {
            let words = [algorithm.as_str(), mapping];
            let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let (colour, style) = (colour(&algorithm), style(mapping));
            series.push(Series { name: words.join(", "), colour, style, points: vec![], hover: vec![] });
            series.len() - 1
        });
        let one = &mut series[index];
        one.points.push((f64::from(threads), median));
        one.hover.push(format!("{}, {threads} threads: {} ns", one.name, text::number(median)));
    }
    series.truncate(24);
    series
}

/// Fork and join by threads, beside the paper's where they are the same quantity.
pub fn fork_joins(subject: &Subject, sync: &Sync) -> Vec<Series> {
    let is_alike = !subject.published && !sync.is_back_to_back();
    let published = if is_alike { paper_series() } else { Vec::new() };
    fork_join_series(sync).into_iter().chain(published).collect()
}

fn fork_join_series(sync: &Sync) -> Vec<Series> {
    let rows = sync.fork_join.iter();
    lines(rows.map(|row| (row.algorithm.clone(), row.mapping.as_str(), row.threads, &row.total_ns)))
}

/// The paper's node, dotted.
fn paper_series() -> Vec<Series> {
    let paper = nakamura_fbs::figures().publication().machines.remove(0).1.sync.unwrap_or_default();
    let mut series = fork_join_series(&paper);
    for one in &mut series {
        (one.name, one.style) = (format!("{}, {MACHINE}", one.name), Style::Dotted);
        one.hover.iter_mut().for_each(|text| *text = format!("published: {text}"));
    }
    series
}

/// Barriers by threads, and the limit.
pub fn barrier_series(sync: &Sync) -> Vec<Series> {
    let rows = sync.barriers.iter();
    let mut series = lines(
        rows.map(|row| (name(&row.algorithm, &row.layout), row.mapping.as_str(), row.threads, &row.ns)),
    );
    let mut limits: BTreeMap<u32, f64> = BTreeMap::new();
    for row in sync.barriers.iter().take(MOST) {
        if let (Some(ns), Some(times)) =
            (time(&row.ns), row.times_limit.filter(|times| scale::is_time(*times)))
        {
            // Of equal teams by several mappings the nearest is the least limit.
            let limit = limits.entry(row.threads).or_insert(f64::INFINITY);
            *limit = limit.min(ns / times);
        }
    }
    if !series.is_empty() && !limits.is_empty() {
        series.push(Series {
            name: "limit".into(),
            colour: 6,
            style: if limits.len() > 1 { Style::Line } else { Style::Points },
            hover: limits
                .iter()
                .map(|(n, ns)| format!("limit, {n} threads: {} ns", text::number(*ns)))
                .collect(),
            points: limits.into_iter().map(|(threads, ns)| (f64::from(threads), ns)).collect(),
        });
    }
    series
}

/// Fork and join of each way, of the two largest teams.
pub fn parts(sync: &Sync) -> Vec<Stack> {
    let mut sizes: Vec<u32> = sync.fork_join.iter().map(|row| row.threads).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    sizes.truncate(2);
    let rows = sync.fork_join.iter().filter(|row| sizes.contains(&row.threads));
    let bar = |row: &coho_profile::ForkJoinTime| {
        let name = format!("{}, {}, {}", row.algorithm, row.threads, row.mapping);
        Some(Stack { name, values: [time(&row.fork_ns)?, time(&row.join_ns)?] })
    };
    rows.filter_map(bar).take(24).collect()
}

/// What the model makes of the same machine.
struct Predictions {
    checks: Vec<Check>,
    /// The quickest barrier of each team.
    winners: Vec<Quickest>,
    /// Where its times come from, or why there is none.
    told: Result<String, String>,
}

impl Predictions {
    fn of(subject: &Subject) -> Self {
        let none = |why: &str| Self { checks: Vec::new(), winners: Vec::new(), told: Err(why.to_owned()) };
        if subject.published {
            return none("the paper tells no times between CPUs");
        }
        let machine = match Machine::from_profile(&subject.profile) {
            Ok(machine) if machine.len() <= MOST_SIMULATED => machine,
            Ok(_) => return none("the machine is large; `coho predict barrier` takes its time"),
            Err(error) => return none(&error.to_string()),
        };
        match compare(&machine, &subject.profile) {
            Ok(found) => {
                let extra = &machine.extra_line;
                let told = format!(
                    "latencies {}; an extra line {} ns, {}",
                    machine.latency_source,
                    text::number(extra.ns),
                    extra.source
                );
                Self { checks: found.checks, winners: winners(&machine), told: Ok(told) }
            }
            Err(error) => none(&error.to_string()),
        }
    }

    fn of_row(
        &self,
        operation: &str,
        name: &str,
        layout: &str,
        threads: u32,
        mapping: &str,
    ) -> Option<&Check> {
        self.checks.iter().find(|check| {
            (check.operation, check.algorithm.as_str(), check.layout.as_str(), check.threads)
                == (operation, name, layout, threads)
                && check.mapping.to_string() == mapping
        })
    }

    /// Which algorithm wins where, and what the rule takes.
    fn winners(&self) -> Markup {
        html! { @if !self.winners.is_empty() {
            h4 { "Which barrier wins where" }
            div.scroll { table.figures {
                thead { tr {
                    th scope="col" { "Threads" } th scope="col" { "Mapping" } th scope="col" { "Quickest" }
                    th scope="col" { "predicted, ns" } th scope="col" { "× limit" }
                    th scope="col" { "By the rule" } th scope="col" { "predicted, ns" }
                } }
                tbody { @for winner in self.winners.iter().take(MOST) {
                    tr {
                        th scope="row" { (winner.quickest.threads) } td { (winner.quickest.mapping) }
                        td { (predicted_name(&winner.quickest)) } td.number { (text::number(winner.quickest.ns)) }
                        td.number { (text::number(winner.quickest.times_limit)) }
                        td { (choice_name(&winner.choice)) }
                        td.number { (winner.choice_ns.map_or("–".to_owned(), text::number)) }
                    }
                } }
            } }
            p.note { "Predicted from the profile's own times between CPUs, as by `coho predict barrier`; the rule is what coho chooses "
                "by where nothing was measured." }
        } }
    }

    fn told(&self) -> Markup {
        match &self.told {
            Ok(told) => {
                let predicted = self.checks.iter().filter(|check| check.basis != Basis::Fit);
                let mut errors: Vec<f64> = predicted.map(|check| check.error().abs()).collect();
                let fits = self.checks.len() - errors.len();
                let left_out = self.checks.iter().filter(|check| check.basis == Basis::LeftOut).count();
                errors.sort_by(f64::total_cmp);
                let middle = errors.get(errors.len() / 2).map(|error| format!("{:.0} %", 100.0 * error));
                html! { p.note { "Predicted: an event simulation of line transfers; " (text::tame(told)) ". "
                @if let Some(middle) = middle { "Median size of the error: " (middle) " of " (text::count(errors.len(), "prediction")) "." }
                @if left_out > 0 { " Of these " (left_out) " rest on a fit to other teams alone." }
                @if fits > 0 { " Marked fit: the extra line is fitted to that very time; it is no prediction." } } }
            }
            Err(why) => html! { p.note { "Not predicted: " (text::tame(why)) "." } },
        }
    }
}

/// The quickest barrier of teams of every size by each mapping.
fn winners(machine: &Machine) -> Vec<Quickest> {
    let teams =
        team_sizes(machine.len()).into_iter().flat_map(|size| Mapping::ALL.map(|mapping| (size, mapping)));
    let winner = |(size, mapping)| quickest(machine, mapping, &predict_quick(machine, size, mapping).ok()?);
    teams.filter_map(winner).collect()
}

/// A figure with its interval and, where it jumps, the values between which it does.
fn figure_cell(estimate: &Option<Estimate>) -> Markup {
    html! { @match estimate {
        Some(estimate) => td.number {
            (text::estimate(estimate))
            @if estimate.stable == Some(false) && estimate.modes.len() > 1 {
                br; small {
                    @for (i, mode) in estimate.modes.iter().take(3).enumerate() {
                        @if i > 0 { ", " } (text::number(mode.value)) " (" (text::number(100.0 * mode.share)) " %)"
                    }
                }
            }
        },
        None => td.number.missing { "–" },
    } }
}

fn predicted_cells(check: Option<&Check>) -> Markup {
    html! { @match check {
        Some(check) => {
            td.number { (text::number(check.predicted_ns)) }
            td.number { @if check.basis == Basis::Fit { "fit" } @else { (format!("{:+.0} %", 100.0 * check.error())) } }
        },
        None => { td.number.missing { "–" } td.number.missing { "–" } },
    } }
}

fn times(times: Option<f64>) -> String {
    times.map_or("–".to_owned(), text::number)
}

fn barrier_table(sync: &Sync, predictions: &Predictions) -> Markup {
    html! { @if !sync.barriers.is_empty() {
        h4 { "Barriers" }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Algorithm" } th scope="col" { "Threads" } th scope="col" { "Mapping" }
                th scope="col" { "ns (95 % interval)" } th scope="col" { "× limit" }
                th scope="col" { "predicted, ns" } th scope="col" { "error" }
            } }
            tbody { @for row in sync.barriers.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&name(&row.algorithm, &row.layout), 60)) }
                    td.number { (row.threads) } td { (text::short(&row.mapping, 40)) }
                    (figure_cell(&row.ns))
                    td.number { (times(row.times_limit)) }
                    (predicted_cells(predictions.of_row("barrier", &row.algorithm, &row.layout, row.threads, &row.mapping)))
                }
            } }
        } }
        @if sync.barriers.len() > MOST { p.note { "And " (sync.barriers.len() - MOST) " more, in the profile." } }
    } }
}

fn fork_join_table(sync: &Sync, predictions: &Predictions, published: bool) -> Markup {
    html! { @if !sync.fork_join.is_empty() {
        h4 { "Fork and join" }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "By" } th scope="col" { "Threads" } th scope="col" { "Mapping" }
                th scope="col" { "Fork, ns" } th scope="col" { "Join, ns" } th scope="col" { "Together, ns (95 % interval)" }
                th scope="col" { "× limit" } th scope="col" { "predicted, ns" } th scope="col" { "error" }
            } }
            tbody { @for row in sync.fork_join.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&row.algorithm, 60)) @if !row.by.is_empty() { small { " by " (text::short(&row.by, 20)) } } }
                    td.number { (row.threads) } td { (text::short(&row.mapping, 40)) }
                    td.number { (time(&row.fork_ns).map_or("–".to_owned(), text::number)) }
                    td.number { (time(&row.join_ns).map_or("–".to_owned(), text::number)) }
                    (figure_cell(&row.total_ns))
                    td.number { (times(row.times_limit)) }
                    (predicted_cells(predictions.of_row("fork-join", &row.algorithm, "", row.threads, &row.mapping)))
                }
            } }
        } }
        @if sync.fork_join.iter().any(|row| row.fork_ns.is_some()) && !published { p.note { (parts_and_whole(sync)) "." } }
        @if sync.fork_join.len() > MOST { p.note { "And " (sync.fork_join.len() - MOST) " more, in the profile." } }
    } }
}

fn peers(sync: &Sync) -> Markup {
    html! { @if !sync.peers.is_empty() {
        h4 { "Other libraries" }
        p { "Measured in turn with coho's, by the same threads where that is possible. Over ours: the median over passes of the "
            "ratio of the two in one pass; above 1, ours is quicker. Ours: " (ours(sync)) "." }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Library" } th scope="col" { "Operation" } th scope="col" { "Threads" }
                th scope="col" { "ns (95 % interval)" } th scope="col" { "over ours" }
            } }
            tbody { @for peer in sync.peers.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&peer.name, 60)) }
                    td { (text::short(&peer.operation, 40)) } td.number { (if peer.threads > 0 { peer.threads.to_string() } else { "–".to_owned() }) }
                    @match &peer.not_available {
                        Some(why) => td.reason colspan="2" { "not available: " (text::short(&text::reason(why), 200)) },
                        None => { (figure_cell(&peer.ns)) td.number { (peer.ratio.as_ref().map_or("–".to_owned(), text::estimate)) } },
                    }
                }
            } }
        } }
    } }
}

/// The paper's ratios beside this section's.
fn ratios(subject: &Subject) -> Markup {
    let none = Sync::default();
    let mine = sync_ratios::of(subject.profile.sync.as_ref().unwrap_or(&none));
    let paper = nakamura_fbs::figures().publication().machines.remove(0).1.sync.unwrap_or_default();
    let value = |ratio: &sync_ratios::Ratio| {
        let unit = if ratio.unit == "%" { " %" } else { "" };
        text::worded(ratio.value, ratio.interval, ratio.inexact) + unit
    };
    html! {
        h4 { "Ratios of Nakamura et al." }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Ratio" }
                @if !subject.published { th scope="col" { "here" } }
                th scope="col" { "published, " (MACHINE) }
            } }
            tbody { @for ratio in sync_ratios::of(&paper) {
                tr {
                    th scope="row" { (ratio.label) }
                    @if !subject.published {
                        td.number { (mine.iter().find(|other| other.name == ratio.name).map_or("–".to_owned(), value)) }
                    }
                    td.number.published { (value(&ratio)) }
                }
            } }
        } }
        p.note { "Of the largest team measured, of the paper's node 16 CPUs; mapping and the first waiting of a team of half as many. "
            "Speed-up: against the lock. The paper's untuned program is SPEC's galgel, its tuned one an atmosphere model. A dash: "
            "not measured, or no team of that size." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(subject: &Subject) -> (String, Vec<String>) {
        let mut charts = Vec::new();
        let page = section(subject, "s0-barriers", |chart, _| {
            charts.push(chart.id);
            html! {}
        });
        (page.into_string(), charts)
    }

    #[test]
    fn the_papers_own_figures_are_a_page() {
        let paper = Subject::load("published:nakamura-fbs").unwrap().remove(0);
        let (page, charts) = page(&paper);
        assert_eq!(charts, ["s0-barriers-fork-join"]);
        for figure in [
            "4800",
            "27840",
            "5.80",
            "1.60",
            "0.70–0.80",
            "≈ 0.50",
            "&lt; 10.0 %",
            "hardware barrier of the SR8000",
        ] {
            assert!(page.contains(figure), "{figure}: {page}");
        }
    }

    #[test]
    fn what_peers_are_compared_with_is_named() {
        let mut sync = Sync::default();
        assert_eq!(ours(&sync), "barrier as auto chooses; fork and join by a team");
        let mut choose = |auto| drop(sync.method.parameters.insert("auto".into(), auto));
        choose(
            serde_json::json!({"2 threads, sequential": "fbs-one-line", "4 threads, sequential": "fbs-one-line"}),
        );
        let told = ours(&sync);
        assert_eq!(told, "barrier fbs-one-line; fork and join by a team");
        sync.method.parameters.insert("auto".into(), serde_json::json!({"2": "fbs", "64": "grid"}));
        assert_eq!(ours(&sync), "barrier fbs (2), grid (64); fork and join by a team");
    }

    #[test]
    fn regions_of_an_earlier_version_are_not_called_what_the_paper_timed() {
        let row = |by: &str| coho_profile::ForkJoinTime { by: by.into(), ..Default::default() };
        let told = |by: &str| parts_and_whole(&Sync { fork_join: vec![row(by)], ..Sync::default() });
        assert!(told("").contains("back to back") && !told("").contains("serial part while"));
        assert!(told("go-flag").contains("serial part while") && !told("go-flag").contains("back to back"));
        let mut subject = Subject::load("published:nakamura-fbs").unwrap().remove(0);
        subject.published = false;
        let dotted = |subject: &Subject| {
            let series = fork_joins(subject, subject.profile.sync.as_ref().unwrap());
            series.iter().filter(|one| one.name.ends_with(MACHINE)).count()
        };
        assert!(dotted(&subject) > 0);
        subject.profile.sync.as_mut().unwrap().fork_join.iter_mut().for_each(|row| row.by.clear());
        assert_eq!(dotted(&subject), 0, "the paper's is another quantity");
    }

    #[test]
    fn without_the_section_nothing_is_pretended() {
        let mut subject = Subject::load("published:nakamura-fbs").unwrap().remove(0);
        subject.profile.sync = None;
        assert!(page(&subject).0.contains("Not measured"));
    }
}
