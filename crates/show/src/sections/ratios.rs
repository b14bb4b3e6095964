//! The ratios of Nakamura et al., of a measured section as of the published one.

use coho_model::ratios::Ratio;

use crate::sections::prelude::*;

/// In the ratio's unit. Its interval holds if those of all figures behind it do.
pub(super) fn figure(ratio: &Ratio) -> Figure {
    Figure::within(ratio.value, ratio.interval, 1).of_samples(ratio.samples).worded(ratio.inexact)
}

/// Whether a ratio is one of fork and join, rather than of programs.
pub(super) fn is_of_fork_join(name: &str) -> bool {
    name.starts_with("fork-join.")
}

/// Those of a kind as a table; `None` if there are none.
pub(super) fn table(subject: &Subject, id: &str, title: &str, is: fn(&str) -> bool) -> Option<Table> {
    let teams = &subject.answers.teams;
    let row = |ratio: &Ratio| (ratio.name, ratio.label, ratio.unit, figure(ratio));
    let mut rows: Vec<_> = teams.ratios.iter().filter(|ratio| is(ratio.name)).map(row).collect();
    if id.starts_with("fork-join")
        && let Some(ns) = &teams.fbs_ns
    {
        // As the paper's node has it, whatever the number of CPUs: for comparison with others.
        rows.push(("fork-join.fbs.all", "fork + join, FBS, all CPUs", "ns", subject.figure(ns)));
    }
    let columns = [("ratio", "", "ratio"), ("share", "%", "%"), ("", "ns", "ns")];
    let table = Table::of(id, title, &rows)
        .text("of the largest team", |(_, label, ..)| *label)
        .columns_of(
            columns,
            |(name, unit, key)| Column::figures(name, unit).compared(key),
            |(_, _, own, figure), (_, unit, _)| (*own == unit).then(|| figure.clone()),
        )
        .keyed(|(name, label, ..)| (format!("sync.{name}"), *label));
    (!rows.is_empty()).then(|| table.done())
}
