//! Public trees of real machines: what was read rightly once stays so. The numbers are those that hwloc, lscpu and
//! pytorch/cpuinfo expect of them, or, where the tree does not tell, what is assumed and said.

use coho_topology::{Level, sysfs};

use crate::sysfs_support::Tree;

const LEVELS: [(&str, Level); 8] = [
    ("package", Level::Package),
    ("die", Level::Die),
    ("numa", Level::Numa),
    ("l3", Level::L3),
    ("l2", Level::L2),
    ("l1", Level::L1),
    ("module", Level::Module),
    ("core", Level::Core),
];

fn assert_as_recorded(file: &str, at_least: usize) {
    let trees = Tree::all_recorded(file);
    assert!(trees.len() >= at_least, "{file}: {} trees", trees.len());
    for (name, facts, tree) in trees {
        let topology = sysfs::read(tree.path()).unwrap();
        for fact in facts.split_whitespace() {
            match fact.split_once('=') {
                None => {
                    let said = topology.notes.len() + topology.disagreements.len();
                    assert!(fact == "said" && said > 0, "{name}: nothing is said, or '{fact}'");
                }
                Some((what, number)) => {
                    let level = LEVELS.iter().find(|(known, _)| *known == what).map(|(_, level)| *level);
                    let found = level.map_or(topology.pus.len(), |level| topology.partition(level).len());
                    assert_eq!(found.to_string(), number, "{name}: {what}");
                }
            }
        }
    }
}

#[test]
fn hwlocs_trees() {
    assert_as_recorded("hwloc.trees", 20);
}

#[test]
fn lscpus_trees() {
    assert_as_recorded("lscpu.trees", 15);
}

#[test]
fn phones() {
    assert_as_recorded("android.trees", 78);
}
