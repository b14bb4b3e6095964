//! Nakamura et al.: fork and join (Figs. 4-1 and 4-3), mappings (Fig. 4-4 and Table 4-1) and ratios, the reader's
//! beside theirs.

use std::collections::HashMap;

use coho_model::barrier::Mapping;
use coho_model::ratios::{Mappings, Parts, Ratio};
use coho_profile::{BarrierTime, Profile, Sync, published};
use coho_topology::Topology;

use crate::boxes::{self, Node};
use crate::sections::barriers::{Timed, fork_join_times, team};
use crate::sections::prelude::*;
use crate::sections::ratios;

/// The paper's short name for its machine.
const MACHINE: &str = "SR11000";
/// Groups of bars at most.
const MOST: usize = 24;

/// What this profile has to set beside the paper's figures.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let Some(sync) = subject.profile.sync.as_ref().filter(|_| !subject.published) else { return Vec::new() };
    let paper = published::paper("nakamura-fbs").machine();
    let (mine, published) = (&subject.answers.teams, &subject.answers.published);
    let mut parts = Vec::new();
    parts.summary(flags(sync));
    parts.summary(ratios_beside(&mine.ratios, &published.ratios));
    parts.summary(fork_join(sync, &paper.sync.clone().unwrap_or_default()));
    parts.summary(mapping_table(&mine.mappings));
    if !sync.barriers.is_empty() || !sync.fork_join.is_empty() {
        // Two CPUs are taken in the same order by every mapping.
        let cpus = subject.profile.topology.as_ref().map_or(0, |section| section.topology.pus.len());
        if cpus > 2 {
            parts.detail(drawings("mapping", "", &subject.profile, &subject.answers.orders));
        }
        parts.detail(drawings("mapping-published", ", published", &paper, &published.orders));
    }
    parts
}

/// Barriers by flags (Fig. 3-4), and beside those with all flags on one line (Fig. 3-5).
fn flags(sync: &Sync) -> [Table; 2] {
    let ns = |name: &str, threads: u32| {
        let is = |row: &&BarrierTime| row.threads == threads && row.name() == name;
        sync.barriers.iter().find(is)?.ns.as_ref().map(Figure::from)
    };
    let has = |name: &'static str| move |threads: &u32| ns(name, *threads).is_some();
    let threads = distinct(sync.barriers.iter().map(|row| row.threads)).into_iter().filter(has("fbs"));
    let table = |id, title, threads: Vec<u32>| {
        Table::of(id, title, threads).figures("threads", "", |threads| threads).figures(
            "a line each",
            "ns",
            |threads| ns("fbs", threads),
        )
    };
    let both = threads.clone().filter(has("fbs-one-line")).collect();
    [
        table("nakamura-fbs-times", "A barrier by flags here", threads.collect()).done(),
        table("nakamura-layouts", "A barrier by flags here, by their layout", both)
            .figures("one line", "ns", |threads| ns("fbs-one-line", threads))
            .done(),
    ]
}

/// The paper's ratios and those that this profile's figures give.
fn ratios_beside(mine: &[Ratio], theirs: &[Ratio]) -> Table {
    let text = |ratio: &Ratio| words::joined([&*ratios::figure(ratio).text(), ratio.unit], " ");
    let both =
        theirs.iter().filter_map(|ratio| Some((mine.iter().find(|mine| mine.name == ratio.name)?, ratio)));
    Table::of("nakamura-ratios", "Ratios (Figs. 4-1 to 4-7)", both)
        .text("ratio", |(_, published)| published.label)
        .right("here", |(here, _)| text(here))
        .right(format!("published, {MACHINE}"), |(_, published)| text(published))
        .note(
            "For the largest team measured; in the paper, 16 CPUs of a node. Mapping and the first waiting: for a \
             team of half as many. Speed-up: against the lock. The paper's untuned program is SPEC's galgel, its \
             tuned one an atmosphere model.",
        )
        .done()
}

fn fork_join(sync: &Sync, theirs: &Sync) -> Option<Chart> {
    let (mine, theirs) = (fork_join_times(sync), fork_join_times(theirs));
    // Large machines have many teams: the largest of each algorithm and the paper's sizes suffice.
    let largest = mine.iter().map(|row| row.threads).max()?;
    let is_drawn = |row: &&Timed<'_>| [largest, 8, 16].contains(&row.threads) && row.mapping != "binary-tree";
    let mine: Vec<&Timed<'_>> = mine.iter().filter(is_drawn).take(MOST).collect();
    let theirs: Vec<&Timed<'_>> = theirs.iter().collect();
    let name = |row: &&Timed<'_>| format!("{}, {}", row.name, team(row.threads, ""));
    let categories = scale::distinct(mine.iter().chain(&theirs).map(name));
    let series = |what: &str, colour, rows: &[&Timed<'_>], published| {
        let row = |category: &String| rows.iter().find(|row| name(row) == *category);
        let bars = categories.iter().map(|category| Some(row(category)?.bar(published)));
        BarSeries::new(what, colour, bars).published(published)
    };
    let series = vec![
        series("here", Colour::nth(0), &mine, false),
        series(&format!("published, {MACHINE}"), Colour::GREY, &theirs, true),
    ];
    let title = "Fork and join, here and published (Figs. 4-1 and 4-3)";
    let axis = Axis::log("time of fork and join, ns");
    Some(Chart::bars("nakamura-fork-join", title, axis, categories, series).caption(
        "The paper's node, of 16 CPUs, has a barrier at each end of a region, like all rows here but team.",
    ))
}

