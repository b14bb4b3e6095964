//! Pairs one by one, and how far their times depend on the line that they share.

use std::collections::BTreeSet;

use coho_model::chance::Family;
use coho_profile::{Coherence, LineSpread, Pair, PairMethod};

use crate::sections::prelude::*;

/// Pairs that the summary lists; more are for who wants everything.
const FEW: usize = 6;

pub(super) fn add(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    section.summary(coherence.matrix.as_ref().map(|matrix| {
        let cpus = words::count(matrix.cpus(), "CPU");
        Text::new(format!("A matrix of {cpus}, whose pairs are not listed one by one."))
    }));
    let depth = |pairs: usize| if pairs <= FEW { Depth::Summary } else { Depth::Detail };
    let listed: BTreeSet<_> = coherence.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    section.add(depth(listed.len()), table(subject, coherence));
    let measured: Vec<_> =
        coherence.pairs.iter().filter_map(|pair| Some((pair, pair.lines.as_ref()?))).collect();
    section.add(depth(measured.len()), lines(subject, &measured));
}

fn table<'a>(subject: &Subject, coherence: &'a Coherence) -> TableOf<&'a Pair> {
    let stays = |pair: &Pair| pair.ns.stable.filter(|_| !subject.published);
    let title = "Pairs on one line, ns a step (turn, flags) or an increment (free-running)";
    Table::of("pairs", title, &coherence.pairs)
        .text("pair", |pair| subject.pair_label(pair))
        .text("claimed", |pair| pair.claimed.as_deref())
        .text("method", |pair| pair.method.name())
        .text("home", |pair| pair.home.name())
        .figures("time", "ns", |pair| {
            subject.figure(&pair.ns).marked(if stays(pair) == Some(false) { "!" } else { "" })
        })
        .figures("moves", "", |pair| {
            let moves = pair.ownership_changes_per_op.as_ref()?;
            Some(Format::Ratio.of(moves.median))
        })
        .figures("preempted", "", |pair| {
            (pair.method != PairMethod::Unknown).then_some(pair.preempted_batches)
        })
        .column(Column::figures("n", "").detail(), |pair| pair.ns.n)
        .column(Column::text("one value?").detail(), |pair| stays(pair).map(words::yes_no))
        .note_if(
            coherence.pairs.iter().any(|pair| pair.method != PairMethod::Unknown),
            "home: the CPU that touched the line first; moves: ownership changes per increment; preempted: batches \
             during which a CPU was away; !: did not keep to one value.",
        )
}

/// The spread of a pair's time over cache lines, and whether it is the lines', of so many pairs looked at:
/// `24.4–30.3 ns, r 0.97: lines differ`.
fn spread(lines: &LineSpread, pairs: usize) -> String {
    let halves = lines.split_half.filter(|r| r.is_finite());
    let signed = |r: f64| format!(", r {}", signs::with_minus(format!("{r:.2}")));
    let halves = halves.map_or_else(String::new, signed);
    let whose = match lines.differ(Family::of(pairs).confidence()) {
        true => "lines differ",
        false => "no line is known to stay quicker",
    };
    format!("{}–{} ns{halves}: {whose}", words::number(lines.p10), words::number(lines.p90))
}

fn lines<'a>(
    subject: &Subject,
    measured: &[(&'a Pair, &'a LineSpread)],
) -> TableOf<(&'a Pair, &'a LineSpread)> {
    let count = words::count(measured.first().map_or(0, |(_, lines)| lines.count), "line");
    let title = format!("Pairs over {count}, per step of turn: 10th to 90th percentile of the lines");
    Table::of("lines", title, measured.iter().copied())
        .text("pair", |(pair, _)| subject.pair_label(pair))
        .text("home", |(pair, _)| pair.home.name())
        .text("10th to 90th percentile", |(_, lines)| spread(lines, measured.len()))
        .column(Column::figures("share of the variance", "").detail(), |(_, lines)| {
            lines.share.filter(|share| share.is_finite()).map(|share| Format::Percent.of(share))
        })
        .note(
            "r: correlation of the lines' times in the two halves of the run; share of the variance: how much of the \
             variance of single visits is due to the line.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_differ_only_where_both_halves_agree() {
        let text = |split_half| {
            let lines = LineSpread { count: 64, p10: 24.4, p50: 27.6, p90: 30.3, split_half, share: None };
            spread(&lines, 1)
        };
        assert_eq!(text(Some(0.97)), "24.4–30.3 ns, r 0.97: lines differ");
        assert_eq!(text(Some(-0.004)), "24.4–30.3 ns, r 0.00: no line is known to stay quicker");
        assert_eq!(text(None), "24.4–30.3 ns: no line is known to stay quicker");
    }
}
