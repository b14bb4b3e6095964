//! Reading hwloc XML.

use super::{MODULE, MODULE_KINDS};
use crate::bounds::{self, Budget};
use crate::numa::assign_homes;
use crate::xml::{Element, Node, Reader};
use crate::{
    Cache, CacheKind, CoreKind, CpuIdentity, CpuSet, Error, Fact, Level, NumaNode, Pu, Source, Topology,
    Unit, mask,
};

/// More objects (I/O devices among them) than any machine has.
const MAX_OBJECTS: usize = 1 << 19;

/// Reads hwloc XML of version 1 or 2, as `lstopo FILE.xml` writes it. I/O devices and other objects that have no place
/// in a [`Topology`] are skipped; CPUs in `complete_cpuset` that have no PU count as offline.
///
/// # Errors
/// If the text is not such XML, contradicts itself, or describes more than any machine has; the error names the line.
///
/// ```
/// let text = r#"<topology version="2.0"><object type="Machine" cpuset="0x3">
///     <object type="Core" cpuset="0x3"><object type="PU" os_index="0" cpuset="0x1"/>
///     <object type="PU" os_index="1" cpuset="0x2"/></object></object></topology>"#;
/// let topology = coho_topology::hwloc::parse(text)?;
/// assert_eq!((topology.counts().core, topology.counts().pu), (1, 2));
/// # Ok::<(), coho_topology::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Topology, Error> {
    let mut reader = Reader::new(text, 1);
    let mut parser = Parser::default();
    let mut seen_root = false;
    loop {
        match reader.next()? {
            Node::Open(element) if !seen_root => {
                if element.name != "topology" {
                    return Err(element.error(format!("<{}> is not hwloc's <topology>", element.name)));
                }
                seen_root = true;
            }
            Node::Open(element) => parser.open(&mut reader, element)?,
            Node::Close => parser.close(),
            Node::Text(_) => {}
            Node::End => break,
        }
    }
    if !seen_root {
        return Err(reader.error("holds no <topology>"));
    }
    parser.finish().map_err(|error| error.or_line(reader.line()))
}

#[derive(Default)]
struct Parser {
    topology: Topology,
    budget: Budget,
    objects: usize,
    complete: CpuSet,
    /// Types of the elements that are open, for `<info>`.
    open: Vec<String>,
    /// Matrices of distances, matched with the nodes at the end.
    distances: Vec<Distances>,
}

/// A matrix of distances between memory nodes.
struct Distances {
    /// Nodes by the operating system's number; in version 1 by their order.
    nodes: Option<Vec<u32>>,
    values: Vec<u32>,
    line: usize,
}

impl Parser {
    fn open(&mut self, reader: &mut Reader<'_>, element: Element) -> Result<(), Error> {
        match element.name.as_str() {
            "object" => {
                self.objects += 1;
                if self.objects > MAX_OBJECTS {
                    return Err(element.error(format!("more than {MAX_OBJECTS} objects")));
                }
                let kind = element.require("type")?.to_owned();
                self.object(&kind, &element).map_err(|error| error.or_line(element.line))?;
                self.open.push(kind);
            }
            "info" => {
                self.info(&element)?;
                self.open.push(String::new());
            }
            "distances2" => self.distances_2(reader, &element)?,
            "distances" => self.distances_1(reader, &element)?,
            "cpukind" => self.kind(reader, &element)?,
            _ => self.open.push(String::new()),
        }
        Ok(())
    }

    fn close(&mut self) {
        self.open.pop();
    }

