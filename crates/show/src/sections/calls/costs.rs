//! What a call costs its caller: its damage to the caller's caches, its footprint, and a message to another core.

use std::collections::BTreeSet;

use coho_model::delegation::CallCost;
use coho_profile::{Calibration, CallMethod, Calls, Damage, Estimate, Ns};

use super::rows::{Paper, listed};
use crate::sections::prelude::*;

/// Working sets that a table has columns for.
const SETS: usize = 12;

pub(super) fn add(section: &mut Section, subject: &Subject, calls: &Calls, paper: &Paper<'_>) {
    section.detail(damage(calls));
    section.detail(calibration(calls));
    let costs = &subject.answers.calls.costs;
    section.summary(self::costs(subject, calls, costs, paper));
    let holds = costs.iter().find_map(|cost| cost.channel_holds.as_ref());
    section.summary(holds.map(|holds| Text::labelled("channel:", holds)));
    section.detail(
        Table::of("call-reasons", "What these figures say", costs)
            .text("call", |cost| &*cost.name)
            .text("verdict", |cost| &*cost.why),
    );
}

/// Extra time of the walk after a call, by call and size of the walked set.
fn damage(calls: &Calls) -> Table {
    let sizes: BTreeSet<u64> = calls.damage.iter().map(|damage| damage.set_bytes).take(SETS * 8).collect();
    let sizes: Vec<u64> = sizes.into_iter().take(SETS).collect();
    let names = distinct(calls.damage.iter().map(|damage| damage.name.as_str()));
    let beyond = |estimate: &Option<Estimate>| estimate.as_ref().map_or_else(|| "–".to_owned(), beyond_noise);
    let cell = |name: &str, bytes: u64| {
        let is = |damage: &&Damage| damage.name == name && damage.set_bytes == bytes;
        let damage = calls.damage.iter().find(is)?;
        Some(format!("{}/{}", beyond(&damage.ns), beyond(&damage.lines)))
    };
    let title = "Damage: walking a working set again after a call, extra ns/lines evicted";
    Table::of("damage", title, names)
        .text("call", |name| name)
        .columns_of(sizes, |bytes| Column::figures(words::bytes(bytes), ""), cell)
        .note(
            "<: indistinguishable from zero; its interval ends at this value. ~: fewer than six samples, hence no \
             interval.",
        )
    .done()
}

/// A difference, whole: `42`; or `<8` where it is indistinguishable from none and is no more than that by its interval; `~42` where
/// its samples are too few for one.
fn beyond_noise(estimate: &Estimate) -> String {
    let whole = |value: f64| signs::with_minus(format!("{:.0}", value.round()));
    match estimate.n {
        0 | 1 if estimate.median > 0.0 => whole(estimate.median),
        2.. if !estimate.has_interval() => format!("~{}", whole(estimate.median)),
        _ if estimate.low > 0.0 => whole(estimate.median),
        _ => format!("<{}", whole(estimate.high.max(1.0).ceil())),
    }
}

fn calibration(calls: &Calls) -> Chart {
    let point = |point: &Calibration| {
        let hover = |evicted: &str| format!("{} used: {evicted} evicted", words::count(point.lines, "line"));
        Some(Point::new(point.lines as f64, point.evicted.as_ref()?, hover))
    };
    let series = Series::new("victims of known size", Colour::nth(0), Stroke::Solid)
        .points(calls.calibration.iter().filter_map(point));
    let axes = [
        Axis::linear("lines that a victim used, at random places"),
        Axis::linear("lines of a primed set seen evicted"),
    ];
    Chart::lines("calibration", "Calibration of the timing method", axes, vec![series])
        .caption("A call's footprint is read off this curve backwards.")
}

fn costs(subject: &Subject, calls: &Calls, costs: &[CallCost], paper: &Paper<'_>) -> impl Bodies {
    // By counters and by time a footprint is not the same quantity.
    let (key, meaning) = match calls.method {
        CallMethod::Pmu => ("footprint.KiB", "lines that a cold call missed in the level-2 cache"),
        CallMethod::Timing => (
            "footprint-by-time.KiB",
            "data lines used in the level-1 cache and code lines of user mode, not the paper's measure",
        ),
    };
    let percent = |ratio: Option<f64>| ratio.map(|ratio| 100.0 * ratio);
    let whole = |time: Option<Ns>| time.map(|time| Format::Whole.of(time.0));
    let name = |cost: &CallCost| listed(&cost.name, subject);
    let set = costs.iter().find_map(|cost| cost.set_bytes);
    let set = set.map_or_else(String::new, |bytes| format!(" to {}", words::bytes(bytes)));
    Table::of("call-costs", "What a call costs its caller, and a message to another core", costs)
        .text("call", name)
        .compared("footprint", "KiB", key, |cost| cost.footprint_kib)
        .figures("publ.", "KiB", |cost| paper.cost(&cost.name)?.footprint_kib)
        .compared("second / cold", "%", "second-over-cold.%", |cost| {
            percent(cost.warm_over_cold)
        })
        .compared("steady / cold", "%", "steady-over-cold.%", |cost| {
            percent(cost.steady_over_cold)
        })
        .figures("cost", "ns", |cost| whole(cost.cost_ns))
        .figures("channel", "ns", |cost| whole(cost.channel_ns))
        .keyed(|cost| (format!("calls.{}", name(cost)), name(cost)))
        .note(format!(
            "footprint: {meaning} (published: level-2 misses); cost: the call in a loop plus its damage{set}; \
             channel: a message there and back. These figures do not decide whether another core should execute a \
             call."
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_from_none_is_a_bound() {
        let of = |low: f64, n| Estimate { low, high: 7.2, n, ..Estimate::exact(3.0) };
        assert_eq!(beyond_noise(&of(2.0, 9)), "3");
        assert_eq!(beyond_noise(&of(-1.0, 9)), "<8");
        assert_eq!(beyond_noise(&of(2.0, 3)), "~3");
    }
}
