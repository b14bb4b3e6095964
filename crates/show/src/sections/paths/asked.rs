//! A path that was asked for, predictions beside what was measured just now, and a fit: what `coho path` prints.

use coho_model::path::{
    Check, Fit, LogGp, Point, Summary, Takeover, Time, VALIDITY, largest_error, median_error,
};
use coho_profile::{Memory, Ns};

use super::error;
use crate::sections::prelude::*;

/// All that there is to say of a path.
pub fn path(summary: &Summary) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(Text::new(words::short(&format!("{}: {}", summary.path, summary.about), 2000)));
    parts.summary(Text::labelled("figures", words::short(&summary.source, 2000)));
    let varied = summary.points.iter().any(|point| point.gap_ns > Ns::ZERO);
    parts.summary(if varied { gains(summary) } else { vec![times(summary)] });
    parts.summary(crossings(&summary.crossovers).map(Text::new));
    parts.summary((!varied).then(|| loggp(summary)));
    if !summary.statements.is_empty() {
        parts.summary(Text::new("What the paper states:"));
    }
    for statement in &summary.statements {
        let verdict = if statement.met { "met   " } else { "missed" };
        let reading = statement.reading.as_deref().unwrap_or_default();
        let label = format!("{reading} {verdict} Fig. {:<3}", statement.figure);
        parts.summary(Text::labelled(label, &statement.text));
    }
    parts.summary(Text::labelled("valid for", summary.validity));
    parts
}

/// A table for each figure: gains by size and instruction, a column for each gap.
fn gains(summary: &Summary) -> Vec<Table> {
    let figure_of = |point: &Point| (point.reading.clone(), point.figure.clone());
    let table = |(reading, figure): (Option<String>, String)| {
        let is_in_figure = |point: &&Point| point.reading == reading && point.figure == figure;
        let points: Vec<&Point> = summary.points.iter().filter(is_in_figure).collect();
        let title = summary.titles.iter().find(|(name, _)| *name == figure).map_or("", |(_, title)| title);
        let reading = reading.as_ref().map_or(String::new(), |reading| format!("{reading}, "));
        let id = format!("path-{}fig-{figure}", reading.replace(", ", "-").to_ascii_lowercase());
        let title = format!("{reading}Fig. {figure}: {title}; time saved, %, by gap");
        let gaps = distinct(points.iter().map(|point| point.gap_ns));
        Table::of(id, title, points.chunks(gaps.len()))
            .figures("size", "", |family| Figure::bytes(family[0].bytes as u64))
            .text("by", |family| words::short(&family[0].instruction, 40))
            .columns(gaps.iter().map(|&gap| Column::right(duration(gap))), |family| {
                family.iter().map(|point| signs::change(point.gain * 100.0, 1))
            })
            .done()
    };
    distinct(summary.points.iter().map(figure_of)).into_iter().map(table).collect()
}

/// Times of all variants by size.
fn times(summary: &Summary) -> Table {
    let sizes = distinct(summary.times.iter().map(|time| (time.bytes, time.instruction.as_str())));
    let (scale, unit) = unit(summary.times.iter().filter_map(|time| time.ns));
    Table::of("path-times", "Times by size", sizes)
        .figures("size", "", |(bytes, _)| Figure::bytes(bytes as u64))
        .text("by", |(_, instruction)| Some(words::short(instruction, 40)).filter(|by| !by.is_empty()))
        .columns_of(
            distinct(summary.times.iter().map(|time| time.variant.as_str())),
            |variant| Column::figures(words::short(variant, 60), unit),
            |size, variant| {
                let is = |time: &&Time| (time.bytes, &*time.instruction) == size && time.variant == variant;
                Some(summary.times.iter().find(is)?.ns? / scale)
            },
        )
        .done()
}

/// From which size on what is the quickest, and how sure that is: a sentence for each comparison.
pub(super) fn crossings(crossovers: &[Takeover]) -> impl Iterator<Item = String> {
    crossovers.chunk_by(|one, next| one.subject() == next.subject()).map(|all| {
        let (reading, name, instruction) = all[0].subject();
        let label = words::joined([reading.unwrap_or_default(), name, instruction], ", ");
        let quickest =
            if all.iter().all(Takeover::is_of_all_passes) { quickest(all) } else { undecided(all) };
        words::short(&format!("{label}: {quickest}"), 600)
    })
}

/// The quickest by size, where the passes agree.
fn quickest(all: &[Takeover]) -> String {
    let first = &all[0].from;
    let at = |one: &Takeover| {
        let (to, bytes, exact) = (one.to.as_ref()?, one.bytes?, one.exact_bytes?);
        let at = match one.grid_points {
            Some(points) => format!("{exact:.1} B on ({bytes} on a grid of {points} sizes)"),
            None => format!("{} on", found_size(exact)),
        };
        let passes = match (one.by_pass_bytes, one.by_pass) {
            (Some((least, greatest)), Some((_, passes))) if least < greatest => {
                format!(" ({passes} single passes and their medians: {})", found_sizes(least, greatest))
            }
            _ => String::new(),
        };
        Some(format!("'{to}' from {at}{passes}"))
    };
    match words::joined(all.iter().filter_map(at), ", then ") {
        nothing if nothing.is_empty() => format!("'{first}' at every size"),
        crossings => format!("{crossings}; '{first}' below"),
    }
}

