//! The papers' tables, figures and conclusions, where a profile has something to set beside them.

pub mod claims;
mod hamada_dimmnet;
mod kawabe_furuya;
mod kimoto_bulldozer;
mod nakamura_fbs;
pub mod shimosawa_hori_ishikawa;

use coho_model::claims::{Judgement, Verdict};

use crate::sections::prelude::*;
use crate::words::{PAPERS, Paper};

/// Parts of a profile that stand beside a paper's.
type Parts = fn(&Subject) -> Vec<Part>;

/// What each paper's file sets beside the published figures, by the paper's name.
const PARTS: &[(&str, Parts)] = &[
    ("kawabe-furuya", kawabe_furuya::parts),
    ("shimosawa-hori-ishikawa", shimosawa_hori_ishikawa::parts),
    ("nakamura-fbs", nakamura_fbs::parts),
    ("hamada-dimmnet", hamada_dimmnet::parts),
    ("kimoto-bulldozer", kimoto_bulldozer::parts),
];

/// A section for each paper that this profile has something to set beside.
pub fn of(subject: &Subject) -> Vec<Section> {
    PAPERS.iter().filter_map(|paper| section(paper, subject)).collect()
}

fn section(paper: &'static Paper, subject: &Subject) -> Option<Section> {
    let claims: Vec<&Judgement> =
        subject.answers.claims.iter().filter(|claim| claim.paper.starts_with(paper.authors)).collect();
    let is_any_judged = claims.iter().any(|claim| claim.verdict != Verdict::CannotBeTold);
    let beside = PARTS.iter().filter(|(name, _)| *name == paper.name);
    let beside: Vec<Part> = beside.flat_map(|(_, parts)| parts(subject)).collect();
    if beside.is_empty() && !is_any_judged {
        return None;
    }
    let mut section = Section::new(paper.name, paper.authors, headline(paper, &claims));
    if is_any_judged {
        let title = "Conclusions, and what this profile's figures say of them";
        section.summary(claims::table(&format!("{}-claims", paper.name), title, &claims));
    }
    section.parts.extend(beside);
    Some(section)
}

/// The title, and how many of the paper's conclusions hold: `…; of its conclusions 5 hold here, 2 do not hold`.
fn headline(paper: &Paper, claims: &[&Judgement]) -> String {
    let title = paper.title.split(" (").next().unwrap_or(paper.title);
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
        for (name, parts) in PARTS {
            assert!(parts(&Subject::new("mine", Default::default())).is_empty(), "{name}");
            for paper in Subject::load(&format!("published:{name}")).unwrap() {
                assert!(parts(&paper).is_empty(), "{name}");
            }
        }
    }
}
