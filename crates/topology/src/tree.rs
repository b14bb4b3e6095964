//! The topology as a printed tree.

use std::fmt::Write;

use crate::nest::{Nest, nest};
use crate::{Cache, CacheKind, CpuSet, Level, Source, Topology, size};

/// In trees of more rows than this, parts that are alike are drawn once.
const UNFOLDED_ROWS: usize = 40;

/// Draws packages, dies, memory nodes, caches, modules, cores and CPUs, the inner below the outer, in lines of at most
/// `width` columns; what is longer continues on the next line. In big machines, parts that are alike are drawn once.
/// The sources and their disagreements follow below.
///
/// ```
/// # let text = r#"<topology version="2.0"><object type="Machine" cpuset="0x1">
/// # <object type="PU" os_index="0" cpuset="0x1"/></object></topology>"#;
/// let topology = coho_topology::hwloc::parse(text)?;
/// println!("{}", coho_topology::tree::render(&topology, 80));
/// # Ok::<(), coho_topology::Error>(())
/// ```
pub fn render(topology: &Topology, width: usize) -> String {
    let (tree, crossing) = nest(Label::new("machine"), topology.cpus(), parts(topology));
    let machine = Row::of(&tree);
    let fold = machine.rows() > UNFOLDED_ROWS;

    let mut out = heading(topology);
    out.push('\n');
    let top = if machine.labels.len() > 1 { std::slice::from_ref(&machine) } else { &machine.inside };
    draw(top, 0, fold, true, &mut out);
    out.push('\n');
    for (label, cpus) in crossing.iter().filter(|(_, cpus)| !cpus.is_empty()) {
        let _ = writeln!(out, "not drawn, as it crosses others: {}  CPUs {cpus}", label.full());
    }
    footnotes(topology, &mut out);
    out.lines().map(|line| wrapped(line, width) + "\n").collect()
}

/// What kind of part it is, and which one.
#[derive(Clone)]
struct Label {
    what: String,
    which: String,
}

impl Label {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), which: String::new() }
    }

    fn which(mut self, which: impl Into<String>) -> Self {
        self.which = which.into();
        self
    }

    fn full(&self) -> String {
        format!("{} {}", self.what, self.which).trim_end().to_owned()
    }
}

/// Every part that is drawn, of equal sets the outer first.
fn parts(topology: &Topology) -> Vec<(Label, CpuSet)> {
    let mut parts = Vec::new();
    for (number, unit) in topology.packages.iter().enumerate() {
        parts.push((Label::new("package").which(number.to_string()), unit.cpus.clone()));
    }
    parts.extend(topology.dies.iter().map(|unit| (Label::new("die"), unit.cpus.clone())));
    let are_reported = !topology.assumes(Level::Numa);
    for node in topology.numa_nodes.iter().filter(|node| are_reported && !node.cpus.is_empty()) {
        let memory = node.memory_bytes.map(|memory| format!(" of {}", size(memory))).unwrap_or_default();
        parts.push((Label::new("NUMA node").which(format!("{}{memory}", node.os)), node.cpus.clone()));
    }
    parts.extend(caches(topology, 4..=4).chain(caches(topology, 3..=3)));
    parts.extend(topology.modules.iter().map(|unit| (Label::new("module"), unit.cpus.clone())));
    parts.extend(caches(topology, 2..=2).chain(caches(topology, 1..=1)));
    for core in &topology.cores {
        let threads = core.cpus.len();
        let what = if threads > 1 { format!("core of {threads} threads") } else { "core".to_owned() };
        let name = core.cpus.first().and_then(|cpu| topology.pu(cpu)).map_or("", |pu| pu.name.as_str());
        let name = name.split(".T").next().unwrap_or_default();
        parts.push((Label::new(what).which(name), core.cpus.clone()));
    }
    let in_core: CpuSet = topology.cores.iter().flat_map(|core| core.cpus.iter()).collect();
    let alone = topology.cpus().difference(&in_core);
    parts.extend(alone.iter().map(|cpu| (Label::new("CPU"), CpuSet::from_iter([cpu]))));
    parts
}

