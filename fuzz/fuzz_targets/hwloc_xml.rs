//! hwloc XML, written back and read again.
#![no_main]

use coho_topology::{hwloc, tree};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(topology) = hwloc::parse(text) else { return };
    let again = hwloc::parse(&hwloc::write(&topology)).expect("what is written is read");
    assert_eq!(again.cpus(), topology.cpus());
    let _ = tree::render(&topology, 80);
});
