//! Options that would make a guest's or a kernel's claims match a topology.

use coho_topology::{CpuSet, Level, Topology};

use super::listed;

/// What the options are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// QEMU's command line.
    Qemu,
    /// A libvirt domain's XML.
    Libvirt,
    /// The running kernel.
    Kernel,
}

/// What to give a tool, and what cannot be expressed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// Options, elements or commands, one per line.
    pub options: Vec<String>,
    /// What they leave out, one sentence each.
    pub lacks: Vec<String>,
}

/// How many of each unit there are in the next larger one.
#[derive(Debug, Clone, Copy)]
struct Shape {
    cpus: usize,
    sockets: usize,
    dies: usize,
    modules: usize,
    cores: usize,
    threads: usize,
    /// The unit that shares an L3, and an L2.
    l3: Option<&'static str>,
    l2: Option<&'static str>,
}

/// The options that make a tool claim this topology.
pub fn suggest(tool: Tool, topology: &Topology) -> Suggestion {
    let mut suggestion = Suggestion::default();
    if tool == Tool::Kernel {
        kernel(topology, &mut suggestion);
        return suggestion;
    }
    match shape(topology) {
        Ok(shape) => {
            numbering(topology, &shape, &mut suggestion);
            match tool {
                Tool::Qemu => qemu(topology, &shape, &mut suggestion),
                _ => libvirt(topology, &shape, &mut suggestion),
            }
        }
        Err(why) => suggestion.lacks.push(why),
    }
    suggestion
}