    fn object(&mut self, kind: &str, element: &Element) -> Result<(), Error> {
        let topology = &mut self.topology;
        match kind {
            "Machine" | "System" => {
                if let Some(complete) = element.get("complete_cpuset") {
                    self.complete = mask::parse(complete)?;
                }
            }
            "PU" => {
                let os: u32 =
                    element.number("os_index")?.ok_or_else(|| element.error("a PU has no os_index"))?;
                CpuSet::new().try_insert(os)?;
                topology.pus.push(Pu { os, ..Pu::default() });
            }
            "Package" | "Socket" => topology.packages.push(unit(element, &mut self.budget)?),
            "Die" => topology.dies.push(unit(element, &mut self.budget)?),
            "Core" => topology.cores.push(unit(element, &mut self.budget)?),
            "Group" => {
                let module = element.get("subtype") == Some(MODULE)
                    || element.number("kind")?.is_some_and(|kind: u32| MODULE_KINDS.contains(&kind));
                if module {
                    topology.modules.push(unit(element, &mut self.budget)?);
                }
            }
            "NUMANode" | "Node" => {
                let cpus = cpuset(element, &mut self.budget)?.unwrap_or_default();
                let os = element.number("os_index")?.unwrap_or(topology.numa_nodes.len() as u32);
                let memory_bytes = element.number("local_memory")?;
                let unseen = set_of(element, "complete_cpuset", &mut self.budget)?.unwrap_or_default();
                topology.numa_nodes.push(NumaNode { os, cpus, unseen, memory_bytes, distances: Vec::new() });
            }
            _ if kind == "Cache" || is_cache(kind) => {
                topology.caches.push(cache(kind, element, &mut self.budget)?)
            }
            _ => {}
        }
        Ok(())
    }

    /// The processor's names are attached to the packages, in old files to the machine.
    fn info(&mut self, element: &Element) -> Result<(), Error> {
        let at = self.open.last().map_or("", String::as_str);
        let (Some(name), Some(value)) = (element.get("name"), element.get("value")) else { return Ok(()) };
        if !matches!(at, "Package" | "Socket" | "Machine") || value.is_empty() {
            return Ok(());
        }
        let cpu: &mut CpuIdentity = &mut self.topology.cpu;
        let text = || Some(value.trim().to_owned());
        match name {
            "CPUVendor" => cpu.vendor = text(),
            "CPUModel" => cpu.brand = text(),
            "CPUFamilyNumber" => cpu.family = value.parse().ok(),
            "CPUModelNumber" => cpu.model = value.parse().ok(),
            "CPUStepping" => cpu.stepping = value.parse().ok(),
            _ => {}
        }
        Ok(())
    }

    /// Version 2: `<distances2><indexes>…</indexes><u64values>…</u64values></distances2>`.
    fn distances_2(&mut self, reader: &mut Reader<'_>, element: &Element) -> Result<(), Error> {
        let wanted = matches!(element.get("type"), Some("NUMANode"))
            && element.get("indexing").is_none_or(|indexing| indexing == "os")
            && element.get("name").is_none_or(|name| name == "NUMALatency");
        if !wanted {
            return reader.skip_to_close();
        }
        let (mut nodes, mut values) = (Vec::new(), Vec::new());
        loop {
            match reader.next()? {
                Node::Open(part) if part.name == "indexes" => numbers(reader, &mut nodes)?,
                Node::Open(part) if part.name == "u64values" => numbers(reader, &mut values)?,
                Node::Open(_) => reader.skip_to_close()?,
                Node::Text(_) => {}
                Node::Close | Node::End => break,
            }
        }
        self.distances.push(Distances { nodes: Some(nodes), values, line: element.line });
        Ok(())
    }

    /// Version 1: `<distances latency_base="10"><latency value="1.0"/>…</distances>`.
    fn distances_1(&mut self, reader: &mut Reader<'_>, element: &Element) -> Result<(), Error> {
        let base: f64 = element.number("latency_base")?.unwrap_or(1.0);
        let mut values = Vec::new();
        loop {
            match reader.next()? {
                Node::Open(latency) if latency.name == "latency" => {
                    let value: f64 = latency.number("value")?.unwrap_or_default();
                    push_bounded(&mut values, (value * base).round() as u32)
                        .map_err(|e| e.or_line(latency.line))?;
                    reader.skip_to_close()?;
                }
                Node::Open(_) => reader.skip_to_close()?,
                Node::Text(_) => {}
                Node::Close | Node::End => break,
            }
        }
        self.distances.push(Distances { nodes: None, values, line: element.line });
        Ok(())
    }

