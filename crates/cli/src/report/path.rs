//! The page's part on transfer paths: the ready ones with a profile's figures, and Hamada et al.'s figures.

use coho_model::path::dimmnet::{self, READINGS};
use coho_model::path::{self, Path, PathFile, VALIDITY, ready};
use coho_profile::Transfer;
use maud::{Markup, html};

use super::charts::Chart;
use super::charts::path::{Gains, gains};
use super::charts::sync::{Series, Sizes, Style, by_size};
use super::subject::Subject;
use super::text;

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 200;

/// The ready paths with a profile's figures. `figure` gives a chart its place.
pub fn section(subject: &Subject, id: &str, mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let mut parts = Vec::new();
    for name in ready::names() {
        let Ok(file) = ready::file(name) else { continue };
        // A path with a profile of its own says nothing of this one.
        if file.profile().is_none() {
            parts.push(ready_path(subject, name, &file, id, &mut figure));
        }
    }
    html! {
        @for part in &parts { (part) }
        p { "Valid for " (VALIDITY) "." }
    }
}

fn ready_path(
    subject: &Subject,
    name: &str,
    file: &PathFile,
    id: &str,
    figure: &mut impl FnMut(Chart, &Markup) -> Markup,
) -> Markup {
    let path = match file.resolve(Some(&subject.profile)) {
        Ok(path) => path,
        Err(error) => {
            return html! {
                p.missing { strong { (name) } ", not available: " (text::tame(error.message())) "." }
                (checks(subject, name))
            };
        }
    };
    let series = path.variants.iter().enumerate().map(|(index, variant)| {
        let sizes = path.bytes.iter().filter(|&&bytes| variant.takes(bytes));
        let points: Vec<(f64, f64)> = sizes.map(|&bytes| (bytes, variant.time_ns(bytes, 0.0, 0))).collect();
        let hover = points.iter().map(|&(bytes, ns)| {
            format!("{}: {} ns at {}", variant.name, text::number(ns), text::bytes(bytes as u64))
        });
        let hover = hover.collect();
        Series { name: variant.name.clone(), colour: index, style: Style::Solid, points, hover }
    });
    let caption = html! {
        strong { (name) ". " } (text::tame(path.about.trim())) " Figures: " (text::tame(&path.source)) "."
    };
    let sizes = Sizes { title: "bytes (logarithmic)", all: false, tick: |bytes| text::bytes(bytes as u64) };
    let chart = by_size(
        format!("{id}-{name}"),
        &format!("Times of the path {name} by size"),
        &sizes,
        "ns (logarithmic)",
        &series.collect::<Vec<_>>(),
    );
    html! {
        (figure(chart, &caption))
        (checks(subject, name))
        (crossovers(&path))
        (loggp(&path))
    }
}

/// What the path predicts beside messages that were timed on the same machine.
fn checks(subject: &Subject, name: &str) -> Markup {
    let transfers = subject.profile.memory.iter().flat_map(|memory| &memory.transfers);
    let transfers: Vec<_> = transfers.filter(|transfer| transfer.path == name).cloned().collect();
    let checks = match path::check_within(&transfers) {
        Ok(checks) => checks,
        Err(error) => return measured_alone(&transfers, &error),
    };
    html! {
        @if let Some(median) = path::median_error(&checks) {
            p { "Messages between two processes beside the prediction; median error " (format!("{:.0}", 100.0 * median)) " %." }
            div.scroll { table.figures {
                thead { tr {
                    th.number scope="col" { "bytes" } th.number scope="col" { "predicted, ns" }
                    th.number scope="col" { "measured, ns (95 %)" } th.number scope="col" { "error" }
                } }
                tbody { @for check in &checks { tr {
                    td.number { (text::bytes(check.bytes)) } td.number { (text::number(check.predicted_ns)) }
                    td.number { (text::estimate(&check.measured)) } td.number { (format!("{:+.0} %", 100.0 * check.error())) }
                } } }
            } }
        }
    }
}

/// Messages that were timed where the profile lacks what their prediction takes.
fn measured_alone(transfers: &[Transfer], error: &path::Error) -> Markup {
    html! {
        p { "Messages between two processes, measured; they cannot be predicted: " (text::tame(error.message())) "." }
        div.scroll { table.figures {
            thead { tr {
                th.number scope="col" { "bytes" } th.number scope="col" { "predicted, ns" }
                th.number scope="col" { "measured, ns (95 %)" }
            } }
            tbody { @for transfer in transfers.iter().take(MOST) { tr {
                td.number { (text::bytes(transfer.bytes)) } td.number.missing { "–" }
                td.number { (transfer.ns.as_ref().map_or_else(|| "–".to_owned(), text::estimate)) }
            } } }
        } }
    }
}

