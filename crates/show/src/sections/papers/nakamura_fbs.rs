//! Nakamura et al.: fork and join (Figs. 4-1 and 4-3), mappings (Fig. 4-4 and Table 4-1) and ratios, the reader's beside theirs.

use std::collections::HashMap;

use coho_model::barrier::{Mapping, orders};
use coho_profile::published::nakamura_fbs::{Mappings, Parts, figures};
use coho_profile::{Kernel, KernelPoint, Profile, Sync};
use coho_topology::Topology;

use crate::Subject;
use crate::boxes::{self, Node};
use crate::chart::{Axis, BarSeries, Chart, Colour, Drawing, Plot};
use crate::part::{Cell, Column, Part, PartList, Row, Table};
use crate::sections::barriers::{Timed, bar, fork_join_times, team};
use crate::sections::ratios;

/// The paper's short name for its machine.
const MACHINE: &str = "SR11000";
/// Groups of bars at most.
const MOST: usize = 24;

/// What this profile has to set beside the paper's figures.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let Some(sync) = subject.profile.sync.as_ref().filter(|_| !subject.published) else { return Vec::new() };
    let paper = figures().publication().machines.remove(0).1;
    let theirs = paper.sync.clone().unwrap_or_default();
    let mut parts = Vec::new();
    parts.summary(ratios_beside(sync, &theirs));
    if !sync.is_back_to_back()
        && let Some(chart) = fork_join(sync, &theirs)
    {
        parts.summary(chart);
    }
    parts.summary(mapping_table(sync));
    // Two CPUs are taken in the same order by every mapping.
    let cpus = subject.profile.topology.as_ref().map_or(0, |section| section.topology.pus.len());
    if cpus > 2 && (!sync.barriers.is_empty() || !sync.fork_join.is_empty()) {
        for drawing in drawings("mapping", "", &subject.profile, &subject.answers.orders) {
            parts.detail(drawing);
        }
        for drawing in drawings("mapping-published", ", published", &paper, &orders(&paper)) {
            parts.detail(drawing);
        }
    }
    parts
}

/// The paper's ratios and those that this profile's figures give; `None` without one of these.
fn ratios_beside(sync: &Sync, theirs: &Sync) -> Option<Table> {
    let mine = ratios::of(sync);
    let cell = |ratio: &ratios::Ratio| {
        let unit = if ratio.is_share { " %" } else { "" };
        Cell::Text(ratio.figure.text() + unit)
    };
    let rows = ratios::of(theirs).into_iter().filter_map(|ratio| {
        let here = mine.iter().find(|other| other.name == ratio.name)?;
        Some(Row::new([ratio.label.into(), cell(here), cell(&ratio)]))
    });
    let rows: Vec<Row> = rows.collect();
    let as_figures = |name: String| Column { is_figures: true, ..Column::text(name) };
    (!rows.is_empty()).then(|| {
        Table::new("nakamura-ratios", "Ratios (Figs. 4-1 to 4-7)")
            .columns([
                Column::text("ratio"),
                as_figures("here".into()),
                as_figures(format!("published, {MACHINE}")),
            ])
            .rows(rows)
            .note(
                "For the largest team measured; in the paper, 16 CPUs of a node. Mapping and the first waiting: for a \
                 team of half as many. Speed-up: against the lock. The paper's untuned program is SPEC's galgel, its \
                 tuned one an atmosphere model.",
            )
    })
}

