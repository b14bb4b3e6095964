//! The JSON of a topology, and whatever else the one function for descriptions recognises.
#![no_main]

use coho_topology::freebsd::{Variant, predict};
use coho_topology::{hwloc, load_text, tree};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(loaded) = load_text(text) else { return };
    let _ = hwloc::write(&loaded.topology);
    let _ = tree::render(&loaded.topology, 80);
    let _ = predict(Variant::Full, &loaded.topology, None);
});
