//! The printed tree: no CPU and no thread is lost, however narrow it is.

use coho_testing::data;
use coho_topology::{Level, load, sysfs, tree};

use crate::sysfs_support::{Machine, Tree};

fn words(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn one_core_keeps_its_threads_and_cpus() {
    let topology =
        sysfs::read(Machine { packages: 1, dies: 1, cores: 1, threads: 2 }.build().path()).unwrap();
    for width in [20, 40, 60, 80, 160] {
        let drawn = tree::render(&topology, width);
        assert!(
            drawn.split_whitespace().collect::<Vec<_>>().join(" ").contains("core of 2 threads C0 CPUs 0-1"),
            "{drawn}"
        );
        assert!(drawn.lines().all(|line| line.chars().count() <= width), "{width}: {drawn}");
    }
}

#[test]
fn every_width_says_the_same() {
    let wide = Machine { packages: 2, dies: 2, cores: 16, threads: 2 };
    let topologies = [
        sysfs::read(wide.build().path()).unwrap(),
        sysfs::read(Tree::recorded("16em64t-4s2c2t").path()).unwrap(),
        load(&data("cpuid/Intel-KnightsLanding-XeonPhi-7210.cpuid")).unwrap().topology,
        load(&data("cpuid/Intel-RaptorLake-Corei7-1370P.cpuid")).unwrap().topology,
    ];
    for topology in topologies {
        let whole = tree::render(&topology, usize::MAX);
        assert!(!whole.contains('…'));
        for package in topology.partition(Level::Package) {
            assert!(whole.contains(&package.to_string()), "{whole}");
        }
        for width in [40, 50, 60, 80] {
            let drawn = tree::render(&topology, width);
            assert_eq!(words(&drawn), words(&whole), "{width}");
            assert!(drawn.lines().all(|line| line.chars().count() <= width), "{width}: {drawn}");
        }
    }
}
