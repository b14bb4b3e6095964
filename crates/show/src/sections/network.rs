//! The nodes of a job, and what messages between them cost.

use coho_model::network::{Judgement, NodeLogGp};
use coho_profile::{Network, NodeMessage, SurveyedNode};

use crate::sections::lines::{figure, lines};
use crate::sections::prelude::*;

pub(super) const ENTRY: Entry =
    Entry { id: "network", title: "Nodes and messages between them", of: section };

/// More rows than this are folded.
const ROWS: usize = 20;

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let network = subject.profile.network.as_ref()?;
    let mut section = ENTRY.section(headline(network));
    section.summary(nodes(network));
    section.glance(chart(network));
    section.summary(messages(subject, network));
    if let Some(judgement) = &subject.answers.network {
        groups(&mut section, network, judgement);
        section.summary(loggp(network, judgement));
    }
    method::add(&mut section.parts, "network-method", &network.method);
    Some(section)
}

/// A node's name as people know it: two of one name by their profiles.
fn name(network: &Network, node: u32) -> String {
    let Some(SurveyedNode { host, file, .. }) = network.nodes.get(node as usize) else {
        return format!("node {node}");
    };
    let namesakes = network.nodes.iter().filter(|other| other.host == *host).count();
    let name = if namesakes > 1 { file.trim_end_matches(".json") } else { host };
    words::short(name, 40)
}

fn pair(network: &Network, a: u32, b: u32) -> String {
    format!("{}–{}", name(network, a), name(network, b))
}

fn headline(network: &Network) -> String {
    let nodes = words::count(network.nodes.len(), "node");
    let alone = network.messages.iter().filter(|row| row.at_once <= 1);
    let mut times: Vec<(u64, f64)> =
        alone.filter_map(|row| Some((row.bytes, row.one_way_ns.as_ref()?.median))).collect();
    times.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let of_size = |bytes: u64| -> Vec<f64> {
        times.iter().filter(|(known, _)| *known == bytes).map(|(_, ns)| *ns).collect()
    };
    let middle = |bytes: u64| scale::median(of_size(bytes).into_iter());
    let [Some(least), Some(most)] = [times.first(), times.last()].map(|row| row.map(|(bytes, _)| *bytes))
    else {
        return nodes;
    };
    let [Some(small), Some(large)] = [least, most].map(middle) else { return nodes };
    let large = if least < most {
        let rate = words::number(most as f64 / large);
        format!(", {} at {rate} GB/s", words::bytes(most))
    } else {
        String::new()
    };
    format!(
        "{nodes}; a message of {} takes {} us one way{large}",
        words::bytes(least),
        words::number(small / 1e3)
    )
}

fn nodes(network: &Network) -> TableOf<(u32, &SurveyedNode)> {
    let rows = (0..).zip(&network.nodes);
    Table::of("nodes", "Nodes of the job", rows)
        .text("node", |(_, node)| words::short(&node.host, 60))
        .figures("ranks", "", |(_, node)| Figure::count(node.ranks.len()))
        .text("profile", |(_, node)| words::short(&node.file, 80))
        .detail_after(ROWS)
}

fn messages<'a>(subject: &Subject, network: &'a Network) -> TableOf<&'a NodeMessage> {
    let has_several = network.messages.iter().any(|row| row.at_once > 1);
    let gb_per_s = |row: &NodeMessage| {
        let ns = row.one_way_ns.as_ref()?.median;
        scale::is_time(ns).then(|| Format::Plain.of(row.bytes as f64 / ns))
    };
    let mut table = Table::of("messages", "Messages between nodes", &network.messages)
        .text("nodes", |row| pair(network, row.a, row.b))
        .figures("size", "", |row| Figure::bytes(row.bytes));
    if has_several {
        table = table.figures("pairs at once", "", |row| Figure::count(row.at_once));
    }
    table
        .compared("one way", "us", "us", |row| subject.scaled(&row.one_way_ns, 1e-3))
        .figures("", "GB/s", gb_per_s)
        .keyed(|row| {
            let NodeMessage { a, b, bytes, at_once, .. } = row;
            let size = words::bytes(*bytes);
            let label =
                format!("{size} between {}, {}", pair(network, *a, *b), words::count(*at_once, "pair"));
            (format!("network.message.{a}.{b}.{bytes}.{at_once}"), label)
        })
        .detail_after(ROWS)
        .note("one way: half of the time of a message and its answer; GB/s: its bytes over that time.")
}

/// Groups of nodes that are near each other, and classes of pairs.
fn groups(section: &mut Section, network: &Network, judgement: &Judgement) {
    let Some(found) = &judgement.classification else { return };
    let size = words::bytes(judgement.bytes);
    if found.levels.is_empty() {
        section.summary(Text::labelled(
            "groups",
            format!("Messages of {size} show no groups of nodes that are near each other."),
        ));
    }
    for (level, number) in found.levels.iter().zip(1..) {
        let [inside, across] = [level.max_inside_ns, level.min_across_ns].map(|ns| words::number(ns / 1e3));
        let groups = words::count(level.groups.len(), "group");
        let text = format!("{groups} of nodes: {size} in up to {inside} us inside, from {across} us across");
        section.summary(Text::labelled(format!("level {number}"), text));
        let rows = level.groups.iter().zip(1u32..);
        section.summary(
            Table::of("node-groups", "", rows)
                .figures("group", "", |(_, at)| at)
                .figures("nodes", "", |(group, _)| Figure::count(group.len()))
                .text("members", |(group, _)| {
                    words::short(&words::joined(group.iter().map(|node| name(network, *node)), ", "), 200)
                })
                .detail_after(ROWS),
        );
    }
    section.detail(
        Table::of("node-classes", format!("Classes of pairs by messages of {size}"), &found.classes)
            .text("class", |class| class.name.as_str())
            .figures("one way", "us", |class| Figure::from(&class.ns).scaled(1e-3))
            .figures("pairs", "", |class| class.pairs),
    );
}

