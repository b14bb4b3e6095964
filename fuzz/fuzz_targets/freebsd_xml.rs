//! FreeBSD's topology_spec, written back and read again.
#![no_main]

use coho_topology::freebsd::{Variant, parse, predict, to_topology};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(spec) = parse(text) else { return };
    if let Ok(written) = spec.to_xml(16) {
        assert_eq!(parse(&written).expect("what is written is read"), spec);
    }
    let topology = to_topology(&spec);
    let full = predict(Variant::Full, &topology, None).expect("needs no dump");
    assert_eq!(full.root.cpus, spec.root.cpus);
});
