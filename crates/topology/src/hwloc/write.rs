//! Writing hwloc XML of version 2.

use std::collections::HashMap;
use std::fmt::Write;

use quick_xml::escape::escape;

use super::{AMD_COMPUTE_UNIT, INTEL_MODULE, MODULE};
use crate::nest::{Nest, nest};
use crate::{Cache, CacheKind, CpuSet, NumaNode, Source, Topology, Unit, mask};

/// hwloc's kind of a Group that only holds a memory node.
const MEMORY_GROUP: u32 = 1001;

/// Writes a topology as hwloc XML of version 2, which `lstopo -i FILE` loads.
///
/// An object that crosses a larger one, which no hwloc tree can hold, is left out.
///
/// ```
/// use coho_topology::hwloc;
/// # let text = r#"<topology version="2.0"><object type="Machine" cpuset="0x1">
/// # <object type="PU" os_index="0" cpuset="0x1"/></object></topology>"#;
/// let topology = hwloc::parse(text)?;
/// assert_eq!(hwloc::parse(&hwloc::write(&topology))?.counts(), topology.counts());
/// # Ok::<(), coho_topology::Error>(())
/// ```
pub fn write(topology: &Topology) -> String {
    let (tree, crossing) = nest(Object::Machine, topology.cpus(), parts(topology));
    let mut writer = Writer::new(topology);
    // A node that fits nowhere in the tree is attached to the machine.
    for (object, cpus) in crossing {
        if let (Object::NodeGroup, Some(nodes)) = (object, writer.nodes.remove(&cpus)) {
            writer.nodes.entry(CpuSet::new()).or_default().extend(nodes);
        }
    }
    writer.out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n";
    writer.out += "<topology version=\"2.0\">\n";
    writer.object(&tree, 1, 0);
    writer.distances();
    writer.kinds();
    writer.out += "</topology>\n";
    writer.out
}