/// From which size on which protocol is the quickest.
fn crossovers(path: &Path) -> Markup {
    let mut rows: Vec<[String; 5]> = Vec::new();
    for crossover in &path.crossovers {
        for (index, instruction) in path.instructions.iter().enumerate() {
            let found = path.crossings(crossover, index);
            rows.extend(found.iter().map(|one| {
                let [from, to] = [one.from, one.to].map(|variant| path.variants[variant].name.clone());
                let bytes = format!("{} ({:.1})", one.bytes, one.exact_bytes);
                [crossover.name.clone(), instruction.clone(), from, to, bytes]
            }));
            if found.is_empty()
                && let Some(only) = path.quickest_at_first(crossover, index)
            {
                let (none, name) = ("–".to_owned(), only.name.clone());
                rows.push([crossover.name.clone(), instruction.clone(), name, none.clone(), none]);
            }
        }
    }
    html! {
        @if !rows.is_empty() {
            div.scroll { table.figures {
                thead { tr {
                    th scope="col" { "compared" } th scope="col" { "by" }
                    th scope="col" { "quickest below" } th scope="col" { "quickest from there on" }
                    th.number scope="col" { "bytes (exactly)" }
                } }
                tbody { @for [name, instruction, from, to, bytes] in &rows { tr {
                    td { (name) } td { (instruction) } td { (from) } td { (to) } td.number { (bytes) }
                } } }
            } }
        }
    }
}

fn loggp(path: &Path) -> Markup {
    let views: Vec<_> = path.variants.iter().map(|variant| (&variant.name, path.loggp(variant, 0))).collect();
    let small = text::span(views.iter().map(|(_, view)| view.bytes));
    html! {
        details { summary { "LogGP's view, in ns; o, L and g of a message of " (small) }
            div.scroll { table.figures {
                thead { tr {
                    th scope="col" { "way" } th.number scope="col" { "o, sender" } th.number scope="col" { "o, receiver" }
                    th.number scope="col" { "L" } th.number scope="col" { "g" } th.number scope="col" { "G, a KiB" }
                } }
                tbody { @for (name, view) in &views { tr {
                    td { (name) }
                    @for value in [view.o_send_ns, view.o_receive_ns, view.latency_ns, view.gap_ns, 1024.0 * view.gap_per_byte_ns] {
                        td.number { (text::number(value)) }
                    }
                } } }
            } }
        }
    }
}

/// Figs. 4 to 6 and 8 to 11 of Hamada et al. by the default reading, and what each reading makes of the paper's
/// statements.
pub fn paper(mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let mut readings: Vec<(&str, Path)> = Vec::new();
    for name in READINGS {
        match dimmnet::reading(name) {
            Ok(path) => readings.push((name, path)),
            Err(error) => return html! { p.missing { "Not available: " (error.to_string()) "." } },
        }
    }
    let (name, path) = &readings[0];
    let figures: Vec<Markup> = path
        .figures
        .iter()
        .map(|drawn| {
            let [a, b] = path.ways(drawn).map(|way| way.name.clone());
            let caption = html! {
                strong { "Fig. " (drawn.name) ". " } (drawn.title) ". Reading " (name) ": " (a) " over " (b) "."
            };
            let x_title = if drawn.name == "11" { "each gap (logarithmic)" } else { "sum of the gaps (logarithmic)" };
            let title = format!("Hamada et al., Fig. {}: {}", drawn.name, drawn.title);
            figure(gains(format!("dimmnet-{}", drawn.name), &title, x_title, &lines(path, drawn)), &caption)
        })
        .collect();
    let statements: Vec<_> = readings.iter().map(|(_, path)| dimmnet::statements(path)).collect();
    html! {
        h3 { "A NIC in a memory slot" }
        p { "Hamada et al., DIMMnet against Myrinet: share of the time with Myrinet that DIMMnet saves, against the start-up gaps of "
            "the DMA engines. Solid: SIMD; dashed: plain instructions. Copies run at the rates of Tables 2, 3, 6 and 8. The "
            "paper's curves have not survived, and those of DMA throughput (Figs. 1 and 2) are reconstructed inputs; what is "
            "published are the statements below. Valid for " (VALIDITY) "." }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "figure" } th scope="col" { "stated" }
                @for (name, _) in &readings { th scope="col" { (name) } }
            } }
            tbody { @for (at, statement) in statements[0].iter().enumerate() { tr {
                td { (statement.figure) } td { (statement.text) }
                @for of in &statements { td { @if of[at].met { "met" } @else { strong { "missed" } } } }
            } } }
        } }
        @for (name, path) in &readings { p { strong { (name) ". " } (path.about.trim()) } }
        @for chart in &figures { (chart) }
        (crossovers(path))
    }
}

/// A line for each size and instruction.
fn lines(path: &Path, figure: &coho_model::path::Figure) -> Vec<Gains> {
    let points = path.points(figure);
    let families = points.chunks(path.gaps_ns.len().max(1));
    let line = |family: &[coho_model::path::Point]| {
        let first = family[0];
        let instruction = &path.instructions[first.instruction];
        Gains {
            name: format!("{}, {instruction}", text::bytes(first.bytes as u64)),
            colour: path.bytes.iter().position(|bytes| *bytes == first.bytes).unwrap_or(0),
            dashed: instruction == "plain",
            points: family.iter().map(|point| (point.gap_ns, point.gain())).collect(),
        }
    };
    families.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_have_a_line_for_each_size_and_instruction() {
        let mut charts = Vec::new();
        let page = paper(|chart, caption| {
            charts.push(chart);
            caption.clone()
        });
        let page = page.into_string();
        let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        assert_eq!(ids.len(), 7, "{ids:?}");
        assert!(charts.iter().all(|chart| chart.json["data"].as_array().unwrap().len() == 6));
        assert_eq!(page.matches("<strong>missed</strong>").count(), 2);
        assert_eq!(page.matches("<td>met</td>").count(), 3 * 13 - 2);
        for bytes in ["6071 (6062.3)", "76507 (", "3038 (", "38808 ("] {
            assert!(page.contains(bytes), "{bytes}");
        }
    }
}