/// The caches of these levels; those of instructions inside those of data.
fn caches(
    topology: &Topology,
    levels: std::ops::RangeInclusive<u8>,
) -> impl Iterator<Item = (Label, CpuSet)> + use<'_> {
    let wanted = move |cache: &&Cache| levels.contains(&cache.level);
    let mut caches: Vec<&Cache> = topology.caches.iter().filter(wanted).collect();
    caches.sort_by_key(|cache| cache.kind == CacheKind::Instruction);
    caches.into_iter().map(|cache| {
        let kind = match cache.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        let size = if cache.size_bytes > 0 { format!(" {}", size(cache.size_bytes)) } else { String::new() };
        (Label::new(format!("L{}{kind}{size}", cache.level)), cache.cpus.clone())
    })
}

/// A line of the tree: parts of the same CPUs, and the rows inside.
struct Row {
    labels: Vec<Label>,
    cpus: CpuSet,
    inside: Vec<Row>,
    /// Equal for rows that are alike but for their CPUs.
    shape: String,
}

impl Row {
    fn of(nest: &Nest<Label>) -> Self {
        let mut labels = vec![nest.item.clone()];
        let mut inner = nest;
        while let [only] = inner.children.as_slice() {
            if only.cpus != nest.cpus {
                break;
            }
            labels.push(only.item.clone());
            inner = only;
        }
        let inside: Vec<Self> = inner.children.iter().map(Self::of).collect();
        let mut shape = labels.iter().map(|label| label.what.as_str()).collect::<Vec<_>>().join("+");
        for row in &inside {
            let _ = write!(shape, "({})", row.shape);
        }
        Self { labels, cpus: nest.cpus.clone(), inside, shape }
    }

    fn rows(&self) -> usize {
        1 + self.inside.iter().map(Self::rows).sum::<usize>()
    }

    fn text(&self, which: bool) -> String {
        let text = |label: &Label| if which { label.full() } else { label.what.clone() };
        self.labels.iter().filter(|label| label.what != "machine").map(text).collect::<Vec<_>>().join(" + ")
    }
}

/// Draws rows and the rows inside them; `single` if the rows do not stand for others like them.
fn draw(rows: &[Row], depth: usize, fold: bool, single: bool, out: &mut String) {
    for run in rows.chunk_by(|a, b| fold && a.shape == b.shape) {
        let first = &run[0];
        let single = single && run.len() == 1;
        let count = if run.len() > 1 { format!("{} x ", run.len()) } else { String::new() };
        let _ = write!(out, "{}{count}{}", "  ".repeat(depth), first.text(single));
        if single || depth == 0 {
            let sets: Vec<String> = run.iter().map(|row| row.cpus.to_string()).collect();
            let many = if run.len() > 1 || first.cpus.len() > 1 { "s" } else { "" };
            let _ = write!(out, "  CPU{many} {}", sets.join(" | "));
        }
        out.push('\n');
        draw(&first.inside, depth + 1, fold, single, out);
    }
}

