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

/// What the verdicts come to; the conclusions that hold and those that do not, and why; the others by what they lack, with the
/// commands that measure it; in detail a table for each paper. `measured` where a run of this program brought the figures.
pub fn parts(judged: &[Judgement], measured: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let all: Vec<&Judgement> = judged.iter().collect();
    parts.summary(Text::new(format!("Of {}, {}.", words::count(all.len(), "conclusion"), counted(&all))));
    if measured {
        let together = format!(
            "Each figure stands with its interval of {:.1} %: at that, chance misjudges one of them all in one case of twenty.",
            100.0 * coho_model::claims::confidence()
        );
        parts.summary(Text::new(together));
        let caveat = "Each verdict is as good as the run that measured its figures; on a host that moves CPUs, the \
                      next run may give another.";
        parts.summary(Text::new(caveat));
    }
    let of = |verdict: Verdict| judged.iter().filter(move |one| one.verdict == verdict);
    parts.summary(judged_so("claims-hold", "Hold here", of(Verdict::Holds)));
    parts.summary(judged_so("claims-fail", "Do not hold here", of(Verdict::DoesNotHold)));
    parts.summary(open(of(Verdict::CannotBeTold)));
    for of_paper in judged.chunk_by(|a, b| a.paper == b.paper) {
        let claims: Vec<&Judgement> = of_paper.iter().collect();
        parts.detail(table("claims", &of_paper[0].paper, &claims));
    }
    parts
}

/// The conclusions of one verdict, of whichever paper.
fn judged_so<'a>(
    id: &str,
    title: &str,
    claims: impl Iterator<Item = &'a Judgement>,
) -> TableOf<&'a Judgement> {
    Table::of(id, title, claims)
        .text("conclusion [source]", |claim| format!("{} [{}, {}]", claim.claim, claim.paper, claim.source))
        .text("here", |claim| claim.here.clone())
        .text("why", |claim| claim.why.as_str())
}

/// How many conclusions cannot be told for which reason, the most frequent first.
fn open<'a>(claims: impl Iterator<Item = &'a Judgement>) -> Table {
    let mut by_reason: BTreeMap<(String, Option<&str>), Vec<&Judgement>> = BTreeMap::new();
    for claim in claims {
        let command = claim.measure.as_deref();
        let remedy = command.map(|command| format!("; `{command}` measures what is missing"));
        let why = remedy.and_then(|remedy| claim.why.strip_suffix(&remedy)).unwrap_or(&claim.why);
        // What stands behind a semicolon is of one conclusion alone.
        let reason = why.split("; ").next().unwrap_or(why).to_owned();
        by_reason.entry((reason, command)).or_default().push(claim);
    }
    let mut rows: Vec<_> = by_reason.iter().collect();
    rows.sort_by_key(|(_, claims)| std::cmp::Reverse(claims.len()));
    Table::of("claims-open", "Cannot be told", &rows)
        .figures("conclusions", "", |(_, claims)| claims.len())
        .text("why", |((why, _), _)| why.as_str())
        .text("measured by", |((_, command), _)| *command)
        .note(
            "--full names them. A conclusion stays open if the new figure's interval lies on both sides of its \
             bound.",
        )
        .done()
}
