//! Which CPU each rank of a team runs on, drawn on the topology (Nakamura et al., Fig. 4-4).

use std::collections::HashMap;

use coho_sync::Mapping;
use coho_topology::Topology;
use maud::{Markup, html};

use super::boxes::{self, Node};
use super::sections;
use super::subject::Subject;

/// CPUs of the largest machine whose ranks are drawn one by one.
const MOST: usize = 128;

/// The topology once for each mapping, with ranks in place of CPU numbers.
pub fn drawings(subject: &Subject) -> Markup {
    let Some(section) = &subject.profile.topology else { return html! {} };
    let topology = &section.topology;
    if topology.pus.len() > MOST {
        return html! {};
    }
    let mut drawn: Vec<(Vec<Node>, Vec<&str>)> = Vec::new();
    for mapping in Mapping::ALL {
        let (nodes, name) = (ranked(topology, mapping), mapping.name());
        match drawn.iter_mut().find(|(already, _)| *already == nodes) {
            Some((_, names)) => names.push(name),
            None => drawn.push((nodes, vec![name])),
        }
    }
    html! {
        @for (nodes, names) in &drawn {
            (sections::drawing(nodes, &html! {
                strong { "Ranks of a team, " (names.join(" and ")) " mapping " } "(Nakamura et al., Fig. 4-4). "
                "Innermost boxes are PUs by rank; those of the first half of the ranks are marked."
            }))
        }
    }
}

/// The topology's boxes, with a PU's rank as its label.
fn ranked(topology: &Topology, mapping: Mapping) -> Vec<Node> {
    let order = mapping.order(topology, &topology.cpus());
    let ranks: HashMap<String, usize> =
        order.iter().enumerate().map(|(rank, cpu)| (cpu.to_string(), rank)).collect();
    let mut nodes = boxes::of(topology, MOST);
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
    use coho_profile::published::nakamura_fbs;

    use super::*;

    fn marked_in_each_module(mapping: Mapping) -> Vec<usize> {
        fn leaves(node: &Node) -> Vec<&Node> {
            if node.children.is_empty() {
                vec![node]
            } else {
                node.children.iter().flat_map(leaves).collect()
            }
        }
        fn modules(node: &Node) -> Vec<&Node> {
            let here = leaves(node);
            // The paper's modules are the widest boxes that hold eight CPUs.
            if here.len() <= 8 { vec![node] } else { node.children.iter().flat_map(modules).collect() }
        }
        let (_, profile) = nakamura_fbs::figures().publication().machines.remove(0);
        let nodes = ranked(&profile.topology.unwrap().topology, mapping);
        let all: Vec<_> = nodes.iter().flat_map(leaves).map(|leaf| leaf.label.as_str()).collect();
        assert_eq!(all.len(), 16);
        assert!((0..16).all(|rank: usize| all.contains(&rank.to_string().as_str())), "{all:?}");
        let marked = |module: &&Node| leaves(module).iter().filter(|leaf| leaf.kind == "pu marked").count();
        nodes.iter().flat_map(modules).collect::<Vec<_>>().iter().map(marked).collect()
    }

    #[test]
    fn eight_of_sixteen_fill_one_module_or_spread_over_both() {
        assert_eq!(marked_in_each_module(Mapping::Sequential), [8, 0]);
        assert_eq!(marked_in_each_module(Mapping::BinaryTree), [4, 4]);
    }
}