/// Fork and join of both machines.
fn fork_join(sync: &Sync, theirs: &Sync) -> Option<Chart> {
    let (mine, theirs) = (fork_join_times(sync), fork_join_times(theirs));
    // Large machines have many teams: the largest of each algorithm and the paper's sizes tell enough.
    let largest = mine.iter().map(|row| row.threads).max()?;
    let is_told = |row: &&Timed<'_>| [largest, 8, 16].contains(&row.threads) && row.mapping != "binary-tree";
    let mine: Vec<&Timed<'_>> = mine.iter().filter(is_told).take(MOST).collect();
    let theirs: Vec<&Timed<'_>> = theirs.iter().collect();
    let name = |row: &&Timed<'_>| format!("{}, {}", row.name, team(row.threads, ""));
    let mut categories: Vec<String> = Vec::new();
    for category in mine.iter().chain(&theirs).map(name) {
        if !categories.contains(&category) {
            categories.push(category);
        }
    }
    let series = |what: &str, colour, rows: &[&Timed<'_>], published| {
        let row = |category: &String| rows.iter().find(|row| name(row) == *category);
        let bars = categories.iter().map(|category| row(category).map(|row| bar(row, published))).collect();
        BarSeries { name: what.to_owned(), colour, published, bars }
    };
    let series = vec![
        series("here", Colour::nth(0), &mine, false),
        series(&format!("published, {MACHINE}"), Colour::GREY, &theirs, true),
    ];
    let (x, y) = (Axis::log("time of fork and join, ns"), Axis::linear(""));
    let plot = Plot::Bars { categories, series };
    let title = "Fork and join, here and published (Figs. 4-1 and 4-3)";
    Some(Chart::new("nakamura-fork-join", title, x, y, plot).caption(
        "The paper's node, of 16 CPUs, has a barrier at each end of a region, like all rows here but team.",
    ))
}

/// Table 4-1: what the mapping does to computing and waiting under FBS; `None` if neither program was run.
fn mapping_table(sync: &Sync) -> Option<Table> {
    let published = figures().applications.mapping_table;
    let programs =
        [("galerkin", "galerkin / galgel", published.galgel), ("weather", "weather", published.weather)];
    let measured = programs.map(|(name, ..)| sync.kernels.get(name).and_then(measured_mappings));
    if measured.iter().all(Option::is_none) {
        return None;
    }
    let cells = |parts: Option<Parts>| {
        let cell = |value: f64| Cell::Text(format!("{value:.1}"));
        parts.map_or([Cell::Nothing, Cell::Nothing, Cell::Nothing], |parts| {
            [parts.compute, parts.sync, parts.total].map(cell)
        })
    };
    let mut rows = Vec::new();
    for ((_, name, Mappings { binary_tree, sequential }), here) in programs.into_iter().zip(measured) {
        let (tree, line) = here.unwrap_or_default();
        for (mapping, mine, theirs) in [("binary tree", tree, binary_tree), ("sequential", line, sequential)]
        {
            let head = [name.into(), mapping.into()];
            rows.push(Row::new(head.into_iter().chain(cells(mine)).chain(cells(Some(theirs)))));
        }
    }
    let as_figures = |name: &str| Column { is_figures: true, ..Column::text(name) };
    let columns =
        ["computing", "waiting", "total", "published: computing", "waiting", "total"].map(as_figures);
    let table = Table::new("nakamura-mappings", "Mapping under FBS, per cent (Table 4-1)")
        .columns([Column::text("program"), Column::text("mapping")])
        .columns(columns)
        .rows(rows)
        .note(format!(
            "Per cent of the binary tree's total, or of the sequential mapping's if both place the team alike. \
             Published: {MACHINE}, 8 of 16 CPUs. Here: the largest team that the mappings place differently, else the \
             largest, and the largest problem."
        ));
    Some(table)
}