/// The outermost level with groups of several CPUs but not all: what counts as a die, inside a package.
fn shape(topology: &Topology) -> Result<Shape, String> {
    let cpus = topology.cpus();
    let even = |name: &str, sets: &[&CpuSet]| -> Result<usize, String> {
        let mut sizes: Vec<usize> = sets.iter().map(|set| set.len()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        match sizes[..] {
            [] => Ok(0),
            [size] if size * sets.len() == cpus.len() => Ok(size),
            _ => Err(format!(
                "a guest's units are all of one size, and these are not: {name} {}",
                listed(sets.iter().copied())
            )),
        }
    };
    let size = |name: &str, level| even(name, &topology.partition(level));
    let package = size("packages", Level::Package)?.max(1);
    let core = size("cores", Level::Core)?.max(1);
    let (die, l3) = (size("dies", Level::Die)?, size("L3", Level::L3)?);
    let (module, l2) = (size("modules", Level::Module)?, size("L2", Level::L2)?);
    let between = |size: usize| size > core && size < package;
    // Of the two levels between a core and a package, the larger is a die and the smaller a module.
    let mut middle: Vec<usize> = [die, l3, module, l2].into_iter().filter(|size| between(*size)).collect();
    middle.sort_unstable();
    middle.dedup();
    let (dies, modules) = match middle[..] {
        [] => (package, package),
        [one] if one == module || one == l2 && one != l3 => (package, one),
        [one] => (one, one),
        [small, large] => (large, small),
        _ => {
            return Err(
                "a guest has two levels between core and package, and this topology has three".to_owned()
            );
        }
    };
    let shared_by = |size: usize| match size {
        0 => None,
        size if size == core => Some("core"),
        size if size == modules && modules != dies => Some("module"),
        size if size == dies && dies != package => Some("die"),
        size if size == package => Some("socket"),
        _ => None,
    };
    Ok(Shape {
        cpus: cpus.len(),
        sockets: cpus.len() / package,
        dies: package / dies,
        modules: dies / modules,
        cores: modules / core,
        threads: core,
        l3: shared_by(l3),
        l2: shared_by(l2),
    })
}

/// Notes where the CPUs are not numbered unit by unit, as a guest's are.
fn numbering(topology: &Topology, shape: &Shape, suggestion: &mut Suggestion) {
    let levels = [Level::Package, Level::Die, Level::L3, Level::Module, Level::L2, Level::Core];
    let scattered = levels.into_iter().find(|level| {
        topology.partition(*level).iter().any(|set| {
            let ends = set.first().zip(set.last());
            ends.is_some_and(|(first, last)| (last - first) as usize + 1 != set.len())
        })
    });
    let Some(level) = scattered else { return };
    suggestion.lacks.push(format!(
        "a guest's CPUs are numbered in order, unit by unit, and these are not: {level} {}; put the host's CPUs in that \
         order behind CPUs 0 to {} instead (libvirt: <vcpupin>; QEMU: pin each vCPU's thread)",
        listed(topology.partition(level)),
        shape.cpus - 1
    ));
}

fn qemu(topology: &Topology, shape: &Shape, suggestion: &mut Suggestion) {
    let Shape { cpus, sockets, dies, modules, cores, threads, l3, l2 } = *shape;
    let part = |name: &str, n: usize| if n > 1 { format!("{name}={n},") } else { String::new() };
    suggestion.options.push(format!(
        "-smp {cpus},sockets={sockets},{}{}cores={cores},threads={threads}",
        part("dies", dies),
        part("modules", modules)
    ));
    let mut shared = Vec::new();
    for (cache, by) in [("l1d", Some("core")), ("l1i", Some("core")), ("l2", l2.or(Some("core"))), ("l3", l3)]
    {
        if let Some(by) = by {
            let at = shared.len();
            shared.push(format!("smp-cache.{at}.cache={cache},smp-cache.{at}.topology={by}"));
        }
    }
    if l3.is_some() {
        suggestion.options.push(format!("-machine q35,{}", shared.join(",")));
        suggestion.lacks.push(
            "smp-cache needs QEMU 10.0; earlier versions share an L3 within a die, whatever is requested"
                .to_owned(),
        );
    }
    if modules > 1 {
        suggestion.lacks.push("modules need QEMU 9.1".to_owned());
    }
    if topology.cpu.vendor.as_deref() == Some("AuthenticAMD") {
        suggestion.lacks.push(
            "an AMD model reports its caches in leaf 0x8000001D: add topoext=on to -cpu where it is missing"
                .to_owned(),
        );
    }
    if topology.numa_nodes.len() > 1 {
        for (at, node) in topology.numa_nodes.iter().enumerate().filter(|(_, node)| !node.cpus.is_empty()) {
            let bytes =
                node.memory_bytes.map_or_else(|| "SIZE".to_owned(), |bytes| format!("{}M", bytes >> 20));
            suggestion.options.push(format!("-object memory-backend-ram,id=m{at},size={bytes}"));
            let cpus: Vec<String> = ranges(&node.cpus).iter().map(|range| format!("cpus={range}")).collect();
            suggestion.options.push(format!("-numa node,nodeid={at},memdev=m{at},{}", cpus.join(",")));
        }
        suggestion
            .lacks
            .push("NUMA nodes are as claimed: times between CPUs do not show where memory is".into());
    }
}

fn libvirt(topology: &Topology, shape: &Shape, suggestion: &mut Suggestion) {
    let Shape { cpus, sockets, dies, modules, cores, threads, l3, .. } = *shape;
    let options = &mut suggestion.options;
    options.push(format!("<vcpu>{cpus}</vcpu>"));
    options.push("<cpu mode='host-passthrough'>".to_owned());
    let clusters = if modules > 1 { format!(" clusters='{modules}'") } else { String::new() };
    options.push(format!(
        "  <topology sockets='{sockets}' dies='{dies}'{clusters} cores='{cores}' threads='{threads}'/>"
    ));
    options.push("  <cache level='3' mode='emulate'/>".to_owned());
    if topology.numa_nodes.len() > 1 {
        options.push("  <numa>".to_owned());
        for (at, node) in topology.numa_nodes.iter().enumerate().filter(|(_, node)| !node.cpus.is_empty()) {
            let kib = node.memory_bytes.map_or_else(|| "SIZE".to_owned(), |bytes| (bytes >> 10).to_string());
            options.push(format!("    <cell id='{at}' cpus='{}' memory='{kib}' unit='KiB'/>", node.cpus));
        }
        options.push("  </numa>".to_owned());
        suggestion
            .lacks
            .push("NUMA nodes are as claimed: times between CPUs do not show where memory is".into());
    }
    suggestion.options.push("</cpu>".to_owned());
    match l3 {
        Some("die") | None => {}
        Some(by) => suggestion.lacks.push(format!(
            "libvirt's <cache> does not say who shares it: here a {by} shares an L3, in the guest a die will"
        )),
    }
}

/// A kernel believes its firmware; what can be done is to keep programs within groups.
fn kernel(topology: &Topology, suggestion: &mut Suggestion) {
    suggestion.lacks.push(
        "no kernel option says who shares a cache: Linux takes it from CPUID, or from the firmware's PPTT or device \
         tree on ARM; NUMA nodes come from the SRAT, which a table in the initrd replaces (CONFIG_ACPI_TABLE_UPGRADE)"
            .to_owned(),
    );
    let levels = [Level::L3, Level::Die, Level::Module];
    let groups = levels.into_iter().map(|level| (level, topology.partition(level)));
    let Some((level, groups)) =
        groups.into_iter().find(|(_, sets)| sets.len() > 1 && sets.iter().all(|set| set.len() > 1))
    else {
        suggestion.lacks.push("there are no groups of CPUs within which programs could be kept".to_owned());
        return;
    };
    suggestion.lacks.push(format!(
        "partitions keep the scheduler, and the programs put into them, within one {level} each; they do not change \
         what /sys reports"
    ));
    suggestion.options.push("echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control".to_owned());
    for (at, cpus) in groups.iter().enumerate().skip(1) {
        let folder = format!("/sys/fs/cgroup/{}-{at}", level.to_string().to_lowercase());
        suggestion.options.push(format!(
            "mkdir {folder} && echo {cpus} > {folder}/cpuset.cpus && echo root > {folder}/cpuset.cpus.partition"
        ));
    }
}

/// `0-3`, `8-11`, each apart: QEMU's lists take a range each.
fn ranges(cpus: &CpuSet) -> Vec<String> {
    cpus.to_string().split(',').map(str::to_owned).collect()
}
