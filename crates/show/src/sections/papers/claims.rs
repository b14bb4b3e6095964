//! The papers' conclusions and what a profile's figures say of them.

use std::collections::BTreeMap;

use coho_model::claims::{Judgement, Verdict};

use crate::sections::prelude::*;

/// A table of some conclusions.
pub(super) fn table<'a>(id: &str, title: &str, claims: &[&'a Judgement]) -> TableOf<&'a Judgement> {
    Table::of(id, title, claims.iter().copied())
        .text("conclusion [source]", |claim| format!("{} [{}]", claim.claim, claim.source))
        .text("here", |claim| claim.here.clone())
        .text("verdict", |claim| claim.verdict.words())
        .column(Column::text("why").detail(), |claim| claim.why.as_str())
}

/// `22 hold here, 6 do not hold, 3 cannot be told`; what none does is left out.
pub(super) fn counted(claims: &[&Judgement]) -> String {
    let labels = [
        (Verdict::Holds, "holds here", "hold here"),
        (Verdict::DoesNotHold, "does not hold", "do not hold"),
        (Verdict::CannotBeTold, "cannot be told", "cannot be told"),
    ];
    let counted = labels.into_iter().filter_map(|(verdict, one, several)| {
        let n = claims.iter().filter(|claim| claim.verdict == verdict).count();
        (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { several }))
    });
    words::joined(counted, ", ")
}

/// A table for each paper, what the verdicts come to, and the commands that measure what the open ones lack. `measured`
/// where a run of this program brought the figures.
pub fn parts(judged: &[Judgement], measured: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    for of_paper in judged.chunk_by(|a, b| a.paper == b.paper) {
        let claims: Vec<&Judgement> = of_paper.iter().collect();
        parts.summary(table("claims", &of_paper[0].paper, &claims));
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
    let title = "Commands that measure what is missing; --json gives each reason";
    parts.summary(
        Table::of("claims-open", title, &commands)
            .right("conclusions", |(_, n)| n.to_string())
            .text("command", |(command, _)| *command)
            .note("A conclusion stays open if the new figure's interval lies on both sides of its bound."),
    );
    let is_open = |one: &&Judgement| one.verdict == Verdict::CannotBeTold && one.measure.is_none();
    let open = judged.iter().filter(is_open).count();
    if open > 0 {
        let those = words::count(open, "conclusion");
        parts.summary(Text::new(format!("No command is named for {those}; --json says why.")));
    }
    parts
}
