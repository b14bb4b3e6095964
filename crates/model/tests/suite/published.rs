//! The published machines whose times between CPUs are matrices.

use coho_profile::published::PAPERS;

#[path = "../../examples/matrices.rs"]
#[expect(dead_code, reason = "the program that writes them")]
mod matrices;

#[test]
fn each_profile_holds_the_times_of_its_file() {
    let mut machines = 0;
    for paper in PAPERS.iter().filter(|paper| !paper.matrices.is_empty()) {
        for (machine, profile) in paper.publication().machines {
            let hint = "cargo run -p coho-model --example matrices";
            let file = paper.matrices.get(&machine).unwrap_or_else(|| panic!("{machine} names its file"));
            assert_eq!(profile, matrices::profile(file).unwrap(), "{machine}: {hint}");
            machines += 1;
        }
    }
    assert!(machines >= 20, "{machines}");
}
