//! The figures of whole programs that can be set beside another profile's.

use coho_model::unixbench;
use coho_profile::WorkloadResult;

use super::figures::{Figure, Key};
use super::subject::Subject;

/// The table in the order of comparisons: behind all others.
const WORKLOADS: u8 = 9;

/// Units that are known: others may mean anything.
const UNITS: [&str; 5] = ["lps", "lpm", "MWIPS", "KBps", "s"];

/// Results and scores of the section `workloads`.
pub fn of(subject: &Subject) -> Vec<Figure> {
    let Some(workloads) = &subject.profile.workloads else { return Vec::new() };
    let results = workloads.results.iter().filter_map(|result| figure(subject, result));
    let scores = workloads.scores.iter().map(|score| {
        // Scores of other tests are other quantities.
        let id = format!("workloads.score.{}.{}.{}-tests", score.placement, score.copies, score.tests);
        let label = format!("score of {} tests{}", score.tests, course(&score.placement, score.copies));
        let key = Key::new(WORKLOADS, usize::MAX, id, label, "index");
        Figure { key, value: score.index, interval: None, n: 1, inexact: None }
    });
    results.chain(scores).collect()
}

fn figure(subject: &Subject, result: &WorkloadResult) -> Option<Figure> {
    let WorkloadResult { test, placement, copies, .. } = result;
    let unit = UNITS.into_iter().find(|unit| *unit == result.unit)?;
    let estimate = result.value.as_ref()?;
    let (pair_id, pair) = match &result.pair_class {
        Some(class) => (format!(".{class}"), format!(", {class}")),
        None => (String::new(), String::new()),
    };
    let row = unixbench::TESTS.iter().position(|known| known.name == test).unwrap_or(unixbench::TESTS.len());
    let id = format!("workloads.{test}.{placement}.{copies}{pair_id}");
    let label = format!("{test}{}{pair}", course(placement, *copies));
    Some(Figure::of(subject, Key::new(WORKLOADS, row, id, label, unit), estimate, 1.0))
}

/// Placement and copies, where they are not the usual ones.
fn course(placement: &str, copies: u32) -> String {
    let placed = if placement == "none" { String::new() } else { format!(", {placement}") };
    if copies == 1 { placed } else { format!("{placed}, {copies} copies") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_articles_tables_can_be_compared() {
        let figures = of(&Subject::load("published:kimoto-bulldozer/c6-off-stock").unwrap().remove(0));
        assert_eq!(figures.len(), 14);
        let value = |id: &str| figures.iter().find(|figure| figure.key.id == id).map(|figure| figure.value);
        assert_eq!(value("workloads.pipe_context_switching.none.1.lps"), Some(192_096.2));
        assert_eq!(value("workloads.score.none.1.12-tests.index"), Some(733.5));
        assert_eq!(value("workloads.kernel_build.none.1.s"), Some(737.0));
    }
}