/// What an element of the tree represents.
#[derive(Clone, Copy)]
enum Object<'a> {
    Machine,
    Package(&'a Unit),
    Die(&'a Unit),
    /// A Group around memory nodes whose CPUs are those of no other object.
    NodeGroup,
    Module(&'a Unit),
    Cache(&'a Cache),
    Core(&'a Unit),
    Pu(u32),
}

/// The objects of each level, of equal sets the outer first.
fn parts(topology: &Topology) -> Vec<(Object<'_>, CpuSet)> {
    fn units<'a>(
        object: fn(&'a Unit) -> Object<'a>,
        of: &'a [Unit],
    ) -> impl Iterator<Item = (Object<'a>, CpuSet)> {
        of.iter().map(move |unit| (object(unit), unit.cpus.clone()))
    }
    let caches = |level, instruction: bool| {
        let wanted = move |cache: &&Cache| {
            cache.level == level && (cache.kind == CacheKind::Instruction) == instruction
        };
        topology.caches.iter().filter(wanted).map(|cache| (Object::Cache(cache), cache.cpus.clone()))
    };
    let mut parts: Vec<_> = units(Object::Package, &topology.packages).collect();
    parts.extend(units(Object::Die, &topology.dies));
    parts.extend(caches(4, false).chain(caches(3, false)));
    parts.extend(units(Object::Module, &topology.modules));
    parts.extend(caches(2, false).chain(caches(1, false)).chain(caches(1, true)));
    parts.extend(units(Object::Core, &topology.cores));
    parts.extend(topology.pus.iter().map(|pu| (Object::Pu(pu.os), CpuSet::from_iter([pu.os]))));

    let sets: std::collections::HashSet<&CpuSet> = parts.iter().map(|(_, cpus)| cpus).collect();
    let alone = |node: &&NumaNode| !node.cpus.is_empty() && !sets.contains(&node.cpus);
    let groups: Vec<_> =
        topology.numa_nodes.iter().filter(alone).map(|node| (Object::NodeGroup, node.cpus.clone())).collect();
    parts.extend(groups);
    parts
}

struct Writer<'a> {
    topology: &'a Topology,
    out: String,
    gp_index: usize,
    /// NUMA nodes that wait for the object of their CPUs.
    nodes: HashMap<CpuSet, Vec<&'a NumaNode>>,
    node_of: HashMap<u32, u32>,
}

impl<'a> Writer<'a> {
    fn new(topology: &'a Topology) -> Self {
        let mut nodes: HashMap<CpuSet, Vec<&NumaNode>> = HashMap::new();
        let mut node_of = HashMap::new();
        for node in &topology.numa_nodes {
            nodes.entry(node.cpus.clone()).or_default().push(node);
            node_of.extend(node.cpus.iter().map(|cpu| (cpu, node.os)));
        }
        Self { topology, out: String::new(), gp_index: 0, nodes, node_of }
    }

    /// Writes an object and its contents; `index` numbers objects that have no number of their own.
    fn object(&mut self, nest: &Nest<Object<'_>>, depth: usize, index: u32) {
        let machine = matches!(nest.item, Object::Machine);
        let (kind, os_index, more) = describe(nest.item, index);
        let nodeset = self.nodeset(&nest.cpus, machine);
        let complete = if machine { nest.cpus.union(&self.topology.offline) } else { nest.cpus.clone() };
        self.open(depth, kind, os_index, &nest.cpus, &complete, &nodeset);
        let _ = writeln!(self.out, "{more}>");
        if let Object::Package(_) = nest.item {
            self.identity(depth + 1);
        }
        if machine {
            self.measured(depth + 1);
        }
        // The machine's own nodes are those without CPUs; the others are in the packages.
        let own = if machine { CpuSet::new() } else { nest.cpus.clone() };
        for node in self.nodes.remove(&own).unwrap_or_default() {
            let nodeset = CpuSet::from_iter([node.os]);
            self.open(depth + 1, "NUMANode", Some(node.os), &node.cpus, &node.cpus, &nodeset);
            if let Some(bytes) = node.memory_bytes {
                let _ = write!(self.out, " local_memory=\"{bytes}\"");
            }
            self.out += "/>\n";
        }
        for (index, child) in (0..).zip(&nest.children) {
            self.object(child, depth + 1, index);
        }
        let _ = writeln!(self.out, "{:1$}</object>", "", 2 * depth);
    }

    /// Everything up to the attributes that only this kind of object has.
    fn open(
        &mut self,
        depth: usize,
        kind: &str,
        os_index: Option<u32>,
        cpus: &CpuSet,
        complete: &CpuSet,
        nodeset: &CpuSet,
    ) {
        self.gp_index += 1;
        let (cpus, complete) = (mask::print(cpus), mask::print(complete));
        let (nodes, gp_index) = (mask::print(nodeset), self.gp_index);
        let _ = write!(self.out, "{:1$}<object type=\"{kind}\"", "", 2 * depth);
        if let Some(os_index) = os_index {
            let _ = write!(self.out, " os_index=\"{os_index}\"");
        }
        let _ = write!(self.out, " cpuset=\"{cpus}\" complete_cpuset=\"{complete}\"");
        if kind == "Machine" {
            let _ = write!(self.out, " allowed_cpuset=\"{cpus}\"");
        }
        let _ = write!(self.out, " nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\"");
        if kind == "Machine" {
            let _ = write!(self.out, " allowed_nodeset=\"{nodes}\"");
        }
        let _ = write!(self.out, " gp_index=\"{gp_index}\"");
    }

    fn nodeset(&self, cpus: &CpuSet, machine: bool) -> CpuSet {
        match machine {
            true => self.topology.numa_nodes.iter().map(|node| node.os).collect(),
            false => cpus.iter().filter_map(|cpu| self.node_of.get(&cpu).copied()).collect(),
        }
    }

    /// Which parts of the tree were measured rather than claimed, and the notes.
    fn measured(&mut self, depth: usize) {
        let facts = self.topology.facts.iter().filter(|fact| fact.source == Source::Measured);
        let facts = facts.map(|fact| ("CohoMeasured", format!("{}: {}", fact.level, fact.by)));
        let notes = self.topology.notes.iter().map(|note| ("CohoNote", note.clone()));
        for (name, value) in facts.chain(notes) {
            let value = escape(value);
            let _ = writeln!(self.out, "{:1$}<info name=\"{name}\" value=\"{value}\"/>", "", 2 * depth);
        }
    }

    fn identity(&mut self, depth: usize) {
        let cpu = &self.topology.cpu;
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        for (name, value) in [
            ("CPUVendor", cpu.vendor.clone()),
            ("CPUFamilyNumber", number(cpu.family)),
            ("CPUModelNumber", number(cpu.model)),
            ("CPUModel", cpu.brand.clone()),
            ("CPUStepping", number(cpu.stepping)),
        ] {
            if let Some(value) = value {
                let value = escape(value);
                let _ = writeln!(self.out, "{:1$}<info name=\"{name}\" value=\"{value}\"/>", "", 2 * depth);
            }
        }
    }

    fn distances(&mut self) {
        let nodes = &self.topology.numa_nodes;
        let count = nodes.len();
        if count < 2 || nodes.iter().any(|node| node.distances.len() != count) {
            return;
        }
        let join = |numbers: Vec<u32>| numbers.iter().map(|n| format!("{n} ")).collect::<String>();
        let indexes = join(nodes.iter().map(|node| node.os).collect());
        let _ = writeln!(
            self.out,
            "  <distances2 type=\"NUMANode\" nbobjs=\"{count}\" kind=\"5\" name=\"NUMALatency\" \
             indexing=\"os\">\n    <indexes length=\"{}\">{indexes}</indexes>",
            indexes.len()
        );
        for node in nodes {
            let row = join(node.distances.clone());
            let _ = writeln!(self.out, "    <u64values length=\"{}\">{row}</u64values>", row.len());
        }
        self.out += "  </distances2>\n";
    }

    fn kinds(&mut self) {
        for kind in &self.topology.kinds {
            let (cpus, name) = (mask::print(&kind.cpus), escape(kind.name.as_str()));
            let _ = writeln!(
                self.out,
                "  <cpukind cpuset=\"{cpus}\">\n    <info name=\"CoreType\" value=\"{name}\"/>\n  </cpukind>"
            );
        }
    }
}

/// The type of an object, its number and its own attributes.
fn describe(object: Object<'_>, index: u32) -> (&'static str, Option<u32>, String) {
    let none = String::new;
    match object {
        Object::Machine => ("Machine", Some(0), none()),
        Object::Package(unit) => ("Package", Some(unit.id.unwrap_or(index)), none()),
        Object::Die(unit) => ("Die", Some(unit.id.unwrap_or(index)), none()),
        Object::Core(unit) => ("Core", Some(unit.id.unwrap_or(index)), none()),
        Object::Pu(os) => ("PU", Some(os), none()),
        Object::NodeGroup => ("Group", None, format!(" kind=\"{MEMORY_GROUP}\" subkind=\"0\"")),
        Object::Module(unit) => {
            // Must not be merged with an L2 of the same CPUs, which every module of family 15h has.
            let kind = if unit.cpus.len() <= 2 { AMD_COMPUTE_UNIT } else { INTEL_MODULE };
            let more = format!(" subtype=\"{MODULE}\" kind=\"{kind}\" subkind=\"0\" dont_merge=\"1\"");
            ("Group", unit.id, more)
        }
        Object::Cache(cache) => {
            let Cache { level, size_bytes, .. } = cache;
            let (name, kind) = match (level, cache.kind) {
                (1, CacheKind::Instruction) => ("L1iCache", 2),
                (2, CacheKind::Instruction) => ("L2iCache", 2),
                (3, CacheKind::Instruction) => ("L3iCache", 2),
                (1, kind) => ("L1Cache", data_kind(kind)),
                (2, kind) => ("L2Cache", data_kind(kind)),
                (3, kind) => ("L3Cache", data_kind(kind)),
                (_, kind) => ("L4Cache", data_kind(kind)),
            };
            let line = cache.line_bytes.unwrap_or(0);
            let ways = cache.ways.map_or(0, |ways| if ways == 0 { -1 } else { i64::from(ways) });
            let more = format!(
                " cache_size=\"{size_bytes}\" depth=\"{level}\" cache_linesize=\"{line}\" \
                 cache_associativity=\"{ways}\" cache_type=\"{kind}\""
            );
            (name, None, more)
        }
    }
}

/// hwloc's number for the kind of a cache that holds data.
fn data_kind(kind: CacheKind) -> u8 {
    match kind {
        CacheKind::Unified => 0,
        CacheKind::Data | CacheKind::Instruction => 1,
    }
}
