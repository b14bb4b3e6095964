//! The papers' conclusions and what a profile's figures say of them.

use std::collections::BTreeMap;

use coho_model::claims::{Judgement, Verdict};

use crate::part::{Cell, Column, Part, PartList, Row, Table, Text};
use crate::words;

/// A table of some conclusions.
pub(super) fn table(id: &str, title: &str, claims: &[&Judgement]) -> Table {
    let row = |claim: &&Judgement| {
        Row::new([
            Cell::Text(format!("{} [{}]", claim.claim, claim.source)),
            claim.here.clone().map_or(Cell::Nothing, Cell::Text),
            claim.verdict.words().into(),
            Cell::Text(claim.why.clone()),
        ])
    };
    Table::new(id, title)
        .columns([
            Column::text("conclusion [source]"),
            Column::text("here"),
            Column::text("verdict"),
            Column::text("why").detail(),
        ])
        .rows(claims.iter().map(row))
}

/// `22 hold here, 6 do not hold, 3 cannot be told`; empty of none.
pub(super) fn counted(claims: &[&Judgement]) -> String {
    let labels = [
        (Verdict::Holds, "hold here"),
        (Verdict::DoesNotHold, "do not hold"),
        (Verdict::CannotBeTold, "cannot be told"),
    ];
    let counted = labels
        .map(|(verdict, words)| (claims.iter().filter(|claim| claim.verdict == verdict).count(), words));
    let parts = counted.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// A table for each paper, what the verdicts come to, and what would tell of those that cannot be told. `measured` where a
/// run of this program brought the figures.
pub fn parts(judged: &[Judgement], measured: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    for of_paper in judged.chunk_by(|a, b| a.paper == b.paper) {
        let claims: Vec<&Judgement> = of_paper.iter().collect();
        parts.summary(table("claims", of_paper[0].paper, &claims));
    }
    parts.summary(Text::new(counted(&judged.iter().collect::<Vec<_>>()) + "."));
    if measured {
        let caveat = "Each verdict is as good as the run that measured its figures; on a host that moves CPUs, the \
                      next run may give another.";
        parts.summary(Text::new(caveat));
    }
    let mut commands: BTreeMap<&str, usize> = BTreeMap::new();
    for command in judged.iter().filter_map(|one| one.measure.as_deref()) {
        *commands.entry(command).or_default() += 1;
    }
    if !commands.is_empty() {
        let rows = commands.iter().map(|(command, n)| Row::new([n.to_string().into(), (*command).into()]));
        let title = "Commands that would decide the rest; --json gives each reason";
        parts.summary(
            Table::new("claims-open", title)
                .columns([Column::figures("conclusions", ""), Column::text("command")])
                .rows(rows),
        );
    }
    let is_open = |one: &&Judgement| one.verdict == Verdict::CannotBeTold && one.measure.is_none();
    let open = judged.iter().filter(is_open).count();
    if open > 0 {
        let those = words::count(open, "conclusion");
        parts.summary(Text::new(format!("No command would decide {those}; --json says why.")));
    }
    parts
}