/// The processor, and the counts of its parts.
fn heading(topology: &Topology) -> String {
    let cpu = &topology.cpu;
    let vendor = cpu.vendor.as_deref();
    let mut heading = cpu.brand.as_deref().or(vendor).unwrap_or("unnamed processor").to_owned();
    let numbers = [("family", cpu.family), ("model", cpu.model), ("stepping", cpu.stepping)];
    let numbers: Vec<String> =
        numbers.iter().filter_map(|(name, number)| number.map(|number| format!("{name} {number}"))).collect();
    let mut details = numbers.join(", ");
    if let Some(hypervisor) = &cpu.hypervisor {
        let _ = write!(details, "; under hypervisor {hypervisor}");
    }
    if !details.is_empty() {
        let _ = write!(heading, "\n{}", details.trim_start_matches("; "));
    }
    let counts = topology.counts();
    let plural = |name: &str, count: usize| match (name, count) {
        (_, 1) | ("L3" | "L2", _) => name.to_owned(),
        _ => format!("{name}s"),
    };
    let counts: Vec<String> = [
        ("package", counts.package),
        ("die", counts.die),
        ("NUMA node", counts.numa),
        ("L3", counts.l3),
        ("L2", counts.l2),
        ("module", counts.module),
        ("core", counts.core),
        ("CPU", counts.pu),
    ]
    .iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| format!("{count} {}", plural(name, *count)))
    .collect();
    let _ = writeln!(heading, "\n{}", counts.join(", "));
    heading
}

/// What the tree cannot show.
fn footnotes(topology: &Topology, out: &mut String) {
    for node in &topology.numa_nodes {
        let memory = node.memory_bytes.map(|memory| format!(", {}", size(memory))).unwrap_or_default();
        if !node.unseen.is_empty() {
            let _ =
                writeln!(out, "NUMA node {}: CPUs {} are offline or hidden{memory}", node.os, node.unseen);
        } else if node.cpus.is_empty() {
            let _ = writeln!(out, "NUMA node {} is memory alone{memory}", node.os);
        }
    }
    if !topology.offline.is_empty() {
        let _ = writeln!(out, "offline: CPUs {}", topology.offline);
    }
    for kind in &topology.kinds {
        let _ = writeln!(out, "{}: CPUs {}", kind.name, kind.cpus);
    }
    for source in [
        Source::Sysfs,
        Source::Cpuid,
        Source::HwlocXml,
        Source::FreebsdSpec,
        Source::Measured,
        Source::Assumed,
    ] {
        let mut levels: Vec<Level> =
            topology.facts.iter().filter(|fact| fact.source == source).map(|fact| fact.level).collect();
        levels.dedup();
        let levels: Vec<String> = levels.iter().map(ToString::to_string).collect();
        if !levels.is_empty() {
            let _ = writeln!(out, "{source}: {}", levels.join(", "));
        }
    }
    for note in &topology.notes {
        let _ = writeln!(out, "note: {note}");
    }
    for disagreement in &topology.disagreements {
        let _ = writeln!(out, "{disagreement}");
    }
}

/// How much further than its first line the other lines of a row are indented.
const HANGING: usize = 4;

/// A line in as many lines of at most `width` columns as it takes, broken after blanks and commas. A word that is
/// longer than a line stays whole, as nothing may be lost.
fn wrapped(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let own_indent = line.chars().take_while(|letter| *letter == ' ').count();
    // Deep rows of narrow terminals are indented less, so that there is room for words.
    let indent = own_indent.min(width / 2);
    let (mut lines, mut current) = (Vec::new(), " ".repeat(indent));
    for word in line.trim_start().split_inclusive([' ', ',']) {
        let length = current.chars().count() + word.trim_end().chars().count();
        if length > width && !current.trim().is_empty() {
            lines.push(current.trim_end().to_owned());
            current = " ".repeat(indent + HANGING);
        }
        // Two blanks part a row's CPUs from its names; a line does not begin with them.
        if current.trim().is_empty() && word.trim().is_empty() {
            continue;
        }
        current += word;
    }
    lines.push(current.trim_end().to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_lose_no_word_and_are_as_long_as_allowed() {
        let line = "  L3 32 MiB + L2 1 MiB + core of 2 threads C0  CPUs 0,2,4,6,8,10,12,14 | 1,3,5";
        let words = |text: &str| -> String { text.split_whitespace().collect() };
        for width in [24, 40, 60, 200] {
            let text = wrapped(line, width);
            assert_eq!(words(&text), words(line), "{width}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        }
        assert_eq!(wrapped(line, 200), line);
    }
}