    fn kind(&mut self, reader: &mut Reader<'_>, element: &Element) -> Result<(), Error> {
        let cpus = cpuset(element, &mut self.budget)?.unwrap_or_default();
        let mut name = format!("kind {}", self.topology.kinds.len());
        loop {
            match reader.next()? {
                Node::Open(info) => {
                    if let ("info", Some("CoreType"), Some(value)) =
                        (info.name.as_str(), info.get("name"), info.get("value"))
                    {
                        name = value.to_owned();
                    }
                    reader.skip_to_close()?;
                }
                Node::Text(_) => {}
                Node::Close | Node::End => break,
            }
        }
        self.topology.kinds.push(CoreKind { name, cpus });
        Ok(())
    }

    fn finish(mut self) -> Result<Topology, Error> {
        let online = self.topology.cpus();
        if online.is_empty() {
            return Err(Error::new("describes no PU"));
        }
        let topology = &mut self.topology;
        topology.offline = self.complete.difference(&online);
        for units in [&mut topology.packages, &mut topology.dies, &mut topology.modules, &mut topology.cores]
        {
            units.iter_mut().for_each(|unit| unit.cpus = unit.cpus.intersection(&online));
            units.retain(|unit| !unit.cpus.is_empty());
        }
        topology.caches.iter_mut().for_each(|cache| cache.cpus = cache.cpus.intersection(&online));
        topology.caches.retain(|cache| !cache.cpus.is_empty());
        topology.kinds.iter_mut().for_each(|kind| kind.cpus = kind.cpus.intersection(&online));
        topology.kinds.retain(|kind| !kind.cpus.is_empty());
        // hwloc has one kind if all cores are alike.
        if topology.kinds.len() < 2 {
            topology.kinds.clear();
        }
        for node in &mut topology.numa_nodes {
            node.unseen = node.unseen.difference(&online);
            node.cpus = node.cpus.intersection(&online);
        }
        let homes = assign_homes(&mut topology.numa_nodes, "cpuset");
        topology.notes.extend(homes.note);
        topology.disagreements.extend(homes.disagreement);
        topology.numa_nodes.sort_by_key(|node| node.os);
        self.assign_distances()?;
        self.state_facts(&online);
        self.topology.check_levels();
        self.topology.finish();
        bounds::check(&self.topology)?;
        Ok(self.topology)
    }

    fn assign_distances(&mut self) -> Result<(), Error> {
        let nodes = &mut self.topology.numa_nodes;
        for Distances { nodes: indexes, values, line } in std::mem::take(&mut self.distances) {
            let own: Vec<u32> = nodes.iter().map(|node| node.os).collect();
            let order = match indexes {
                Some(indexes) => indexes,
                // Version 1 has a matrix at any depth; one of another size belongs to other objects.
                None if values.len() != own.len() * own.len() => continue,
                None => own.clone(),
            };
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if sorted != own || values.len() != order.len() * order.len() {
                return Err(Error::at_line(line, "the matrix of distances does not fit the NUMA nodes"));
            }
            let at = |os: u32| order.iter().position(|&node| node == os).unwrap_or_default();
            for node in nodes.iter_mut() {
                let row = at(node.os) * order.len();
                node.distances = own.iter().map(|&other| values[row + at(other)]).collect();
            }
        }
        Ok(())
    }

