//! Pairs one by one, and how far their times depend on the line that they share.

use std::collections::BTreeSet;

use coho_profile::{Coherence, LineSpread, Pair, PairMethod};

use crate::Subject;
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Depth, PartList, Row, Section, Table, Text};
use crate::words;

/// So many pairs are still a summary.
const FEW: usize = 6;

pub(super) fn add(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    if let Some(matrix) = &coherence.matrix {
        let cpus = words::count(matrix.cpus(), "CPU");
        section.summary(Text::new(format!("A matrix of {cpus}, with too many pairs to list.")));
    }
    let listed: BTreeSet<_> = coherence.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    if listed.is_empty() {
        return;
    }
    let depth = |few: bool| if few { Depth::Summary } else { Depth::Detail };
    section.parts.add(depth(listed.len() <= FEW), table(subject, coherence));
    let measured: Vec<_> =
        coherence.pairs.iter().filter_map(|pair| Some((pair, pair.lines.as_ref()?))).collect();
    if let Some((_, first)) = measured.first() {
        section.parts.add(depth(measured.len() <= FEW), lines(subject, first.count, &measured));
    }
}

fn table(subject: &Subject, coherence: &Coherence) -> Table {
    let row = |pair: &Pair| {
        let jumps = pair.ns.stable == Some(false) && !subject.published;
        let stays = match pair.ns.stable.filter(|_| !subject.published) {
            Some(true) => "yes".into(),
            Some(false) => "no".into(),
            None => Cell::Nothing,
        };
        Row::new([
            subject.pair_label(pair).into(),
            pair.claimed.as_deref().map_or(Cell::Nothing, Cell::from),
            words::pair_method(pair.method).into(),
            words::home(pair.home).into(),
            subject.figure(&pair.ns).marked(if jumps { "!" } else { "" }).into(),
            Cell::maybe(
                pair.ownership_changes_per_op
                    .as_ref()
                    .map(|moves| Figure::exact(moves.median).format(Format::Ratio)),
            ),
            Figure::count(pair.preempted_batches).into(),
            Figure::count(pair.ns.n).into(),
            stays,
        ])
    };
    let mut table =
        Table::new("pairs", "Pairs on one line, ns a step (turn, flags) or an increment (free-running)")
            .columns([
                Column::text("pair"),
                Column::text("claimed"),
                Column::text("method"),
                Column::text("home"),
                Column::figures("time", "ns"),
                Column::figures("moves", ""),
                Column::figures("preempted", ""),
                Column::figures("n", "").detail(),
                Column::text("one value?").detail(),
            ])
            .rows(coherence.pairs.iter().map(row));
    if coherence.pairs.iter().any(|pair| pair.method != PairMethod::Unknown) {
        table = table.note(
            "home: the CPU that touched the line first; moves: ownership changes per increment; preempted: batches \
             during which a CPU was away; !: jumped between values.",
        );
    }
    table
}

/// The spread of a pair's time over cache lines, and whether it is the lines': `24.4–30.3 ns, r 0.97: lines differ`.
fn spread(lines: &LineSpread) -> String {
    let halves = lines.split_half.filter(|r| r.is_finite());
    let halves = halves.map_or_else(String::new, |r| format!(", r {}", signed(r)));
    let whose = if lines.differ() { "lines differ" } else { "noise, no line stays quicker" };
    format!("{}–{} ns{halves}: {whose}", words::number(lines.p10), words::number(lines.p90))
}

/// A correlation, with the minus sign of print.
fn signed(correlation: f64) -> String {
    format!("{correlation:.2}").replace('-', "−").replace("−0.00", "0.00")
}

fn lines(subject: &Subject, count: u64, measured: &[(&Pair, &LineSpread)]) -> Table {
    let row = |(pair, lines): &(&Pair, &LineSpread)| {
        let share = lines.share.filter(|share| share.is_finite());
        Row::new([
            subject.pair_label(pair).into(),
            words::home(pair.home).into(),
            spread(lines).into(),
            Cell::maybe(share.map(|share| Figure::exact(share).format(Format::Percent))),
        ])
    };
    let lines = words::count(usize::try_from(count).unwrap_or(usize::MAX), "line");
    Table::new("lines", format!("Pairs over {lines}, a step of turn: where 10 to 90 % of the lines lie"))
        .columns([
            Column::text("pair"),
            Column::text("home"),
            Column::text("10 to 90 % of the lines"),
            Column::figures("share of the variance", "").detail(),
        ])
        .rows(measured.iter().map(row))
        .note(
            "r: correlation of the lines' times in the two halves of the run; share of the variance: how much of the \
             variance of single visits is due to the line.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_to_differ_only_where_both_halves_agree() {
        let told = |split_half| {
            spread(&LineSpread { count: 64, p10: 24.4, p50: 27.6, p90: 30.3, split_half, share: None })
        };
        assert_eq!(told(Some(0.97)), "24.4–30.3 ns, r 0.97: lines differ");
        assert_eq!(told(Some(-0.004)), "24.4–30.3 ns, r 0.00: noise, no line stays quicker");
        assert_eq!(told(None), "24.4–30.3 ns: noise, no line stays quicker");
    }
}