fn loggp<'a>(network: &Network, judgement: &'a Judgement) -> TableOf<&'a NodeLogGp> {
    let us = |ns: Option<f64>| ns.map(|ns| Format::Plain.of(ns / 1e3));
    Table::of("network-loggp", "The messages in the terms of LogGP", &judgement.loggp)
        .text("from, to", |row| pair(network, row.a, row.b))
        .figures("o sending", "us", |row| us(row.o_send_ns))
        .figures("o receiving", "us", |row| us(row.o_receive_ns))
        .figures("L", "us", |row| us(row.L_ns))
        .figures("g", "us", |row| us(row.g_ns))
        .figures("G", "ns/byte", |row| row.G_ns_per_byte.map(|ns| Format::Plain.of(ns)))
        .detail_after(ROWS)
        .note(
            "o, L and g are of a small message, G is of the largest two sizes. L is missing where sending and receiving take as \
             long as the message or longer: they overlap; g where it is less than its scatter, and G where the two sizes' \
             times are not clearly apart.",
        )
}

/// A line for each pair.
fn chart(network: &Network) -> Option<Chart> {
    let alone = network.messages.iter().filter(|row| row.at_once <= 1);
    let several = |row: &&NodeMessage| {
        let of_pair = network.messages.iter().filter(|other| (other.a, other.b) == (row.a, row.b));
        of_pair.filter(|other| other.at_once <= 1).count() > 1
    };
    let mut seen: Vec<(u32, u32)> = Vec::new();
    let points = alone.filter(several).filter_map(|row| {
        let place = seen.iter().position(|known| *known == (row.a, row.b)).unwrap_or_else(|| {
            seen.push((row.a, row.b));
            seen.len() - 1
        });
        let (name, size) = (pair(network, row.a, row.b), words::bytes(row.bytes));
        let hover = |us: &str| format!("{name}, {size}: {us} us");
        let point = Point::new(row.bytes as f64, figure(&row.one_way_ns, 1e-3)?, hover);
        Some((Series::new(name.clone(), Colour::nth(place), Stroke::Solid), point))
    });
    let axes = [Axis::bytes("size of a message"), Axis::log("one way, us")];
    lines("messages", "Messages between nodes by size", axes, points)
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, MessageEnds, Profile};

    use super::*;
    use crate::testing;

    fn node(host: &str, file: &str) -> SurveyedNode {
        SurveyedNode { host: host.into(), file: file.into(), ranks: vec![0, 1] }
    }

    fn shown(network: Network) -> Section {
        let profile = Profile { network: Some(network), ..Profile::default() };
        section(&Subject::new("job", profile).answered()).unwrap()
    }

    #[test]
    fn nodes_are_named_and_their_messages_have_figures() {
        let row = |bytes: u64, ns: f64| NodeMessage {
            b: 1,
            bytes,
            at_once: 1,
            one_way_ns: Some(Estimate::exact(ns)),
            a: 0,
        };
        let ends = MessageEnds {
            b: 1,
            bytes: 8,
            send_ns: Some(Estimate::exact(1500.0)),
            receive_ns: Some(Estimate::exact(1000.0)),
            ..MessageEnds::default()
        };
        let section = shown(Network {
            nodes: vec![node("same", "same.json"), node("same", "same-2.json")],
            messages: vec![row(8, 2000.0), row(1 << 20, 1e5)],
            ends: vec![ends],
            ..Network::default()
        });
        assert_eq!(section.headline, "2 nodes; a message of 8 B takes 2.00 us one way, 1 MiB at 10.5 GB/s");
        let text = testing::text(&section, Depth::Detail);
        assert!(text.contains("same–same-2") && text.contains("same-2.json"), "{text}");
        assert_eq!(testing::charts(&section).len(), 1);
        let figures = testing::figures(&section);
        assert!(figures.contains(&("network.message.0.1.8.1.us".into(), 2.0)), "{figures:?}");
        let loggp = testing::tables(&section).into_iter().find(|table| table.id == "network-loggp").unwrap();
        assert_eq!(loggp.filled_columns().count(), 3, "neither L, g nor G: the ends overlap");
    }

    #[test]
    fn a_job_without_messages_has_its_nodes_alone() {
        let section = shown(Network { nodes: vec![node("a\u{1b}[2J", "a.json")], ..Network::default() });
        assert_eq!((section.headline.as_str(), testing::tables(&section).len()), ("1 node", 1));
        assert!(!testing::text(&section, Depth::Detail).contains('\u{1b}'));
    }
}
