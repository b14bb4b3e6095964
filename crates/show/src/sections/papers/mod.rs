//! The papers' tables, figures and conclusions, where a profile has something to set beside them.

pub mod claims;
mod contents;
mod hamada_dimmnet;
mod kawabe_furuya;
mod kimoto_bulldozer;
mod nakamura_fbs;
pub mod shimosawa_hori_ishikawa;

use coho_model::claims::{Judgement, Verdict};
use coho_profile::published::{self, Paper};

use crate::sections::prelude::*;

pub use contents::list;

/// Parts of a profile that stand beside a paper's.
type Parts = fn(&Subject) -> Vec<Part>;
/// What of a paper's figures is drawn whatever was measured, computed where the paper has them only as pictures.
type Drawn = fn(&Subject) -> Vec<Part>;

/// What each paper's file sets beside the published figures.
const PARTS: [(&str, Parts, Drawn); 5] = [
    ("kawabe-furuya", kawabe_furuya::parts, kawabe_furuya::charts),
    ("shimosawa-hori-ishikawa", shimosawa_hori_ishikawa::parts, |_| Vec::new()),
    ("nakamura-fbs", nakamura_fbs::parts, |_| Vec::new()),
    ("hamada-dimmnet", hamada_dimmnet::parts, |_| hamada_dimmnet::curves()),
    ("kimoto-bulldozer", kimoto_bulldozer::parts, |_| Vec::new()),
];

/// Which of the papers' tables and figures this profile has, and a section for each paper that it has something to set
/// beside: the whole paper.
pub fn of(subject: &Subject) -> Vec<Section> {
    let listed = contents::section(&subject.answers.papers).filter(|_| !subject.published);
    let of_paper = |(name, parts, drawn): &(&str, Parts, Drawn)| {
        section(published::paper(name), parts(subject), drawn(subject), subject)
    };
    listed.into_iter().chain(PARTS.iter().filter_map(of_paper)).collect()
}

/// A paper as a whole: every table, figure and system in its order, whatever of it was measured.
pub fn whole(paper: &'static Paper, subject: &Subject) -> Vec<Part> {
    let of_paper = PARTS.iter().find(|(name, ..)| *name == paper.name);
    let (beside, mut own) =
        of_paper.map(|(_, parts, drawn)| (parts(subject), drawn(subject))).unwrap_or_default();
    if !subject.published {
        own.extend(contents::drawn_of(subject));
    }
    contents::whole(paper, subject, beside, own)
}

fn section(paper: &'static Paper, beside: Vec<Part>, drawn: Vec<Part>, subject: &Subject) -> Option<Section> {
    let cited = paper.cited();
    let claims: Vec<&Judgement> =
        subject.answers.claims.iter().filter(|claim| claim.paper == cited).collect();
    let is_any_judged = claims.iter().any(|claim| claim.verdict != Verdict::CannotBeTold);
    if beside.is_empty() && !is_any_judged {
        return None;
    }
    let mut section = Section::new(paper.name, &paper.authors, headline(paper, &claims));
    if is_any_judged {
        let title = "Conclusions, and what this profile's figures say of them";
        section.summary(claims::table(&format!("{}-claims", paper.name), title, &claims));
    }
    // The profile's own sections stand on the same page.
    section.parts.extend(contents::whole(paper, subject, beside, drawn));
    Some(section)
}

/// The title, and how many of the paper's conclusions hold: `…; of its conclusions 5 hold here, 2 do not hold`.
fn headline(paper: &Paper, claims: &[&Judgement]) -> String {
    let title = paper.title.split(" (").next().unwrap_or(&paper.title);
    match claims::counted(claims) {
        said if said.is_empty() => title.to_owned(),
        said => format!("{title}; of its conclusions {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stands_beside_a_profile_of_nothing_or_the_paper_itself() {
        for (name, parts, _) in PARTS {
            assert!(parts(&Subject::new("mine", Default::default())).is_empty(), "{name}");
            for machine in Subject::of_publication(published::paper(name).publication()) {
                assert!(parts(&machine).is_empty(), "{name}");
            }
        }
    }
}