/// What single passes show, where they disagree.
fn undecided(all: &[Takeover]) -> String {
    let seen = all.iter().filter_map(|one| {
        let (to, (least, greatest)) = (one.to.as_ref()?, one.by_pass_bytes?);
        Some(format!("'{to}' takes over from '{}' at {}", one.from, found_sizes(least, greatest)))
    });
    let seen = words::joined(distinct(seen), "; ");
    let agreeing = match all[0].by_pass.unwrap_or_default() {
        (0, passes) => format!("none of {passes}"),
        (agreeing, passes) => format!("only {agreeing} of {passes}"),
    };
    let alike = match seen.is_empty() {
        true => format!("'{}' at every size in {agreeing}", all[0].from),
        false => format!("{seen}; the same crossings as their medians in {agreeing}"),
    };
    format!("not decided: the passes disagree ({alike})")
}

/// A size that was computed, as exact as a time that was measured: `52.1 KiB`.
fn found_size(bytes: f64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit as f64) else {
        return format!("{:.0} B", bytes.ceil());
    };
    let mut digits = words::number(bytes / unit as f64);
    if digits.contains('.') {
        digits.truncate(digits.trim_end_matches('0').trim_end_matches('.').len());
    }
    format!("{digits} {name}")
}

fn found_sizes(least: f64, greatest: f64) -> String {
    words::joined(distinct([least, greatest].map(found_size)), " to ")
}

/// The median and the largest error: `median error 8 %, largest 39 %`; `None` without checks.
pub(super) fn errors<'a>(checks: impl Iterator<Item = &'a Check> + Clone) -> Option<String> {
    let [median, largest] =
        [median_error(checks.clone())?, largest_error(checks)?].map(|error| 100.0 * error);
    Some(format!("median error {median:.0} %, largest {largest:.0} %"))
}

const WHOLE: &str =
    "o and L are left out where only the whole time is known, not what the CPU at either end does.";
const OVERLAP: &str =
    "L is left out where the two ends overlap: together, their o exceed the message's time.";

/// LogGP's view of each way.
pub(super) fn loggp(summary: &Summary) -> Table {
    let sizes = words::span(summary.loggp.iter().map(|view| view.bytes));
    let title =
        format!("{}: LogGP, in ns; o, L and g of a message of {sizes}", words::short(&summary.path, 60));
    Table::of(format!("loggp-{}", words::short(&summary.path, 40)), title, &summary.loggp)
        .text("way", |view| {
            words::short(&format!("{} {}", view.variant, view.instruction), 60).trim_end().to_owned()
        })
        .figures("o, sender", "", |view| Some(view.o_send_ns?.0))
        .figures("o, receiver", "", |view| Some(view.o_receive_ns?.0))
        .figures("L", "", |view| Some(view.L_ns?.0))
        .figures("g", "", |view| view.g_ns.0)
        .figures("G, a KiB", "", |view| 1024.0 * view.G_ns_per_byte.0)
        .note_if(summary.loggp.iter().any(|view| view.o_send_ns.is_none()), WHOLE)
        .note_if(summary.loggp.iter().any(LogGp::ends_overlap), OVERLAP)
        .done()
}

/// The largest unit in which even the shortest of a table's times can be read: its length and its name.
fn unit(times: impl Iterator<Item = Ns>) -> (Ns, &'static str) {
    match times.filter(|time| *time > Ns::ZERO).fold(Ns::INFINITY, Ns::min) {
        least if least == Ns::INFINITY || least < Ns(1e2) => (Ns(1.0), "ns"),
        least if least < Ns(1e5) => (Ns::US, "us"),
        _ => (Ns::MS, "ms"),
    }
}

/// A time in the unit that leaves the fewest digits.
fn duration(time: Ns) -> String {
    let longer = [(Ns::MS, "ms"), (Ns::US, "us")].into_iter().find(|(unit, _)| time >= *unit);
    let (unit, name) = longer.unwrap_or((Ns(1.0), "ns"));
    format!("{} {name}", (time / unit * 100.0).round() / 100.0)
}

