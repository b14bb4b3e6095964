//! The links between packages that the times imply.

use coho_model::hops::{Between, Links};
use coho_profile::Coherence;

use crate::sections::prelude::*;

const TITLE: &str = "Links between packages that the times imply";

/// The pairs of packages, which of them are linked, and the same drawn.
pub(super) fn parts(subject: &Subject, coherence: &Coherence) -> Option<(Table, Graph)> {
    let topology = &subject.profile.topology.as_ref()?.topology;
    let links = Links::of(coherence, topology)?;
    Some((table(&links), graph(&links, topology.packages.len())))
}

fn table(links: &Links) -> Table {
    let is_linked = |one: &&Between| one.hops == Some(1);
    let name = |(a, b): (usize, usize)| format!("P{a}–P{b}");
    let unknown = match links.unknown {
        0 => String::new(),
        n => format!(" {} not measured, so that a path may lead over them.", words::count(n, "more pair")),
    };
    let found = words::joined(links.between.iter().filter(is_linked).map(|one| name(one.packages)), ", ");
    let table = Table::of("hops", TITLE, &links.between)
        .text("packages", |one| name(one.packages))
        .figures("time", "ns", |one| one.ns)
        .figures("pairs", "", |one| one.pairs)
        .text("hops", |one| one.hops.map_or("more than 1".to_owned(), |hops| hops.to_string()))
        .note(format!(
            "Linked: {found}. Linked are the nearest packages and those that take alike, by {}; a step of 1.15 times or \
             more is a path over another package.{unknown}",
            links.method.name()
        ));
    table.done()
}

fn graph(links: &Links, packages: usize) -> Graph {
    let edge = |one: &Between| {
        let ((a, b), label) = (one.packages, format!("{} ns", Format::Plain.of(one.ns).text()));
        let hops = one.hops.map_or("more than 1 hop".to_owned(), |hops| words::count(hops, "hop"));
        let hover = format!("P{a}–P{b}: {label}, {hops}");
        Edge { ends: one.packages, label, hover, is_link: one.hops == Some(1) }
    };
    let unknown = match links.unknown {
        0 => String::new(),
        n => format!(" {} not measured and not drawn.", words::count(n, "more pair")),
    };
    Graph {
        id: "hop-graph".into(),
        title: TITLE.into(),
        caption: format!(
            "Lines are links; dashed lines are times over another package. Measured by {}.{unknown}",
            links.method.name()
        ),
        nodes: (0..packages).map(|one| format!("P{one}")).collect(),
        edges: links.between.iter().map(edge).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Cell;

    #[test]
    fn the_papers_eight_packages_have_their_links() {
        let paper = Subject::only("published:kawabe-furuya/x7560").unwrap();
        let (table, graph) = parts(&paper, paper.coherence().unwrap()).unwrap();
        let hops: Vec<&Cell> = table.rows.iter().map(|row| &row.cells[3]).collect();
        let (one, more) = (Cell::from("1"), Cell::from("more than 1"));
        assert_eq!(hops, [&one, &more, &one, &more, &more, &more]);
        let links: Vec<_> = graph.linked().into_iter().map(|(name, links)| (name, links.len())).collect();
        assert_eq!(links, [("P0", 2), ("P1", 1), ("P4", 1)]);
        assert_eq!((graph.nodes.len(), graph.edges.len()), (8, 6));
        assert!(table.notes[0].starts_with("Linked: P0–P1, P0–P4."), "{:?}", table.notes);
    }
}