    fn state_facts(&mut self, online: &CpuSet) {
        let topology = &mut self.topology;
        let mut reported = vec![Level::Pu];
        let levels = [
            Level::Package,
            Level::Die,
            Level::Numa,
            Level::L4,
            Level::L3,
            Level::L2,
            Level::L1,
            Level::Module,
            Level::Core,
            Level::Kind,
        ];
        reported.extend(levels.into_iter().filter(|&level| !topology.partition(level).is_empty()));
        let fact = |level| Fact { level, source: Source::HwlocXml, by: format!("{level} objects") };
        topology.facts = reported.into_iter().map(fact).collect();
        let mut assume = |level, by: &str| {
            topology.facts.push(Fact { level, source: Source::Assumed, by: by.to_owned() });
        };
        if topology.packages.is_empty() {
            topology.packages.push(Unit { id: None, cpus: online.clone() });
            assume(Level::Package, "one package: the file has no Package");
        }
        if topology.numa_nodes.is_empty() {
            topology.numa_nodes.push(NumaNode { os: 0, cpus: online.clone(), ..NumaNode::default() });
            assume(Level::Numa, "one node: the file has no NUMANode");
        }
    }
}

fn is_cache(kind: &str) -> bool {
    let level = kind.strip_prefix('L').and_then(|rest| rest.strip_suffix("Cache"));
    level.is_some_and(|level| level.trim_end_matches('i').parse::<u8>().is_ok())
}

fn cpuset(element: &Element, budget: &mut Budget) -> Result<Option<CpuSet>, Error> {
    set_of(element, "cpuset", budget)
}

fn set_of(element: &Element, attribute: &str, budget: &mut Budget) -> Result<Option<CpuSet>, Error> {
    let Some(text) = element.get(attribute) else { return Ok(None) };
    let mut read = |text| {
        let set = mask::parse(text)?;
        budget.charge(&set)?;
        Ok(set)
    };
    read(text).map(Some).map_err(|error: Error| error.or_line(element.line))
}

fn required_cpuset(element: &Element, budget: &mut Budget) -> Result<CpuSet, Error> {
    let missing = || element.error(format!("a {} has no cpuset", element.get("type").unwrap_or("object")));
    cpuset(element, budget)?.ok_or_else(missing)
}

fn unit(element: &Element, budget: &mut Budget) -> Result<Unit, Error> {
    Ok(Unit { id: element.number("os_index").unwrap_or_default(), cpus: required_cpuset(element, budget)? })
}

fn cache(kind: &str, element: &Element, budget: &mut Budget) -> Result<Cache, Error> {
    let named = kind.trim_start_matches('L').trim_end_matches("Cache").trim_end_matches('i').parse().ok();
    let level = match element.number("depth")?.or(named) {
        Some(level @ 1..=4) => level,
        _ => return Err(element.error("a cache has no level from 1 to 4")),
    };
    let cache_kind = match element.number::<u8>("cache_type")? {
        _ if kind.ends_with("iCache") => CacheKind::Instruction,
        Some(2) => CacheKind::Instruction,
        Some(1) => CacheKind::Data,
        // Old files do not give the type.
        None if level == 1 => CacheKind::Data,
        _ => CacheKind::Unified,
    };
    // hwloc: -1 is fully associative, 0 unknown.
    let ways = match element.number::<i64>("cache_associativity")? {
        None | Some(0) => None,
        Some(ways) => Some(u32::try_from(ways).unwrap_or(0)),
    };
    Ok(Cache {
        level,
        kind: cache_kind,
        size_bytes: element.number("cache_size")?.unwrap_or(0),
        line_bytes: element.number("cache_linesize")?.filter(|&line: &u32| line > 0),
        ways,
        cpus: required_cpuset(element, budget)?,
    })
}

fn numbers(reader: &mut Reader<'_>, into: &mut Vec<u32>) -> Result<(), Error> {
    let text = reader.text_to_close()?;
    for word in text.split_whitespace() {
        let number =
            word.parse().map_err(|_| reader.error(format!("distance or index '{word}' is not a number")))?;
        push_bounded(into, number).map_err(|error| error.or_line(reader.line()))?;
    }
    Ok(())
}

fn push_bounded(into: &mut Vec<u32>, number: u32) -> Result<(), Error> {
    /// A matrix of 1024 nodes, Linux's most.
    const MAX_VALUES: usize = 1 << 20;
    if into.len() == MAX_VALUES {
        return Err(Error::new("more distances than any machine has nodes for"));
    }
    into.push(number);
    Ok(())
}