/// Predictions beside what was measured just now: a table for each path, with what an earlier profile's parts predict.
pub fn checked(checks: &[Check], memory: &Memory) -> Vec<Part> {
    let mut parts = Vec::new();
    let ends = memory.transfers.first().map_or(String::new(), |one| format!("{} and {}", one.from, one.to));
    for of_path in checks.chunk_by(|a, b| a.path == b.path) {
        let path = &of_path[0].path;
        let errors = errors(of_path.iter()).unwrap_or_default();
        parts.summary(
            Table::of(format!("check-{path}"), "", of_path)
                .figures(path, "", |check| Figure::bytes(check.bytes))
                .figures("predicted", "ns", |check| check.predicted_ns.0)
                .figures("measured", "ns", |check| Figure::from(&check.measured_ns))
                .right("error", error)
                .figures("by the profile", "ns", |check| Some(check.predicted_by_profile_ns?.0))
                .note(format!(
                    "{errors}; parts and whole messages were timed in turn, in one run of {:.1} s between CPUs {ends}. \
                     Predicted: the median over the passes; each predicts from its own parts. Error: of it beside the \
                     median measured",
                    memory.method.duration_s
                )),
        );
    }
    parts.summary(Missing::all(&memory.method.not_available));
    parts.summary(memory.method.interrupted.then(|| Text::new(words::STOPPED)));
    parts.summary(Text::labelled("valid for", VALIDITY));
    parts
}

/// The lines through pairs of sizes and times.
pub fn fitted(fit: &Fit) -> Vec<Part> {
    let several =
        if fit.segments.len() > 1 { "; several lines: the protocol changes between them" } else { "" };
    let mut parts = Vec::new();
    parts.summary(
        Table::of("fit", "", &fit.segments)
            .figures("from", "B", |line| line.from_bytes)
            .figures("to", "B", |line| line.to_bytes)
            .figures("fixed", "ns", |line| line.fixed_ns.0)
            .figures("rate", "GB/s", |line| line.bytes_per_s.map(|rate| rate / 1e9))
            .right("rms error", |line| format!("{:.1} %", line.relative_error * 100.0))
            .note(format!("{} pairs{several}.", fit.pairs)),
    );
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossing(from: &str, to: Option<&str>, bytes: f64, by_pass: Option<(usize, usize)>) -> Takeover {
        Takeover {
            reading: None,
            name: "by messages timed here".into(),
            instruction: String::new(),
            from: from.into(),
            to: to.map(str::to_owned),
            bytes: to.map(|_| bytes),
            grid_points: None,
            exact_bytes: to.map(|_| bytes),
            by_pass_bytes: by_pass.and(to).map(|_| (bytes, 4.0 * bytes)),
            by_pass,
        }
    }

    fn told(crossovers: &[Takeover]) -> String {
        let all: Vec<String> = crossings(crossovers).collect();
        assert_eq!(all.len(), 1, "one sentence for a comparison");
        all[0].clone()
    }

    #[test]
    fn a_comparison_is_one_sentence_and_undecided_where_passes_disagree() {
        let there = |agreeing| crossing("eager", Some("rendezvous"), 53_333.0, Some((agreeing, 3)));
        let back = |agreeing| crossing("rendezvous", Some("eager"), 376_832.0, Some((agreeing, 3)));
        let both = |agreeing| told(&[there(agreeing), back(agreeing)]);
        assert_eq!(
            both(2),
            "by messages timed here: not decided: the passes disagree ('rendezvous' takes over from 'eager' at \
             52.1 KiB to 208 KiB; 'eager' takes over from 'rendezvous' at 368 KiB to 1.44 MiB; the same \
             crossings as their medians in only 2 of 3)"
        );
        assert!(both(0).ends_with("the same crossings as their medians in none of 3)"), "{}", both(0));
        assert_eq!(
            both(3),
            "by messages timed here: 'rendezvous' from 52.1 KiB on (3 single passes and their medians: 52.1 KiB \
             to 208 KiB), then 'eager' from 368 KiB on (3 single passes and their medians: 368 KiB to 1.44 \
             MiB); 'eager' below"
        );
        let nowhere = |agreeing| told(&[crossing("eager", None, 0.0, Some((agreeing, 3)))]);
        assert_eq!(nowhere(3), "by messages timed here: 'eager' at every size");
        assert_eq!(
            nowhere(2),
            "by messages timed here: not decided: the passes disagree ('eager' at every size in only 2 of 3)"
        );
    }

    #[test]
    fn computed_sizes_are_told_alike() {
        let told = [220.3, 1024.0, 65_536.0, 11_760.2, 1_502_048.0, 1.25 * 1_048_576.0, 3e9].map(found_size);
        assert_eq!(told, ["221 B", "1 KiB", "64 KiB", "11.5 KiB", "1.43 MiB", "1.25 MiB", "2.79 GiB"]);
    }

    #[test]
    fn a_table_takes_the_unit_that_its_least_time_can_be_read_in() {
        assert_eq!(unit([4.2, 4e6].map(Ns).into_iter()), (Ns(1.0), "ns"));
        assert_eq!(unit([420.0, 4e6].map(Ns).into_iter()), (Ns(1e3), "us"));
        assert_eq!(unit([4.2e5, 4e6].map(Ns).into_iter()), (Ns(1e6), "ms"));
        assert_eq!(unit(std::iter::empty()), (Ns(1.0), "ns"));
    }
}
