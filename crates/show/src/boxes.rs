//! The claimed topology as boxes within boxes: packages, dies or NUMA nodes, L3, modules, cores, PUs.

use coho_topology::{CacheKind, CpuSet, Level, Topology};

use crate::words;

/// A box of the drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Decides the box's colour: `package`, `die`, `numa`, `l3`, `module`, `l2`, `core`, `pu` or `pu marked`.
    pub kind: &'static str,
    /// Written in the box.
    pub label: String,
    /// Shown when pointed at.
    pub title: String,
    pub children: Vec<Node>,
}

/// The outermost boxes. Of more than `most` boxes, the finest level is left out: the level above is then the finest.
pub fn of(topology: &Topology, most: usize) -> Vec<Node> {
    let mut levels: Vec<Level> = Level::OUTWARD.into_iter().rev().chain([Level::Pu]).collect();
    let boxes = |level: &Level| match level {
        Level::Pu => topology.pus.len(),
        level => topology.partition(*level).len(),
    };
    levels.retain(|level| boxes(level) > 0);
    // Wider levels contain narrower ones, whether NUMA nodes contain dies or the other way round.
    let widest = |level: &Level| topology.partition(*level).iter().map(|set| set.len()).max().unwrap_or(0);
    levels.sort_by_key(|level| std::cmp::Reverse(widest(level)));
    // An L2 that belongs to one core adds nothing.
    if topology.partition(Level::L2) == topology.partition(Level::Core) {
        levels.retain(|level| *level != Level::L2);
    }
    while levels.len() > 1 && levels.last().map(boxes) > Some(most) {
        levels.pop();
    }
    inside(topology, &topology.cpus(), &levels)
}

fn inside(topology: &Topology, cpus: &CpuSet, levels: &[Level]) -> Vec<Node> {
    let Some((&level, finer)) = levels.split_first() else { return Vec::new() };
    if level == Level::Pu {
        return cpus.iter().map(|cpu| pu(topology, cpu)).collect();
    }
    let mut nodes = Vec::new();
    let mut rest = cpus.clone();
    for (number, set) in topology.partition(level).into_iter().enumerate() {
        let (here, others): (CpuSet, CpuSet) = rest.iter().partition(|cpu| set.contains(*cpu));
        if !here.is_empty() {
            let part = if set.len() == here.len() { "" } else { " (part)" };
            let name = format!("{}{part}", name(topology, level, number, set));
            nodes.push(object(kind(level), name, &here, inside(topology, &here, finer)));
        }
        rest = others;
    }
    // CPUs outside every object of this level are drawn, too.
    nodes.extend(inside(topology, &rest, finer));
    nodes
}

fn object(kind: &'static str, name: String, cpus: &CpuSet, mut children: Vec<Node>) -> Node {
    let title = format!("{name}: CPUs {cpus}");
    if children.len() == 1 && kind == "core" {
        let only = children.remove(0);
        return Node { title: format!("{}\n{name}", only.title), ..only };
    }
    if children.len() == 1 && children[0].kind != "core" && children[0].kind != "pu" {
        // One box for what coincides: `package 0 · NUMA node 0 · L3 32 MiB`.
        let only = children.remove(0);
        let (label, title) = (format!("{name} · {}", only.label), format!("{title}\n{}", only.title));
        return Node { kind, label, title, children: only.children };
    }
    let label = match (kind, children.is_empty()) {
        ("core", false) => String::new(),
        (_, true) => format!("{name}: {} CPUs", cpus.len()),
        _ => name,
    };
    Node { kind, label, title, children }
}

fn pu(topology: &Topology, cpu: u32) -> Node {
    let name = topology.pu(cpu).map_or("", |pu| pu.name.as_str());
    Node {
        kind: "pu",
        label: cpu.to_string(),
        title: words::short(format!("CPU {cpu} {name}").trim_end(), 80),
        children: Vec::new(),
    }
}

fn kind(level: Level) -> &'static str {
    match level {
        Level::Package => "package",
        Level::Numa => "numa",
        Level::Die => "die",
        Level::Module => "module",
        Level::Core => "core",
        Level::L2 => "l2",
        Level::L3 | Level::L4 => "l3",
        Level::L1 | Level::Pu | Level::Kind => "pu",
    }
}

fn name(topology: &Topology, level: Level, number: usize, set: &CpuSet) -> String {
    let cache = |wanted: u8| {
        let cache_of_set = topology.caches.iter().find(|cache| {
            cache.level == wanted && cache.kind != CacheKind::Instruction && cache.cpus == *set
        });
        match cache_of_set {
            Some(cache) if cache.size_bytes > 0 => format!("L{wanted} {}", words::bytes(cache.size_bytes)),
            _ => format!("L{wanted}"),
        }
    };
    match level {
        Level::L2 => cache(2),
        Level::L3 => cache(3),
        Level::Numa => format!("NUMA {}", topology.numa_nodes.get(number).map_or(0, |node| node.os)),
        level => format!("{level} {number}"),
    }
}

#[cfg(test)]
mod tests {
    use coho_topology::{Cache, Pu, Unit};

    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    fn two_modules() -> Topology {
        let unit = |cpus: &str| Unit { id: None, cpus: set(cpus) };
        let l2 = |cpus: &str| Cache {
            level: 2,
            kind: CacheKind::Unified,
            size_bytes: 2 << 20,
            line_bytes: None,
            ways: None,
            cpus: set(cpus),
        };
        let mut topology = Topology {
            pus: (0..4).map(|os| Pu { os, ..Pu::default() }).collect(),
            packages: vec![unit("0-3")],
            modules: vec![unit("0-1"), unit("2-3")],
            cores: (0..4).map(|cpu| unit(&cpu.to_string())).collect(),
            caches: vec![l2("0-1"), l2("2-3")],
            ..Topology::default()
        };
        topology.finish();
        topology
    }

    #[test]
    fn what_coincides_shares_a_box_and_every_cpu_is_drawn_once() {
        let nodes = of(&two_modules(), 1024);
        assert_eq!(nodes.len(), 1);
        let labels: Vec<_> = nodes[0].children.iter().map(|node| node.label.as_str()).collect();
        assert_eq!(labels, ["L2 2 MiB · module 0", "L2 2 MiB · module 1"]);
        let pus: Vec<_> =
            nodes[0].children.iter().flat_map(|node| &node.children).map(|pu| &pu.label).collect();
        assert_eq!(pus, ["0", "1", "2", "3"]);
        assert_eq!(nodes[0].children[0].children[1].title, "CPU 1 C1\ncore 1");
    }

    #[test]
    fn a_cpu_outside_of_every_object_is_drawn_too() {
        let mut topology = two_modules();
        topology.pus.push(Pu { os: 9, apic_id: None, name: "stray".into() });
        assert_eq!(of(&topology, 1024).last().unwrap().title, "CPU 9 stray");
    }

    #[test]
    fn too_many_cpus_are_drawn_by_the_level_above() {
        let unit = |cpus: CpuSet| Unit { id: None, cpus };
        let topology = Topology {
            pus: (0..4096).map(|os| Pu { os, ..Pu::default() }).collect(),
            packages: vec![unit(CpuSet::up_to(4096))],
            modules: (0..1024).map(|module| unit((module * 4..module * 4 + 4).collect())).collect(),
            ..Topology::default()
        };
        let nodes = of(&topology, 1024);
        assert_eq!(nodes[0].children.len(), 1024);
        assert_eq!(nodes[0].children[5].label, "module 5: 4 CPUs");
    }
}
