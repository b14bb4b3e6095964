//! The links between packages that the times imply.

use coho_model::hops::{Between, Links};
use coho_profile::Coherence;

use crate::sections::prelude::*;

/// The pairs of packages, and which of them are linked.
pub(super) fn table(subject: &Subject, coherence: &Coherence) -> Option<Table> {
    let topology = &subject.profile.topology.as_ref()?.topology;
    let links = Links::of(coherence, topology)?;
    let is_linked = |one: &&Between| one.hops == Some(1);
    let name = |(a, b): (usize, usize)| format!("P{a}–P{b}");
    let unknown = match links.unknown {
        0 => String::new(),
        n => format!(" {} not measured, so that a path may lead over them.", words::count(n, "more pair")),
    };
    let found = words::joined(links.between.iter().filter(is_linked).map(|one| name(one.packages)), ", ");
    let table = Table::of("hops", "Links between packages that the times imply", &links.between)
        .text("packages", |one| name(one.packages))
        .figures("time", "ns", |one| one.ns)
        .figures("pairs", "", |one| one.pairs)
        .text("hops", |one| one.hops.map_or("more than 1".to_owned(), |hops| hops.to_string()))
        .note(format!(
            "Linked: {found}. Linked are the nearest packages and those that take alike, by {}; a step of 1.15 times or \
             more is a path over another package.{unknown}",
            links.method.name()
        ));
    Some(table.done())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Cell;

    #[test]
    fn the_papers_eight_packages_have_their_links() {
        let paper = Subject::only("published:kawabe-furuya/x7560").unwrap();
        let table = table(&paper, paper.coherence().unwrap()).unwrap();
        let hops: Vec<&Cell> = table.rows.iter().map(|row| &row.cells[3]).collect();
        let (one, more) = (Cell::from("1"), Cell::from("more than 1"));
        assert_eq!(hops, [&one, &more, &one, &more, &more, &more]);
        assert!(table.notes[0].starts_with("Linked: P0–P1, P0–P4."), "{:?}", table.notes);
    }
}
