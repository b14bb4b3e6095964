//! CPUID dumps of every dialect, decoded and put through FreeBSD's rules.
#![no_main]

use coho_topology::freebsd::{Variant, predict};
use coho_topology::{cpuid, tree};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(dump) = cpuid::parse(text) else { return };
    assert_eq!(cpuid::parse(&dump.to_string()).expect("what is printed is read"), dump);
    let Ok(topology) = cpuid::decode(&dump) else { return };
    for variant in [Variant::Stock, Variant::Patched, Variant::Modern, Variant::Full] {
        let _ = predict(variant, &topology, Some(&dump));
    }
    let _ = tree::render(&topology, 80);
});