/// The binary tree's parts and those of sequential mapping.
fn measured_mappings(kernel: &Kernel) -> Option<(Option<Parts>, Option<Parts>)> {
    let largest = kernel.points.iter().filter_map(|point| point.size).max()?;
    let parts_of = |mapping: &str, threads: u32| {
        let is = |point: &&KernelPoint| {
            (point.barrier.as_str(), point.mapping.as_str(), point.size, point.threads)
                == ("fbs", mapping, Some(largest), threads)
        };
        let point = kernel.points.iter().find(is)?;
        let total = point.seconds.as_ref()?.median;
        let sync = point.sync_seconds.as_ref().map_or(0.0, |waiting| waiting.median).min(total);
        Some(Parts { compute: total - sync, sync, total })
    };
    let mut sizes: Vec<u32> =
        kernel.points.iter().map(|point| point.threads).filter(|&threads| threads > 1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let differing =
        sizes.iter().find(|&&n| parts_of("binary-tree", n).is_some() && parts_of("sequential", n).is_some());
    let threads = *differing.or(sizes.first())?;
    let (tree, sequential) = (parts_of("binary-tree", threads), parts_of("sequential", threads));
    let whole = tree.or(sequential)?.total;
    let percent = |parts: Parts| Parts {
        compute: 100.0 * parts.compute / whole,
        sync: 100.0 * parts.sync / whole,
        total: 100.0 * parts.total / whole,
    };
    Some((tree.map(percent), sequential.map(percent)))
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
    use coho_profile::{Estimate, ForkJoinTime};

    use super::*;
    use crate::part::Body;

    fn paper() -> Profile {
        figures().publication().machines.remove(0).1
    }

    fn leaves(node: &Node) -> Vec<&Node> {
        if node.children.is_empty() { vec![node] } else { node.children.iter().flat_map(leaves).collect() }
    }

    #[test]
    fn every_rank_is_drawn_once_and_the_first_half_is_marked() {
        let profile = paper();
        let drawings = drawings("mapping", "", &profile, &orders(&profile));
        assert_eq!(drawings.len(), 2, "the mappings differ");
        for drawing in &drawings {
            let all: Vec<&Node> = drawing.nodes.iter().flat_map(leaves).collect();
            assert_eq!(all.len(), 16);
            for rank in 0..16 {
                let here: Vec<_> = all.iter().filter(|leaf| leaf.label == rank.to_string()).collect();
                assert_eq!((here.len(), here[0].kind == "pu marked"), (1, rank < 8), "{rank}");
            }
        }
    }

    fn point(mapping: &str, threads: u32, seconds: f64, sync: f64) -> KernelPoint {
        KernelPoint {
            size: Some(64),
            threads,
            barrier: "fbs".into(),
            mapping: mapping.into(),
            seconds: Some(Estimate::exact(seconds)),
            sync_seconds: Some(Estimate::exact(sync)),
            ..KernelPoint::default()
        }
    }

    #[test]
    fn the_mapping_table_is_of_the_largest_team_that_mappings_differ_for() {
        let points = vec![
            point("sequential", 16, 9.0, 1.0),
            point("sequential", 8, 6.0, 0.5),
            point("binary-tree", 8, 5.0, 1.0),
        ];
        let kernel = Kernel { points, ..Kernel::default() };
        let (tree, sequential) = measured_mappings(&kernel).unwrap();
        assert_eq!(tree, Some(Parts { compute: 80.0, sync: 20.0, total: 100.0 }));
        assert_eq!(sequential, Some(Parts { compute: 110.0, sync: 10.0, total: 120.0 }));
        let alone = Kernel { points: vec![point("sequential", 2, 4.0, 1.0)], ..Kernel::default() };
        let (tree, sequential) = measured_mappings(&alone).unwrap();
        assert_eq!((tree, sequential.unwrap().compute), (None, 75.0));
        let sync = Sync { kernels: [("weather".to_owned(), kernel)].into(), ..Sync::default() };
        let table = format!("{:?}", mapping_table(&sync).unwrap());
        for figure in ["84.1", "121.0", "3.9", "110.5", "80.0"] {
            assert!(table.contains(figure), "{figure}");
        }
        assert!(mapping_table(&Sync::default()).is_none());
    }

    #[test]
    fn only_regions_timed_as_the_papers_stand_beside_them() {
        let of = |by: &str| {
            let region = |algorithm: &str, ns| ForkJoinTime {
                algorithm: algorithm.into(),
                by: by.into(),
                threads: 2,
                total_ns: Some(Estimate::exact(ns)),
                ..ForkJoinTime::default()
            };
            let fork_join = vec![region("fbs", 100.0), region("lock", 300.0)];
            let sync = Some(Sync { fork_join, ..Sync::default() });
            parts(&Subject::new("mine", Profile { sync, ..Profile::default() }))
        };
        let charts = |parts: &[Part]| parts.iter().filter(|part| matches!(part.body, Body::Chart(_))).count();
        assert_eq!((charts(&of("barrier")), charts(&of(""))), (1, 0), "back to back is another quantity");
    }

    #[test]
    fn what_has_nothing_to_compare_stays_away() {
        assert!(parts(&Subject::new("mine", Profile::default())).is_empty());
        assert!(parts(&Subject::load("published:nakamura-fbs").unwrap().remove(0)).is_empty());
    }
}
