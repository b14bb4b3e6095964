//! Lists of CPUs.
#![no_main]

use coho_topology::CpuSet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(set) = text.parse::<CpuSet>() else { return };
    assert_eq!(set.to_string().parse::<CpuSet>().expect("what is printed is read"), set);
    assert_eq!(set.iter().collect::<CpuSet>(), set);
});
