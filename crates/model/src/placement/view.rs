//! A kernel's view of a machine, and its numbering of the CPUs.

use coho_topology::cpuid::Dump;
use coho_topology::freebsd::{self, Group, Variant};
use coho_topology::{CpuSet, Topology};
use serde::Serialize;

use super::tree::Tree;
use crate::Error;

/// A kernel's view of the machine, under a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// `stock`, `patched`, …
    pub name: String,
    /// The tree in short: `L0/4{2x L2/2}`.
    pub shape: String,
    /// What ULE decides by.
    #[serde(skip)]
    pub tree: Tree,
}

/// The CPUs in the order in which FreeBSD numbers them: by APIC ID, from the first CPU's on; in their given order
/// where the IDs are not known.
pub fn freebsd_order(topology: &Topology) -> Vec<u32> {
    let mut ids: Vec<(Option<u32>, u32)> = topology.pus.iter().map(|pu| (pu.apic_id, pu.os)).collect();
    let boot = ids.first().copied().unwrap_or_default();
    if ids.iter().all(|(id, _)| id.is_some()) {
        ids.sort_by_key(|&(id, _)| (id < boot.0, id));
    }
    ids.into_iter().map(|(_, os)| os).collect()
}

impl View {
    /// A kernel's view of a topology, with its CPUs in [`freebsd_order`].
    ///
    /// # Errors
    /// If the kernel's rules cannot be applied; the message says what is missing.
    pub fn new(
        name: &str,
        variant: Variant,
        topology: &Topology,
        dump: Option<&Dump>,
    ) -> Result<Self, Error> {
        let mut spec =
            freebsd::predict(variant, topology, dump).map_err(|error| Error::new(error.to_string()))?;
        if variant == Variant::Full {
            let order = freebsd_order(topology);
            renumber(&mut spec.root, &|os| order.iter().position(|cpu| *cpu == os));
        }
        if spec.root.cpus.len() != topology.pus.len() {
            return Err(Error::new("the dump and the topology have different CPUs"));
        }
        Ok(Self { name: name.to_owned(), shape: spec.root.shape(), tree: Tree::new(&spec) })
    }
}

/// Converts the operating system's numbers to positions in an order.
fn renumber(group: &mut Group, place: &impl Fn(u32) -> Option<usize>) {
    group.cpus = group.cpus.iter().filter_map(|os| Some(place(os)? as u32)).collect::<CpuSet>();
    group.children.iter_mut().for_each(|child| renumber(child, place));
}

#[cfg(test)]
mod tests {
    use coho_topology::{Pu, Unit};

    use super::*;

    #[test]
    fn freebsd_counts_by_apic_id_from_the_booting_cpu() {
        // Linux numbers second threads after all first ones.
        let pu = |(os, id): (u32, u32)| Pu { os, apic_id: Some(id), ..Pu::default() };
        let unit = |cpus: [u32; 2]| Unit { id: None, cpus: CpuSet::from_iter(cpus) };
        let mut topology = Topology {
            pus: [(0, 2), (1, 0), (2, 3), (3, 1)].map(pu).to_vec(),
            cores: vec![unit([0, 2]), unit([1, 3])],
            ..Topology::default()
        };
        topology.finish();
        assert_eq!(freebsd_order(&topology), [0, 2, 1, 3]);
        let view = View::new("full", Variant::Full, &topology, None).unwrap();
        assert_eq!(view.tree.leaf(1).cpus, [0, 1]);
        assert!(
            View::new("stock", Variant::Stock, &topology, None)
                .unwrap_err()
                .to_string()
                .contains("CPUID dump")
        );
    }
}