/// Table 4-1: what the mapping does to computing and waiting under FBS; `None` if neither program was run.
fn mapping_table(measured: &[Option<Mappings>; 2]) -> Option<Table> {
    let published = |row| {
        let row = published::paper("nakamura-fbs").row("table-4-1", row);
        Parts { compute: row[0], sync: row[1], total: row[2] }
    };
    if measured.iter().all(Option::is_none) {
        return None;
    }
    let [galerkin, weather] = measured.map(Option::unwrap_or_default);
    let rows = [
        ("galerkin / galgel", "binary tree", galerkin[0], published("galgel-binary-tree")),
        ("galerkin / galgel", "sequential", galerkin[1], published("galgel-sequential")),
        ("weather", "binary tree", weather[0], published("weather-binary-tree")),
        ("weather", "sequential", weather[1], published("weather-sequential")),
    ];
    let text = |share: f64| if share.is_finite() { format!("{share:.1}") } else { "–".to_owned() };
    let texts = |Parts { compute, sync, total }| [compute, sync, total].map(text);
    let table = Table::of("nakamura-mappings", "Mapping under FBS, per cent (Table 4-1)", rows)
        .text("program", |(name, ..)| name)
        .text("mapping", |(_, mapping, ..)| mapping)
        .columns(["computing", "waiting", "total"].map(Column::right), |(.., here, _)| {
            here.map(texts).into_iter().flatten()
        })
        .columns(["published: computing", "waiting", "total"].map(Column::right), |(.., published)| {
            texts(published)
        })
        .note(format!(
            "Per cent of the binary tree's total, or of the sequential mapping's if both place the team alike. \
             Published: {MACHINE}, 8 of 16 CPUs. Here: the largest team that the mappings place differently, else the \
             largest, and the largest problem."
        ));
    Some(table.done())
}

/// The topology once for each order of ranks, with ranks in place of CPU numbers.
fn drawings(id: &str, whose: &str, profile: &Profile, orders: &[(Mapping, Vec<u32>)]) -> Vec<Drawing> {
    let Some(section) = &profile.topology else { return Vec::new() };
    let mut drawn: Vec<(Vec<Node>, Vec<&str>)> = Vec::new();
    for (mapping, order) in orders {
        let nodes = ranked(&section.topology, order);
        match drawn.iter_mut().find(|(already, _)| *already == nodes) {
            Some((_, names)) => names.push(mapping.name()),
            None => drawn.push((nodes, vec![mapping.name()])),
        }
    }
    let drawing = |(nodes, names): (Vec<Node>, Vec<&str>)| Drawing {
        id: format!("{id}-{}", names[0]),
        title: format!("Ranks of a team, {} mapping{whose} (Fig. 4-4)", names.join(" and ")),
        caption: "Innermost boxes are CPUs by rank; those of the first half of the ranks are shaded.".into(),
        nodes,
    };
    drawn.into_iter().map(drawing).collect()
}

fn ranked(topology: &Topology, order: &[u32]) -> Vec<Node> {
    let ranks: HashMap<String, usize> =
        order.iter().enumerate().map(|(rank, cpu)| (cpu.to_string(), rank)).collect();
    let mut nodes = boxes::of(topology, order.len().max(1));
    nodes.iter_mut().for_each(|node| rank(node, &ranks));
    nodes
}

fn rank(node: &mut Node, ranks: &HashMap<String, usize>) {
    if node.kind != "pu" {
        return node.children.iter_mut().for_each(|child| rank(child, ranks));
    }
    if let Some(&rank) = ranks.get(&node.label) {
        node.title = format!("rank {rank} on {}", node.title);
        node.label = rank.to_string();
        node.kind = if rank < ranks.len().div_ceil(2) { "pu marked" } else { "pu" };
    }
}

#[cfg(test)]
mod tests {
    use coho_model::barrier::orders;

    use super::*;

    fn leaves(node: &Node) -> Vec<&Node> {
        if node.children.is_empty() { vec![node] } else { node.children.iter().flat_map(leaves).collect() }
    }

    #[test]
    fn every_rank_is_drawn_once_and_the_first_half_is_marked() {
        let profile = published::paper("nakamura-fbs").machine();
        let drawings = drawings("mapping", "", &profile, &orders(&profile));
        assert_eq!(drawings.len(), 2, "the mappings differ");
        for drawing in &drawings {
            let mut ranks: Vec<(u32, bool)> = drawing
                .nodes
                .iter()
                .flat_map(leaves)
                .map(|leaf| (leaf.label.parse().unwrap(), leaf.kind == "pu marked"))
                .collect();
            ranks.sort_unstable();
            assert_eq!(ranks, (0..16).map(|rank| (rank, rank < 8)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_mapping_table_has_both_programs_or_is_none() {
        let parts = |compute, sync| Parts { compute, sync, total: compute + sync };
        let mappings = [None, Some([Some(parts(80.0, 20.0)), Some(parts(110.5, 10.5))])];
        let table = format!("{:?}", mapping_table(&mappings).unwrap());
        for figure in ["84.1", "121.0", "3.9", "110.5", "80.0"] {
            assert!(table.contains(figure), "{figure}");
        }
        assert!(mapping_table(&[None, None]).is_none());
    }
}
