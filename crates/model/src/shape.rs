//! What a topology is made of, in words.

use coho_topology::Counts;

/// The objects that a topology claims, outermost first: how many, their kind as a fact's name, and as a noun.
pub fn objects(counts: Counts) -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    let objects = [
        (counts.package, "package", "package"),
        (counts.die, "die", "die"),
        (counts.numa, "numa", "NUMA node"),
        (counts.l3, "l3", "L3"),
        (counts.module, "module", "module"),
        (counts.core, "core", "core"),
        (counts.pu, "pu", "CPU"),
    ];
    objects.into_iter().filter(|(count, ..)| *count > 0)
}

/// `1 package, 1 NUMA node, 1 L3, 2 cores, 2 CPUs`.
pub fn counted(counts: Counts) -> String {
    let plural = |n: usize, noun: &str| if n == 1 || noun == "L3" { "" } else { "s" };
    objects(counts)
        .map(|(n, _, noun)| format!("{n} {noun}{}", plural(n, noun)))
        .collect::<Vec<_>>()
        .join(", ")
}
